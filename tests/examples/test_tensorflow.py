# SPDX-License-Identifier: Apache-2.0
"""examples/tensorflow with real TensorFlow. usage: test_tensorflow.py PROGRAM SOURCE"""
import kit

CONFIG = kit.configuration("tensorflow")


class TensorFlow(kit.Training):
    def test_multi_worker_learns(self):
        status, seen = kit.rows("tensorflow/multi-worker.yaml", CONFIG)
        self.check_learnt(status, seen, world=2, floor=0.93)
        self.check_falls(seen)
        self.assertEqual(kit.outcomes(seen), {"Worker-0": "Succeeded", "Worker-1": "Succeeded"})

    def test_killed_worker_is_the_first_fault_and_the_other_is_stopped(self):
        """The collective of the one that is left hangs or fails; either way nothing may be left of it."""
        killer = kit.Killer(epoch=1, replica="Worker-1")
        status, seen = kit.rows("tensorflow/multi-worker.yaml", CONFIG, killer, {"EPOCHS": kit.FOREVER})
        self.check_killed(killer, status, seen, "Worker-1")

    def test_success_of_the_chief_ends_workers_and_servers_that_never_end(self):
        status, seen = kit.rows("tensorflow/parameter-server.yaml", CONFIG)
        self.check_accuracy(status, seen, floor=0.90)
        self.check_falls(seen)
        self.assertEqual(kit.outcomes(seen), {"Chief-0": "Succeeded", "PS-0": "Stopped", "Worker-0": "Stopped",
                                              "Worker-1": "Stopped"})
        self.assertEqual(len(self.processes(seen)), 3)
        self.assertIn("variables are on /job:ps/replica:0/task:0/device:CPU:0", kit.lines(seen))
        self.check_nothing_left(seen)


kit.main()
