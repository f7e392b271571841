# SPDX-License-Identifier: Apache-2.0
"""What tests of a controller on a real API server share; pods are set by hand, no kubelet runs and nothing collects
what is left.

Words of the command line: ROUNDHOUSE JAX_DIR [unittest's words].
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support
import reuse
from support import apiserver

GOLDENS = pathlib.Path(__file__).resolve().parents[1] / "goldens"
sys.path.insert(0, str(GOLDENS))
import compare_objects  # noqa: E402

ROUNDHOUSE, JAX = sys.argv[1:3] if len(sys.argv) > 2 else ("roundhouse", "")
del sys.argv[1:3]

GROUP = "kubeflow.org/v1"
LABEL = "training.kubeflow.org/job-name"
# What a controller makes for jobs: kind, group and plural.
OWNED = [("Pod", "v1", "pods"), ("Service", "v1", "services"), ("ConfigMap", "v1", "configmaps"),
         ("ServiceAccount", "v1", "serviceaccounts"), ("Role", "rbac.authorization.k8s.io/v1", "roles"),
         ("RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings"),
         ("HorizontalPodAutoscaler", "autoscaling/v2", "horizontalpodautoscalers")]
# What admission fills in; the recorded objects do without.
FILLED_IN = {"Pod": ["preemptionPolicy", "priority", "tolerations"],
             "Service": ["clusterIPs", "ipFamilies", "ipFamilyPolicy"]}


def job(name, kind="PyTorchJob", workers=2, namespace="default", **policy):
    field = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs"}[kind]
    container = {"PyTorchJob": "pytorch", "TFJob": "tensorflow"}[kind]
    template = {"spec": {"containers": [{"name": container, "image": "i:1"}]}}
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name, "namespace": namespace},
            "spec": {"runPolicy": policy, field: {"Worker": {"replicas": workers, "template": template}}}}


class Case(unittest.TestCase):
    """One API server with our CRDs for all tests of a class."""
    options = {}
    users = {}  # beside "limited"

    @classmethod
    def make_server(cls):
        return reuse.server(users={"limited": [], **cls.users}, **cls.options)

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.api = cls.enterClassContext(cls.make_server())
        cls.crds = subprocess.run([ROUNDHOUSE, "crds", "--plugins", JAX], check=True, capture_output=True,
                                  text=True).stdout
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=cls.crds)
        cls.api.wait_served()

    def controller(self, *flags, kubeconfig=None, name="controller", environment=None):
        return support.Controller(ROUNDHOUSE, kubeconfig or self.api.kubeconfig, self.folder, "--plugins", JAX, *flags,
                                  name=name, environment=environment)

    def request(self, method, path, body=None, content_type="application/json"):
        status, text = self.api.request(method, path, None if body is None else json.dumps(body), content_type)
        return status, json.loads(text)

    def path(self, plural, namespace="default", name=""):
        return f"/apis/{GROUP}/namespaces/{namespace}/{plural}" + (f"/{name}" if name else "")

    def create(self, body, plural="pytorchjobs"):
        status, answer = self.request("POST", self.path(plural, body["metadata"].get("namespace", "default")), body)
        self.assertEqual(status, 201, answer)
        return answer

    def grant(self, rules):
        """What the user "limited" may do."""
        objects = [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                    "metadata": {"name": "limited"}, "rules": rules},
                   {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                    "metadata": {"name": "limited"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                                                                 "kind": "ClusterRole", "name": "limited"},
                    "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "limited"}]}]
        self.api.kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    @classmethod
    def apply_manifests(cls, *words):
        """Apply what `roundhouse manifests` prints. @param words for kubectl. -> a token of the account in it"""
        objects = subprocess.run([ROUNDHOUSE, "manifests", "--plugins", JAX], check=True, capture_output=True,
                                 text=True).stdout
        cls.api.kubectl("apply", "--server-side", *words, "-f", "-", text=objects)
        return cls.api.kubectl("create", "token", "roundhouse", "-n", "roundhouse").stdout.strip()

    @classmethod
    def account(cls, *words):
        """apply_manifests() -> the path of a kubeconfig of that account"""
        path = cls.folder / "account.kubeconfig"
        cls.api.write_kubeconfig(path, {"token": cls.apply_manifests(*words)})
        return path

    def items(self, group, plural, namespace="default", query=""):
        root = "/api/v1" if group == "v1" else f"/apis/{group}"
        return json.loads(self.api.get(f"{root}/namespaces/{namespace}/{plural}{query}"))["items"]

    def pods(self, name, namespace="default"):
        return self.items("v1", "pods", namespace, f"?labelSelector={LABEL}={name}")

    def conditions(self, name, plural="pytorchjobs", namespace="default"):
        status, body = self.request("GET", self.path(plural, namespace, name))
        self.assertEqual(status, 200, body)
        return {c["type"]: c["status"] for c in body.get("status", {}).get("conditions", [])}

    def set_phase(self, pod, phase, good=(200,), code=1):
        meta = pod["metadata"]
        state = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": code if phase == "Failed"
                                                                           else 0}}
        body = {"status": {"phase": phase, "containerStatuses": [
            {"name": c["name"], "image": "i", "imageID": "", "ready": phase == "Running", "restartCount": 0,
             "state": state}
            for c in pod["spec"]["containers"]]}}
        status, answer = self.request("PATCH", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status",
                                      body, "application/merge-patch+json")
        self.assertIn(status, good, answer)

    def owned(self, uid):
        """What belongs to the job, by kind and name."""
        out = {}
        for kind, group, plural in OWNED:
            for item in self.items(group, plural):
                if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences", [])):
                    for key in FILLED_IN.get(kind, []):
                        item["spec"].pop(key, None)
                    out[kind, item["metadata"]["name"]] = compare_objects.strip({**item, "apiVersion": group,
                                                                                 "kind": kind})
        return out

    def drop_owned(self, uid):
        """No garbage collector runs here."""
        plurals = {kind: (group, plural) for kind, group, plural in OWNED}
        for kind, name in self.owned(uid):
            group, plural = plurals[kind]
            root = "/api/v1" if group == "v1" else f"/apis/{group}"
            self.request("DELETE", f"{root}/namespaces/default/{plural}/{name}?gracePeriodSeconds=0")

    def drop_job(self, name, plural="pytorchjobs", namespace="default"):
        """No garbage collector runs here."""
        self.request("DELETE", self.path(plural, namespace, name))
        for what in ("pods", "services"):
            for item in self.items("v1", what, namespace, f"?labelSelector={LABEL}={name}"):
                self.request(
                    "DELETE", f"/api/v1/namespaces/{namespace}/{what}/{item['metadata']['name']}?gracePeriodSeconds=0")


def main():
    apiserver.skip_without_assets()
    unittest.main()
