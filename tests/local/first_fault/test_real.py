# SPDX-License-Identifier: Apache-2.0
"""The first fault of each way to fail, with the real framework. usage: test_real.py PROGRAM FRAMEWORK [LIBRARY] [--only
REGEX] [--runs N]

LIBRARY is librhcomm.so, for the framework rh_comm.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import judge
import ways

SKIP_STATUS = 77
# What each framework's Python must have.
MODULES = {"torch1": "torch", "torch2": "torch", "tensorflow": "tensorflow", "mpirun": "mpi4py", "rh_comm": "numpy"}


def missing(framework):
    """Why the framework cannot be run here, or nothing."""
    python = ways.python_of(framework)
    if not python:
        return f"the environment is not made; run examples/setup {'pytorch' if framework == 'torch2' else framework}"
    if framework == "mpirun" and subprocess.run(["mpirun", "--version"], stdout=subprocess.DEVNULL,
                                                check=False).returncode != 0:
        return "there is no mpirun; install openmpi-bin"
    found = subprocess.run([python, "-c", f"import {MODULES[framework]}"], capture_output=True, text=True, check=False)
    return found.stderr.strip().split("\n")[-1] if found.returncode != 0 else ""


def honest(way):
    """The row as it can be known here: where all fail alike, the first may have ended the job before the others
    fail."""
    everyone = tuple(f"{kind}-{index}" for kind, count in way.types.items() for index in range(count))
    return way if way.culprit else ways.dataclasses.replace(way, culprit=(None, *everyone))


def play(arguments, way):
    """What is wrong with the first fault of a row that is run once."""
    with tempfile.TemporaryDirectory(prefix="roundhouse-fault-") as folder:
        folder = pathlib.Path(folder)
        (folder / "job.yaml").write_text(json.dumps(way.job(way.commands())))
        limit = way.record_seconds if way.ending == "timeout" else 300
        environment = way.environment() | ({"RH_COMM_LIBRARY": arguments.library} if arguments.library else {})
        run = judge.Run(arguments.program, folder / "job.yaml", folder, "--timeout", f"{limit}s",
                        environment=environment).read()
        fault = run.faults().get("job")
        return judge.complaints(way, fault, lambda replica: run.output("job", replica)), fault


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("framework", choices=MODULES)
    parser.add_argument("library", nargs="?", type=os.path.abspath)
    parser.add_argument("--only", default=".*")
    parser.add_argument("--runs", type=int, default=1)
    arguments = parser.parse_args()
    why = missing(arguments.framework)
    if why:
        print("SKIPPED:", why)
        return SKIP_STATUS
    rows = [honest(way) for way in ways.FIRST if way.framework == arguments.framework
            and re.fullmatch(arguments.only, way.name)]
    failed = 0
    for way in rows * arguments.runs:
        wrong, fault = play(arguments, way)
        failed += bool(wrong) and not way.not_yet
        verdict = ("not yet" if way.not_yet else "WRONG") if wrong else "right"
        found = [json.dumps(fault)[:800]] if wrong else []
        print(f"{verdict} {way.name}: {'; '.join(wrong) or way.what}", *found, flush=True)
    print(f"{len(rows) * arguments.runs - failed} of {len(rows) * arguments.runs} are right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
