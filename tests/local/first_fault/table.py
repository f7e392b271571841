#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/first-fault-ways.md from ways.py. usage: table.py [--check]"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import ways

PAGE = ways.SOURCE / "docs" / "first-fault-ways.md"
HEAD = """# Ways to fail, and who is named

[The first fault](local.md#the-first-fault) of a job is the one that the others follow from. This table is written by
`tests/local/first_fault/table.py` from the rows of the tests, and each row is a real program of `tests/local/first_fault/programs`. Recordings of all of them are played
again under random delays of what each replica writes and of its end, each row once in the test `local/first_fault`, and ten times in `local/first_fault_long`;
`local/first_fault_FRAMEWORK` runs the frameworks themselves. `tests/local/first_fault/record.py` makes a recording anew.

In the rows Worker-1 is the one that goes wrong, unless the way says another. "Nobody" stands for an answer that blames nobody, because the
replicas' outputs do not say it.

| a job of | fails in this way | named | evidence |
|---|---|---|---|
"""


def named(way):
    return " or ".join(one or "nobody" for one in way.culprit or (None,))


def page():
    rows = {}
    for way in ways.FIRST:
        rows.setdefault((way.what, named(way), way.evidence()), []).append(way.label)
    lines = [f"| {', '.join(dict.fromkeys(labels))} | {what} | {who} | {by} |" for (what, who, by), labels in rows.items()]
    more = sorted({way.what.rpartition("; ")[2] for way in ways.WAYS if way.recorded_as})
    return HEAD + "\n".join(lines) + ("\n\nA few of them are played again under other restart policies and with other ends of the run (`Never`, and a run that ends by itself, "
                                      f"are those above):\n\n" + "\n".join(f"* {one}" for one in more) + "\n")


def main():
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE} is not that of the rows; run tests/local/first_fault/table.py")


if __name__ == "__main__":
    main()
