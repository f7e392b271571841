#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage.py INFO: how many lines and branches of core, comm and plugins tests have reached, and of all, from the file
that lcov writes (build/coverage/coverage.info; `./check --coverage` makes it)."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("core", "comm", "plugins")


class Points:
    """Lines or branches, each with whether it was reached. What two programs have compiled counts once."""

    def __init__(self):
        self.reached = {}

    def add(self, point, reached):
        self.reached[point] = self.reached.get(point, False) or reached

    def of(self, folder):
        """-> how many were reached, and how many there are, below the folder; "" is all."""
        found = [reached for point, reached in self.reached.items() if point[0].startswith(folder)]
        return sum(found), len(found)


def read(text, root):
    """-> the lines and the branches of a file of lcov: SF:FILE, DA:LINE,COUNT, BRDA:LINE,BLOCK,BRANCH,COUNT or -."""
    lines, branches, name = Points(), Points(), None
    for row in text.splitlines():
        key, _, value = row.partition(":")
        if key == "SF":
            path = pathlib.Path(value)
            name = path.relative_to(root).as_posix() if path.is_relative_to(root) else value
        elif key == "DA":
            number, count = value.split(",")[:2]
            lines.add((name, number), int(count) > 0)
        elif key == "BRDA":
            place, count = value.rsplit(",", 1)
            branches.add((name, place), count not in ("-", "0"))
    return lines, branches


def share(points, folder):
    reached, all_ = points.of(folder)
    return f"{100 * reached / all_:.1f} % of {all_}" if all_ else "none"


def table(lines, branches):
    rows = [("", "lines", "branches")]
    for name in FOLDERS:
        rows.append((name, share(lines, f"{name}/"), share(branches, f"{name}/")))
    rows.append(("all", share(lines, ""), share(branches, "")))
    return "\n".join(f"{name:<8} {reached:>17} {taken:>17}" for name, reached, taken in rows)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["--help"], ["-h"]) else 2
    print(table(*read(pathlib.Path(sys.argv[1]).read_text(), ROOT)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
