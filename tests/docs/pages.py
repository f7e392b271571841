# SPDX-License-Identifier: Apache-2.0
"""Commands of README.md, CONTRIBUTING.md and docs/: blocks of ```sh, and what stands in backticks in a sentence."""
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# What a line of a command begins with.
COMMAND = re.compile(r"(?:\$ |sudo |\./|build/|roundhouse |kubectl |helm |python3 |pip |cmake |ctest "
                     r"|examples/setup|packaging/|tools/)")


def pages():
    """-> the pages whose commands are tested."""
    return [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").rglob("*.md"))]


def lines(text):
    """-> (number, word behind the fence or None, line) for every line of a page."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fence = line.strip()[3:] if fence is None else None
        else:
            yield number, fence, line


def commands(text):
    """-> (number, command) of the blocks of sh, without comments; a backslash at the end joins lines."""
    joined = ""
    for number, fence, line in lines(text):
        if fence != "sh":
            continue
        joined += re.sub(r"\s+#.*", "", line).strip()
        if joined.endswith("\\"):
            joined = joined[:-1]
        elif joined:
            yield number, joined
            joined = ""


def strays(text):
    """-> (number, line) of what looks like a command and is in no block of sh."""
    for number, fence, line in lines(text):
        code = fence == "" or (fence is None and re.match(r" {4}\S", line))
        if code and COMMAND.match(line.strip()):
            yield number, line.strip()


def mentions(text):
    """-> (number, words) of each `roundhouse ...` in a sentence or a table."""
    for number, fence, line in lines(text):
        if fence is None:
            for span in re.findall(r"`((?:build/release/bin/)?roundhouse [^`]*)`", line.replace("\\|", "|")):
                yield number, span.split("|")[0].split()[1:]
