# SPDX-License-Identifier: Apache-2.0
"""test_made.py ROUNDHOUSE FOLDER: Secrets that a plugin of ABI 1.2 makes once of random bytes, on a real API server.

FOLDER has the plugin keypair (tests/abi/plugins/keypair.c). Its process is one of its own, as always in the controller.
"""
import base64
import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
from support import wait_for  # noqa: E402

GROUP = "/apis/example.org/v1/namespaces/default/keypairjobs"
CORE = "/api/v1/namespaces/default"
JOB = {"apiVersion": "example.org/v1", "kind": "KeypairJob", "metadata": {"name": "k"},
       "spec": {"claim": "disk", "snapshot": "now", "keypairReplicaSpecs": {"Worker": {"replicas": 2, "template": {
           "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}}}}


class Made(case.Case):
    def read(self, path):
        status, answer = self.request("GET", path)
        return answer if status == 200 else None

    def is_complete(self):
        """Two pods, and the ledger has the UIDs of the Secret and the ConfigMap."""
        job = self.read(f"{GROUP}/k")
        text = job["metadata"].get("annotations", {}).get("roundhouse.dev/ledger")
        secret, snapshot = self.read(f"{CORE}/secrets/k-keys"), self.read(f"{CORE}/configmaps/now")
        if not text or not secret or not snapshot:
            return False
        made = {"Secret/k-keys": secret["metadata"]["uid"], "ConfigMap/now": snapshot["metadata"]["uid"]}
        return json.loads(text).get("made") == made and all(self.read(f"{CORE}/pods/k-worker-{i}") for i in range(2))

    def key(self):
        secret = self.read(f"{CORE}/secrets/k-keys")
        self.assertTrue(secret["immutable"])
        self.assertEqual(secret["metadata"]["ownerReferences"][0]["name"], "k")
        return base64.b64decode(secret["data"]["key"]).decode()

    def test_life(self):
        with self.controller("--leader-elect=false") as controller:
            status, answer = self.request("POST", GROUP, JOB)
            self.assertEqual(status, 201, answer)
            wait_for("its objects and pods", self.is_complete)
            key = self.key()
            self.assertRegex(key, "^[0-9a-f]{32}$")
            claim = self.read(f"{CORE}/persistentvolumeclaims/disk")
            self.assertNotIn("ownerReferences", claim["metadata"])
            self.assertEqual(claim["metadata"]["labels"]["roundhouse.dev/job-uid"],
                             self.read(f"{GROUP}/k")["metadata"]["uid"])
            first = controller.text()
        with self.controller("--leader-elect=false", name="second") as controller:
            # pods are created anew: the Secret is looked at, and is the one of the ledger
            self.request("DELETE", f"{CORE}/pods/k-worker-1?gracePeriodSeconds=0")
            wait_for("its pod again", self.is_complete)
            self.assertEqual(self.key(), key)
            # somebody else makes another one: it is replaced before a pod uses it
            self.request("DELETE", f"{CORE}/secrets/k-keys")
        owner = self.read(f"{GROUP}/k")["metadata"]
        status, answer = self.request("POST", f"{CORE}/secrets", {"metadata": {"name": "k-keys", "ownerReferences": [
            {"apiVersion": "example.org/v1", "kind": "KeypairJob", "name": "k", "uid": owner["uid"],
             "controller": True}]},
            "data": {"key": base64.b64encode(b"forged").decode()}})
        self.assertEqual(status, 201, answer)
        with self.controller("--leader-elect=false", name="third") as controller:
            self.request("DELETE", f"{CORE}/pods/k-worker-1?gracePeriodSeconds=0")
            wait_for("its own Secret", self.is_complete)
            again = self.key()
            self.assertRegex(again, "^[0-9a-f]{32}$")
            self.assertNotEqual(again, key)
            third = controller.text()
        for log in (first, third):
            self.assertNotIn(key, log)
            self.assertNotIn(again, log)

    def test_render(self):
        file = self.folder / "k.json"
        file.write_text(json.dumps(JOB))
        done = subprocess.run([case.ROUNDHOUSE, "render", "--plugins", case.JAX, "-o", "json", str(file)], check=True,
                              capture_output=True, text=True)
        secret = next(item for item in json.loads(done.stdout)["items"] if item["kind"] == "Secret")
        self.assertEqual(secret["stringData"], {"key": "(made by the controller)"})
        self.assertIsNone(re.search("[0-9a-f]{32}", json.dumps(secret)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
