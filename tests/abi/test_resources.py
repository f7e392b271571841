# SPDX-License-Identifier: Apache-2.0
"""test_resources.py PROGRAM FOLDER: a plugin brings a definition beside its kind; FOLDER has resources.so, with
FlavorRuntime."""
import json
import subprocess
import sys
import unittest

PROGRAM, FOLDER = sys.argv[1:3]
NAME = "flavorruntimes.example.org"


def call(*words, text=None, isolation="none"):
    return subprocess.run([PROGRAM, *words, "--plugins", FOLDER, f"--plugin-isolation={isolation}"], input=text,
                          capture_output=True, text=True, check=False)


def runtime(**spec):
    return {"apiVersion": "example.org/v1alpha1", "kind": "FlavorRuntime", "metadata": {"name": "r"}, "spec": spec}


class Resources(unittest.TestCase):
    def ask(self, *words, **options):
        done = call(*words, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_it_is_among_the_definitions(self):
        for isolation in ("none", "process"):
            crd = json.loads(self.ask("crds", "--kind", "flavorruntime", "-o", "json", isolation=isolation))
            self.assertEqual((crd["metadata"]["name"], crd["spec"]["scope"]), (NAME, "Cluster"))
            self.assertEqual(crd["spec"]["names"], {"kind": "FlavorRuntime", "listKind": "FlavorRuntimeList",
                                                    "plural": "flavorruntimes", "singular": "flavorruntime",
                                                    "shortNames": ["frt"]})
            for command in ("crds", "manifests"):
                items = json.loads(self.ask(command, "-o", "json", isolation=isolation))["items"]
                self.assertEqual(sum(item["metadata"]["name"] == NAME for item in items), 1)

    def test_it_has_a_page(self):
        for isolation in ("none", "process"):
            page = json.loads(self.ask("explain", "flavorruntimes.example.org", "-o", "json", isolation=isolation))
            self.assertEqual((page["kind"], page["apiVersion"], page["plugin"]["name"]),
                             ("FlavorRuntime", "example.org/v1alpha1", "resources"))
            self.assertEqual(sorted(row["path"] for row in page["fields"]), ["spec.nodes", "spec.spare"])
        self.assertIn("How many.", self.ask("explain", "flavorruntime.spec.nodes"))
        done = call("explain", "flavorruntime.spec.node")
        self.assertEqual(done.returncode, 2)
        self.assertIn('has no field "node"; there are nodes', done.stderr)

    def test_lint_checks_it(self):
        for isolation in ("none", "process"):
            self.ask("lint", "--strict", "-", text=json.dumps(runtime(nodes=2, spare=1)), isolation=isolation)
            for spec, words in (({"nodes": 0}, "spec.nodes"),
                                ({"nodes": 2, "spare": 2}, "fewer spare nodes than nodes"),
                                ({"nodes": 2, "node": 1}, "Unknown field"), ({}, 'member "nodes" is missing')):
                done = call("lint", "-", text=json.dumps(runtime(**spec)), isolation=isolation)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(words, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
