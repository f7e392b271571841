# SPDX-License-Identifier: Apache-2.0
"""tools/test in a small project of its own, from a clone that was never built."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "test"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(small C)
enable_testing()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
add_executable(test_base_one one.c)
add_test(NAME base/one COMMAND test_base_one argument)
add_custom_target(products)
add_subdirectory(script)
"""
SCRIPT = """add_library(made MODULE ../one.c)
set_target_properties(made PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
add_test(NAME script/other COMMAND false)
add_test(NAME script/one COMMAND python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/list.py ${CMAKE_CURRENT_BINARY_DIR})
"""
LIST = """import pathlib, sys
print([path.name for path in pathlib.Path(sys.argv[1]).glob("*.so")])
"""
PRESETS = """{"version": 3, "configurePresets": [
  {"name": "dev", "generator": "Ninja", "binaryDir": "${sourceDir}/build/dev"}]}
"""
SOURCE = """#include <stdio.h>
int main(int argc, char **argv)
{
	return printf("%s of one\\n", argc > 1 ? argv[1] : "nothing") < 0;
}
"""


class Test(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        (self.folder / "tools").mkdir()
        shutil.copy(TOOL, self.folder / "tools" / "test")
        (self.folder / "script").mkdir()
        for name, text in (("CMakeLists.txt", PROJECT), ("CMakePresets.json", PRESETS), ("one.c", SOURCE),
                           ("script/CMakeLists.txt", SCRIPT), ("script/list.py", LIST)):
            (self.folder / name).write_text(text)

    def run_tool(self, *words):
        return subprocess.run([sys.executable, "-B", self.folder / "tools" / "test", *words], capture_output=True,
                              text=True, check=False)

    def test_test__builds_and_runs_what_was_never_built(self):
        for _ in range(2):
            done = self.run_tool("base/one")
            self.assertEqual((done.returncode, done.stdout), (0, "argument of one\n"), done.stderr)

    def test_test__what_a_script_finds_in_a_folder_is_built(self):
        """And no other test of that folder runs: ninja has a target "test" in each."""
        done = self.run_tool("script/one")
        self.assertEqual((done.returncode, done.stdout), (0, "['made.so']\n"), done.stderr)

    def test_test__an_unknown_name(self):
        done = self.run_tool("base/two")
        self.assertEqual(done.returncode, 1)
        self.assertIn('no test and no folder of tests "base/two"', done.stderr)


unittest.main()
