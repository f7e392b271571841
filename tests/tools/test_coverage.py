# SPDX-License-Identifier: Apache-2.0
"""The figures of ./check --coverage, from files as lcov writes them."""
import pathlib
import unittest

import tool

INFO = """TN:
SF:/src/core/base/a.c
FN:3,rh_a
FNDA:1,rh_a
DA:3,1
DA:4,0
DA:5,7
BRDA:4,0,0,-
BRDA:4,0,1,-
BRDA:5,0,0,7
BRDA:5,0,1,0
end_of_record
TN:
SF:/src/comm/core/b.c
DA:1,2
end_of_record
"""
# the library and a program have compiled the file; each has reached one half
AGAIN = """SF:/src/core/base/a.c
DA:3,0
DA:4,1
DA:5,0
BRDA:5,0,0,0
BRDA:5,0,1,2
end_of_record
"""


def figures(text):
    coverage = tool.load("coverage")
    table = coverage.table(*coverage.read(text, pathlib.Path("/src")))
    return [" ".join(line.split()) for line in table.splitlines()]


class Coverage(unittest.TestCase):
    def test_coverage__by_folder_and_of_all(self):
        self.assertEqual(figures(INFO), ["lines branches", "core 66.7 % of 3 25.0 % of 4", "comm 100.0 % of 1 none",
                                         "plugins none none", "all 75.0 % of 4 25.0 % of 4"])

    def test_coverage__a_file_that_two_programs_have_compiled_counts_once(self):
        self.assertEqual(figures(INFO + AGAIN)[1], "core 100.0 % of 3 50.0 % of 4")

    def test_coverage__nothing(self):
        self.assertEqual(figures("")[-1], "all none none")


if __name__ == "__main__":
    unittest.main()
