# SPDX-License-Identifier: Apache-2.0
"""test_comparison.py SOURCE BUILD: each line of docs/comm.md that says what rh_comm has beside other libraries names
its tests: they are in the file that it names, and the build has a test of this file."""
import json
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE, BUILD = (pathlib.Path(word) for word in sys.argv[1:3])
HEADING = "## Beside NCCL, Gloo, UCC and Open MPI"
TICKED = re.compile(r"`([^`]+)`")
# what these test is built only where the libraries are that it wraps
OPTIONAL = ("tests/comm/ucx/", "tests/comm/mpi/", "tests/comm/nccl/", "tests/comm/python/")
HEAD = ["", "NCCL", "Gloo", "UCC", "Open MPI", "rh_comm", "tests"]


def rows():
    """-> cells of each line of the table"""
    text = (SOURCE / "docs" / "comm.md").read_text(encoding="utf-8").split(HEADING, 1)[1].split("\n## ", 1)[0]
    table = [[cell.strip() for cell in line[1:-1].split("|")] for line in text.split("\n") if line.startswith("|")]
    assert table[0] == HEAD, table[0]
    return table[2:]


def names_of_tests():
    """-> names of all tests of the build"""
    done = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], check=True, capture_output=True,
                          text=True)
    return {test["name"] for test in json.loads(done.stdout)["tests"]}


def test_of(path):
    """-> how the build names the test whose file this is"""
    below = pathlib.PurePosixPath(path).relative_to("tests")
    return str(below.parent / below.stem.removeprefix("test_"))


class Comparison(unittest.TestCase):
    def test_it_is_whole(self):
        found = rows()
        self.assertGreater(len(found), 30)
        self.assertEqual([], [row for row in found if len(row) != len(HEAD) or not all(row[:6])])
        names = [row[0] for row in found]
        self.assertEqual(len(names), len(set(names)))

    def test_what_rh_comm_has_is_tested(self):
        known = names_of_tests()
        for row in rows():
            words = TICKED.findall(row[6])
            with self.subTest(row[0]):
                if row[5].split(":")[0] == "no":
                    self.assertEqual(words, [])
                    continue
                path, *cases = words
                self.assertTrue((SOURCE / path).is_file(), path)
                self.assertNotEqual(cases, [])
                text = (SOURCE / path).read_text(encoding="utf-8")
                for case in cases:
                    self.assertRegex(text, rf"\b(static void|def) {case}\(")
                if not path.startswith(OPTIONAL):
                    self.assertIn(test_of(path), known)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
