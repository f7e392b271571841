#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The backend mpi with Open MPI 5: as it was built, and built with 5. usage: test_openmpi5.py SOURCE PROGRAM MODULE
COMPILER FILE...

PROGRAM is the test of the backend, MODULE the backend, FILE... what that is made of. Open MPI 5 comes from
examples/setup.
"""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

SKIP_STATUS = 77
TIMEOUT = 300
SOURCE, PROGRAM, MODULE, COMPILER, *FILES = sys.argv[1:]


def openmpi():
    """The folder of Open MPI 5."""
    loader = importlib.machinery.SourceFileLoader("setup", os.path.join(SOURCE, "examples", "setup"))
    setup = importlib.util.module_from_spec(importlib.util.spec_from_loader("setup", loader))
    loader.exec_module(setup)
    made = setup.Framework("openmpi", setup.PYTHON)
    if not made.ready():
        why = made.fault().strip().splitlines()
        print("SKIPPED: Open MPI 5 is not there; run examples/setup openmpi" + (f" ({why[0]})" if why else ""))
        sys.exit(SKIP_STATUS)
    return str(made.place)


class OpenMpi5(unittest.TestCase):
    """All tests of the backend, under mpirun 5."""

    def run_tests(self, modules, libraries):
        """The program's own, with a backend from a folder."""
        environment = {**os.environ, "RH_TEST_MPIRUN": os.path.join(FOLDER, "bin", "mpirun"),
                       "RH_TEST_MODULES": modules, **({"LD_LIBRARY_PATH": libraries} if libraries else {})}
        done = subprocess.run([PROGRAM], env=environment, timeout=TIMEOUT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("SKIPPED", done.stdout)

    def test_version(self):
        """It is 5 that is tested."""
        done = subprocess.run([os.path.join(FOLDER, "bin", "mpirun"), "--version"], text=True, capture_output=True,
                              check=True)
        self.assertIn("Open MPI) 5.", done.stdout)

    def test_built_with_another(self):
        """The ABI is the same: the backend of this build finds 5's library by LD_LIBRARY_PATH."""
        self.run_tests(os.path.dirname(MODULE), os.path.join(FOLDER, "lib"))

    def test_built_with_5(self):
        """As -DRH_OPENMPI=FOLDER does."""
        with tempfile.TemporaryDirectory() as modules:
            done = subprocess.run([COMPILER, "-std=gnu17", "-O1", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                                   "-shared", "-fPIC", "-fvisibility=hidden", f"-I{SOURCE}/include", f"-I{SOURCE}",
                                   f"-isystem{FOLDER}/include", *FILES, "-o", os.path.join(modules, "librhcomm_mpi.so"),
                                   f"{FOLDER}/lib/libmpi.so", f"-Wl,-rpath,{FOLDER}/lib",
                                   "-Wl,--allow-shlib-undefined", "-Wl,-z,nodelete"], text=True, capture_output=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.run_tests(modules, None)


if __name__ == "__main__":
    FOLDER = openmpi()
    unittest.main(argv=sys.argv[:1], verbosity=2)
