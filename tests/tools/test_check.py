# SPDX-License-Identifier: Apache-2.0
"""Which stages ./check runs again; programs that note how they are called stand for cmake, ctest and the gates."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests"))
from waits import wait_for  # noqa: E402

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
STAGES = ["asan", "cluster", "dev", "slow", "tsan"]


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

    def environment(self, bad="none"):
        return {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "FAKE_LOG": str(self.log), "FAKE_BAD": bad,
                "FAKE_VERSIONS": str(self.folder / "versions"), "HOME": str(self.folder)}

    def check(self, *words, bad="none"):
        """-> (the stages of tests that ran, in no order, exit status, what it wrote)"""
        self.log.write_text("")
        done = subprocess.run(["./check", *words], cwd=self.tree, env=self.environment(bad), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return sorted(self.log.read_text().split()), done.returncode, done.stdout

    def test_check__runs_all_once(self):
        self.assertEqual(self.check()[:2], (STAGES, 0))
        ran, status, text = self.check()
        self.assertEqual((ran, status, sorted(re.findall(r"(\w+): skipped", text))), ([], 0, STAGES))
        self.assertEqual(self.check("--all")[0], STAGES)

    def test_check__runs_what_a_change_concerns(self):
        self.check()
        for name, stages in {"docs/a.md": ["asan", "dev", "slow"], "README.md": ["asan", "dev", "slow"], "tests/base/a.c": ["asan", "dev", "slow"], "core/a.c": STAGES,
                             "tests/comm/a.c": ["asan", "dev", "slow", "tsan"],
                             "tests/controller/a.c": ["asan", "cluster", "dev", "slow"]}.items():
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
        for stage in ("slow", "cluster"):
            with self.subTest(stage):
                _, status, text = self.check("--all", bad=stage)
                self.assertEqual(status, 1, text)
                self.assertIn(f"FAILED: {stage}\n", text)
                ran, status, text = self.check()
                self.assertEqual((status, stage in ran), (0, True), text)
                self.assertEqual(self.check()[:2], ([], 0))

    def test_check__stages_run_beside_each_other(self):
        """That of a cluster comes last, when its programs are there; the others have not waited for these."""
        self.write("tests/cluster/assets.py", """
import os, pathlib, time
while not pathlib.Path("build/logs/passed/tsan").exists():
    time.sleep(0.05)
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write("programs\\n")
""")
        _, status, text = self.check()
        ran = self.log.read_text().split()
        self.assertEqual((status, ran[-2:], sorted(ran[:-2])), (0, ["programs", "cluster"], ["asan", "dev", "slow", "tsan"]), text)

    def test_check__a_signal_ends_all(self):
        self.write("../bin/ctest", '#!/bin/bash\necho $$ >>"$FAKE_LOG"\nexec sleep 1000\n')
        self.log.write_text("")
        run = subprocess.Popen(["./check"], cwd=self.tree, env=self.environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("two stages of tests", lambda: len(self.log.read_text().split()) == len(["dev", "slow"]))
        run.terminate()
        self.assertEqual(run.wait(), 128 + signal.SIGTERM)
        for process in self.log.read_text().split():
            wait_for("their end", lambda process=process: not pathlib.Path("/proc", process).exists())

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
