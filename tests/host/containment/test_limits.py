# SPDX-License-Identifier: Apache-2.0
"""Plugins that answer too much, or what nobody may: the job fails at once, for a reason that names plugin and limit."""
import json
import os

import hostile
from hostile import Case


class Limits(Case):
    def fails(self, name, *words):
        """A run with a time limit that counts as a hang when it is reached."""
        self.add(name)
        self.file("roundhouse.ini", "[plugins]\ntime-limit = 10m\n")
        done = self.call("run", "--timeout", "10m", self.hostile)
        self.assertEqual(done.returncode, 1, (done.stdout, done.stderr))
        for word in (f"plugin {name}", *words):
            self.assertIn(word, done.stdout + done.stderr)
        return done

    def test_an_answer_that_is_too_large(self):
        for name, service in (("pod-edit", "edit()"), ("pod-many", "env()"), ("objects-large", "object()"),
                              ("validate-many", "refuse()")):
            self.fails(name, f"{service}: the answer is larger than the limit of 4194304 bytes")

    def test_too_many_objects(self):
        self.fails("objects-many", "more than the limit of 1000 objects")

    def test_a_variable_that_is_too_long(self):
        self.fails("pod-variable", "variable LARGE", "Linux takes 131072")

    def test_an_answer_that_is_none(self):
        self.fails("pod-json", "edit(): no JSON")

    def test_the_reason_is_on_the_job(self):
        self.add("objects-many")
        done = self.call("run", "-o", "json", self.hostile)
        jobs = [row["object"] for row in map(json.loads, done.stdout.splitlines())
                if row.get("object", {}).get("kind") == "HostileJob"]
        failed = [condition for condition in jobs[-1]["status"]["conditions"] if condition["type"] == "Failed"]
        self.assertEqual((failed[0]["status"], failed[0]["reason"]), ("True", "HostileJobPluginFailed"),
                         jobs[-1]["status"])
        self.assertIn("more than the limit of 1000 objects", failed[0]["message"])

    def test_a_job_of_a_plugin_is_not_run_on_one_machine(self):
        """It would end with 3, and nobody would count it."""
        self.add("objects-child")
        done = self.call("run", self.hostile)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("its plugin wants the job PyTorchJob child, and on one machine only the jobs of the files run",
                      done.stdout + done.stderr)
        self.assertEqual([name for name in os.listdir(self.folder) if "child" in name], [])
        render = self.call("render", self.hostile)
        self.assertEqual(render.returncode, 0, render.stderr)
        self.assertIn("kind: PyTorchJob", render.stdout)

    def test_lint_knows_the_limits_of_a_schema(self):
        """Also those that the plugin's own rules say nothing about."""
        self.add("schema-limits")
        with open(self.hostile, encoding="utf-8") as file:
            text = file.read()
        for size, code in ((1, 2), (2, 0)):
            done = self.call("lint", self.file("size.yaml", text + f"  size: {size}\n"))
            self.assertEqual(done.returncode, code, done.stdout)
            self.assertEqual("error: spec.size: Invalid value: 1: must be greater than or equal to 2" in done.stdout,
                             size == 1, done.stdout)


hostile.main()
