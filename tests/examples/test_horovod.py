# SPDX-License-Identifier: Apache-2.0
"""examples/horovod with Debian's torch and Open MPI. usage: test_horovod.py PROGRAM SOURCE"""
import shutil

import kit


class Horovod(kit.Training):
    def test_digits_learns(self):
        status, seen = kit.rows("horovod/digits.yaml", config=CONFIG)
        self.check_learnt(status, seen, world=2, floor=0.93)
        self.check_falls(seen)
        places = {text.split()[-1] for text in kit.lines(seen) if " is ready, process " in text}
        self.assertEqual(places, {"digits-horovod-worker-0", "digits-horovod-worker-1"})


if not shutil.which("mpirun"):
    kit.skip("Open MPI is not there; install openmpi-bin")
CONFIG = kit.configuration("horovod")
kit.main()
