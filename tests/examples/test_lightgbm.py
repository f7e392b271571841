# SPDX-License-Identifier: Apache-2.0
"""examples/lightgbm with real LightGBM. usage: test_lightgbm.py PROGRAM SOURCE"""
import re

import kit

CONFIG = kit.configuration("lightgbm")


class LightGBM(kit.Training):
    def test_both_grow_the_same_trees(self):
        status, seen = kit.rows("lightgbm/digits.yaml", CONFIG)
        self.check_learnt(status, seen, world=2, floor=0.93)
        self.assertEqual(kit.outcomes(seen), {"Master-0": "Succeeded", "Worker-0": "Succeeded"})
        models = [match[1] for match in (re.match(r"rank \d model (\w+)", text) for text in kit.lines(seen)) if match]
        self.assertEqual(len(models), 2, kit.lines(seen))
        self.assertEqual(models[0], models[1])


kit.main()
