#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py BUILD_DIR: clang-tidy over every source file of what ninja has built, one for each processor at a time.

A file that was clean is not looked at again until it, a header that it includes, its command, .clang-tidy or clang-tidy
changes; nor in another clone: what was clean is kept in ~/.cache/roundhouse/tidy.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-14"
KEPT_S = 60 * 24 * 3600


def stamp_folder():
    """Where an empty file for each clean state lies; those that nobody asked for in a while are gone."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = pathlib.Path(base, "roundhouse", "tidy")
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.stat().st_mtime < time.time() - KEPT_S:
            path.unlink(missing_ok=True)
    return folder


@functools.cache
def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def dependencies(build):
    """-> {object: what it was made from}, as ninja wrote it down when it was built; without those that changed
    since."""
    text = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^(\S.*): #deps \d+, .*\(VALID\)\n((?:    .*\n)*)", text, re.M)
    return {name: [(build / line.strip()).resolve() for line in lines.splitlines()] for name, lines in found}


def configuration(source):
    """-> the files .clang-tidy that count for a source"""
    folders = [folder for folder in source.parents if folder == ROOT or ROOT in folder.parents]
    return [folder / ".clang-tidy" for folder in folders if (folder / ".clang-tidy").exists()]


def state_of(source, entries, made_from, version):
    """-> a text that changes when clang-tidy could say something else of this source, or None when that is not known"""
    total = hashlib.sha256(version.encode())
    for entry in entries:
        words = shlex.split(entry["command"])
        files = made_from.get(words[words.index("-o") + 1])
        if not files:
            return None
        # neither the place of the clone nor that of the build counts
        total.update(entry["command"].replace(entry["directory"], "@build@").replace(str(ROOT), "@root@").encode())
        total.update("".join(map(digest, [source, *configuration(source), *files])).encode())
    return total.hexdigest()


def check(build, source):
    result = subprocess.run([TIDY, "--quiet", "-p", str(build), str(source)], capture_output=True, text=True,
                            check=False)
    return result.returncode, result.stdout + (result.stderr if result.returncode else "")


def look_at(build, todo):
    """Check the sources of {source: its stamp, or None}. -> how many have findings"""
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        runs = {pool.submit(check, build, source): source for source in todo}
        for run in concurrent.futures.as_completed(runs):
            status, text = run.result()
            if status:
                bad += 1
                print(text, flush=True)
            elif todo[runs[run]]:
                todo[runs[run]].touch()
    return bad


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if ROOT in source.parents and "build" not in source.relative_to(ROOT).parts:
            entries.setdefault(source, []).append(entry)
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    made_from, folder, todo = dependencies(build), stamp_folder(), {}
    for source in sorted(entries):
        state = state_of(source, entries[source], made_from, version)
        if not state or not (folder / state).exists():
            todo[source] = folder / state if state else None
        else:
            (folder / state).touch()
    bad = look_at(build, todo)
    print(f"clang-tidy: {len(entries)} files, {len(todo)} looked at, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
