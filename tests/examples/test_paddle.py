# SPDX-License-Identifier: Apache-2.0
"""examples/paddle with real Paddle. usage: test_paddle.py PROGRAM SOURCE"""
import os

import kit

CONFIG = kit.configuration("paddle")


class Paddle(kit.Training):
    def test_collective_learns(self):
        secret = "a-word-that-stands-nowhere-else"
        before = set(os.listdir(os.path.join(kit.EXAMPLES, "paddle")))
        status, seen = kit.rows("paddle/digits.yaml", CONFIG, environment={"A_SECRET": secret})
        self.check_learnt(status, seen, world=2, floor=0.95)
        self.assertEqual(kit.outcomes(seen), {"Worker-0": "Succeeded", "Worker-1": "Succeeded"})
        # the launcher writes its environment into files, which go with the pod
        self.assertEqual(set(os.listdir(os.path.join(kit.EXAMPLES, "paddle"))), before)
        self.assertFalse(any(secret in text for text in kit.lines(seen)))


kit.main()
