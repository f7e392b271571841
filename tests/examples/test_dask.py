# SPDX-License-Identifier: Apache-2.0
"""examples/dask with real Dask; its plugin in C++ is built against nothing but an installation. usage: test_dask.py
PROGRAM SOURCE CMAKE"""
import sys

import kit
import outside

CONFIG = kit.configuration("dask")


class Dask(kit.Training):
    @classmethod
    def setUpClass(cls):
        cls.program = outside.install("dask", sys.argv[3])

    def test_learns(self):
        status, seen = kit.rows("dask/digits.yaml", CONFIG, program=self.program)
        self.check_learnt(status, seen, world=2, floor=0.9)
        self.assertEqual(kit.outcomes(seen)["Runner-0"], "Succeeded")
        self.assertEqual(set(kit.outcomes(seen)), {"Scheduler-0", "Worker-0", "Worker-1", "Runner-0"})


kit.main()
