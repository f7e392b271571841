# SPDX-License-Identifier: Apache-2.0
"""test_opt_in.py ROUNDHOUSE: what a cluster gets has plugin mpi2 only where the allow-list names it; commands of one
machine always have it."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


class OptIn(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def ask(self, allow, *words):
        config = pathlib.Path(self.folder, "roundhouse.ini")
        config.write_text(f"[plugins]\n{allow}\n", encoding="utf-8")
        for isolation in ("none", "process"):
            more = ["--config", config, "-o", "json", f"--plugin-isolation={isolation}"]
            done = subprocess.run([PROGRAM, *words, *more], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def versions(self, allow):
        crd = self.ask(allow, "crds", "--kind", "mpijob")
        return [(version["name"], version["storage"]) for version in crd["spec"]["versions"]]

    def rights(self, allow):
        items = self.ask(allow, "manifests")["items"]
        return {resource for item in items if item["kind"] == "ClusterRole" for rule in item.get("rules", [])
                if "create" in rule["verbs"] for resource in rule.get("resources", [])}

    def test_a_cluster_of_v1_sees_nothing_of_it(self):
        self.assertEqual(self.versions(""), [("v1", True)])
        self.assertEqual(self.rights("") & {"secrets", "jobs"}, set())

    def test_it_is_there_where_it_is_named(self):
        allow = "allow = mpi, mpi2"
        self.assertEqual(self.versions(allow), [("v1", True), ("v2beta1", False)])
        self.assertEqual(self.rights(allow) & {"secrets", "jobs"}, {"secrets", "jobs"})

    def test_one_machine_has_it(self):
        self.assertEqual(self.ask("", "explain", "mpijob.v2beta1.kubeflow.org")["plugin"]["name"], "mpi2")


if __name__ == "__main__":
    unittest.main()
