# SPDX-License-Identifier: Apache-2.0
"""Render every recorded job whose name starts with PREFIX, and compare with the objects that V1 created for it.

usage: run_objects.py [--gang] ROUNDHOUSE PREFIX [GOLDENS]

PREFIX "*" is all of them. Differences are allowed by entries of differences.json; an entry with "suite": "objects"
whose golden starts with PREFIX and that nothing uses fails, too. GOLDENS is the folder of this file unless it is given.
With --gang it is the suite "gang": the same jobs under each gang scheduler that they were recorded with.
"""
import glob
import json
import os
import subprocess
import sys

import compare_objects

HERE = os.path.dirname(os.path.abspath(__file__))


def render(roundhouse, path, options=()):
    """The objects that the program makes, by kind and name; a job that it refuses is one, by the name refused."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ROUNDHOUSE_")}
    done = subprocess.run([roundhouse, "render", "-o", "json", *options, path], capture_output=True, text=True,
                          env=environment)
    if done.returncode == 2:
        return {("refused", ""): done.stderr}
    if done.returncode != 0:
        raise SystemExit(f"{path}: exit status {done.returncode}: {done.stderr}")
    items = json.loads(done.stdout)["items"]
    return {(item["kind"], item["metadata"]["name"]): compare_objects.strip(item) for item in items}


def unlisted(golden, want, got, entries, used):
    """Differences that no entry allows; entries that allow one are added to used."""
    for key in sorted(want.keys() | got.keys()):
        for path, ours, theirs in compare_objects.differ("", want.get(key), got.get(key)):
            where = f"{key[0]}/{key[1]}{path}"
            matching = [entry["id"] for entry in entries if compare_objects.allowed([entry], golden, where)]
            used.update(matching)
            if not matching:
                yield f"{golden}: {where}: V1 {json.dumps(ours)[:300]} here {json.dumps(theirs)[:300]}"


def cases(goldens, suite, prefix):
    """The golden's name, its job's file, the recorded objects' file, and the options for render."""
    for path in sorted(glob.glob(os.path.join(goldens, suite, prefix + "*.objects.json"))):
        golden = os.path.basename(path)[:-len(".objects.json")]
        job, _, scheduler = golden.rpartition(".") if suite == "gang" else (golden, "", "")
        options = ["--gang-scheduler", scheduler] if scheduler else []
        yield golden, os.path.join(goldens, "objects", job + ".yaml"), path, options


def main(argv):
    suite = "gang" if "--gang" in argv else "objects"
    roundhouse, prefix, *rest = [word for word in argv[1:] if word != "--gang"]
    prefix = prefix.rstrip("*")  # "*": all
    goldens = rest[0] if rest else HERE
    with open(os.path.join(goldens, "differences.json")) as file:
        entries = [entry for entry in json.load(file) if entry.get("suite", "objects") == suite]
    found = list(cases(goldens, suite, prefix))
    problems = [] if found else [f"no golden starts with {prefix}"]
    used = set()
    for golden, job, path, options in found:
        problems += unlisted(golden, compare_objects.load(path), render(roundhouse, job, options), entries, used)
    problems += [f"differences.json: nothing uses {entry['id']}"
                 for entry in entries if entry["golden"].startswith(prefix) and entry["id"] not in used]
    print("\n".join(problems) if problems else f"{len(found)} goldens are alike")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
