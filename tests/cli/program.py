# SPDX-License-Identifier: Apache-2.0
"""What the tests of commands share: the program under test, and how to call it."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import waits  # noqa: E402

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
TIMEOUT = waits.PATIENCE_S

# Runs that are kept belong to the tests, not to who starts them.
_STATE = tempfile.TemporaryDirectory()
os.environ["XDG_STATE_HOME"] = _STATE.name

JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: {name}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: example/train:1
            command: [sh, -c, {command}]
"""


def call(*words, text=None, env=None):
    """Run the program; its result has returncode, stdout, stderr as text."""
    return subprocess.run([PROGRAM, *words], input=text, capture_output=True, text=True, timeout=TIMEOUT,
                          env={**os.environ, **(env or {})}, check=False)


def wait_for(condition, what):
    """Wait until condition() holds. -> what it returned"""
    return waits.wait_for(what, condition, pause=0.01)


def job(name="one", command="'exit 0'"):
    """The text of a small job."""
    return JOB.format(name=name, command=command)


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, text, name="job.yaml"):
        """Write a file into the test's folder; returns its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path


def main():
    """Run the tests of the file that calls this; the program's words are not unittest's."""
    unittest.main(module="__main__", argv=sys.argv[:1], verbosity=2)
