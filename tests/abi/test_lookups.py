# SPDX-License-Identifier: Apache-2.0
"""test_lookups.py PROGRAM FOLDER: FOLDER has lookup.so, whose RuntimeJob names a runtime, another object."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, FOLDER = sys.argv[1:3]


def runtime(name="torch", kind="ClusterRuntime", **spec):
    return {"apiVersion": "example.org/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def job(name="j", command="echo $COLOR from $LOOKUPS", **spec):
    template = {"spec": {"containers": [{"name": "c", "image": "i", "command": ["sh", "-c", command]}]}}
    return {"apiVersion": "example.org/v1", "kind": "RuntimeJob", "metadata": {"name": name},
            "spec": {"replicaSpecs": {"Node": {"replicas": 1, "template": template}}, **spec}}


TORCH = runtime(image="torch:2", env={"COLOR": "blue"})


class Lookups(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.plugins = pathlib.Path(self.folder.name) / "plugins"
        self.plugins.mkdir()
        shutil.copy(f"{FOLDER}/lookup.so", self.plugins)

    def tearDown(self):
        self.folder.cleanup()

    def call(self, *words, objects, isolation="none"):
        path = pathlib.Path(self.folder.name) / "objects.yaml"
        path.write_text("\n---\n".join(json.dumps(item) for item in objects), encoding="utf-8")
        return subprocess.run([PROGRAM, *words, str(path), "--plugins", str(self.plugins),
                               f"--plugin-isolation={isolation}"], capture_output=True, text=True, check=False,
                              env={**os.environ, "XDG_STATE_HOME": self.folder.name})

    def install(self, *objects):
        folder = self.plugins / "objects" / "lookup"
        folder.mkdir(parents=True)
        (folder / "runtimes.yaml").write_text("\n---\n".join(json.dumps(item) for item in objects), encoding="utf-8")

    def ask(self, *words, **options):
        done = self.call(*words, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_render(self):
        for isolation in ("none", "process"):
            items = json.loads(self.ask("render", "-o", "json", isolation=isolation,
                                        objects=[job(runtimeRef={"name": "torch"}), TORCH]))["items"]
            snapshot, pod = items
            self.assertEqual(json.loads(snapshot["data"]["spec"]), TORCH["spec"])
            container = pod["spec"]["containers"][0]
            self.assertEqual(container["image"], "torch:2")
            self.assertEqual(container["env"], [{"name": "COLOR", "value": "blue"},
                                                {"name": "LOOKUPS", "value": "1 3 -1"}])

    def test_metadata_alone(self):
        queue = {"apiVersion": "example.org/v1alpha1", "kind": "Queue",
                 "metadata": {"name": "q", "namespace": "default", "labels": {"tier": "gold"}}, "spec": {"secret": 1}}
        items = json.loads(self.ask("render", "-o", "json",
                                    objects=[queue, TORCH, job(runtimeRef={"name": "torch"}, queue="q")]))["items"]
        self.assertIn({"name": "QUEUE", "value": "gold"}, items[1]["spec"]["containers"][0]["env"])

    def test_run(self):
        for isolation in ("none", "process"):
            done = self.call("run", isolation=isolation, objects=[TORCH, job(runtimeRef={"name": "torch"})])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("blue from ", done.stdout + done.stderr)
            self.assertNotIn("means nothing", done.stdout + done.stderr)

    def test_installed(self):
        """A plugin installs objects as data; a file has precedence."""
        self.install(runtime(image="old", env={"COLOR": "red"}), runtime("other", image="x"))
        objects = [job(runtimeRef={"name": "torch"})]
        self.assertIn("1 job, no error", self.ask("lint", objects=objects))
        self.assertIn("image: old\n", self.ask("render", objects=objects))
        self.assertIn("image: torch:2\n", self.ask("render", objects=[TORCH, *objects]))
        done = self.call("run", objects=objects)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("red from ", done.stdout + done.stderr)

    def test_missing(self):
        for isolation in ("none", "process"):
            for command in ("lint", "render", "run"):
                done = self.call(command, objects=[job(runtimeRef={"name": "jax"}), TORCH], isolation=isolation)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn("RuntimeJob j: ", done.stdout + done.stderr)
                self.assertIn('spec.runtimeRef.name: Not found: "jax": ClusterRuntime jax is neither in the files nor '
                              "in ", done.stdout + done.stderr)
                self.assertIn("share/roundhouse/objects/lookup; put it into a file", done.stdout + done.stderr)

    def test_refused(self):
        for spec, others, words in (
                ({"runtimeRef": {"name": "torch", "kind": "Secret"}}, [TORCH],
                 'spec.runtimeRef.kind: Unsupported value: "Secret": supported values: "ClusterRuntime", "Runtime"'),
                ({"runtimeRef": {"name": "a,b"}}, [TORCH],
                 'spec.runtimeRef.name: Invalid value: "a,b": no ClusterRuntime can have this name'),
                ({}, [TORCH], "spec.runtimeRef.name: Required value: must name a runtime"),
                ({"runtimeRef": {"name": "empty"}}, [runtime("empty", env={})],
                 "ClusterRuntime empty: spec.image: Required value: must be configured")):
            for isolation in ("none", "process"):
                done = self.call("lint", objects=[job(**spec), *others], isolation=isolation)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(words, done.stdout)

    def test_a_namespace_has_its_own(self):
        objects = [runtime("torch", "Runtime", image="mine"), TORCH,
                   job(runtimeRef={"name": "torch", "kind": "Runtime"})]
        self.assertIn("image: mine\n", self.ask("render", objects=objects))

    def test_roles(self):
        rules = [rule for item in json.loads(subprocess.run(
            [PROGRAM, "manifests", "-o", "json", "--plugins", str(self.plugins), "--plugin-isolation=none"],
            capture_output=True, text=True, check=True).stdout)["items"] for rule in item.get("rules", [])]
        for group, resources, verbs in (("example.org", ["clusterruntimes", "runtimes"], ["get", "list", "watch"]),
                                        ("example.org", ["queues"], ["get", "list", "watch"]),
                                        ("", ["configmaps"], ["get", "list"])):
            self.assertIn({"apiGroups": [group], "resources": resources, "verbs": verbs}, rules)

    def test_the_kit_passes(self):
        path = pathlib.Path(self.folder.name) / "job.json"
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [
            job(runtimeRef={"name": "torch"}), TORCH]}), encoding="utf-8")
        done = subprocess.run([PROGRAM, "plugins", "test", f"{self.plugins}/lookup.so", str(path)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
