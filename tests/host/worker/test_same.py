# SPDX-License-Identifier: Apache-2.0
"""Plugins in processes of their own answer as in the program's: render and lint print the same, byte by byte."""
import glob
import os
import subprocess
import sys
import unittest

PROGRAM, SOURCE = sys.argv[1:3]
PATIENCE = 180


def call(how, *words):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ROUNDHOUSE_")}
    done = subprocess.run([PROGRAM, *words, "--plugin-isolation", how], capture_output=True, text=True, env=environment,
                          timeout=PATIENCE, check=False)
    return done.returncode, done.stdout, done.stderr


class Same(unittest.TestCase):
    def same(self, *words):
        self.assertEqual(call("process", *words), call("none", *words), words)

    def test_goldens_and_examples(self):
        paths = sorted(glob.glob(os.path.join(SOURCE, "tests/goldens/objects/*.yaml")) +
                       glob.glob(os.path.join(SOURCE, "examples/*/*.yaml")))
        self.assertGreater(len(paths), 50)
        for path in paths:
            self.same("render", "-o", "json", path)
        self.same("lint", *paths)

    def test_invalid_jobs(self):
        paths = sorted(glob.glob(os.path.join(SOURCE, "tests/goldens/invalid/**/*.yaml"), recursive=True))
        self.assertTrue(paths)
        self.same("lint", *paths)

    def test_what_plugins_describe(self):
        for words in (["crds"], ["plugins", "list", "-o", "json"], ["manifests"],
                      *(["explain", kind] for kind in ("tfjob", "mpijob"))):
            self.same(*words)


unittest.main(module="__main__", argv=sys.argv[:1], verbosity=2)
