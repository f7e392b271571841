# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of torch.distributed for a backend. usage: torch_suite.py BACKEND RESULTS [NAME...]

For a Python with torch 2 and expecttest. RESULTS gets a line of JSON for each case: name, "passed", "failed" or
"skipped", and why. Ranks are forked: torch is imported once, and not by each rank of each case. NAME: only these cases.
"""
import json
import os
import re
import sys
import time
import unittest

WORLD = 3
# of PyTorch's 300 s; a case that ends takes some seconds
SECONDS = 120
# cases of devices that are not there, which PyTorch would skip, and of DistributedDataParallel, which test_torch2 has
LEFT_OUT = re.compile("cuda|gpu|nccl|ddp|DistributedDataParallel", re.I)

BACKEND, RESULTS = sys.argv[1:3]
os.environ.update(BACKEND=BACKEND, WORLD_SIZE=str(WORLD), MASTER_ADDR="127.0.0.1", RH_COMM_LOG="off",
                  TORCH_DISTRIBUTED_DEBUG="OFF", GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")

import torch  # noqa: E402
import torch.multiprocessing  # noqa: E402
import roundhouse.torch  # noqa: E402,F401 (registers the backend)
from torch.testing._internal import common_distributed  # noqa: E402

# what PyTorch would ask of a backend that it knows: it has groups, serves DistributedDataParallel and is there
for _feature in ("ddp", "subgroup", "plugin"):
    common_distributed.DistTestCases.backend_feature[_feature].add("rh")
common_distributed.get_timeout = lambda _name: SECONDS

from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend  # noqa: E402


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
    names = sys.argv[3:] or [name for name in unittest.TestLoader().getTestCaseNames(Suite)
                             if not LEFT_OUT.search(name)]
    with open(RESULTS, "w", encoding="utf-8") as file:
        unittest.TestSuite(map(Suite, names)).run(Notes(file))


if __name__ == "__main__":
    main()
