# SPDX-License-Identifier: Apache-2.0
"""The page of differences: complete entries make a page, anything else is refused, a stale page is noticed."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import tool

ENTRY = {"id": "D1", "suite": "lives", "golden": "pt-*", "path": "status.x", "v1": None, "ours": {"a": 1},
         "why": "V1 lied.", "verdict": "fix"}
REFUSED = {
    "a field is missing": ([{key: ENTRY[key] for key in ENTRY if key != "why"}], "missing ['why']"),
    "a field is unknown": ([{**ENTRY, "wy": 1}], "unknown ['wy']"),
    "bad verdict": ([{**ENTRY, "verdict": "maybe"}], 'verdict "maybe"'),
    "bad suite": ([{**ENTRY, "suite": "objekts"}], 'suite "objekts"'),
    "twice": ([ENTRY, ENTRY], "D1 is there twice"),
}


class Differences(unittest.TestCase):
    def setUp(self):
        self.tool = tool.load("differences")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tool.ROOT = pathlib.Path(folder.name)
        titles = {"fix": "Fixed", "keep": "Kept"}
        self.page = self.tool.Page(self.tool.ROOT, self.tool.ROOT / "page.md", "# Page\n", "V1", titles)
        self.page.beyond.write_text("a comment\n\n## Beyond\n")
        self.tool.PAGES = (self.page,)

    def run_tool(self, entries, *arguments):
        """-> exit status and output."""
        self.page.source.write_text(json.dumps(entries))
        self.tool.sys.argv = ["differences.py", *arguments]
        with contextlib.redirect_stderr(io.StringIO()) as words:
            status = self.tool.main()
        return status, words.getvalue()

    def test_differences__page_shows_every_field(self):
        self.assertEqual(self.run_tool([ENTRY])[0], 0)
        page = self.page.path.read_text()
        for words in ("### D1", "V1 lied.", "`lives/pt-*`", "`status.x`", "V1: nothing", '`{"a": 1}`', "None so far."):
            self.assertIn(words, page)

    def test_differences__stale_page_is_noticed(self):
        self.assertEqual(self.run_tool([ENTRY], "--check")[0], 1)
        self.run_tool([ENTRY])
        self.assertEqual(self.run_tool([ENTRY], "--check")[0], 0)
        self.assertIn("stale", self.run_tool([{**ENTRY, "ours": 2}], "--check")[1])

    def test_differences__bad_entries_are_refused(self):
        for name, (entries, words) in REFUSED.items():
            with self.subTest(name):
                status, output = self.run_tool(entries)
                self.assertEqual(status, 1)
                self.assertIn(words, output)


if __name__ == "__main__":
    unittest.main()
