# SPDX-License-Identifier: Apache-2.0
"""examples/mpi2 with Debian's Open MPI: a job of kubeflow.org/v2beta1 with two processes in each worker, without ssh;
and a TrainJob that does the same. usage: test_mpi2.py PROGRAM SOURCE"""
import shutil
import subprocess

import kit


class Mpi2(kit.Training):
    def test_pi(self):
        status, seen = kit.rows("mpi2/pi.yaml")
        self.assertEqual(status, 0)
        self.assertIn("4 processes: pi is about 3.14", "\n".join(kit.lines(seen)))
        self.assertEqual(kit.outcomes(seen), {"Launcher-0": "Succeeded", "Worker-0": "Stopped", "Worker-1": "Stopped"})

    def test_pi_by_a_trainjob(self):
        status, seen = kit.rows("trainer/pi.yaml")
        self.assertEqual(status, 0)
        self.assertIn("4 processes: pi is about 3.14", "\n".join(kit.lines(seen)))
        self.assertEqual(kit.outcomes(seen), {"launcher-0": "Succeeded", "node-0": "Stopped"})


if not shutil.which("mpirun") or subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"],
                                                stderr=subprocess.DEVNULL, check=False).returncode != 0:
    kit.skip("Open MPI or mpi4py is not there; install openmpi-bin and python3-mpi4py")
kit.main()
