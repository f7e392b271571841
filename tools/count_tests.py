#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_tests.py FILE...: sum up JUnit files that ctest wrote, in one line. A file that is not there counts nothing.

A test that ran in several builds counts once: as failed when it failed in any, as passed when it passed in any.
What was skipped is named, with the reason where the test wrote "SKIPPED: reason"; and so are the cases that a program
which passed has skipped, when it did so in every build. The slowest tests come with their seconds and their share of
the time of all. A test that failed and then passed is named with what ctest wrote, which lies beside the JUnit file.
Ends with 1 when a test failed.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree

RANK = {"skipped": 0, "passed": 1, "failed": 2}
RESULT = {"run": "passed", "fail": "failed"}
SLOWEST = 20


def reason_of(case):
    """Why a test says that it was skipped."""
    found = re.search(r"^SKIPPED: (.*)$", case.findtext("system-out") or "", re.M)
    return ": " + found[1] if found else ""


def skipped_cases(case):
    """-> what a program that ran says of cases that it left out: cmocka names them, unittest counts them or has
    reasons"""
    text = case.findtext("system-out") or ""
    reasons = re.findall(r"^SKIPPED: (.*)$", text, re.M) + re.findall(r"^\[  SKIPPED \] (\w+)$", text, re.M)
    reasons += [words[1:-1] for words in re.findall(r"skipped ('.*'|\".*\")$", text, re.M)]
    count = re.search(r"^OK \(.*\bskipped=(\d+)", text, re.M)
    return list(dict.fromkeys(reasons)) or ([f"{count[1]} cases"] if count else [])


def cases_of(case):
    """-> how many cases a program says it runs: cmocka and unittest do, any other program is one"""
    text = case.findtext("system-out") or ""
    counts = re.findall(r"^\[=+\] Running (\d+) test\(s\)\.", text, re.M) + re.findall(r"^Ran (\d+) tests? in ", text,
                                                                                       re.M)
    return sum(map(int, counts)) or 1


def failed_once(path):
    """-> the tests that failed in a log of ctest's, whether they then passed or not"""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    return dict.fromkeys(re.findall(r"^ *\d+/\d+ Test +#\d+: (\S+) \.*\*\*\*(?!Skipped|Not Run)", text, re.M))


def print_slowest(times):
    """times: {(build, test): seconds}"""
    total = sum(times.values())
    if total:
        print(f"slowest of {len(times)} tests, which took {total:.0f} s one after the other:")
    for (build, name), seconds in sorted(times.items(), key=lambda item: -item[1])[:SLOWEST if total else 0]:
        print(f"{seconds:7.1f} s {100 * seconds / total:4.1f} %  {build}: {name}")


def main():
    worst, reasons, parts, times, ran, passed = {}, {}, {}, {}, {}, set()
    for path in filter(pathlib.Path.exists, map(pathlib.Path, sys.argv[1:])):
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            result = RESULT.get(case.get("status"), "skipped")
            # a test whose program could not be started has not run, which is no reason to skip it
            if case.find("skipped") is not None and "Unable to find executable" in case.find("skipped").get("message",
                                                                                                            ""):
                result = "failed"
            name = case.get("name")
            times[path.stem, name] = float(case.get("time") or 0)
            if result != "skipped":
                ran[name] = max(cases_of(case), ran.get(name, 0))
            worst[name] = max(worst.get(name, "skipped"), result, key=RANK.get)
            reasons[name] = reason_of(case) or reasons.get(name, "")
            if result == "passed":
                passed.add((path.stem, name))
                parts[name] = min(skipped_cases(case), parts.get(name, skipped_cases(case)), key=len)
            if result == "failed":
                print(f"failed in {path.stem}: {name}")
        log = path.with_suffix(".log")
        for name in failed_once(log):
            if (path.stem, name) in passed:
                print(f"failed once in {path.stem}, and passed when it ran again: {name}; see {log}")
    for name in sorted(name for name, result in worst.items() if result == "skipped"):
        print(f"skipped: {name}{reasons[name]}")
    for name in sorted(name for name, cases in parts.items() if cases and worst[name] == "passed"):
        print(f"skipped in part: {name}: {'; '.join(parts[name])}")
    print_slowest(times)
    print(f"{sum(ran.values())} cases in {len(ran)} tests that ran")
    counts = [list(worst.values()).count(result) for result in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
