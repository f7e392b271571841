#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The player of recorded lives (tests/goldens/play_lives.py) against a controller that is slow. No network."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "goldens"))
import play_lives  # noqa: E402

JOB = {"kind": "PyTorchJob", "metadata": {"name": "j"}}


class SlowApi(play_lives.Api):
    """An API server beside which a controller looks at the pods at every third request alone. It ends the job when the
    master has succeeded."""
    def __init__(self, *names):
        super().__init__("")
        self.pods = {name: {"metadata": {"name": name}, "status": {"phase": "Running"},
                            "spec": {"containers": [{"name": "pytorch", "image": "i"}]}} for name in names}
        self.ended, self.counts, self.exits, self.requests = False, {}, [], 0
        self.look()

    def look(self):
        phases = {name: pod["status"]["phase"] for name, pod in self.pods.items()}
        if not self.ended:
            self.exits += [name for name, phase in phases.items() if phase == "Succeeded" and name not in self.exits]
            self.ended = phases.get("j-master-0") == "Succeeded"
            self.counts = {"active": sum(phase == "Running" for phase in phases.values())}

    def call(self, method, path, body=None, kind="application/json"):
        self.requests += 1
        if self.requests % 3 == 0:
            self.look()
        pod = re.fullmatch(r".*/pods/(.*)/status", path)
        if pod:
            self.pods[pod.group(1)]["status"].update(body["status"])
        return 200, {"status": {"conditions": [{"type": "Succeeded", "status": str(self.ended)}],
                                "replicaStatuses": {"All": self.counts}}}

    def owned(self, what, name):
        return self.pods if what == "pods" else {}


def play_end(*names):
    """-> the pods whose exit the controller has seen, when all pods end in one step"""
    api = SlowApi(*names)
    play_lives.do_step(api, JOB, {"succeed": ["*"]})
    api.look()
    return api.exits


class PlayerTest(unittest.TestCase):
    def test_ends_are_seen_one_by_one(self):
        self.assertEqual(play_end("j-worker-0", "j-worker-1", "j-worker-2"),
                         ["j-worker-0", "j-worker-1", "j-worker-2"])

    def test_the_master_ends_the_job_before_the_workers_end(self):
        self.assertEqual(play_end("j-master-0", "j-worker-0", "j-worker-1"), ["j-master-0"])


if __name__ == "__main__":
    unittest.main()
