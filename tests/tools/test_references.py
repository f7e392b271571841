# SPDX-License-Identifier: Apache-2.0
"""Each kind of reference is broken once, in a tree of its own, and must be reported at that place and nothing else."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import tool

V1 = "# V1\n\n## <a id=\"C\"></a>C Pods\n\n### <a id=\"C.4\"></a>C.4 Containers\n\n1. <a id=\"C.4-1\"></a>One\n"
PAGE = "# Page\n\n## A part, with marks!\n\n## A part, with marks!\n"
# name: (file, text, words of the one report)
BROKEN = {
    "id": ("core/a.c", "/* v1-behaviour C.5 */\n", 'core/a.c:1: docs/v1-behaviour.md has no "C.5"'),
    "id that begins like one": ("core/a.c", "/* v1-behaviour C.41 */\n", 'has no "C.41"'),
    "part of an id": ("core/a.c", "/* v1-behaviour C.4-2 */\n", 'has no "C.4-2"'),
    "second id": ("core/a.c", "/* (v1-behaviour C.4, C.9, and more) */\n", 'has no "C.9"'),
    "range of ids": ("core/a.c", "/* v1-behaviour C to D */\n", 'has no "D"'),
    "id on the next line": ("core/a.c", "/* As V1 does (v1-behaviour\n * C.6). */\n",
                            'core/a.c:1: docs/v1-behaviour.md has no "C.6"'),
    "id in a script": ("tools/a.py", "# v1-behaviour C.7\n", 'tools/a.py:1: docs/v1-behaviour.md has no "C.7"'),
    "no id": ("core/a.c", "/* v1-behaviour C-x */\n", "without an id"),
    "page": ("core/a.h", "\n/** see docs/none.md */\n", "core/a.h:2: docs/none.md is not in the tree"),
    "anchor": ("conf/a.ini", "; docs/page.md#none\n", 'conf/a.ini:1: docs/page.md has no anchor "none"'),
    "test": ("core/a.c", "/* tests/none.c holds it */\n", "tests/none.c is not in the tree"),
    "former document": ("core/a.c", "/* COMPAT C.4 */\n", '"COMPAT C.4" names a document'),
    "section of a former document": ("tools/a.sh", "# DESIGN section 4\n", '"DESIGN section 4" names a document'),
    "item": ("tests/a.c", "/* S4: as it was found */\n", '"S4" is an item of no document'),
    "items alone": ("tests/a.py", '"""O1"""\n', '"O1" is an item of no document'),
    "link": ("docs/a.md", "\n[x](none.md)\n", "docs/a.md:2: link to none.md"),
    "anchor of a link": ("docs/a.md", "[x](page.md#none)\n", 'docs/page.md has no anchor "none"'),
    "anchor of this page": ("docs/a.md", "# A\n[x](#b)\n", 'docs/a.md has no anchor "b"'),
    "path in backticks": ("README.md", "`core/none/` and `core/x`\n", "core/none/ is not in the tree"),
    "long line of C": ("core/a.c", "\t" + "x" * 117 + "\n", "core/a.c:1: 121 columns, at most 120"),
    "long line of a script": ("tools/a.py", "x" * 121 + "\n", "tools/a.py:1: 121 columns, at most 120"),
    "long line of a page": ("docs/a.md", "x " * 61 + "\n", "docs/a.md:1: 122 columns"),
}
FINE = {
    "ids": ("core/a.c", "/* v1-behaviour C, C.4 and C.4-1; v1-behaviour C.4, a word */\n"),
    "id on the next line": ("core/a.c", "/* As V1 does (v1-behaviour\n * C.4). */\n"),
    "word": ("docs/a.md", "The page v1-behaviour says so.\n"),
    "page and anchor": ("core/a.c", "/* docs/page.md, docs/page.md#a-part-with-marks-1. */\n"),
    "another docs": ("core/a.c", "/* https://example.com/docs/none.md */\n"),
    "what looks like an item": ("tests/a.c", "/* M is the number of rows, K8S */\n"),
    "links": ("docs/a.md", "[x](page.md#a-part-with-marks) [y](../core) [z](https://example.com/a.md) `[-a](b)`\n"),
    "paths": ("docs/a.md", "`core/base/*.c`, `core/base/b`, `tests/NAME.c`, `core/base/...`, `plugins.so`, `a/b`\n"),
    "what cannot be wrapped": ("docs/a.md", "| " + "x " * 80 + "|\n\n    " + "x" * 120 + "\n\n```\n" + "x" * 130
                               + "\n```\n"),
    "data": ("tests/goldens/lives/a.md", "x " * 100 + "[x](none.md)\n"),
    "release notes": ("CHANGELOG.md", "x " * 100 + "COMPAT.md\n"),
}


def run(file, text):
    """-> status and output of references.py on a tree with this file."""
    references = tool.load("references")
    with tempfile.TemporaryDirectory() as folder:
        references.ROOT = pathlib.Path(folder)
        for name, content in {"docs/v1-behaviour.md": V1, "docs/page.md": PAGE, "core/base/b.c": "", "core/x": "",
                              file: text}.items():
            path = references.ROOT / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = references.main()
    return status, output.getvalue()


class References(unittest.TestCase):
    def test_references__broken_is_reported(self):
        for name, (file, text, words) in BROKEN.items():
            with self.subTest(name):
                status, output = run(file, text)
                self.assertEqual(status, 1)
                self.assertIn(words, output)
                self.assertIn("references: 1 broken", output)

    def test_references__fine_is_not(self):
        for name, (file, text) in FINE.items():
            with self.subTest(name):
                self.assertEqual(run(file, text), (0, "references: 0 broken\n"))


if __name__ == "__main__":
    unittest.main()
