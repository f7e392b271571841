#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_kubectl.py ROUNDHOUSE JAX_DIR [TEST...]: what people type who have jobs; a real API server, a played kubelet.

What is deleted is collected by a real controller manager, where there is one (assets.py kube-controller-manager).
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "controller"))
import support  # noqa: E402
from support import apiserver, wait_for  # noqa: E402

from node import node_played  # noqa: E402

ARGUMENTS = 2
ROUNDHOUSE, JAX = sys.argv[1:1 + ARGUMENTS] if len(sys.argv) > ARGUMENTS else ("roundhouse", "")
del sys.argv[1:1 + ARGUMENTS]

MANAGER = "kube-controller-manager"
# Kind, field of the replicas, container, a type that alone decides.
KINDS = [("PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Master"),
         ("TFJob", "tfReplicaSpecs", "tensorflow", "Worker"),
         ("XGBoostJob", "xgbReplicaSpecs", "xgboost", "Master"), ("MPIJob", "mpiReplicaSpecs", "mpi", "Launcher"),
         ("PaddleJob", "paddleReplicaSpecs", "paddle", "Worker"), ("JAXJob", "jaxReplicaSpecs", "jax", "Worker")]


def manager():
    """-> the path of a kube-controller-manager, or None"""
    places = (folder / MANAGER for folder in (apiserver.assets(), apiserver.cache() / "bin") if folder)
    return next((place for place in places if os.access(place, os.X_OK)), None)


def job(name, kind="PyTorchJob", replicas=None, **spec):
    _, field, container, only = next(row for row in KINDS if row[0] == kind)
    pod = {"spec": {"containers": [{"name": container, "image": "localhost/busybox:1",
                                    "command": ["sleep", "infinity"]}]}}
    types = {type_: {"replicas": count, "restartPolicy": "Never", "template": pod}
             for type_, count in (replicas or {only: 1}).items()}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name},
            "spec": {"runPolicy": {"cleanPodPolicy": "None"}, field: types, **spec}}


def elastic(name, workers):
    return job(name, replicas={"Worker": workers}, elasticPolicy={"minReplicas": 1, "maxReplicas": 4,
                                                                  "rdzvBackend": "c10d"})


class Cluster(apiserver.ApiServer):
    """With the garbage collector."""

    def prepare(self):
        super().prepare()
        program = manager()
        if program:
            self.daemons[MANAGER] = apiserver.Daemon(MANAGER, [
                program, "--kubeconfig", self.kubeconfig, "--leader-elect=false", "--secure-port=0",
                "--controllers=garbage-collector-controller"], self.folder)


class Kubectl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.api = cls.enterClassContext(Cluster())
        crds = subprocess.run([ROUNDHOUSE, "crds", "--plugins", JAX], check=True, capture_output=True, text=True).stdout
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        cls.api.wait_served()
        cls.enterClassContext(support.Controller(ROUNDHOUSE, cls.api.kubeconfig, folder, "--leader-elect=false",
                                                 "--plugins", JAX))
        cls.kubelet = cls.enterClassContext(node_played.PlayedKubelet(cls.api))

    def kubectl(self, *words, **how):
        return self.api.kubectl(*words, **how).stdout

    def create(self, body):
        self.kubectl("create", "-f", "-", text=json.dumps(body))
        return f"{body['kind'].lower()}/{body['metadata']['name']}"

    def wait(self, what, condition):
        return self.kubectl("wait", f"--for=condition={condition}", what, "--timeout=180s")

    def pods(self, name):
        return self.kubectl("get", "pods", "-l", f"training.kubeflow.org/job-name={name}", "-o", "name").split()

    def belonging(self, name):
        """-> pods and Services, and what MPI makes, that bear the job's name"""
        words = self.kubectl("get", "pods,services,configmaps,serviceaccounts,roles,rolebindings", "-o", "name").split()
        return sorted(word for word in words if re.search(rf"/{name}(-|$)", word))

    # --- looking

    def test_columns(self):
        """V1's, in V1's order: MPIJob has them the other way around."""
        for kind, *_, decides in KINDS:
            with self.subTest(kind=kind):
                name = f"columns-{kind.lower()}"
                what = self.create(job(name, kind))
                self.wait(what, "Running")
                head, row = self.kubectl("get", kind.lower()).splitlines()
                mpi = kind == "MPIJob"
                self.assertEqual(head.split(), ["NAME", "AGE", "STATE"] if mpi else ["NAME", "STATE", "AGE"])
                self.assertRegex(row, rf"^{name} +\d+s +Running *$" if mpi else rf"^{name} +Running +\d+s *$")
                self.kubelet.finish([pod.removeprefix("pod/") for pod in self.pods(name)], 0)
                self.assertIn("condition met", self.wait(what, "Succeeded"))
                self.assertIn("Succeeded", self.kubectl("get", what))
                self.kubectl("delete", what)

    def test_describe(self):
        what = self.create(job("described", replicas={"Master": 1, "Worker": 2}))
        self.wait(what, "Running")
        self.kubelet.finish(["described-worker-1"], 7)
        self.wait(what, "Failed")
        wait_for("event of the end", lambda: "PyTorchJobFailed" in self.kubectl("describe", what))
        text = self.kubectl("describe", what)
        for expected in (r"Kind: +PyTorchJob", r"Type: +Failed", r"Reason: +PyTorchJobFailed",
                         r"Message: +PyTorchJob described is failed because 1 Worker replica\(s\) failed\.",
                         r"Normal +SuccessfulCreatePod .* pytorchjob-controller +Created pod: described-master-0",
                         r"Normal +SuccessfulCreateService .* pytorchjob-controller +Created service: "
                         r"described-worker-1", r"Normal +PyTorchJobFailed .* pytorchjob-controller +PyTorchJob "
                         r"described is failed"):
            self.assertRegex(text, expected)
        events = self.kubectl("events", "--for", what)
        self.assertIn("Created pod: described-worker-0", events)
        self.kubectl("delete", what)

    def test_wait(self):
        """`kubectl wait` ends with 0 when the condition comes, and with 1 when it does not."""
        what = self.create(job("waited"))
        self.wait(what, "Created")
        self.wait(what, "Running")
        late = self.api.kubectl("wait", "--for=condition=Succeeded", what, "--timeout=1s", check=False)
        self.assertEqual(late.returncode, 1)
        self.assertIn("timed out", late.stderr)
        self.kubelet.finish(["waited-master-0"], 0)
        self.assertEqual(self.wait(what, "Succeeded"), "pytorchjob.kubeflow.org/waited condition met\n")
        self.kubectl("wait", "--for=jsonpath={.status.replicaStatuses.Master.succeeded}=1", what, "--timeout=180s")
        self.kubectl("wait", "--for=condition=Running=false", what, "--timeout=180s")
        self.kubectl("delete", what)
        self.kubectl("wait", "--for=delete", what, "--timeout=180s")

    def test_explain(self):
        for path, expected in (("pytorchjob.spec.elasticPolicy.minReplicas", "minReplicas <integer>"),
                               ("pytorchjobs.spec.pytorchReplicaSpecs.restartPolicy", "restartPolicy <string>"),
                               ("tfjob.spec.runPolicy", "ttlSecondsAfterFinished\t<integer>"),
                               ("mpijob.spec.slotsPerWorker", "slotsPerWorker <integer>"),
                               ("jaxjob.status.conditions", "lastTransitionTime\t<string>"),
                               ("paddlejob.spec", "paddleReplicaSpecs\t<map[string]Object> -required-"),
                               ("xgboostjob", "XGBoostJob")):
            with self.subTest(path=path):
                text = self.kubectl("explain", path)
                self.assertIn("GROUP:      kubeflow.org", text)
                self.assertIn(expected, text)
                self.assertNotIn("<empty>", text)
        self.assertIn("elasticPolicy", self.kubectl("explain", "pytorchjob", "--recursive"))

    def test_discovery(self):
        """No short names, as in V1; plural, singular, kind and full name."""
        rows = self.kubectl("api-resources", "--api-group=kubeflow.org", "--no-headers").splitlines()
        self.assertEqual(sorted(tuple(row.split()) for row in rows),
                         sorted((f"{kind.lower()}s", "kubeflow.org/v1", "true", kind) for kind, *_ in KINDS))
        what = self.create(job("found"))
        for word in ("pytorchjobs", "pytorchjob", "PyTorchJob", "pytorchjobs.kubeflow.org",
                     "pytorchjob.v1.kubeflow.org"):
            self.assertEqual(self.kubectl("get", word, "found", "-o", "name").strip(), "pytorchjob.kubeflow.org/found")
        self.kubectl("delete", what)

    # --- changing

    def test_scale(self):
        """An elastic job through the scale subresource, as a HorizontalPodAutoscaler does it."""
        what = self.create(elastic("wide", 2))
        self.wait(what, "Running")
        scale = json.loads(
            self.kubectl("get", "--raw", "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/wide/scale"))
        self.assertEqual((scale["spec"]["replicas"], scale["status"]["replicas"]), (2, 2))
        selected = self.kubectl("get", "pods", "-l", scale["status"]["selector"], "-o", "name").split()
        self.assertEqual(sorted(selected), ["pod/wide-worker-0", "pod/wide-worker-1"])
        for count in (4, 1):
            self.assertIn("scaled", self.kubectl("scale", what, f"--replicas={count}"))
            names = [f"pod/wide-worker-{i}" for i in range(count)]
            wait_for(f"{count} pods", lambda: self.pods("wide") == names)
            self.kubectl("wait", f"--for=jsonpath={{.status.replicaStatuses.Worker.active}}={count}", what,
                         "--timeout=180s")
        refused = self.api.kubectl("scale", what, "--replicas=2", "--current-replicas=3", check=False)
        self.assertIn("Expected replicas to be 3, was 1", refused.stderr)
        self.kubectl("delete", what)

    def test_suspend(self):
        what = self.create(job("paused", replicas={"Master": 1, "Worker": 1}))
        self.wait(what, "Running")
        self.kubectl("patch", what, "--type=merge", "-p", '{"spec":{"runPolicy":{"suspend":true}}}')
        self.wait(what, "Suspended")
        wait_for("no pods", lambda: not self.pods("paused"))
        self.assertRegex(self.kubectl("get", what), r"paused +Suspended ")
        self.kubectl("patch", what, "--type=json", "-p",
                     '[{"op":"replace","path":"/spec/runPolicy/suspend","value":false}]')
        self.wait(what, "Running")
        self.kubectl("wait", "--for=condition=Suspended=false", what, "--timeout=180s")
        self.assertEqual(len(self.pods("paused")), 2)
        self.kubectl("delete", what)

    def test_apply(self):
        """Applying the same again changes nothing, also when the job has run; the spec is nobody's but the user's."""
        for flags in (["--server-side"], []):
            with self.subTest(flags=flags):
                text = json.dumps(job("applied", replicas={"Master": 1, "Worker": 1}))
                self.assertIn("created" if not flags else "serverside-applied",
                              self.kubectl("apply", *flags, "-f", "-", text=text))
                self.wait("pytorchjob/applied", "Running")
                before = self.api.object("pytorchjob", "applied")
                self.assertEqual(self.kubectl("diff", *flags, "-f", "-", text=text), "")
                self.kubectl("apply", *flags, "-f", "-", text=text)
                after = self.api.object("pytorchjob", "applied")
                self.assertEqual((before["metadata"]["generation"], before["spec"]), (1, after["spec"]))
                self.assertEqual(after["metadata"]["generation"], 1)
                self.kubectl("delete", "pytorchjob/applied")
                wait_for("no pods", lambda: not manager() or not self.pods("applied"))

    # --- deleting

    @unittest.skipUnless(manager(), f"there is no {MANAGER}; tests/cluster/assets.py {MANAGER} builds it")
    def test_delete(self):
        """In the background, in the foreground, and what must stay stays."""
        for how in ("background", "foreground"):
            for kind in ("PyTorchJob", "MPIJob"):
                with self.subTest(how=how, kind=kind):
                    replicas = {"Launcher" if kind == "MPIJob" else "Master": 1, "Worker": 2}
                    name = f"{how}-{kind.lower()}"
                    what = self.create(job(name, kind, replicas))
                    self.wait(what, "Running")
                    self.assertGreaterEqual(len(self.belonging(name)), 6)
                    self.kubectl("delete", what, f"--cascade={how}", "--timeout=180s")
                    wait_for("everything gone", lambda: not self.belonging(name))

    @unittest.skipUnless(manager(), f"there is no {MANAGER}; tests/cluster/assets.py {MANAGER} builds it")
    def test_delete_orphans(self):
        """--cascade=orphan leaves the pods, and a new job of that name adopts them."""
        body = job("kept", replicas={"Master": 1, "Worker": 1})
        what = self.create(body)
        self.wait(what, "Running")
        before = {pod: self.kubectl("get", pod, "-o", "jsonpath={.metadata.uid}") for pod in self.pods("kept")}
        self.kubectl("delete", what, "--cascade=orphan", "--timeout=180s")
        self.assertEqual(self.pods("kept"), list(before))
        self.assertEqual(self.kubectl("get", "pod/kept-master-0", "-o", "jsonpath={.metadata.ownerReferences}"), "")
        self.create(body)
        self.wait(what, "Running")
        uid = self.kubectl("get", what, "-o", "jsonpath={.metadata.uid}")
        for pod, same in before.items():
            wait_for(f"{pod} adopted", lambda: self.kubectl("get", pod, "-o",
                                                            "jsonpath={.metadata.ownerReferences[0].uid}") == uid)
            self.assertEqual(self.kubectl("get", pod, "-o", "jsonpath={.metadata.uid}"), same)
        self.kubectl("delete", what)
        wait_for("everything gone", lambda: not self.belonging("kept"))

    @unittest.skipUnless(manager(), f"there is no {MANAGER}; tests/cluster/assets.py {MANAGER} builds it")
    def test_delete_a_pod(self):
        """A pod that somebody deletes comes again, when its job is to go on."""
        body = job("hurt", replicas={"Worker": 2})
        body["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "OnFailure"
        what = self.create(body)
        self.wait(what, "Running")
        uid = self.kubectl("get", "pod/hurt-worker-1", "-o", "jsonpath={.metadata.uid}")
        self.kubectl("delete", "pod", "hurt-worker-1")
        wait_for("another pod", lambda: self.api.kubectl("get", "pod/hurt-worker-1", "-o", "jsonpath={.metadata.uid}",
                                                         check=False).stdout not in ("", uid))
        self.kubectl("delete", what)
        wait_for("everything gone", lambda: not self.belonging("hurt"))


if __name__ == "__main__":
    apiserver.skip_without_assets()
    if not manager():
        print(f"no {MANAGER}: what collects is not tested; tests/cluster/assets.py {MANAGER} builds it",
              file=sys.stderr)
    unittest.main(verbosity=2)
