# SPDX-License-Identifier: Apache-2.0
"""examples/trainer with Debian's torch: two nodes of a TrainJob train by torchrun. usage: test_trainer.py PROGRAM
SOURCE"""
import subprocess

import kit


class Trainer(kit.Training):
    def test_digits_learns(self):
        status, seen = kit.rows("trainer/digits.yaml")
        self.check_learnt(status, seen, world=2, floor=0.95)
        self.assertEqual(kit.outcomes(seen), {"node-0": "Succeeded", "node-1": "Succeeded"})


if subprocess.run(["/usr/bin/python3", "-c", "import torch, sklearn"], stderr=subprocess.DEVNULL,
                  check=False).returncode != 0:
    kit.skip("torch or scikit-learn of Debian is not there; install python3-torch and python3-sklearn")
kit.main()
