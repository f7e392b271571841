# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of torch.distributed with rh, and with gloo beside it. usage: test_torch_suite.py LIBRARY SOURCE
[PYTHON]

docs/comm-python.md has the table of what passes, and what does not and why; it must be the one that is found here. What
PyTorch's tests import beside torch is downloaded once, 20 kB, below ~/.cache/roundhouse.
"""
import collections
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import kit
import torch2

PAGE = os.path.join(kit.SOURCE, "docs", "comm-python.md")
PACKAGE = "expecttest==0.3.0"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "roundhouse",
                     PACKAGE.replace("==", "-"))
# all cases together; each has a limit of its own
TIMEOUT = 1500
# backend, what PyTorch takes it for, which cases
RUNS = [("rh", "gloo", r"^(?!test_all_to_all)"), ("rh", "mpi", r"^test_all_to_all"), ("gloo", "gloo", "")]
# ranks, and those of the cases that PyTorch skips with so few
WORLD, LARGE_WORLD, SMALL = 4, 8, "Skipped due to small world size."
HEAD = "| cases of PyTorch's `distributed_test` | rh | gloo |\n|---|---|---|\n"
HEAD_OF_CASES = "| case | rh | gloo | |\n|---|---|---|---|\n"
# Why rh does not pass what is no fault of it: a pattern of what PyTorch finds, and words for people.
WORDS = (r'AssertionError: ".*" does not match ".*\b(did not come|was not done) within',
         "it ends as it should, and names the late ranks in other words than gloo")
WHY = {
    "test_barrier_timeout_group": WORDS,
    "test_barrier_timeout_full_group": WORDS,
    "test_get_backend": ("'rh' != 'gloo'", "the backend's name is rh, and not the one that PyTorch was given"),
    "test_monitored_barrier_failure_order": WORDS,
    "test_monitored_barrier_gloo": WORDS,
    "test_monitored_barrier_gloo_rank_0_timeout": WORDS,
    "test_monitored_barrier_gloo_subgroup": WORDS,
    "test_monitored_barrier_wait_all_ranks": WORDS,
    "test_sparse_all_reduce_sum": (r"use \.to_dense\(\)", "sparse tensors: use `.to_dense()`"),
}
DEVICES = re.compile(r"accelerator|cuda|gpu|nccl|xccl", re.I)


def download():
    """The package, where it can be imported from."""
    if not (CACHE / "ready").exists():
        subprocess.run([torch2.python(), "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps",
                        "--upgrade", "--target", str(CACHE), PACKAGE], check=True)
        (CACHE / "ready").touch()


def run(backend, taken_for, world, pattern):
    """What each case came to, by name."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("RH_", "OMPI_", "PMI_", "DMLC_"))}
    environment = {**clean, "RH_COMM_LIBRARY": kit.LIBRARY,
                   "PYTHONPATH": os.pathsep.join([kit.PACKAGE, str(CACHE)])}
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_suite.py")
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results")
        ended = subprocess.run([PYTHON, "-B", script, backend, taken_for, str(world), results, pattern],
                               env=environment, cwd=folder, timeout=TIMEOUT, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, check=False)
        if ended.returncode != 0:
            raise AssertionError(ended.stderr[-3000:])
        with open(results, encoding="utf-8") as file:
            return {case["name"]: case for case in map(json.loads, file)}


def run_all():
    """What each case came to with rh, and with gloo."""
    found = {"rh": {}, "gloo": {}}
    for backend, taken_for, pattern in RUNS:
        found[backend].update(run(backend, taken_for, WORLD, pattern))
    for backend, cases in found.items():
        small = "|".join(name for name, case in cases.items() if case["why"] == SMALL)
        cases.update(run(backend, "gloo", LARGE_WORLD, f"^({small})$"))
    return found["rh"], found["gloo"]


def kind(case):
    """How a case ended, as the page has it."""
    if case["outcome"] != "skipped":
        return case["outcome"]
    devices = DEVICES.search(case["why"]) or DEVICES.search(case["name"])
    return "skipped by PyTorch: it is about devices" if devices else "skipped by PyTorch for other reasons"


def table(rh, gloo):
    """The lines of the page."""
    counts = [collections.Counter(map(kind, found.values())) for found in (rh, gloo)]
    kinds = ["passed", "failed", *sorted({key for count in counts for key in count} - {"passed", "failed"})]
    lines = [f"| {name} | {counts[0][name]} | {counts[1][name]} |\n" for name in kinds]
    cases = [f"| `{name}` | {rh[name]['outcome']} | {gloo[name]['outcome']} | {WHY.get(name, '??')[1]} |\n"
             for name in sorted(rh) if rh[name]["outcome"] == "failed" or
             (rh[name]["outcome"], gloo[name]["outcome"]) == ("skipped", "passed")]
    more = [name for name in rh if (rh[name]["outcome"], gloo[name]["outcome"]) == ("passed", "skipped")]
    cases += [f"| {len(more)} of `test_all_to_all` | passed | skipped | PyTorch has them for MPI and NCCL alone |\n"]
    return HEAD + "".join(lines) + "\n" + HEAD_OF_CASES + "".join(cases)


class TorchSuite(unittest.TestCase):
    def test_the_page_has_what_is_found(self):
        download()
        rh, gloo = run_all()
        self.assertEqual(set(rh), set(gloo))
        with open(PAGE, encoding="utf-8") as file:
            found = re.search(re.escape(HEAD) + r"(\|.*\n)*\n" + re.escape(HEAD_OF_CASES) + r"(\|.*\n)*", file.read())
        want, have = table(rh, gloo).splitlines(), (found[0] if found else "").splitlines()
        problems = [f"{name}: {case['why'][-1500:]}" for name, case in rh.items() if case["outcome"] == "failed"
                    and (name not in WHY or not re.search(WHY[name][0], case["why"]))]
        self.assertEqual(have, want, "\n".join(["the tables of docs/comm-python.md are to be:",
                                                *difflib.unified_diff(have, want, lineterm=""), *problems]))
        self.assertEqual(problems, [])


PYTHON = torch2.python()
if __name__ == "__main__":
    kit.main()
