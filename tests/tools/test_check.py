# SPDX-License-Identifier: Apache-2.0
"""Which stages ./check runs again; programs that note how they are called stand for cmake, ctest and the gates."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FAKES = {
    "cmake": 'case "$*" in *"$FAKE_BAD"*) echo "no such preset"; exit 1 ;; esac',
    "ctest": """
for word; do case $last in --output-junit) out=$word ;; esac; last=$word; done
stage=${out##*/}; stage=${stage%.xml}
echo "$stage" >>"$FAKE_LOG"
echo "$*" >>"$FAKE_LOG.words"
echo '<testsuite><testcase name="a" status="run" time="1"/></testsuite>' >"$out"
[ "$stage" != "$FAKE_BAD" ]""",
    "cppcheck": "", "clang-format-14": "",
    "dpkg-query": 'case "$*" in *Status*) printf installed ;; *) cat "$FAKE_VERSIONS" ;; esac',
}
SCRIPTS = ("tools/measure.py", "tools/tidy.py", "tools/differences.py", "tools/references.py", "tests/cluster/assets.py")
FOLDERS = ("core", "plugins", "comm", "include", "conf", "cmake", "examples", "packaging", "docs", "tests/base", "tests/comm", "tests/kube", "tests/abi",
           "tests/controller", "tests/engine", "tests/goldens", "tests/plugins", "tools")
STAGES = ["dev", "slow", "cluster", "asan", "tsan"]


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tree, self.log = self.folder / "tree", self.folder / "log"
        for name in FOLDERS:
            self.write(name + "/a.c", "int a;\n")
        for name in ("CMakeLists.txt", "CMakePresets.json", "tests/CMakeLists.txt", "tests/costs.txt", "tests/runner.c", "tools/crds.py",
                     "tools/deploy.py", "tools/pod_schema.py", "README.md"):
            self.write(name, "")
        for name in SCRIPTS:
            self.write(name, "")
        for name in ("check", "tools/setup.sh", "tools/count_tests.py"):
            shutil.copy(SOURCE / name, self.tree / name)
        for name, text in FAKES.items():
            self.write(f"../bin/{name}", f"#!/bin/bash\n{text}\n").chmod(0o755)
        (self.folder / "versions").write_text("gcc 12\n")

    def write(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def check(self, *words, bad="none"):
        """-> (the stages of tests that ran, exit status, what it wrote)"""
        self.log.write_text("")
        environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "FAKE_LOG": str(self.log), "FAKE_BAD": bad,
                       "FAKE_VERSIONS": str(self.folder / "versions"), "HOME": str(self.folder)}
        done = subprocess.run(["./check", *words], cwd=self.tree, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return self.log.read_text().split(), done.returncode, done.stdout

    def test_check__runs_all_once(self):
        self.assertEqual(self.check()[:2], (STAGES, 0))
        ran, status, text = self.check()
        self.assertEqual((ran, status, re.findall(r"(\w+): skipped", text)), ([], 0, STAGES))
        self.assertEqual(self.check("--all")[0], STAGES)

    def test_check__runs_what_a_change_concerns(self):
        self.check()
        for name, stages in {"docs/a.md": ["dev"], "tests/base/a.c": ["dev", "slow", "asan"], "core/a.c": STAGES,
                             "tests/comm/a.c": ["dev", "slow", "asan", "tsan"], "tests/controller/a.c": ["dev", "slow", "cluster", "asan"]}.items():
            with self.subTest(name):
                self.write(name, "another\n")
                self.assertEqual(self.check()[:2], (stages, 0))
        (self.folder / "versions").write_text("gcc 13\n")
        self.assertEqual(self.check()[0], STAGES)

    def test_check__a_test_that_fails_runs_once_more(self):
        words = pathlib.Path(f"{self.log}.words")
        self.check("--quick")
        self.assertIn("--repeat until-pass:2", words.read_text())
        words.unlink()
        self.assertEqual(self.check("--strict", "--all")[:2], (STAGES, 0))
        self.assertNotIn("--repeat", words.read_text())
        self.assertEqual(self.check("--strict", "--what")[1], 1)

    def test_check__what_fails_is_named_and_runs_again(self):
        ran, status, text = self.check(bad="cluster")
        self.assertEqual((ran, status), (["dev", "slow", "cluster"], 1), text)
        self.assertIn("FAILED: cluster\n", text)
        self.assertEqual(self.check()[:2], (["cluster", "asan", "tsan"], 0))

    def test_check__what_fails_beside_the_tests_is_named(self):
        for preset in ("release", "asan"):
            with self.subTest(preset):
                _, status, text = self.check("--all", bad=f"--preset {preset}")
                self.assertEqual(status, 1, text)
                self.assertIn(f"FAILED: build-{preset}\n", text)
                self.assertIn("no such preset", text)

    def test_check__quick(self):
        self.assertEqual(self.check("--quick")[:2], (["dev"], 0))


if __name__ == "__main__":
    unittest.main()
