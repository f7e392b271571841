# SPDX-License-Identifier: Apache-2.0
"""examples/jax with real JAX; its plugin is built against nothing but an installation. usage: test_jax.py PROGRAM
SOURCE CMAKE CC"""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

import kit

CMAKE, COMPILER = sys.argv[3], sys.argv[4]
CONFIG = kit.configuration("jax")


def quietly(*words):
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}")


def install():
    """Install the build and the plugin into a folder of their own; returns the program there."""
    folder = tempfile.mkdtemp(prefix="roundhouse-jax-")
    atexit.register(shutil.rmtree, folder)
    prefix, source = os.path.join(folder, "prefix"), os.path.join(folder, "jax")
    quietly(CMAKE, "--install", os.path.dirname(os.path.dirname(kit.PROGRAM)), "--prefix", prefix)
    # a copy, so that no path leads back to the sources
    shutil.copytree(os.path.join(kit.EXAMPLES, "plugins", "jax"), source)
    quietly(CMAKE, "-S", source, "-B", f"{source}/build", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_C_COMPILER={COMPILER}")
    quietly(CMAKE, "--build", f"{source}/build")
    quietly(CMAKE, "--install", f"{source}/build", "--prefix", prefix)
    return os.path.join(prefix, "bin", "roundhouse")


class JAX(kit.Training):
    @classmethod
    def setUpClass(cls):
        cls.program = install()

    def test_learns(self):
        status, seen = kit.rows("jax/digits.yaml", CONFIG, program=self.program)
        self.check_learnt(status, seen, world=3, floor=0.95)
        self.check_falls(seen)
        self.assertEqual(kit.outcomes(seen), {"Worker-0": "Succeeded", "Worker-1": "Succeeded",
                                              "Worker-2": "Succeeded"})

    def test_killed_process_is_the_first_fault(self):
        killer = kit.Killer(epoch=2, rank=2)
        status, seen = kit.rows("jax/digits.yaml", CONFIG, killer, {"EPOCHS": kit.FOREVER}, program=self.program)
        self.check_killed(killer, status, seen, "Worker-2")


kit.main()
