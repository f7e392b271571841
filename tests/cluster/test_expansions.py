# SPDX-License-Identifier: Apache-2.0
"""test_expansions.py PROGRAM FOLDER: jobs whose replica types come from their plugin, on a real API server.

FOLDER has expand.so with NodesJob of example.org, and the definition of NodesRuntime.
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
JOBS = "/apis/example.org/v1/namespaces/default/nodesjobs"
RUNTIMES = "/apis/example.org/v1alpha1/nodesruntimes"
PODS = "/api/v1/namespaces/default/pods"


class Expansions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = cls.enterClassContext(apiserver.ApiServer())
        crds = subprocess.run([PROGRAM, "crds", "--plugins", FOLDER], check=True, capture_output=True, text=True).stdout
        cls.api.kubectl("apply", "--server-side", "-f", "-", text=crds)
        cls.api.wait_served()

    def create(self, path, body):
        status, answer = self.api.request("POST", path, json.dumps(body))
        self.assertEqual(status, 201, answer)

    def pods(self):
        return sorted(pod["metadata"]["name"] for pod in json.loads(self.api.get(PODS))["items"]
                      if "deletionTimestamp" not in pod["metadata"])

    def test_a_runtime_gives_the_pods(self):
        """A job waits for its runtime; the two together give its pods; an edit of the job changes their number."""
        with support.Controller(PROGRAM, self.api.kubeconfig, self.api.folder, "--leader-elect=false", "--plugins",
                                FOLDER):
            self.create(JOBS, {"apiVersion": "example.org/v1", "kind": "NodesJob", "metadata": {"name": "j"},
                               "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 2}}})
            self.create(RUNTIMES, {"apiVersion": "example.org/v1alpha1", "kind": "NodesRuntime",
                                   "metadata": {"name": "torch"},
                                   "spec": {"node": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}})
            support.wait_for("two pods", lambda: self.pods() == ["j-node-0", "j-node-1"])
            env = json.loads(self.api.get(f"{PODS}/j-node-1"))["spec"]["containers"][0]["env"]
            self.assertIn({"name": "NODES", "value": "2 1 1"}, env)
            self.api.kubectl("patch", "nodesjobs", "j", "--type=merge", "-p", '{"spec":{"trainer":{"numNodes":3}}}')
            support.wait_for("three pods", lambda: self.pods() == ["j-node-0", "j-node-1", "j-node-2"])


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
