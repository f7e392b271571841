# SPDX-License-Identifier: Apache-2.0
"""examples/pytorch that need torch 2: FSDP, transformers, DeepSpeed. usage: test_pytorch2.py PROGRAM SOURCE"""
import re

import kit

CONFIG = kit.configuration("pytorch")
THREE = {"Master-0": "Succeeded", "Worker-0": "Succeeded", "Worker-1": "Succeeded"}


class PyTorch2(kit.Training):
    def test_fsdp_learns_with_no_process_holding_all(self):
        status, seen = kit.rows("pytorch/fsdp.yaml", CONFIG)
        self.check_learnt(status, seen, world=3, floor=0.95)
        self.check_falls(seen)
        self.assertEqual(kit.outcomes(seen), THREE)
        held = [(int(m[1]), int(m[2])) for m in (re.search(r"with (\d+) of (\d+) weights", text)
                                                 for text in kit.lines(seen)) if m]
        self.assertEqual(len(held), 3)
        self.assertEqual(sum(mine for mine, _ in held), held[0][1])
        self.assertLess(max(mine for mine, _ in held), held[0][1] / 2)

    def test_transformers_trainer_learns(self):
        status, seen = kit.rows("pytorch/transformer.yaml", CONFIG)
        self.check_learnt(status, seen, world=2, floor=0.90)
        self.check_falls(seen)
        self.assertEqual(kit.outcomes(seen), {"Master-0": "Succeeded", "Worker-0": "Succeeded"})

    def test_deepspeed_learns(self):
        status, seen = kit.rows("pytorch/zero.yaml", CONFIG)
        self.check_learnt(status, seen, world=3, floor=0.95)
        self.check_falls(seen)
        self.assertEqual(kit.outcomes(seen), THREE)


kit.main()
