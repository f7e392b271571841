#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/internals/first-fault-ways.md from ways.py. usage: table.py [--check]"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import ways

PAGE = ways.SOURCE / "docs/internals/first-fault-ways.md"
HEAD = """# Ways to fail, and which replica is named

[The first fault](../local.md#the-first-fault) of a job is the failure that caused the others.
`tests/local/first_fault/table.py` writes this table from the rows of the tests. Each row is a real program of
`tests/local/first_fault/programs`. The tests play the recordings of all of them again, with random delays of each
replica's output and end: each row once in the test `local/first_fault`, and ten times in `local/first_fault_long`.
`local/first_fault_everywhere` plays each row under each restart policy (Never, OnFailure, ExitCode) and with each end
of the run (by itself, by `--timeout`, by Ctrl-C, by `backoffLimit`) to which the job can come.
`local/first_fault_FRAMEWORK` runs the frameworks themselves. `tests/local/first_fault/record.py` makes a new recording.

In each row Worker-1 is the replica that fails, unless the row names another. "Nobody" is an answer that blames nobody,
because the replicas' outputs do not say it.

| a job of | fails in this way | named | evidence |
|---|---|---|---|
"""


def named(way):
    return " or ".join(one or "nobody" for one in way.culprit or (None,))


def page():
    rows = {}
    for way in ways.FIRST:
        rows.setdefault((way.what, named(way), way.evidence()), []).append(way.label)
    lines = [f"| {', '.join(dict.fromkeys(labels))} | {what} | {who} | {by} |" for (what, who, by),
             labels in rows.items()]
    more = sorted({way.what.rpartition("; ")[2] for way in ways.WAYS if way.recorded_as})
    again = ("The rows above have `Never`, and a run that ends by itself. The first two tests play a few of them\n"
             "again under other restart policies and with other ends of the run:")
    return HEAD + "\n".join(lines) + f"\n\n{again}\n\n" + "\n".join(f"* {one}" for one in more) + "\n"


def main():
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE} is not that of the rows; run tests/local/first_fault/table.py")


if __name__ == "__main__":
    main()
