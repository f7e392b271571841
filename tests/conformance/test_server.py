# SPDX-License-Identifier: Apache-2.0
"""`roundhouse plugins test --kubeconfig` on a real API server: what only a server sees is found, and nothing is kept
there.

usage: test_server.py ROUNDHOUSE BROKEN RULES [unittest's words] : BROKEN has the plugins of broken.c, RULES says what
each breaks.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))
import apiserver  # noqa: E402

PROGRAM, BROKEN, RULES = map(os.path.abspath, sys.argv[1:4])
del sys.argv[1:4]
PATIENCE = 600
JOB = """apiVersion: example.org/v1
kind: BrokenJob
metadata: {name: one}
spec:
  note: hello
  brokenReplicaSpecs:
    Leader:
      template: {spec: {containers: [{name: broken, image: i}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: broken, image: i}]}}
"""
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/brokenjobs.example.org"


class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.api = cls.enterClassContext(apiserver.ApiServer(users={"nobody": []}))
        (cls.folder / "job.yaml").write_text(JOB)

    def call(self, rule, *words, kubeconfig=None):
        """-> (status, {check: (result, text)}); the kit's other checks pass"""
        done = subprocess.run([PROGRAM, "plugins", "test", "-o", "json", os.path.join(BROKEN, rule + ".so"), *words,
                               "--kubeconfig", kubeconfig or self.api.kubeconfig], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        rows = {row["name"]: (row["result"], " ".join(f"{found['where']} {found['what']}" for found in row["findings"]))
                for row in json.loads(done.stdout)["checks"]}
        self.assertEqual({name for name, (result, _) in rows.items() if result == "failed"} - {"server"}, set())
        return done.returncode, rows["server"]

    def install(self):
        """The definition of a plugin that breaks nothing."""
        done = subprocess.run([PROGRAM, "crds", "--kind", "BrokenJob", "--plugins", self.folder / "good"], check=True,
                              capture_output=True, text=True)
        self.api.kubectl("apply", "--server-side", "-f", "-", text=done.stdout)
        self.api.wait_served()
        self.addCleanup(self.api.kubectl, "delete", "crd", "brokenjobs.example.org")

    def setUp(self):
        (self.folder / "good").mkdir(exist_ok=True)
        target = self.folder / "good" / "NOTHING.so"
        if not target.exists():
            target.symlink_to(os.path.join(BROKEN, "NOTHING.so"))

    def test_nothing_is_kept(self):
        self.assertEqual(self.call("NOTHING"), (0, ("ok", "")))
        self.assertEqual(self.api.request("GET", DEFINITION)[0], 404)
        self.assertEqual(
            self.api.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/roundhouse-plugins-test")[0], 404)

    def test_jobs(self):
        job = self.folder / "job.yaml"
        status, (result, text) = self.call("NOTHING", job)
        self.assertEqual((status, result), (0, "warning"), text)
        self.assertIn("apply what `roundhouse crds` prints", text)
        self.install()
        self.assertEqual(self.call("NOTHING", job), (0, ("ok", "")))
        self.assertEqual(json.loads(self.api.get("/apis/example.org/v1/brokenjobs"))["items"], [])
        self.assertEqual(json.loads(self.api.get("/api/v1/pods"))["items"], [])

    def test_what_a_server_sees(self):
        self.install()
        rules = [line.rstrip("\n").split(" ", 2) for line in pathlib.Path(RULES).read_text().splitlines()
                 if " server " in line]
        self.assertEqual(len(rules), 2)
        for rule, _, words in rules:
            with self.subTest(rule):
                status, (result, text) = self.call(rule, self.folder / "job.yaml")
                self.assertEqual((status, result), (1, "failed"), text)
                for word in words.split("|"):
                    self.assertIn(word, text)

    def test_rights_are_missing(self):
        """That says nothing about the plugin: a warning for each."""
        status, (result, text) = self.call("NOTHING", kubeconfig=self.api.kubeconfig_of("nobody"))
        self.assertEqual((status, result), (0, "warning"), text)
        self.assertIn("cannot patch resource", text)

    def test_no_server(self):
        path = self.folder / "gone.kubeconfig"
        path.write_text(pathlib.Path(self.api.kubeconfig).read_text().replace(str(self.api.port), "1"))
        path.chmod(0o600)
        for words in (["--kubeconfig", path], ["--kubeconfig", self.folder / "missing"]):
            done = subprocess.run([PROGRAM, "plugins", "test", os.path.join(BROKEN, "NOTHING.so"), *words],
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertIn(done.returncode, (1, 2))
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main()
