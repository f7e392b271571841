# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of torch.distributed for a backend. usage: torch_suite.py BACKEND TAKEN_FOR WORLD RESULTS
[PATTERN]

For a Python with torch 2 and expecttest. PyTorch skips almost all cases for backends that it does not know by name, so
it is given another name, TAKEN_FOR: that of a backend whose cases are to be passed. RESULTS gets a line of JSON for
each case: name, "passed", "failed" or "skipped", and why. Ranks are forked: torch is imported once, and not by each
rank of each case. PATTERN: a regular expression of names.
"""
import json
import os
import re
import sys
import time
import unittest

# of PyTorch's 300 s; a case that ends takes some seconds
SECONDS = 120

BACKEND, TAKEN_FOR, WORLD, RESULTS = sys.argv[1:5]
os.environ.update(BACKEND=TAKEN_FOR, WORLD_SIZE=WORLD, MASTER_ADDR="127.0.0.1", RH_COMM_LOG="off",
                  TORCH_DISTRIBUTED_DEBUG="OFF", GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing  # noqa: E402
import roundhouse.torch  # noqa: E402,F401 (registers the backend)
from torch.testing._internal import common_distributed  # noqa: E402

common_distributed.get_timeout = lambda _name: SECONDS

from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend  # noqa: E402


_init = dist.init_process_group


def init_process_group(*args, **kwargs):
    """As PyTorch's tests call it, but with the backend that is tested."""
    return _init(*args, **(kwargs | ({"backend": BACKEND} if kwargs.get("backend") == TAKEN_FOR else {})))


dist.init_process_group = init_process_group


class Suite(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)


class Notes(unittest.TestResult):
    """Writes down how each case ends, and a case that is not written down did not end."""

    def __init__(self, file):
        super().__init__()
        self.file, self.began = file, 0

    def note(self, test, outcome, why=""):
        found = {"name": test.id().rpartition(".")[2], "outcome": outcome, "why": why,
                 "seconds": round(time.monotonic() - self.began, 1)}
        print(json.dumps(found), file=self.file, flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def addSuccess(self, test):
        self.note(test, "passed")

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addFailure(self, test, err):
        self.note(test, "failed", str(err[1]))

    addError = addFailure


def main():
    pattern = re.compile(sys.argv[5] if len(sys.argv) > 5 else "")
    names = [name for name in unittest.TestLoader().getTestCaseNames(Suite) if pattern.search(name)]
    with open(RESULTS, "w", encoding="utf-8") as file:
        unittest.TestSuite(map(Suite, names)).run(Notes(file))


if __name__ == "__main__":
    main()
