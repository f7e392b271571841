#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of a job commits a fault: errors, the warning, and the traces name it and the operation.
usage: test_faults.py FAULT_LOOP ROUNDHOUSE_COMM [--seeds N]"""
import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from ports import free_port  # noqa: E402

LOOP, COMM = sys.argv[1], sys.argv[2]
SEEDS = int(sys.argv[4]) if sys.argv[3:4] == ["--seeds"] else 0
WORLD, TIMEOUT, AT_ONCE = 4, 120, 3
EINVAL, EPEER, ETIME = -1, -20, -21
# fault: code of the error, words of its text
FAULTS = {
    "none": (0, ""),
    "slow": (0, ""),
    "link": (0, ""),
    "lock": (ETIME, r"rank {v} at \S+ \(has not posted it; (its last operation|it has posted nothing)"),
    "loader": (ETIME, r"rank {v} at \S+ \(has not posted it; (its last operation|it has posted nothing)"),
    "stop": (ETIME, r"rank {v}.* \(stopped or throttled"),
    "exit": (EPEER, r"rank {v}\b"),
    "kill": (EPEER, r"rank {v}\b"),
    # over TCP the connection may be seen to close first
    "leave": (EPEER, r"rank {v}( of the group of ranks 1, 2, 3)? has left|rank {v}.*: the connection is lost"),
    "missing": (EINVAL, r"rank {v} (barrier|all-reduce)"),
    "skip": (ETIME, r"rank {v} at \S+ \(has not posted it; it waits in|more wait there, for rank {v},"),
    "order": (EINVAL, r"rank {v} (barrier|all-reduce)"),
    "shape": (EINVAL, r"rank {v} all-reduce of"),
    "type": (EINVAL, r"rank {v} all-reduce of \d i32"),
}
WHOLE = ("none", "slow", "link")
HANGS = ("lock", "loader", "stop")
ENDS = re.compile(r"^rank (-?\d+): code (-?\d+), culprit (-?\d+): (.*)$", re.M)


def environment(rank, port, folder, shm):
    own = {key: value for key, value in os.environ.items() if not key.startswith(("RH_COMM_", "OMPI_", "PMI_"))}
    return {**own, "RH_COMM_RANK": str(rank), "RH_COMM_WORLD": str(WORLD), "RH_COMM_HOST": "127.0.0.1",
            "RH_COMM_PORT": str(port), "RH_COMM_BACKEND": "native", "RH_COMM_TIMEOUT": "8", "RH_COMM_SLOW": "2",
            "RH_COMM_TRACE": folder, "RH_COMM_SHM": shm}


def run(fault, place, victim, step, shm):
    """-> (standard output of the ranks but the victim, standard error of all, `roundhouse comm trace -o json`)"""
    port = free_port()
    shm = "off" if fault == "link" else shm
    with tempfile.TemporaryDirectory() as folder:
        ranks = [subprocess.Popen([LOOP, fault, place, str(victim), str(step)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=environment(rank, port, folder, shm))
                 for rank in range(WORLD)]
        try:
            out = [process.communicate(timeout=TIMEOUT) for rank, process in enumerate(ranks)
                   if rank != victim or fault in WHOLE]
        finally:
            for process in ranks:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
        err = "".join(text for _, text in out) + ("" if fault in WHOLE else ranks[victim].communicate()[1])
        files = sorted(str(path) for path in pathlib.Path(folder).iterdir())
        trace = subprocess.run([COMM, "trace", "-o", "json", *files], capture_output=True, text=True, timeout=TIMEOUT,
                               check=False)
    return "".join(text for text, _ in out), err, json.loads(trace.stdout)


def run_until_seen(fault, *case):
    """run(), but where other work on the machine is slower than the slow rank, so that none is named, again"""
    for _ in range(5):
        out, err, trace = run(fault, *case)
        if fault != "slow" or (trace["pace"].get("slow") is not None and "comes last" in err):
            break
    return out, err, trace


def seeded(seed):
    """-> the fault of a seed; each fault comes in turn"""
    chance = random.Random(seed)
    fault = list(FAULTS)[seed % len(FAULTS)]
    # in a group of all ranks but one, as many wait for who left an operation out as with it: chance decides
    place = chance.choice(["world", "group"]) if fault != "skip" else "world"
    # rank 0 has no other operation in between: what it leaves out is another order
    first = 1 if place == "group" or fault == "skip" else 0
    return fault, place, chance.randrange(first, WORLD), chance.randrange(1, 20), \
        chance.choice(["on", "off"])


class Faults(unittest.TestCase):
    def expect_errors(self, case, out):
        """All ranks but the victim got the error that names it."""
        fault, _, victim, _, _ = case
        code, words = FAULTS[fault]
        ends = ENDS.findall(out)
        self.assertEqual(len(ends), WORLD - (fault not in WHOLE), (case, out))
        for _, got, culprit, text in ends:
            self.assertEqual(int(got), code, (case, out))
            self.assertEqual(int(culprit), -1 if fault in WHOLE else victim, (case, out))
            if words:
                self.assertRegex(text, words.format(v=victim), case)

    def expect_warning(self, case, err):
        """Long before the limit the warning names it, and the operation."""
        fault, place, victim, _, _ = case
        if fault in WHOLE:
            self.assertNotIn("waited", err, case)
        if fault == "slow":
            named = re.findall(r"(?m)^rh_comm: rank (\d+) at \S+ comes last: the others wait for it in \d+ % of", err)
            self.assertEqual(named, [str(victim)], (case, err))
        if fault in ("lock", "loader") or (fault == "stop" and victim != 0):
            operation = r"rank \d has waited \d+ s in number \d+( of the group of ranks 1, 2, 3)?, (all-reduce|barrier)"
            self.assertRegex(err, rf"(?m)^rh_comm: {operation}.*; it waited for rank {victim} at", case)

    def expect_trace(self, case, trace):
        fault, place, victim, step, _ = case
        findings = [item for item in trace["findings"] if item["kind"] != "open-message"]
        if fault in WHOLE:
            self.assertEqual(findings, [], case)
            if fault == "link":
                # without the slow link a hundredth; beside other work a step takes longer, and the part is less
                self.assertGreater(trace["pace"]["transfer"], 0.1, (case, trace["pace"]))
            self.assertEqual(trace["pace"].get("slow"), victim if fault == "slow" else None, (case, trace["pace"]))
        elif fault in ("missing", "order", "shape", "type"):
            self.assertEqual((findings[0]["kind"], findings[0]["ranks"]), ("differs", [victim]), (case, findings))
        elif fault in HANGS + ("kill", "exit", "skip"):
            own = [item for item in findings if item["kind"] == "missing" and victim in item["ranks"]
                   and (item["group"] == "0") == (place == "world")]
            if fault != "skip":
                self.assertFalse(trace["ranks"][victim]["left"], case)
            # after a death others may have ended before they came there, some or all
            if own or fault in HANGS + ("skip",):
                # two operations a step, of the world and of the group
                self.assertEqual([item["number"] for item in own], [2 * step - 1], (case, findings))
            if fault in HANGS + ("skip",):
                self.assertEqual(own[0]["ranks"], [victim], (case, findings))

    def check_all(self, cases):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for case, (out, err, trace) in zip(cases, pool.map(lambda case: run_until_seen(*case), cases)):
                with self.subTest(case=case):
                    self.expect_errors(case, out)
                    self.expect_warning(case, err)
                    self.expect_trace(case, trace)

    @unittest.skipIf(SEEDS, "the seeds have them")
    def test_each(self):
        groups = [("lock", 2, 5, "off"), ("stop", 3, 2, "on"), ("order", 2, 4, "off"), ("kill", 1, 7, "off")]
        self.check_all([(fault, "world", 1, 3, "on") for fault in FAULTS]
                       + [(fault, "group", *rest) for fault, *rest in groups]
                       + [("lock", "world", 0, 6, "on"), ("stop", "world", 0, 2, "on")])

    @unittest.skipUnless(SEEDS, "more of them, in the slow tier")
    def test_seeds(self):
        self.check_all([seeded(seed) for seed in range(SEEDS)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
