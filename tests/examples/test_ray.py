# SPDX-License-Identifier: Apache-2.0
"""examples/ray with real Ray; its plugin in Rust is built against nothing but an installation. usage: test_ray.py
PROGRAM SOURCE CMAKE"""
import sys

import kit
import outside

CONFIG = kit.configuration("ray")


class Ray(kit.Training):
    @classmethod
    def setUpClass(cls):
        cls.program = outside.install("ray", sys.argv[3])

    def test_learns(self):
        status, seen = kit.rows("ray/digits.yaml", CONFIG, program=self.program)
        self.check_learnt(status, seen, world=3, floor=0.9)
        self.assertEqual(kit.outcomes(seen)["Head-0"], "Succeeded")
        self.assertEqual(set(kit.outcomes(seen)), {"Head-0", "Worker-0", "Worker-1"})


kit.main()
