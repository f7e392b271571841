# SPDX-License-Identifier: Apache-2.0
"""What the tests of examples share: run one as a user would, and look at what it wrote.

A test is started as test_FRAMEWORK.py PROGRAM SOURCE. Without what it needs it must end by itself: skip() says why.
"""
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import unittest

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
EXAMPLES = os.path.join(SOURCE, "examples")
SKIP_STATUS = 77
# Far above what any example takes, for a machine that does other things too.
TIMEOUT = "400"
# So many epochs that a training does not end before it is killed.
FOREVER = "1000000"


def skip(reason):
    print("SKIPPED:", " | ".join(str(reason).split("\n")))
    sys.exit(SKIP_STATUS)


def setup_module():
    """examples/setup, whose name has no ending."""
    loader = importlib.machinery.SourceFileLoader("setup", os.path.join(EXAMPLES, "setup"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("setup", loader))
    loader.exec_module(module)
    return module


def configuration(framework):
    """The configuration that maps the framework's images to its environment; without the environment, skip."""
    setup = setup_module()
    try:
        made = setup.Framework(framework, setup.PYTHON)
    except setup.Failure as failure:
        skip(failure)
    if not made.ready():
        skip(f"the environment of {framework} is not made; {made.fault() or f'run examples/setup {framework}'}")
    return str(setup.write_mapping(setup.PYTHON))


def rows(example, config=None, react=lambda row: None, environment=None, program=PROGRAM):
    """Run an example to its end; returns its exit status and what it wrote.

    react() sees each row as it comes; environment has further variables.
    """
    words = [program, "run", "-o", "json", "--timeout", TIMEOUT, *(["--config", config] if config else []),
             os.path.join(EXAMPLES, example)]
    seen = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ | (environment or {})) as child:
        for line in child.stdout:
            seen.append(json.loads(line))
            react(seen[-1])
    return child.returncode, seen


def lines(seen):
    """The output of the replicas."""
    return [row["line"] for row in seen if row["type"] == "log"]


def conditions(seen):
    """Type to message of the conditions that the job had, at any time, with status True."""
    return {c["type"]: c["message"] for row in seen if row["type"] == "job"
            for c in row["object"].get("status", {}).get("conditions", []) if c["status"] == "True"}


def outcomes(seen):
    """Replica, by type and index, to its outcome."""
    return {f"{row['replicaType']}-{row['index']}": row["outcome"] for row in seen if row["type"] == "replica"}


def replica_of(row):
    """The replica that a line is from, as "Worker-1"."""
    return row.get("replica", "").capitalize()


class Killer:
    """Kills one training process, once, when the training has come to an epoch: that of a rank, or of a replica.

    parent: kills what started it instead, torchrun for one.
    """

    def __init__(self, epoch, rank=None, replica=None, parent=False):
        self.epoch, self.rank, self.replica, self.parent = epoch, rank, replica, parent
        self.process, self.killed, self.row, self.rows = None, None, None, 0

    def __call__(self, row):
        text = row.get("line", "")
        ready = re.match(r"rank (\d+) of \d+ is ready, process (\d+)", text)
        if ready and not self.killed and (int(ready[1]) == self.rank or replica_of(row) == self.replica):
            self.process = int(ready[2])
        if not self.killed and self.process and text.startswith(f"epoch {self.epoch} "):
            self.killed, self.row = parent_of(self.process) if self.parent else self.process, self.rows
            os.kill(self.killed, signal.SIGKILL)
        self.rows += 1


def parent_of(process):
    with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def alive(process):
    """Whether it runs; one that has ended and that nobody has asked for does not."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Training(unittest.TestCase):
    """Checks that all trainings have in common."""

    def processes(self, seen):
        """The processes that reported ready."""
        found = [re.search(r"(?:ready|serves), process (\d+)", text) for text in lines(seen)]
        return [int(match[1]) for match in found if match]

    def check_accuracy(self, status, seen, floor):
        self.assertEqual(status, 0, "\n".join(lines(seen)[-30:]))
        found = [float(m[1]) for m in (re.match(r"test accuracy ([\d.]+)", text) for text in lines(seen)) if m]
        self.assertEqual(len(found), 1, lines(seen)[-30:])
        self.assertGreaterEqual(found[0], floor)

    def check_learnt(self, status, seen, world, floor):
        """It ended well, with the accuracy that was asked for, formed of that many processes, none of which is left."""
        self.check_accuracy(status, seen, floor)
        for rank in range(world):
            self.assertTrue(any(text.startswith(f"rank {rank} of {world} is ready") for text in lines(seen)),
                            f"rank {rank} of {world}")
        self.check_nothing_left(seen)

    def check_killed(self, killer, status, seen, replica):
        """The job failed, the replica is named as the first fault, and nothing is left of the others."""
        self.assertTrue(killer.killed)
        self.assertEqual(status, 1, "\n".join(lines(seen)[-30:]))
        self.assertIn(f"First fault: {replica}", conditions(seen)["Failed"])
        self.assertIn("SIGKILL", conditions(seen)["Failed"])
        self.assertEqual(outcomes(seen)[replica], "Failed")
        self.check_nothing_left(seen)

    def check_falls(self, seen):
        """The loss at the end is less than half of that in the beginning."""
        losses = [float(m[1]) for m in (re.match(r"(?:epoch|tree) \d+ .*loss ([\d.]+)", text) for text in lines(seen))
                  if m]
        self.assertGreaterEqual(len(losses), 2, lines(seen)[-30:])
        self.assertLess(losses[-1], losses[0] / 2)

    def check_nothing_left(self, seen):
        self.assertEqual([process for process in self.processes(seen) if alive(process)], [])


def main():
    unittest.main(module="__main__", argv=sys.argv[:1], verbosity=2)
