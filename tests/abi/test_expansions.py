# SPDX-License-Identifier: Apache-2.0
"""test_expansions.py PROGRAM FOLDER: FOLDER has expand.so, whose NodesJob has replica types that its plugin gives."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FOLDER = sys.argv[1:3]


def template(name, image="i", command="true"):
    return {"spec": {"containers": [{"name": name, "image": image, "command": ["sh", "-c", command]}]}}


def runtime(name="torch", **spec):
    return {"apiVersion": "example.org/v1alpha1", "kind": "NodesRuntime", "metadata": {"name": name},
            "spec": spec or {"node": template("n", "torch:2", "echo node of $NODES at $FIRST"), "numNodes": 2}}


def job(nodes=None, answer=None, **spec):
    """A job. @param answer what the plugin gives, as it is"""
    annotations = {"annotations": {"example.org/answer": answer}} if answer else {}
    return {"apiVersion": "example.org/v1", "kind": "NodesJob", "metadata": {"name": "j", **annotations},
            "spec": {"runtimeRef": {"name": "torch"}, **({"trainer": {"numNodes": nodes}} if nodes else {}), **spec}}


class Expansions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def call(self, *words, objects, isolation="none"):
        path = pathlib.Path(self.folder.name) / "objects.yaml"
        path.write_text("\n---\n".join(json.dumps(item) for item in objects), encoding="utf-8")
        return subprocess.run([PROGRAM, *words, str(path), "--plugins", FOLDER, f"--plugin-isolation={isolation}"],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "XDG_STATE_HOME": self.folder.name})

    def ask(self, *words, **options):
        done = self.call(*words, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def render(self, **options):
        return json.loads(self.ask("render", "-o", "json", **options))["items"]

    def test_render(self):
        for isolation in ("none", "process"):
            items = self.render(objects=[job(3), runtime()], isolation=isolation)
            self.assertEqual([(item["kind"], item["metadata"]["name"]) for item in items],
                             [(kind, f"j-node-{i}") for kind in ("Pod", "Service") for i in range(3)])
            self.assertEqual(items[2]["spec"]["containers"][0]["env"],
                             [{"name": "NODES", "value": "3 2 2"}, {"name": "FIRST", "value": "j-node-0"}])
            self.assertEqual(items[2]["spec"]["restartPolicy"], "OnFailure")

    def test_the_runtime_says_how_many(self):
        self.assertEqual(len(self.render(objects=[job(), runtime()])), 4)
        self.assertEqual(len(self.render(objects=[job(), runtime(node=template("n"))])), 2)

    def test_types(self):
        items = self.render(objects=[job(2), runtime(launcher=template("l"), node=template("n"))])
        self.assertEqual([item["metadata"]["name"] for item in items if item["kind"] == "Pod"],
                         ["j-launcher", "j-node-0", "j-node-1"])

    def test_run(self):
        for isolation in ("none", "process"):
            done = self.call("run", objects=[job(2), runtime()], isolation=isolation)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for index in range(2):
                self.assertIn(f"node of 2 {index} {index} at ", done.stdout + done.stderr)

    def test_lint(self):
        for isolation in ("none", "process"):
            self.assertIn("1 job, no error", self.ask("lint", objects=[job(2), runtime()], isolation=isolation))
            for spec, other, words in (
                    ({"trainer": {"numNodes": 0}}, runtime(),
                     "error: spec.trainer.numNodes: Invalid value: must be 1 to 1000"),
                    ({}, runtime(numNodes=2),
                     "error: NodesRuntime torch: spec.node: Required value: must be a pod template"),
                    ({}, runtime(node={"spec": {"containers": [{"name": "c"}]}}),
                     "error: expansion[node].template.spec.containers[0].image: Required value: must be required"),
                    ({"runtimeRef": {"name": "jax"}}, runtime(), 'spec.runtimeRef.name: Not found: "jax"')):
                done = self.call("lint", objects=[job(**spec), other], isolation=isolation)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(words, done.stdout)

    def test_hostile(self):
        for isolation in ("none", "process"):
            for command in ("lint", "render", "run"):
                done = self.call(command, objects=[job(answer='{"types":[{"name":"../../x"}]}'), runtime()],
                                 isolation=isolation)
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertIn("NodesJob default/j: plugin expand, expand(): expansion(): types[0].name: it must "
                              "have at most 63 letters, digits and '-', a letter first, and no '-' last",
                              done.stdout + done.stderr)

    def test_too_many(self):
        """What a plugin wants is held against the limits of a job."""
        answer = {"types": [{"name": "x", "replicas": 2000000000, "template": template("c")}]}
        done = self.call("lint", objects=[job(answer=json.dumps(answer)), runtime()])
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("expansion[x].replicas: Invalid value: 2000000000: must be less than or equal to ", done.stdout)

    def test_definition(self):
        """There is no map of replicas; what the job has is what the plugin declares."""
        done = subprocess.run([PROGRAM, "crds", "-o", "json", "--plugins", FOLDER, "--plugin-isolation=none"],
                              capture_output=True, text=True, check=True)
        crd = next(item for item in json.loads(done.stdout)["items"] if item["spec"]["names"]["kind"] == "NodesJob")
        spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        self.assertEqual(sorted(spec["properties"]), ["runtimeRef", "suspend", "trainer"])
        self.assertEqual(spec["required"], ["runtimeRef"])
        for name in ("nodesjob", "nodesjob.spec.trainer"):
            subprocess.run([PROGRAM, "explain", name, "--plugins", FOLDER, "--plugin-isolation=none"],
                           capture_output=True, text=True, check=True)

    def kit(self, *objects, more=()):
        path = pathlib.Path(self.folder.name) / "job.json"
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}), encoding="utf-8")
        return subprocess.run([PROGRAM, "plugins", "test", f"{FOLDER}/expand.so", str(path), *more],
                              capture_output=True, text=True, check=False)

    def test_the_kit_passes(self):
        done = self.kit(job(2), runtime())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_kit_finds_an_expansion_that_does_not_fit(self):
        done = self.kit(job(answer='{"types":7}'), runtime())
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("types: it must be a list of 1 to 16 replica types", done.stdout + done.stderr)

    def test_golden(self):
        """What a runtime makes of a job is recorded, and a change of it is found."""
        record = pathlib.Path(self.folder.name) / "golden"
        done = self.kit(job(2), runtime(), more=("--record", str(record)))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("name: j-node-1", (record / "nodesjob-default-j.yaml").read_text(encoding="utf-8"))
        self.assertEqual(self.kit(job(2), runtime(), more=("--golden", str(record))).returncode, 0)
        self.assertNotEqual(self.kit(job(3), runtime(), more=("--golden", str(record))).returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
