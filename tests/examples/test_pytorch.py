# SPDX-License-Identifier: Apache-2.0
"""examples/pytorch with real torch: training, the death of a rank, elastic training. usage: test_pytorch.py PROGRAM SOURCE"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
EXAMPLES = os.path.join(SOURCE, "examples", "pytorch")
CHECKPOINTS = "/tmp/roundhouse-example-restart"
PYTHON = "/usr/bin/python3"


def rows(example, react=lambda row: None):
    """Run an example to its end; returns its exit status and what it wrote. react() sees each row as it comes."""
    words = [PROGRAM, "run", "-o", "json", "--timeout", "180", os.path.join(EXAMPLES, example)]
    seen = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            seen.append(json.loads(line))
            react(seen[-1])
    return child.returncode, seen


def lines(seen):
    """The output of the replicas."""
    return [r["line"] for r in seen if r["type"] == "log"]


def conditions(seen):
    """Type to message of the conditions that the job had, at any time, with status True."""
    return {c["type"]: c["message"] for r in seen if r["type"] == "job"
            for c in r["object"].get("status", {}).get("conditions", []) if c["status"] == "True"}


class Killer:
    """Kills the process of one rank, once, when the training has come to an epoch."""

    def __init__(self, rank, epoch):
        self.rank, self.epoch, self.process, self.killed = rank, epoch, None, False

    def __call__(self, row):
        text = row.get("line", "")
        ready = re.match(rf"rank {self.rank} of \d+ is ready, process (\d+)", text)
        if ready:
            self.process = int(ready[1])
        if not self.killed and self.process and text.startswith(f"epoch {self.epoch} "):
            self.killed = True
            os.kill(self.process, signal.SIGKILL)


class PyTorch(unittest.TestCase):
    def accuracy(self, seen):
        found = [float(m[1]) for m in (re.match(r"test accuracy ([\d.]+)", text) for text in lines(seen)) if m]
        self.assertEqual(len(found), 1, lines(seen)[-30:])
        return found[0]

    def test_digits_learns(self):
        status, seen = rows("digits.yaml")
        self.assertEqual(status, 0, lines(seen)[-30:])
        self.assertGreaterEqual(self.accuracy(seen), 0.95)
        replicas = [(r["replicaType"], r["index"], r["outcome"]) for r in seen if r["type"] == "replica"]
        self.assertEqual(replicas, [("Master", 0, "Succeeded"), ("Worker", 0, "Succeeded"), ("Worker", 1, "Succeeded")])

    def test_killed_rank_restarts_the_job_and_the_training_ends_well(self):
        shutil.rmtree(CHECKPOINTS, ignore_errors=True)
        self.addCleanup(shutil.rmtree, CHECKPOINTS, ignore_errors=True)
        killer = Killer(rank=2, epoch=3)
        status, seen = rows("restart.yaml", killer)
        self.assertTrue(killer.killed)
        self.assertEqual(status, 0, lines(seen)[-30:])
        self.assertGreaterEqual(self.accuracy(seen), 0.95)
        self.assertIn("First fault: Worker-1", conditions(seen)["Restarting"])
        self.assertIn("SIGKILL", conditions(seen)["Restarting"])
        self.assertTrue(any(text.startswith("going on with epoch") for text in lines(seen)))
        self.assertEqual({r["restarts"] for r in seen if r["type"] == "replica"}, {1})

    def test_elastic_forms_and_learns(self):
        status, seen = rows("elastic.yaml")
        self.assertEqual(status, 0, lines(seen)[-30:])
        self.assertGreaterEqual(self.accuracy(seen), 0.95)


if subprocess.run([PYTHON, "-c", "import torch, sklearn"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
    print(f"SKIPPED: {PYTHON} has no torch or sklearn; install python3-torch and python3-sklearn")
    sys.exit(77)
unittest.main(argv=sys.argv[:1], verbosity=2)
