#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""references.py: every reference of the sources and pages leads somewhere, and no line is too long to read.

It looks at
  - ids of docs/v1-behaviour.md, as in "v1-behaviour C.4", in any file;
  - docs/PAGE.md and docs/PAGE.md#ANCHOR in any file, tests/, tools/ and conf/ with a suffix in comments of C;
  - links of pages: [text](path#anchor), and paths in backticks that begin with a folder of this tree;
  - names of documents that are not in this tree, and ids of their items, at the start of a comment;
  - the length of lines (see WIDTH): tabs count four columns.
Ends with 1 when something is wrong.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

FOLDERS = ("cmake", "comm", "conf", "core", "docs", "examples", "include", "packaging", "plugins", "tests", "tools")
SOURCES = {".c", ".h", ".in", ".cc", ".cpp"}
SCRIPTS = {".py", ".sh", ".txt", ".cmake", ".ini"}
TEXTS = SOURCES | SCRIPTS | {".md", ".yaml", ".json"}
# Columns of a line. Pages: without tables, code and generated text, which cannot be wrapped.
WIDTH = 120
# Data, recordings of programs, and what a program writes.
NOT_READ = ("tests/fuzz/corpus/", "tests/goldens/objects/", "tests/goldens/gang/", "tests/goldens/lives/",
            "tests/goldens/invalid/", "tests/goldens/mpi2/", "tests/goldens/trainer/", "docs/recordings/",
            "conf/crds/", "conf/deploy/")
# Examples of what is wrong, and a part of a page that lies in docs/.
NOT_CHECKED = ("tests/tools/test_references.py", "tests/tools/test_check.py", "tools/references.py", "tests/goldens/deliberate.md",
               "tests/goldens/mpi2/deliberate.md", "tests/goldens/trainer/deliberate.md")
NOT_MEASURED = ("CHANGELOG.md", "docs/differences-from-v1.md", "docs/differences/mpi-operator.md",
                "docs/differences/trainer.md",
                "docs/internals/first-fault-ways.md")

V1_PAGE = "docs/v1-behaviour.md"
V1 = re.compile(r"v1-behaviour\s+(?=[A-Z\d](?![a-z]))")
# One id, and what stands between two of them.
V1_ID = re.compile(r"(?:,?\s+(?:to|and)\s+|,\s+)?([A-Z\d](?:\.\d+)?(?:-\d+[a-z]?)?)(?![\w-])")
PAGE = re.compile(r"(?<![\w/.-])(docs/[\w/.-]+\.md)(#[\w.-]*\w)?")
COMMENT_PATH = re.compile(r"(?<![\w/.-])((?:tests|tools|conf)/[\w/.-]+\.(?:c|h|py|sh|ini|json|md))(?![\w/])")
LINK = re.compile(r"\[[^\]\[]*\]\(([^()\s]+)\)")
TICKED = re.compile(r"`([\w./*-]+)`")
ANCHOR = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")
# Documents of which only the name was ever in this tree.
GONE = re.compile(r"\b(COMPAT [0A-K](?:\.\d+)?|COMPAT-free|DESIGN sections? \d|(?:COMPAT|DESIGN|FINDINGS|USERS|COMM)\.md)\b")
ITEM = re.compile(r"(?:/\*\*?|//|#|\"\"\")\s*((?:[KLMOPS]\d{1,2}(?:, )?)+)(?=:|\s*\*/|\"\"\"|\s*$)")


class Report:
    def __init__(self):
        self.broken = 0

    def add(self, where, what):
        self.broken += 1
        print(f"{where}: {what}")


def slug(heading, seen):
    """The anchor that a heading gets: lower case, without marks, spaces as hyphens, and a number if it is not the
    first."""
    text = re.sub(r"<[^>]*>", "", heading)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    seen[text] = seen.get(text, -1) + 1
    return text if seen[text] == 0 else f"{text}-{seen[text]}"


def prose(text):
    """-> (number, line, whether it can be wrapped) of a page, without the lines of fenced code."""
    fence = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence:
            yield number, line, not line.lstrip().startswith("|") and not re.match(r" {4}\S", line)


def anchors(text):
    seen = {}
    out = set(ANCHOR.findall(text))
    for _, line, _ in prose(text):
        if re.match(r"#{1,6} ", line):
            out.add(slug(line.lstrip("#"), seen))
    return out


class Tree:
    """The texts of the tree, and which anchors its pages have."""

    def __init__(self, root):
        self.root = root
        self.texts = {}
        self.known = {}
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            if self.is_text(path, name):
                self.texts[name] = path.read_text()

    @staticmethod
    def is_text(path, name):
        if name.startswith(("build/", ".git/") + NOT_READ) or "__pycache__" in name or not path.is_file():
            return False
        return path.suffix in TEXTS or name in ("check", "quickstart", "examples/setup", ".ci/run")

    def anchors(self, page):
        if page not in self.known:
            self.known[page] = anchors(self.texts.get(page, ""))
        return self.known[page]

    def has(self, name):
        """Whether this file or folder exists; stars and files without their suffix count."""
        name = name.rstrip("/")
        return (self.root / name).exists() or any(self.root.glob(name)) or any(self.root.glob(name + ".*"))


def lines_of(text, pattern):
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match


def check_page_reference(report, tree, where, page, anchor):
    if not tree.has(page):
        report.add(where, f"{page} is not in the tree")
    elif anchor and anchor not in tree.anchors(page):
        report.add(where, f"{page} has no anchor \"{anchor}\"")


def check_ids(report, tree, file, text):
    # a reference may go on behind the end of a comment's line
    flat = re.sub(r"\n[ \t]*(?:\*|#|//)[ \t]", lambda match: "\n" + " " * (len(match.group(0)) - 1), text)
    for number, start in lines_of(flat, V1):
        match = V1_ID.match(flat, start.end())
        if not match:
            report.add(f"{file}:{number}", "v1-behaviour without an id")
        while match:
            if match.group(1) not in tree.anchors(V1_PAGE):
                report.add(f"{file}:{number}", f"{V1_PAGE} has no \"{match.group(1)}\"")
            match = V1_ID.match(flat, match.end())


def check_references(report, tree, file, text):
    check_ids(report, tree, file, text)
    for number, match in lines_of(text, PAGE):
        check_page_reference(report, tree, f"{file}:{number}", match.group(1), (match.group(2) or "").lstrip("#"))
    for pattern, what in ((GONE, "names a document that is not in the tree"),
                          (ITEM, "is an item of no document in the tree")):
        for number, match in lines_of(text, pattern):
            report.add(f"{file}:{number}", f"\"{match.group(1)}\" {what}")
    if pathlib.PurePosixPath(file).suffix in SOURCES:
        for number, match in lines_of(text, COMMENT_PATH):
            if not tree.has(match.group(1)):
                report.add(f"{file}:{number}", f"{match.group(1)} is not in the tree")


def check_link(report, tree, where, file, target):
    if re.match(r"[a-z]+:", target):
        return
    path, _, anchor = target.partition("#")
    folder = pathlib.PurePosixPath(file).parent
    page = file if not path else (tree.root / folder / path).resolve()
    if path:
        if not page.exists():
            report.add(where, f"link to {target}, which is not in the tree")
            return
        page = page.relative_to(tree.root.resolve()).as_posix()
    if anchor and anchor not in tree.anchors(page):
        report.add(where, f"link to {target}: {page} has no anchor \"{anchor}\"")


def check_page(report, tree, file, text):
    for number, line, _ in prose(text):
        for match in LINK.finditer(re.sub(r"`[^`]*`", "``", line)):
            check_link(report, tree, f"{file}:{number}", file, match.group(1))
        for match in TICKED.finditer(line):
            name = match.group(1)
            top = name.split("/")[0]
            if "/" in name and top in FOLDERS and not re.search(r"[A-Z]{3}|\.\.\.", name) and not tree.has(name):
                report.add(f"{file}:{number}", f"{name} is not in the tree")


def kind_of(file):
    suffix = pathlib.PurePosixPath(file).suffix
    if suffix == ".md":
        return "page"
    return "source" if suffix in SOURCES else "script" if suffix in SCRIPTS or not suffix else None


def check_width(report, file, text):
    kind = kind_of(file)
    if not kind or file in NOT_MEASURED:
        return
    lines = prose(text) if kind == "page" else ((number, line, True) for number, line in enumerate(text.split("\n"), 1))
    for number, line, can_wrap in lines:
        columns = len(line.expandtabs(4))
        if can_wrap and columns > WIDTH:
            report.add(f"{file}:{number}", f"{columns} columns, at most {WIDTH}")


def main():
    report, tree = Report(), Tree(ROOT)
    for file, text in tree.texts.items():
        if file in NOT_CHECKED:
            continue
        check_width(report, file, text)
        if file == "CHANGELOG.md":
            continue  # a note stays as it was when it was released
        check_references(report, tree, file, text)
        if file.endswith(".md"):
            check_page(report, tree, file, text)
    print(f"references: {report.broken} broken")
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
