# SPDX-License-Identifier: Apache-2.0
"""test_restarts.py PROGRAM FOLDER: FOLDER has restarts.so, whose RestartsJob restarts a worker, all workers, or all."""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FOLDER = sys.argv[1:3]
LIMIT = 500  # seconds; a hang
# Each life of a pod is a line of one file. Worker 0 fails in its first life, when all have begun theirs.
WORKER = """echo $POD >> "$0"
[ $POD = r-worker-0 ] && [ $(grep -c worker-0 "$0") = 1 ] || exec sleep 1000
until grep -q worker-1 "$0" && grep -q leader-0 "$0"; do sleep 0.05; done
exit 3"""
# The leader ends when there are as many lives as the job is to have.
LEADER = 'echo $POD >> "$0"; until [ $(wc -l < "$0") -ge $1 ]; do sleep 0.05; done'


def call(*words, isolation):
    return subprocess.run([PROGRAM, *words, "--plugins", FOLDER, f"--plugin-isolation={isolation}"],
                          capture_output=True, text=True, check=False, timeout=LIMIT)


def job(lives, count, **spec):
    env = [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]

    def pod(*command):
        return {"template": {"spec": {"containers": [
            {"name": "c", "image": "i", "env": env, "command": ["sh", "-c", *command]}]}}}
    return json.dumps({"apiVersion": "example.org/v1", "kind": "RestartsJob", "metadata": {"name": "r"}, "spec": {
        "runPolicy": {"cleanPodPolicy": "All"}, **spec,
        "restartsReplicaSpecs": {"Leader": pod(LEADER, str(lives), str(count)),
                                 "Worker": {"replicas": 2, **pod(WORKER, str(lives))}}}})


class Restarts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def lives(self, isolation, count, **spec):
        path, lives = pathlib.Path(self.folder, "job.json"), pathlib.Path(self.folder, "lives")
        lives.write_text("", encoding="utf-8")
        path.write_text(job(lives, count, **spec), encoding="utf-8")
        done = call("run", str(path), isolation=isolation)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return collections.Counter(lives.read_text(encoding="utf-8").split())

    def test_one_replica(self):
        for isolation in ("none", "process"):
            self.assertEqual(self.lives(isolation, 4, scope="replica"),
                             {"r-leader-0": 1, "r-worker-0": 2, "r-worker-1": 1})

    def test_a_type(self):
        for isolation in ("none", "process"):
            self.assertEqual(self.lives(isolation, 5, scope="type"),
                             {"r-leader-0": 1, "r-worker-0": 2, "r-worker-1": 2})

    def test_all(self):
        for isolation in ("none", "process"):
            self.assertEqual(self.lives(isolation, 6, scope="all"),
                             {"r-leader-0": 2, "r-worker-0": 2, "r-worker-1": 2})

    def test_the_kit_passes(self):
        path = pathlib.Path(self.folder, "job.json")
        path.write_text(job("x", 1, generation="one"), encoding="utf-8")
        done = call("plugins", "test", f"{FOLDER}/restarts.so", str(path), isolation="none")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
