#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_v1.py ROUNDHOUSE: a cluster with Training Operator V1's own manifests goes on when only the program is another
one.

The manifests come from the Go module of V1, at the time of the test. What a Deployment would do with the image is done
here: the command of its container, its environment, its account and its mounted Secret, which is empty.
"""
import json
import os
import pathlib
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402
from support import apiserver, v1_module, wait_for  # noqa: E402

ROUNDHOUSE = sys.argv.pop(1) if len(sys.argv) > 1 else "roundhouse"
GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "goldens"
NAMESPACE = "kubeflow"
LABEL = "training.kubeflow.org/job-name"


def v1_folder():
    """-> the folder of V1's manifests; ends the test as skipped when it cannot be had."""
    try:
        return v1_module.fetch() / "manifests"
    except v1_module.Absent as why:
        apiserver.skip(why)


class Installed(unittest.TestCase):
    """A cluster with V1's manifests."""
    server = apiserver.ApiServer

    @classmethod
    def setUpClass(cls):
        manifests = v1_folder()
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.api = cls.enterClassContext(cls.server())
        cls.port = apiserver.free_ports(1)[0]
        text = cls.api.kubectl("kustomize", manifests / "overlays" / "standalone").stdout
        cls.objects = [o for o in yaml.load_all(text, yaml.CSafeLoader) if o]
        (cls.folder / "certs").mkdir()

    def of_kind(self, kind):
        return [o for o in self.objects if o["kind"] == kind]

    def apply(self, *objects):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        return self.api.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=text)

    def install(self):
        """V1's objects. There is no network for Services here: theirs leads to this machine."""
        crds = self.of_kind("CustomResourceDefinition")
        self.apply(*crds, *self.of_kind("Namespace"))
        self.api.wait_served()
        hooks = self.of_kind("ValidatingWebhookConfiguration")
        for hook in hooks[0]["webhooks"]:
            hook["clientConfig"]["service"]["port"] = self.port
        services = [{**service, "spec": {"type": "ExternalName", "externalName": "localhost"}}
                    for service in self.of_kind("Service")]
        rest = [o for o in self.objects if o not in crds and o["kind"] not in
                ("Namespace", "Deployment", "Service", "ValidatingWebhookConfiguration")]
        self.apply(*rest, *services)
        return hooks

    def manager(self):
        """The container of V1's Deployment, with the account's token."""
        pod = self.of_kind("Deployment")[0]["spec"]["template"]["spec"]
        link = self.folder / "manager"
        link.symlink_to(os.path.realpath(ROUNDHOUSE))
        self.assertEqual(pod["containers"][0]["command"], ["/manager"])
        token = self.api.kubectl("create", "token", pod["serviceAccountName"], "-n", NAMESPACE).stdout.strip()
        self.api.write_kubeconfig(self.folder / "account.kubeconfig", {"token": token})
        controller = support.Controller(link, self.folder / "account.kubeconfig", self.folder,
                                        environment={"MY_POD_NAMESPACE": NAMESPACE,
                                                     "MY_POD_NAME": "training-operator-0"})
        # the flags that a pod of its own would not need
        controller.command = [str(link), *controller.command[2:], f"--webhook-server-port={self.port}",
                              f"--webhook-cert-dir={self.folder / 'certs'}", *pod["containers"][0].get("args", [])]
        return controller

    def patch(self, path, body):
        status, answer = self.api.request("PATCH", path, json.dumps(body), "application/merge-patch+json")
        self.assertEqual(status, 200, answer)

    def set_phase(self, pod, phase, code=0):
        state = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": code}}
        self.patch(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/status", {"status": {
            "phase": phase, "containerStatuses": [{"name": c["name"], "image": "i", "imageID": "",
                                                   "ready": phase == "Running", "restartCount": 0, "state": state}
                                                  for c in pod["spec"]["containers"]]}})

    def pods(self, name):
        return json.loads(self.api.get(f"/api/v1/namespaces/default/pods?labelSelector={LABEL}={name}"))["items"]


class Swap(Installed):
    """The program is another one; what V1 had made is put there by hand."""

    def create(self, plural, body):
        status, text = self.api.request("POST", f"/apis/kubeflow.org/v1/namespaces/default/{plural}", json.dumps(body))
        return status, json.loads(text)

    def stored_job(self, golden):
        """A job that V1 has created pods and Services for, and that runs. -> its name"""
        body = yaml.load((GOLDENS / "objects" / f"{golden}.yaml").read_text(), yaml.CSafeLoader)
        status, job = self.create("pytorchjobs", body)
        self.assertEqual(status, 201, job)
        for item in json.loads((GOLDENS / "objects" / f"{golden}.objects.json").read_text()):
            for owner in item["metadata"].get("ownerReferences", []):
                owner["uid"] = job["metadata"]["uid"]
            item["metadata"].pop("namespace", None)
            status, made = self.api.request("POST", f"/api/v1/namespaces/default/{item['kind'].lower()}s",
                                            json.dumps(item))
            self.assertEqual(status, 201, made)
        now = "2026-01-01T00:00:00Z"
        conditions = [{"type": kind, "status": "True", "reason": f"PyTorchJob{kind}", "message": "by V1",
                       "lastUpdateTime": now, "lastTransitionTime": now} for kind in ("Created", "Running")]
        self.patch(f"/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/{job['metadata']['name']}/status",
                   {"status": {"conditions": conditions, "startTime": now, "replicaStatuses": {}}})
        for pod in self.pods(job["metadata"]["name"]):
            self.set_phase(pod, "Running")
        return job["metadata"]["name"]

    def job(self, name):
        return json.loads(self.api.get(f"/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/{name}"))

    def conditions(self, name):
        return {c["type"]: c["status"] for c in self.job(name).get("status", {}).get("conditions", [])}

    def test_swap(self):
        hooks = self.install()
        running = self.stored_job("pt-1m2w")
        uids = {pod["metadata"]["uid"] for pod in self.pods(running)}
        self.apply(*hooks)
        status, answer = self.create("pytorchjobs", self.two_masters("refused-by-nobody"))
        self.assertEqual(status, 500, answer)  # nobody answers yet: everything is refused
        with self.manager() as controller:
            controller.wait_for_log("trusts the certificate now")
            self.check_webhooks()
            self.check_running(running, uids)
            self.assertIn("THERE IS NO LEADER ELECTION", controller.text())
            wait_for("no problem", lambda: not controller.state()["problems"])

    def two_masters(self, name):
        template = {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
        return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
                "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 2, "template": template}}}}

    def check_webhooks(self):
        """The API server trusts us, and asks us; V1's words reach the user."""
        wait_for("webhook", lambda: self.create("pytorchjobs", self.two_masters("refused"))[0] == 403)
        self.assertEqual(self.create("pytorchjobs", self.two_masters("refused"))[1]["message"],
                         'admission webhook "validator.pytorchjob.training-operator.kubeflow.org" denied the request: '
                         "spec.pytorchReplicaSpecs[Master].replicas: Forbidden: must be 1")
        self.check_words()
        body = self.two_masters("new")
        body["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = 1
        self.assertEqual(self.create("pytorchjobs", body)[0], 201)
        wait_for("its pod", lambda: len(self.pods("new")) == 1)

    def check_words(self):
        """What V1 reported, and no more."""
        body = self.two_masters("words")
        master = body["spec"]["pytorchReplicaSpecs"].pop("Master")
        body["spec"]["pytorchReplicaSpecs"]["Worker"] = {**master, "replicas": 1}
        container = master["template"]["spec"]["containers"][0]
        container["name"] = ""
        self.assertEqual(self.create("pytorchjobs", body)[1]["message"].split("denied the request: ")[-1],
                         "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: must have at "
                         "least one "
                         "container with name pytorch")
        container["name"] = "pytorch"
        body["spec"]["elasticPolicy"] = {"nProcPerNode": 2}
        expected = self.api.kubectl("create", "--dry-run=server", "-f", "-", text=json.dumps(body)).stderr
        self.assertIn("Warning: spec.elasticPolicy.nProcPerNode is deprecated, use spec.nprocPerNode instead\n",
                      expected)

    def check_running(self, name, uids):
        """The pods that V1 made are kept, and what becomes of them counts. The ledger passes the webhook."""
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods(name)}, uids)
        for pod in self.pods(name):
            self.set_phase(pod, "Succeeded")
        wait_for("succeeded", lambda: self.conditions(name).get("Succeeded") == "True")
        self.assertEqual(self.job(name)["status"]["startTime"], "2026-01-01T00:00:00Z")
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods(name)}, uids)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main()
