# SPDX-License-Identifier: Apache-2.0
"""test_faces.py PROGRAM SOURCE cpp|rust: a plugin that is written against the face for C++ or Rust answers as one in C
does.

Exceptions and panics fail the operation with their message, and the program goes on. One symbol is exported.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE, LANGUAGE = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 500  # seconds; a hang
SKIP = 77

JOB = """apiVersion: example.org/v1
kind: {kind}
metadata: {{name: one}}
spec:
  {spec}
  faceReplicaSpecs:
    Peer: {{replicas: 2, template: {{spec: {{containers: [{{name: face, image: debian, command: ["true"]}}]}}}}}}
"""
WIDE = """apiVersion: example.org/v1
kind: WideJob
metadata: {{name: wide}}
spec: {spec}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: sizes}}
data: {{node: "2", a-b: "1"}}
"""
# of pod(): mode, and the message for people
FAILURES = [("invalid", "the user must change it"), ("text", "went wrong"), ("memory", "out of memory")]
OWN_FAILURES = {
    "cpp": [("other", "an exception that is not a std::exception"), ("range", "vector::_M_range_check")],
    "rust": [("other", "panic at src/lib.rs:"), ("other", "a value that is not a text"), ("zero", ": before"),
             ("range", "index out of bounds: the len is 0 but the index is 5")],
}


def need(*names):
    """The first of these programs that is there; without one, skip."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    print(f"SKIPPED: none of {', '.join(names)} is installed")
    sys.exit(SKIP)


def must(words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
                          check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout}")
    return done.stdout


def build_cpp(folder):
    must([need("c++", "g++", "clang++", "clang++-14"), "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
          "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-Wl,--no-undefined",
          f"-Wl,--version-script={SOURCE}/cmake/plugin.map",
          f"-I{SOURCE}/include", "-o", folder / "face.so", HERE / "faces.cpp"])


def build_rust(folder):
    cargo = need("cargo")
    shutil.copytree(HERE / "rust", folder / "source")
    shutil.copytree(SOURCE / "bindings/rust/roundhouse-plugin", folder / "crate",
                    ignore=shutil.ignore_patterns("target"))
    must([cargo, "build", "--release", "--offline", "--target-dir", folder / "target"], cwd=folder / "source",
         env={**os.environ, "RUSTFLAGS": "-D warnings"})
    shutil.copy(folder / "target/release/libface.so", folder / "face.so")


class Face(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.folder = pathlib.Path(kept.name)
        (build_cpp if LANGUAGE == "cpp" else build_rust)(cls.folder)
        # what cargo leaves beside it is no plugin
        cls.plugins = cls.folder / "plugins"
        cls.plugins.mkdir()
        shutil.move(cls.folder / "face.so", cls.plugins)

    def call(self, command, spec="", kind="FaceJob"):
        job = self.folder / "job.yaml"
        job.write_text(JOB.format(kind=kind, spec=spec))
        words = [PROGRAM, *command, "--plugins", self.plugins, job]
        return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)

    def rendered(self, spec="", kind="FaceJob"):
        done = self.call(["render", "-o", "json"], spec, kind)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["items"]

    def env(self, pod):
        return {row["name"]: row.get("value") for row in pod["spec"]["containers"][0]["env"]}

    def test_fits(self):
        done = subprocess.run([PROGRAM, "plugins", "check", self.plugins / "face.so"], capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('plugin "face" 1.2.3 fits', done.stdout)
        self.assertIn("FaceJob.v1.example.org,PlainJob.v1.example.org,WideJob.v1.example.org", done.stdout)

    def test_one_symbol(self):
        symbols = must([need("nm"), "-D", "--defined-only", self.plugins / "face.so"])
        self.assertEqual([line.split()[-1] for line in symbols.splitlines()], ["rh_plugin_entry_v1"])

    def test_services(self):
        items = self.rendered('count: 7\n  list: [a, b]\n  flag: true')
        pods = [self.env(item) for item in items if item["kind"] == "Pod"]
        self.assertEqual(pods[1], {"TYPE": "Peer", "RANK": "1", "NAME": "one-peer-1", "FIRST": "one-peer-0:7000",
                                   "COUNT": "7", "LIST": '["a","b"]', "SIZE": "2", "FLAG": "yes", "HELPERS": "-1",
                                   "POLICY": "Never", "QUOTED": '"a \\"b\\""', "SETTING": "unset", "LONG": "x" * 1000})
        self.assertIn("face", [item["metadata"]["name"] for item in items if item["kind"] == "ConfigMap"])

    def test_what_is_absent(self):
        items = self.rendered()
        env = self.env(next(item for item in items if item["kind"] == "Pod"))
        self.assertEqual((env["COUNT"], env["LIST"], env["SIZE"], env["FLAG"]), ("-1", "none", "-1", "no"))
        self.assertEqual([item for item in items if item["kind"] == "ConfigMap"], [])

    def test_each_kind_has_its_own(self):
        items = self.rendered(kind="PlainJob")
        self.assertEqual(self.env(next(item for item in items if item["kind"] == "Pod")), {"PLAIN": "1"})

    def test_judge(self):
        for kind, words in (("PlainJob", "all peers are done"), ("FaceJob", "successfully completed")):
            done = self.call(["run", "-o", "json"], kind=kind)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(words, done.stdout)

    def test_judge_with_services_of_1_2(self):
        done = self.call(["run", "-o", "json"], "flag: true", "PlainJob")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in ("once more", "DoneTwice", "all peers are done twice"):
            self.assertIn(words, done.stdout + done.stderr)

    def call_wide(self, spec, *command):
        job = self.folder / "wide.yaml"
        job.write_text(WIDE.format(spec=spec))
        return subprocess.run([PROGRAM, *command, "--plugins", self.plugins, job], capture_output=True, text=True,
                              timeout=LIMIT, check=False)

    def test_types_from_an_object_that_the_job_names(self):
        done = self.call_wide("{sizes: sizes}", "render", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {item["metadata"]["name"] for item in json.loads(done.stdout)["items"] if item["kind"] == "Pod"}
        self.assertEqual(names, {"wide-node-0", "wide-node-1", "wide-a-b-0"})

    def test_what_expand_refuses(self):
        for spec, words in (("{}", "spec.sizes: Required value: must name a ConfigMap"),
                            ("{sizes: other}", "spec.sizes: Not found: no such ConfigMap"),
                            ("{sizes: sizes, ask: nothing}", 'the kind has no lookup "nothing"')):
            done = self.call_wide(spec, "render")
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn(words, done.stderr)

    def test_an_object_that_is_made_of_random_bytes(self):
        done = self.call_wide("{sizes: sizes}", "run", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("wide-token", done.stdout)
        done = self.call_wide("{sizes: sizes, fail: true}", "run", "-o", "json")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("WideJob default/wide: v1 Secret/wide-token of 4 letters", done.stdout + done.stderr)

    def test_findings(self):
        done = self.call(["lint"], "mode: refuse")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("spec.mode: Forbidden: refused", done.stdout + done.stderr)
        self.assertIn("warned", done.stdout + done.stderr)

    def test_failures_stop_at_the_border(self):
        for mode, words in FAILURES + OWN_FAILURES[LANGUAGE]:
            done = self.call(["render"], f"mode: {mode}")
            self.assertIn(done.returncode, (1, 2), (mode, done.stderr))
            self.assertIn(words, done.stderr, mode)
            # a panic of Rust must not write by itself
            self.assertNotIn("thread", done.stderr, mode)

    def test_failure_of_validate(self):
        done = self.call(["lint"], "mode: validate")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("validate went wrong", done.stdout + done.stderr)

    def test_refusal_of_a_service(self):
        done = self.call(["render"], "mode: edit")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("plugin face, pod(): edit(): this part of a pod is the core's", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
