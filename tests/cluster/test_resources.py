# SPDX-License-Identifier: Apache-2.0
"""test_resources.py PROGRAM FOLDER: the definition that a plugin brings beside its kind, on a real API server.

FOLDER has resources.so, which brings FlavorRuntime of example.org.
"""
import json
import subprocess
import sys
import unittest

import apiserver

PROGRAM, FOLDER = sys.argv[1:3]
PATH = "/apis/example.org/v1alpha1/flavorruntimes?dryRun=All"


class Resources(unittest.TestCase):
    def test_the_server_takes_the_definition_and_refuses_by_it(self):
        crds = subprocess.run([PROGRAM, "crds", "--kind", "flavorruntime", "--plugins", FOLDER], capture_output=True,
                              text=True, check=True)
        with apiserver.ApiServer() as api:
            api.kubectl("create", "-f", "-", text=crds.stdout)
            api.wait_served()
            for spec, wanted in (({"nodes": 2, "spare": 1}, 201), ({"nodes": 0}, 422), ({"nodes": 2, "spare": 2}, 422),
                                 ({}, 422)):
                body = {"apiVersion": "example.org/v1alpha1", "kind": "FlavorRuntime", "metadata": {"name": "r"},
                        "spec": spec}
                status, answer = api.request("POST", PATH, json.dumps(body))
                self.assertEqual(status, wanted, answer)


if __name__ == "__main__":
    apiserver.skip_without_assets()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
