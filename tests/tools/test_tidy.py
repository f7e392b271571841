# SPDX-License-Identifier: Apache-2.0
"""Which files clang-tidy looks at again; a script that notes its last argument stands for it."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

import tool

NINJA = """rule cc
  command = cc -I../src -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
build a.o: cc ../src/a.c
build b.o: cc ../src/b.c
"""
FAKE = """#!/bin/sh
[ "$1" != --version ] || { cat "$FAKE_VERSION"; exit 0; }
for source; do :; done
echo "${source##*/}" >>"$FAKE_LOG"
! grep -q BAD "$source"
"""


class Tidy(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        bin_ = self.folder / "bin"
        bin_.mkdir()
        (bin_ / "clang-tidy-14").write_text(FAKE)
        (bin_ / "clang-tidy-14").chmod(0o755)
        (self.folder / "version").write_text("1")
        self.enterContext(unittest.mock.patch.dict(os.environ, {
            "PATH": f"{bin_}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.folder / "cache"),
            "FAKE_LOG": str(self.folder / "log"), "FAKE_VERSION": str(self.folder / "version")}))
        self.root = self.clone("one")

    def clone(self, name):
        root = self.folder / name
        (root / "src").mkdir(parents=True)
        (root / "src" / "a.h").write_text("int f(void);\n")
        (root / "src" / "a.c").write_text('#include "a.h"\n')
        (root / "src" / "b.c").write_text("int g(void);\n")
        (root / ".clang-tidy").write_text("Checks: x\n")
        (root / "out").mkdir()
        (root / "out" / "build.ninja").write_text(NINJA)
        return root

    def run_tidy(self, root=None, flags=""):
        """-> (the names of those that were looked at, exit status)"""
        root = root or self.root
        build, log = root / "out", self.folder / "log"
        subprocess.run(["ninja", "-C", str(build)], check=True, stdout=subprocess.DEVNULL)
        (build / "compile_commands.json").write_text(json.dumps([
            {"directory": str(build), "file": str(root / "src" / f"{name}.c"),
             "command": f"cc -I{root}/src {flags} -o {name}.o -c {root}/src/{name}.c"} for name in "ab"]))
        log.write_text("")
        tidy = tool.load("tidy")
        tidy.ROOT = root
        tidy.sys.argv = ["tidy.py", str(build)]
        with contextlib.redirect_stdout(io.StringIO()):
            status = tidy.main()
        return sorted(log.read_text().split()), status

    def test_tidy__looks_once(self):
        self.assertEqual(self.run_tidy(), (["a.c", "b.c"], 0))
        self.assertEqual(self.run_tidy(), ([], 0))

    def test_tidy__looks_again_at_what_changed(self):
        self.run_tidy()
        (self.root / "src" / "a.h").write_text("int f(int);\n")
        self.assertEqual(self.run_tidy(), (["a.c"], 0))
        (self.root / "src" / "b.c").write_text("int h(void);\n")
        self.assertEqual(self.run_tidy(), (["b.c"], 0))
        self.assertEqual(self.run_tidy(flags="-DX"), (["a.c", "b.c"], 0))
        (self.root / "src" / ".clang-tidy").write_text("Checks: y\n")
        self.assertEqual(self.run_tidy(flags="-DX"), (["a.c", "b.c"], 0))
        (self.folder / "version").write_text("2")
        self.assertEqual(self.run_tidy(flags="-DX"), (["a.c", "b.c"], 0))
        self.assertEqual(self.run_tidy(flags="-DX"), ([], 0))

    def test_tidy__findings_stay(self):
        (self.root / "src" / "b.c").write_text("/* BAD */\n")
        self.assertEqual(self.run_tidy(), (["a.c", "b.c"], 1))
        self.assertEqual(self.run_tidy(), (["b.c"], 1))

    def test_tidy__another_clone_is_the_same(self):
        self.run_tidy()
        other = self.clone("two")
        self.assertEqual(self.run_tidy(other), ([], 0))

    def test_tidy__what_was_not_built_is_always_looked_at(self):
        (self.root / "out" / "build.ninja").write_text(NINJA.replace("build b.o: cc ../src/b.c\n", ""))
        self.assertEqual(self.run_tidy(), (["a.c", "b.c"], 0))
        self.assertEqual(self.run_tidy(), (["b.c"], 0))


if __name__ == "__main__":
    unittest.main()
