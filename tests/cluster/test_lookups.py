# SPDX-License-Identifier: Apache-2.0
"""test_lookups.py PROGRAM FOLDER: jobs that name a runtime of the cluster, on a real API server.

FOLDER has lookup.so with RuntimeJob of example.org, and the definition of ClusterRuntime.
"""
import json
import pathlib
import subprocess
import sys
import unittest

import apiserver

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "controller"))
import support  # noqa: E402

PROGRAM, FOLDER = sys.argv[1:3]
JOBS = "/apis/example.org/v1/namespaces/default/runtimejobs"
RUNTIMES = "/apis/example.org/v1alpha1/clusterruntimes"
PODS = "/api/v1/namespaces/default/pods"


def job(name, runtime):
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"apiVersion": "example.org/v1", "kind": "RuntimeJob", "metadata": {"name": name},
            "spec": {"runtimeRef": {"name": runtime}, "replicaSpecs": {"Node": {"template": template}}}}


def runtime(name, image):
    return {"apiVersion": "example.org/v1alpha1", "kind": "ClusterRuntime", "metadata": {"name": name},
            "spec": {"image": image}}


class Lookups(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = cls.enterClassContext(apiserver.ApiServer(audit=True))
        crds = subprocess.run([PROGRAM, "crds", "--plugins", FOLDER], check=True, capture_output=True, text=True).stdout
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        cls.api.wait_served()

    def create(self, path, body):
        status, answer = self.api.request("POST", path, json.dumps(body))
        self.assertEqual(status, 201, answer)

    def stalled(self, name):
        conditions = json.loads(self.api.get(f"{JOBS}/{name}")).get("status", {}).get("conditions", [])
        return [c["message"] for c in conditions if (c["type"], c["status"]) == ("Stalled", "True")]

    def image(self, name):
        items = json.loads(self.api.get(PODS))["items"]
        return [pod["spec"]["containers"][0]["image"] for pod in items
                if pod["metadata"]["name"] == f"{name}-node-0"]

    def check(self, prefix):
        """A job waits for its runtime and begins when it comes; a snapshot keeps what it was."""
        self.create(JOBS, job(f"{prefix}-j", f"{prefix}-torch"))
        message = support.wait_for("a condition", lambda: self.stalled(f"{prefix}-j"))
        self.assertEqual(message, [f'waits for ClusterRuntime "{prefix}-torch" of example.org/v1alpha1, which does not '
                                   "exist"])
        self.create(RUNTIMES, runtime(f"{prefix}-torch", "blue"))
        self.assertEqual(support.wait_for("a pod", lambda: self.image(f"{prefix}-j")), ["blue"])
        kept = json.loads(self.api.get(f"/api/v1/namespaces/default/configmaps/{prefix}-j-runtime"))
        self.assertEqual(json.loads(kept["data"]["spec"]), {"image": "blue"})

    def reads(self, name):
        """-> how often the controller asked for the runtime, by a list of its one name"""
        return sum(f"fieldSelector=metadata.name%3D{name}" in event["requestURI"] for event in self.api.audit_events()
                   if (event.get("objectRef") or {}).get("resource") == "clusterruntimes")

    def test_many_jobs(self):
        """A runtime that twenty jobs name is read once; what the watch shows of it then is what new pods get."""
        names = [f"many-{i}" for i in range(20)]
        self.create(RUNTIMES, runtime("many", "blue"))
        for name in names:
            self.create(JOBS, job(name, "many"))
        with support.Controller(PROGRAM, self.api.kubeconfig, self.api.folder, "--leader-elect=false", "--plugins",
                                FOLDER, name="many"):
            for name in names:
                self.assertEqual(support.wait_for("a pod", lambda name=name: self.image(name)), ["blue"])
            self.assertEqual(self.reads("many"), 1)
            self.create(JOBS, job("late", "later"))
            support.wait_for("a condition", lambda: self.stalled("late"))
            self.assertEqual(self.reads("later"), 1)
            self.create(RUNTIMES, runtime("later", "red"))
            self.assertEqual(support.wait_for("a pod", lambda: self.image("late")), ["red"])
            self.assertEqual((self.reads("many"), self.reads("later")), (1, 1))

    def test_all_namespaces(self):
        with support.Controller(PROGRAM, self.api.kubeconfig, self.api.folder, "--leader-elect=false", "--plugins",
                                FOLDER):
            self.check("a")

    def test_one_namespace(self):
        """What is in no namespace is watched all the same."""
        with support.Controller(PROGRAM, self.api.kubeconfig, self.api.folder, "--leader-elect=false", "--plugins",
                                FOLDER, "--namespace", "default", name="one"):
            self.check("b")


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
