# SPDX-License-Identifier: Apache-2.0
"""examples/pytorch with Debian's torch: training, the death of a rank, elastic training. usage: test_pytorch.py PROGRAM
SOURCE"""
import os
import subprocess

import kit

PYTHON = "/usr/bin/python3"


class PyTorch(kit.Training):
    def check_checkpoints(self, seen, claim):
        """They were in the folder of the run; a training that has ended well removes its own."""
        folder = os.path.join(seen[-1]["kept"], "claims", f"default.{claim}")
        self.assertIn(f'the claim "{claim}" is the folder {folder}',
                      [row["text"] for row in seen if row["type"] == "note"])
        self.assertEqual(os.listdir(folder), [])

    def test_digits_learns(self):
        status, seen = kit.rows("pytorch/digits.yaml")
        self.check_learnt(status, seen, world=3, floor=0.95)
        self.assertEqual(kit.outcomes(seen), {"Master-0": "Succeeded", "Worker-0": "Succeeded",
                                              "Worker-1": "Succeeded"})

    def test_killed_rank_restarts_the_job_and_the_training_ends_well(self):
        killer = kit.Killer(epoch=3, rank=2)
        status, seen = kit.rows("pytorch/restart.yaml", react=killer)
        self.assertTrue(killer.killed)
        self.check_learnt(status, seen, world=3, floor=0.95)
        self.assertIn("First fault: Worker-1", kit.conditions(seen)["Restarting"])
        self.assertIn("SIGKILL", kit.conditions(seen)["Restarting"])
        self.assertTrue(any(text.startswith("going on with epoch") for text in kit.lines(seen)))
        self.assertEqual({row["restarts"] for row in seen if row["type"] == "replica"}, {1})
        self.check_checkpoints(seen, "restart-checkpoints")

    def test_elastic_replaces_a_killed_worker(self):
        """The launcher of worker 1 is killed: its container is started again, joins, and both go on from the
        checkpoint."""
        killer = kit.Killer(epoch=3, replica="Worker-1", parent=True)
        status, seen = kit.rows("pytorch/elastic.yaml", react=killer)
        self.assertTrue(killer.killed)
        self.check_learnt(status, seen, world=2, floor=0.95)
        after = seen[killer.row + 1 :]
        self.assertTrue(any(text.startswith("going on with epoch") for text in kit.lines(after)), kit.lines(after))
        joined = [row for row in after if row.get("line", "").startswith("rank ") and kit.replica_of(row) == "Worker-1"]
        self.assertTrue(any(" of 2 is ready" in row["line"] for row in joined), joined)
        self.assertFalse(kit.alive(killer.process))
        self.assertEqual({f"{row['replicaType']}-{row['index']}": row["restarts"] for row in seen
                          if row["type"] == "replica"},
                         {"Worker-0": 0, "Worker-1": 1})
        self.check_checkpoints(seen, "elastic-checkpoints")


if subprocess.run([PYTHON, "-c", "import torch, sklearn"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
    kit.skip(f"{PYTHON} has no torch or sklearn; install python3-torch and python3-sklearn")
kit.main()
