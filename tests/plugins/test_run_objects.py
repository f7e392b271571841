# SPDX-License-Identifier: Apache-2.0
"""Check run_objects.py itself: it must fail for what is not listed and for what is listed and not used.

usage: test_run_objects.py GOLDENS
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

GOLDENS = sys.argv.pop(1)
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a-0"}, "spec": {"restartPolicy": "Never"}}
ENTRY = {"id": "policy", "suite": "objects", "golden": "pt-*", "path": "Pod/a-0.spec.restartPolicy"}


class RunObjects(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        os.mkdir(os.path.join(self.folder.name, "objects"))
        self.write("objects/pt-a.yaml", "{}")
        self.write("objects/pt-a.objects.json", json.dumps([POD]))

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        with open(os.path.join(self.folder.name, name), "w") as file:
            file.write(text)

    def run_objects(self, made, entries, prefix="pt-", status=0):
        """Run it with a program that prints these objects."""
        self.write("differences.json", json.dumps(entries))
        self.write("made.json", json.dumps({"kind": "List", "items": made}))
        self.write("program", f"#!/bin/sh\ncat \"$(dirname \"$0\")/made.json\"\nexit {status}\n")
        program = os.path.join(self.folder.name, "program")
        os.chmod(program, 0o755)
        done = subprocess.run([sys.executable, "-B", f"{GOLDENS}/run_objects.py", program, prefix, self.folder.name],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def differing(self):
        return [dict(POD, spec={"restartPolicy": "Always"})]

    def test_alike(self):
        self.assertEqual(self.run_objects([POD], []), (0, "1 goldens are alike\n"))

    def test_unlisted(self):
        status, output = self.run_objects(self.differing(), [])
        self.assertEqual(status, 1)
        self.assertIn('pt-a: Pod/a-0.spec.restartPolicy: V1 "Never" here "Always"', output)

    def test_listed(self):
        self.assertEqual(self.run_objects(self.differing(), [ENTRY])[0], 0)

    def pod_with(self, *names):
        return dict(POD, spec={"containers": [{"name": "c", "env": [{"name": name, "value": "1"} for name in names]}]})

    def test_one_variable_more_is_listed_alone(self):
        """An entry for one variable must not excuse all others."""
        entry = dict(ENTRY, path="Pod/*.spec.containers[0].env[NEW]")
        self.write("objects/pt-a.objects.json", json.dumps([self.pod_with("RANK", "WORLD_SIZE")]))
        status, output = self.run_objects([self.pod_with("RANK", "WORLD_SIZE", "NEW")], [])
        self.assertEqual(status, 1)
        self.assertIn('pt-a: Pod/a-0.spec.containers[0].env[NEW]: V1 null here {"name": "NEW", "value": "1"}', output)
        self.assertEqual(self.run_objects([self.pod_with("RANK", "WORLD_SIZE", "NEW")], [entry])[0], 0)
        status, output = self.run_objects([self.pod_with("RANK", "NEW", "OTHER")], [entry])
        self.assertEqual(status, 1)
        self.assertIn("env[OTHER]: V1 null", output)
        self.assertIn("env[WORLD_SIZE]: V1 {", output)
        status, output = self.run_objects([self.pod_with("WORLD_SIZE", "RANK", "NEW")], [entry])
        self.assertEqual(status, 1)
        self.assertIn('env.order: V1 ["RANK", "WORLD_SIZE"] here ["WORLD_SIZE", "RANK"]', output)

    def test_listed_and_not_used(self):
        status, output = self.run_objects([POD], [ENTRY])
        self.assertEqual(status, 1)
        self.assertIn("nothing uses policy", output)

    def test_entries_of_other_suites_do_not_count(self):
        lives = dict(ENTRY, suite="lives")
        self.assertEqual(self.run_objects([POD], [lives])[0], 0)
        self.assertEqual(self.run_objects(self.differing(), [lives])[0], 1)

    def test_missing_and_further_objects(self):
        self.assertEqual(self.run_objects([], [])[0], 1)
        self.assertEqual(self.run_objects([POD, dict(POD, kind="Service")], [])[0], 1)

    def test_a_program_that_fails(self):
        status, output = self.run_objects([POD], [], status=3)
        self.assertEqual(status, 1)
        self.assertIn("exit status 3", output)

    def test_no_golden(self):
        self.assertEqual(self.run_objects([POD], [], prefix="tf-")[0], 1)


if __name__ == "__main__":
    unittest.main()
