# SPDX-License-Identifier: Apache-2.0
"""Render every recorded TrainJob, with our runtimes of runtimes/ and the installed stock ones, and compare with the
objects that Kubeflow Trainer and JobSet made for it.

usage: run_objects.py ROUNDHOUSE

Differences are allowed by entries of differences.json of suite "objects"; an entry that nothing uses fails, too.
"""
import json
import os
import pathlib
import subprocess
import sys

import compare

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import importlib.util  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def other(name):
    """A module of the folder above that has the name of one here."""
    spec = importlib.util.spec_from_file_location("v1_" + name, HERE.parent / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def render(roundhouse, path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ROUNDHOUSE_")}
    done = subprocess.run([roundhouse, "render", "-o", "json", path, *sorted(HERE.glob("runtimes/*.yaml"))],
                          capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0 or done.stderr:
        raise SystemExit(f"{path}: exit status {done.returncode}: {done.stderr}")
    return compare.by_name(json.loads(done.stdout)["items"])


def main(roundhouse):
    v1 = other("run_objects")
    entries = [entry for entry in json.loads((HERE / "differences.json").read_text(encoding="utf-8"))
               if entry["suite"] == "objects"]
    used, problems = set(), []
    jobs = sorted(HERE.glob("objects/*.yaml"))
    for job in jobs:
        want = compare.load(job.with_suffix(".objects.json"))
        problems += v1.unlisted(job.stem, want, render(roundhouse, job), entries, used)
    problems += [f"differences.json: nothing uses {entry['id']}" for entry in entries if entry["id"] not in used]
    print("\n".join(problems) if problems else f"{len(jobs)} goldens are alike")
    return 1 if problems or not jobs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
