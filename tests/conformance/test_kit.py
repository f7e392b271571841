# SPDX-License-Identifier: Apache-2.0
"""`roundhouse plugins test` as its users call it.

usage: test_kit.py ROUNDHOUSE BROKEN PLUGINS EXAMPLE... : BROKEN has the plugins of broken.c, PLUGINS those of the
release.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PROGRAM, BROKEN, PLUGINS = sys.argv[1:4]
EXAMPLES = sys.argv[4:]
PATIENCE = 600
GOOD = os.path.join(BROKEN, "NOTHING.so")
JOB = """apiVersion: example.org/v1
kind: BrokenJob
metadata: {{name: one}}
spec:
  note: {note}
  brokenReplicaSpecs:
    Leader:
      template: {{spec: {{containers: [{{name: broken, image: i}}]}}}}
    Worker:
      replicas: 2
      template: {{spec: {{containers: [{{name: broken, image: i}}]}}}}
"""


class Kit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def call(self, *words):
        return subprocess.run([PROGRAM, "plugins", "test", *words], capture_output=True, text=True, timeout=PATIENCE,
                              check=False)

    def job(self, note="hello"):
        path = os.path.join(self.folder, "job.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(JOB.format(note=note))
        return path

    def test_the_plugins_of_the_release_and_the_examples_pass(self):
        files = [os.path.join(PLUGINS, name) for name in sorted(os.listdir(PLUGINS)) if name.endswith(".so")]
        self.assertGreaterEqual(len(files), 5)
        for path in files + EXAMPLES:
            with self.subTest(path=path):
                done = self.call(path)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_report_for_people(self):
        done = self.call(GOOD)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertTrue(lines[0].startswith("ok      load "), lines[0])
        self.assertIn("skipped golden", done.stdout)
        self.assertIn(f"{GOOD}: passed: 0 failures, 0 warnings;", lines[-1])
        self.assertNotIn("\033", done.stdout)
        done = self.call(os.path.join(BROKEN, "CRASH_POD.so"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed  crash ", done.stdout)
        self.assertIn("a crash in pod(): Segmentation fault", done.stdout)
        self.assertIn("fix: every service may return NULL", done.stdout)

    def test_a_report_for_ci(self):
        done = self.call("-o", "junit", os.path.join(BROKEN, "ENV_NAME.so"))
        suite = ElementTree.fromstring(done.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertGreaterEqual(int(suite.get("failures")), 1)
        self.assertEqual(int(suite.get("tests")), len(suite.findall("testcase")))
        failed = {case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None}
        self.assertIn("env", failed)
        self.assertEqual(len(failed), int(suite.get("failures")))

    def test_jobs_of_the_author_are_used(self):
        report = json.loads(self.call("-o", "json", GOOD).stdout)
        more = json.loads(self.call("-o", "json", GOOD, self.job()).stdout)
        self.assertEqual(more["jobs"], report["jobs"] + 1)

    def test_golden_cases(self):
        golden = os.path.join(self.folder, "golden")
        done = self.call(GOOD, self.job(), "--golden", golden)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("nothing is recorded of this job", done.stdout)
        done = self.call(GOOD, self.job(), "--record", golden)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(os.listdir(golden), ["brokenjob-default-one.yaml"])
        with open(os.path.join(golden, "brokenjob-default-one.yaml"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual((text.count("kind: Pod\n"), text.count("kind: ConfigMap\n"), text.count("kind: Service\n")),
                         (3, 1, 3))
        done = self.call(GOOD, self.job(), "--golden", golden)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("ok      golden", done.stdout)
        done = self.call(GOOD, self.job("goodbye"), "--golden", golden)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"brokenjob-default-one.yaml, line \d+")
        self.assertRegex(done.stdout, r"- +value: hello")
        self.assertRegex(done.stdout, r"\+ +value: goodbye")

    def test_a_job_that_is_not_valid_is_a_finding_of_golden_cases(self):
        path = self.job()
        with open(path, "a", encoding="utf-8") as file:
            file.write("  slots: 0\n")
        done = self.call(GOOD, path, "--golden", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("spec.slots", done.stdout)

    def test_bad_input(self):
        for words, message in (((), "use `plugins list`"), (("/nowhere.so",), "No such file"),
                               ((GOOD, "/nowhere.yaml"), "/nowhere.yaml"),
                               ((GOOD, "--golden", "x"), "--golden needs files with jobs"),
                               ((GOOD, "--time-limit", "0s"), "must be longer than 0"), ((GOOD, "-o", "xml"), "junit")):
            done = self.call(*words)
            self.assertEqual(done.returncode, 2, (words, done.stdout, done.stderr))
            self.assertIn(message, done.stderr)

    def test_what_is_not_a_plugin_fails_the_first_check(self):
        path = self.job()
        done = self.call(path)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("failed  load", done.stdout)

    def test_nothing_is_left_behind(self):
        path = "/tmp/roundhouse-broken-plugin"
        for rule in ("WRITE_POD", "WRITE_INIT"):
            self.call(os.path.join(BROKEN, rule + ".so"))
            self.assertFalse(os.path.exists(path), rule)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
