# SPDX-License-Identifier: Apache-2.0
"""`plugins new`: what it refuses, and what it writes. tests/install/test_author.py builds what it writes."""
import os
import re
import unittest

from program import Case, call, main

WORDS = ["--kind", "FooJob", "--replicas", "Leader,Worker", "--lang", "c"]
COMMON = {".gitignore", "Containerfile", "README.md", "job.yaml"}
OWN = {"c": {"CMakeLists.txt", "plugin.c"}, "cpp": {"CMakeLists.txt", "plugin.cpp"},
       "rust": {"Cargo.toml", "Makefile", "src/lib.rs", "src/contract.json", "tests/fits.rs"}}


class New(Case):
    def new(self, *words):
        return call("plugins", "new", *words)

    def place(self, name):
        return os.path.join(self.folder, name)

    def read(self, folder, file):
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            return text.read()

    def files(self, folder):
        return {os.path.relpath(os.path.join(root, name), folder) for root, _,
                names in os.walk(folder) for name in names}

    def test_files_of_each_language(self):
        for lang, own in OWN.items():
            folder = self.place(f"deep/{lang}")
            done = self.new("my-foo", *WORDS[:-1], lang, "--dir", folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""), lang)
            self.assertEqual(self.files(folder), COMMON | own)
            self.assertIn(f"cd {folder}\n", done.stdout)
            for file in self.files(folder):
                text = self.read(folder, file)
                # "@" has no meaning in any of the languages
                self.assertNotIn("@", re.sub(r"\$@", "", text), (lang, file))
                self.assertTrue(text.endswith("\n"), (lang, file))

    def test_names(self):
        folder = self.place("foo")
        done = self.new("my-foo", "--kind", "FooJob", "--replicas", "Head,Worker,Server2", "--lang", "c", "--group",
                        "ml.example.com", "--dir", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        source, sample = self.read(folder, "plugin.c"), self.read(folder, "job.yaml")
        for words in ('.name = "my-foo"', '.kind = "FooJob"', '.plural = "foojobs"', '.group = "ml.example.com"',
                      '.name = "Server2"', "&my_foo_type_server2,", '"MY_FOO_RANK',
                      '.replicas_field = "myFooReplicaSpecs"', '.leader_fallback = "Head"'):
            self.assertIn(words, source.replace("\\", ""))
        self.assertEqual(source.count("RH_REPLICA_LEADER"), 1)
        self.assertEqual(re.findall(r"^    (\w+):$", sample, re.M), ["Head", "Worker", "Server2"])

    def test_one_type_leads_nobody(self):
        folder = self.place("foo")
        self.assertEqual(self.new("foo", "--kind", "FooJob", "--replicas", "Peer", "--lang", "cpp", "--dir",
                                  folder).returncode, 0)
        source = self.read(folder, "plugin.cpp")
        self.assertIn('replica_type("Peer", RH_REPLICA_REQUIRED, 1, 0)', source)

    def test_never_overwrites(self):
        folder = self.place("foo")
        os.mkdir(folder)
        done = self.new("foo", *WORDS, "--dir", folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f'"{folder}" exists, and nothing in it is changed; name another folder with --dir', done.stderr)
        self.assertEqual(os.listdir(folder), [])

    def test_cannot_be_written(self):
        self.file("", "file")
        done = self.new("foo", *WORDS, "--dir", self.place("file/foo"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(self.place("file"), done.stderr)

    def test_refused(self):
        rows = [
            ([], "needs NAME"),
            (WORDS, "needs NAME"),
            (["foo"], "needs --kind"),
            (["foo", *WORDS[:2]], "needs --replicas"),
            (["foo", *WORDS[:4]], "needs --lang"),
            (["foo", *WORDS[:-1], "go"], '"go" is none of c|cpp|rust'),
            (["Foo", *WORDS], 'NAME is "Foo", and must be lower-case letters'),
            (["foo-", *WORDS], 'NAME is "foo-"'),
            (["../foo", *WORDS], 'NAME is "../foo"'),
            (["test", *WORDS], "CMake has a target of that name"),
            (["foo", "--kind", "foo-job", *WORDS[2:]], '--kind is "foo-job"'),
            (["foo", "--kind", "Pod", *WORDS[2:]], '--kind is "Pod", which the sources use for something else'),
            (["foo", "--kind", "F" * 53, *WORDS[2:]], "at most 52 characters"),
            (["foo", *WORDS[:2], "--replicas", "Leader,", "--lang", "c"], '--replicas has ""'),
            (["foo", *WORDS[:2], "--replicas", "A,B,AA,B", "--lang", "c"], '--replicas has "B" twice'),
            (["foo", *WORDS[:2], "--replicas", ",".join(f"T{i}" for i in range(17)), "--lang", "c"], "more than 16"),
            (["foo", *WORDS, "--group", "org"], '--group is "org"'),
            (["foo", *WORDS, "--group", "batch.k8s.io"], "Kubernetes keeps *.k8s.io for itself"),
            (["foo", *WORDS, "-o", "json"], "option --output does not belong to `plugins new`"),
        ]
        for words, message in rows:
            done = call("plugins", "new", *words, env={"PWD": self.folder})
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(message, done.stderr, words)
            self.assertEqual(done.stdout, "", words)

    def test_options_belong_to_their_verb(self):
        for words in (["list", "--kind", "FooJob"], ["check", "x.so", "--dir", "y"]):
            done = call("plugins", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("does not belong to", done.stderr)


if __name__ == "__main__":
    main()
