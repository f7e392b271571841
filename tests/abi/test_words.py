# SPDX-License-Identifier: Apache-2.0
"""test_words.py PROGRAM FOLDER: FOLDER has conditions.so, whose WordsJob has conditions and a status of its own."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FOLDER = sys.argv[1:3]


def call(*words, isolation):
    return subprocess.run([PROGRAM, *words, "--plugins", FOLDER, f"--plugin-isolation={isolation}"],
                          capture_output=True, text=True, check=False)


def job(command, **spec):
    template = {"spec": {"containers": [{"name": "c", "image": "i", "command": ["sh", "-c", command]}]}}
    return json.dumps({"apiVersion": "example.org/v1", "kind": "WordsJob", "metadata": {"name": "w"},
                       "spec": {"wordsReplicaSpecs": {"Worker": {"template": template}}, **spec}})


class Words(unittest.TestCase):
    def run_job(self, text, isolation):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "job.json"
            path.write_text(text, encoding="utf-8")
            return call("run", str(path), isolation=isolation)

    def test_run_knows_the_end(self):
        for isolation in ("none", "process"):
            done = self.run_job(job("true"), isolation)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("w: Complete: all completed", done.stdout + done.stderr)
            done = self.run_job(job("exit 3"), isolation)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("w: Failed: default/w failed", done.stdout + done.stderr)

    def test_explain_shows_the_status(self):
        for isolation in ("none", "process"):
            page = call("explain", "wordsjob.status", isolation=isolation)
            self.assertIn("jobsStatus", page.stdout)
            self.assertNotIn("startTime", page.stdout)

    def test_the_kit_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "job.json"
            path.write_text(job("true"), encoding="utf-8")
            done = call("plugins", "test", f"{FOLDER}/conditions.so", str(path), isolation="none")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
