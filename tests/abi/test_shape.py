# SPDX-License-Identifier: Apache-2.0
"""test_shape.py PROGRAM FOLDER: FOLDER has names.so, whose NamesJob has names and labels of another shape."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FOLDER = sys.argv[1:3]
COMMAND = "echo $MY_POD reaches $FIRST_HOST"


def call(*words, isolation):
    return subprocess.run([PROGRAM, *words, "--plugins", FOLDER, f"--plugin-isolation={isolation}"],
                          capture_output=True, text=True, check=False)


def job():
    template = {"spec": {"containers": [{"name": "c", "image": "i", "command": ["sh", "-c", COMMAND]}]}}
    return json.dumps({"apiVersion": "example.org/v1", "kind": "NamesJob", "metadata": {"name": "n"},
                       "spec": {"namesReplicaSpecs": {"Launcher": {"template": template},
                                                      "Node": {"replicas": 2, "template": template}}}})


class Shape(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "job.json"
        self.path.write_text(job(), encoding="utf-8")

    def tearDown(self):
        self.folder.cleanup()

    def test_run(self):
        for isolation in ("none", "process"):
            done = call("run", str(self.path), isolation=isolation)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout + done.stderr, r"n-launcher-0-\w{5} reaches 127\.")

    def test_render(self):
        for isolation in ("none", "process"):
            done = call("render", str(self.path), isolation=isolation)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(len(re.findall(r"^ +name: n-node-0-[01]-\w{5}$", done.stdout, re.M)), 2, done.stdout)
            self.assertIn("value: n-node-0-0.n.default.svc\n", done.stdout)
            self.assertNotIn("training.kubeflow.org/replica-type", done.stdout)

    def test_the_kit_passes(self):
        done = call("plugins", "test", f"{FOLDER}/names.so", str(self.path), isolation="none")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
