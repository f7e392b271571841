# SPDX-License-Identifier: Apache-2.0
"""test_guide.py SOURCE BUILD: what CONTRIBUTING.md says of common changes is so: each row names a test and a page, each
name of a function, type or member is in a file that its row names, and each pattern of ctest finds a test.

tools/references.py looks at the paths."""
import json
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE, BUILD = (pathlib.Path(word) for word in sys.argv[1:3])
HEADING = "## Where ten common changes go"
CHANGES = {"a rule for a condition", "a variable of PyTorch", "a verb of the API", "a metric", "a flag",
           "a collective algorithm", "a message of the parameter server", "a lint rule", "a golden case",
           "a column of `run`'s table"}
TICKED = re.compile(r"`([^`]+)`")
SYMBOL = re.compile(r"(?:(?:enum|struct) )?([a-z]\w*_\w+)(?:\(\))?")


def rows():
    """-> {change: what the table has for code, test and page}"""
    text = (SOURCE / "CONTRIBUTING.md").read_text(encoding="utf-8").split(HEADING, 1)[1].split("\n## ", 1)[0]
    table = [line.replace("\\|", "\0").strip("|").split("|") for line in text.split("\n") if line.startswith("|")]
    return {cells[0].strip(): [cell.replace("\0", "|") for cell in cells[1:]] for cells in table[2:]}


def files_of(row):
    return [SOURCE / word for word in TICKED.findall(" ".join(row)) if "/" in word and (SOURCE / word).is_file()]


def tests():
    """-> names of all tests of the build"""
    done = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], check=True, capture_output=True,
                          text=True)
    return [test["name"] for test in json.loads(done.stdout)["tests"]]


class Guide(unittest.TestCase):
    def test_it_has_the_ten_changes(self):
        self.assertEqual(CHANGES - rows().keys(), set())

    def test_each_names_code_a_test_and_a_page(self):
        for change, row in rows().items():
            with self.subTest(change):
                code, test, page = row
                self.assertRegex(code, r"`\w+/[\w./]+`")
                self.assertRegex(test, r"`tests/[\w./]+`")
                self.assertRegex(page, r"\w+\.md`")

    def test_its_names_are_in_the_files_that_it_names(self):
        for change, row in rows().items():
            texts = "".join(path.read_text(encoding="utf-8") for path in files_of(row))
            for word in TICKED.findall(" ".join(row)):
                symbol = SYMBOL.fullmatch(word)
                if symbol:
                    with self.subTest(change, name=word):
                        self.assertTrue(re.search(rf"\b{symbol[1]}\b", texts), "it is in none of the row's files")

    def test_its_patterns_find_tests(self):
        known = tests()
        for change, row in rows().items():
            for pattern in re.findall(r"ctest --preset dev -R '?([^`']+)'?`", " ".join(row)):
                for part in pattern.split("|"):
                    with self.subTest(change, pattern=part):
                        self.assertTrue([name for name in known if re.search(part, name)])
            for name in re.findall(r"`tools/test ([\w/]+)", " ".join(row)):
                with self.subTest(change, test=name):
                    self.assertTrue([one for one in known if one == name or one.startswith(name + "/")])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
