#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py BUILD_DIR: clang-tidy over every source file of a build, two at a time.

A file that was clean is not looked at again until it, a header, or .clang-tidy changes.
"""
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-14"


def digest(paths):
    total = hashlib.sha256()
    for path in paths:
        total.update(path.read_bytes())
    return total.hexdigest()


def headers():
    return sorted(path for folder in ("include", "core", "plugins", "comm", "tests") for path in (ROOT / folder).rglob("*.h"))


def check(build, source):
    result = subprocess.run([TIDY, "--quiet", "-p", str(build), str(source)], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + (result.stderr if result.returncode else "")


def main():
    build = pathlib.Path(sys.argv[1])
    database = json.loads((build / "compile_commands.json").read_text())
    sources = sorted({pathlib.Path(entry["file"]) for entry in database if (ROOT in pathlib.Path(entry["file"]).parents)
                      and "build" not in pathlib.Path(entry["file"]).relative_to(ROOT).parts})
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    common = digest([*(ROOT / folder / ".clang-tidy" for folder in (".", "comm", "tests")), build / "compile_commands.json", *headers()])
    todo = {}
    for source in sources:
        stamp = stamps / (common[:16] + digest([source])[:16])
        if not stamp.exists():
            todo[source] = stamp
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        runs = {pool.submit(check, build, source): source for source in todo}
        for run in concurrent.futures.as_completed(runs):
            status, text = run.result()
            if status:
                bad += 1
                print(text, flush=True)
            else:
                todo[runs[run]].touch()
    print(f"clang-tidy: {len(sources)} files, {len(todo)} looked at, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
