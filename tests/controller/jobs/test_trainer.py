#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_trainer.py ROUNDHOUSE [TEST...]: what happens to TrainJobs when others take away, change or forge what they
need, on a real API server. No kubelet runs, and nothing collects what is left."""
import base64
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402
from support import apiserver, wait_for  # noqa: E402

ROUNDHOUSE = sys.argv.pop(1) if len(sys.argv) > 1 else "roundhouse"
SOURCE = pathlib.Path(__file__).resolve().parents[3]
STOCK = SOURCE / "plugins" / "trainer" / "runtimes" / "stock.yaml"
GROUP = "trainer.kubeflow.org"
API = f"{GROUP}/v1alpha1"
RUNTIMES = f"/apis/{API}/clustertrainingruntimes"
JOBS = f"/apis/{API}/namespaces/default/trainjobs"
CORE = "/api/v1/namespaces/default"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def runtime(name, image):
    pod = {"containers": [{"name": "node", "image": image}]}
    node = {"name": "node", "template": {"metadata": {"labels": {STEP: "trainer"}},
                                         "spec": {"template": {"spec": pod}}}}
    return {"apiVersion": API, "kind": "ClusterTrainingRuntime", "metadata": {"name": name},
            "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [node]}}}}


def job(name, of, **trainer):
    return {"apiVersion": API, "kind": "TrainJob", "metadata": {"name": name},
            "spec": {"runtimeRef": {"name": of}, "trainer": trainer}}


class Trainer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        config = pathlib.Path(folder, "roundhouse.ini")
        config.write_text("[plugins]\nallow = trainer\n", encoding="utf-8")
        cls.api = cls.enterClassContext(apiserver.ApiServer())
        crds = subprocess.run([ROUNDHOUSE, "crds", "--config", config], check=True, capture_output=True,
                              text=True).stdout
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        for name in ("clustertrainingruntimes", "trainingruntimes", "trainjobs"):
            cls.api.kubectl("wait", "--for=condition=Established", f"crd/{name}.trainer.kubeflow.org")
        cls.api.kubectl("apply", "--server-side", "-f", str(STOCK))
        cls.enterClassContext(support.Controller(ROUNDHOUSE, cls.api.kubeconfig, folder, "--leader-elect=false",
                                                 "--config", config))

    def request(self, method, path, body=None, good=(200, 201), kind="application/json"):
        status, text = self.api.request(method, path, json.dumps(body) if body is not None else None, kind)
        self.assertIn(status, good, text)
        return json.loads(text)

    def read(self, path):
        answer = self.request("GET", path, good=(200, 404))
        return answer if answer.get("kind") != "Status" else None

    def stalled(self, name):
        conditions = self.read(f"{JOBS}/{name}").get("status", {}).get("conditions", [])
        return [one["message"] for one in conditions if (one["type"], one["status"]) == ("Stalled", "True")]

    def wait_stalled(self, name, words):
        wait_for(f"{name} stalled with {words!r}", lambda: any(words in text for text in self.stalled(name)))

    def pods(self, name):
        found = self.request("GET", f"{CORE}/pods?labelSelector=jobset.sigs.k8s.io/jobset-name={name}")["items"]
        return {pod["spec"]["hostname"]: pod for pod in found}

    def wait_pods(self, name, count):
        return wait_for(f"{count} pods of {name}", lambda: len(found := self.pods(name)) == count and found)

    def delete_pod(self, pod):
        self.request("DELETE", f"{CORE}/pods/{pod['metadata']['name']}?gracePeriodSeconds=0")

    def touch(self, name):
        """Let the controller look at a job: what it makes once is checked at a decision 30 s after the last check."""
        time.sleep(1)  # nothing to wait for: it is the controller's clock
        return self.request("PATCH", f"{JOBS}/{name}", {"metadata": {"annotations": {"touched": str(time.time())}}},
                            kind="application/merge-patch+json")

    def test_runtime_missing(self):
        """The job waits, says for what, and begins when it comes."""
        self.request("POST", JOBS, job("early", "late"))
        self.wait_stalled("early", f'waits for ClusterTrainingRuntime "late" of {API}, which does not exist')
        self.assertEqual(self.pods("early"), {})
        self.request("POST", RUNTIMES, runtime("late", "blue"))
        pod, = self.wait_pods("early", 1).values()
        self.assertEqual(pod["spec"]["containers"][0]["image"], "blue")

    def test_runtimes_of_other_apis(self):
        """Of another kind: the job waits, and its condition names the field. Of another group: the API server refuses
        the job by Roundhouse's definition, and where that of Kubeflow Trainer lets it in, it waits likewise."""
        odd = job("kind", "torch-distributed")
        odd["spec"]["runtimeRef"]["kind"] = "JobSet"
        self.request("POST", JOBS, odd)
        self.wait_stalled("kind", 'spec.runtimeRef.kind: Unsupported value: "JobSet": supported values: '
                                  '"ClusterTrainingRuntime", "TrainingRuntime"')
        odd = job("group", "torch-distributed")
        odd["spec"]["runtimeRef"]["apiGroup"] = "x.org"
        words = 'spec.runtimeRef.apiGroup: Unsupported value: "x.org": supported values: "trainer.kubeflow.org"'
        refused = self.request("POST", JOBS, odd, good=(422,))
        self.assertIn(words, refused["message"])
        schema = "/spec/versions/0/schema/openAPIV3Schema"
        enum = f"{schema}/properties/spec/properties/runtimeRef/properties/apiGroup/enum"
        definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trainjobs.trainer.kubeflow.org"
        change = [{"op": "remove", "path": enum}]
        self.request("PATCH", definition, change, kind="application/json-patch+json")
        self.addCleanup(self.request, "PATCH", definition, [{"op": "add", "path": enum, "value": [GROUP]}],
                        kind="application/json-patch+json")
        wait_for("Trainer's definition", lambda: self.api.request("POST", JOBS, json.dumps(odd),
                                                                  "application/json")[0] == 201)
        self.wait_stalled("group", words)
        self.assertEqual((self.pods("kind"), self.pods("group")), ({}, {}))

    def test_runtime_changes_and_vanishes(self):
        """A job that has begun goes on with the runtime that it had."""
        self.request("POST", RUNTIMES, runtime("moving", "blue"))
        self.request("POST", JOBS, job("begun", "moving", numNodes=2))
        pods = self.wait_pods("begun", 2)
        self.request("PUT", f"{RUNTIMES}/moving", {**runtime("moving", "red"), "metadata": self.read(
            f"{RUNTIMES}/moving")["metadata"]})
        self.request("POST", JOBS, job("later", "moving"))
        pod, = self.wait_pods("later", 1).values()
        self.assertEqual(pod["spec"]["containers"][0]["image"], "red")
        self.request("DELETE", f"{RUNTIMES}/moving")
        lost = pods["begun-node-0-1"]
        self.delete_pod(lost)
        again = wait_for("the pod again", lambda: (new := self.pods("begun").get("begun-node-0-1"))
                         and new["metadata"]["uid"] != lost["metadata"]["uid"] and new)
        self.assertEqual(again["spec"]["containers"][0]["image"], "blue")
        self.assertEqual(self.stalled("begun"), [])

    def test_keys(self):
        """A Secret with keys that somebody else made in the place of the job's is replaced by new ones."""
        self.request("POST", JOBS, job("keys", "deepspeed-distributed", numNodes=2))
        self.wait_pods("keys", 1)
        path = f"{CORE}/secrets/keys-mpi-ssh-auth"
        secret = self.read(path)
        own = {key: secret["data"][key] for key in ("ssh-privatekey", "ssh-publickey")}
        self.request("DELETE", path)
        forged = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/ssh-auth",
                  "metadata": {"name": "keys-mpi-ssh-auth", "ownerReferences": secret["metadata"]["ownerReferences"]},
                  "data": {key: base64.b64encode(b"forged").decode() for key in own}}
        self.request("POST", f"{CORE}/secrets", forged)
        again = wait_for("its own keys", lambda: self.touch("keys") and (now := self.read(path))
                         and now["data"]["ssh-privatekey"] != forged["data"]["ssh-privatekey"] and now)
        self.assertNotEqual(again["data"], own, "nobody keeps a copy")
        self.assertIn(b"PRIVATE KEY", base64.b64decode(again["data"]["ssh-privatekey"]))
        self.wait_pods("keys", 1)

    def test_keys_of_others(self):
        """The name is taken before the job comes: no pod is made, and the job says why."""
        self.request("POST", f"{CORE}/secrets", {
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/ssh-auth",
            "metadata": {"name": "taken-mpi-ssh-auth"},
            "data": {key: base64.b64encode(b"theirs").decode() for key in ("ssh-privatekey", "ssh-publickey")}})
        self.request("POST", JOBS, job("taken", "deepspeed-distributed", numNodes=2))
        self.wait_stalled("taken", "taken-mpi-ssh-auth")
        self.assertEqual(self.pods("taken"), {})
        self.request("DELETE", f"{CORE}/secrets/taken-mpi-ssh-auth")
        self.wait_pods("taken", 1)

    def test_job_of_another_controller(self):
        """A JobSet has made the job's Service: Kubeflow Trainer serves this job. No pod is added to its pods."""
        self.request("POST", f"{CORE}/services", {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "theirs", "ownerReferences": [
                {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "theirs", "uid": "1",
                 "controller": True}]},
            "spec": {"clusterIP": "None", "selector": {"jobset.sigs.k8s.io/jobset-name": "theirs"}}})
        self.request("POST", JOBS, job("theirs", "torch-distributed"))
        self.wait_stalled("theirs", 'it belongs to JobSet "theirs"')
        self.assertEqual(self.pods("theirs"), {})
        service = self.read(f"{CORE}/services/theirs")
        self.assertEqual([one["kind"] for one in service["metadata"]["ownerReferences"]], ["JobSet"])


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main(verbosity=2)
