#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`roundhouse comm bench|check` as a person meets it. usage: test_program.py ROUNDHOUSE ROUNDHOUSE_COMM"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from ports import free_port  # noqa: E402

PROGRAM, COMM = sys.argv[1], sys.argv[2]
TIMEOUT = 120
FINE, SLOW, UNREACHABLE, CONFIGURATION = 0, 1, 2, 3
FOREIGN = re.compile(r"^(RH_COMM_|OMPI_|PMI_|RANK$|WORLD_SIZE$|MASTER_)")
QUICK = ["--time", "0.3", "--sizes", "8,64K"]


def environment(**extra):
    """The caller's, without anything that says who is who."""
    own = {key: value for key, value in os.environ.items() if not FOREIGN.match(key)}
    return {**own, "RH_COMM_LOG": "off", "RH_COMM_BACKEND": "native", **extra}


def call(*words, program=PROGRAM, **extra):
    """Run `roundhouse comm` or another program to its end."""
    words = [program, "comm", *words] if program == PROGRAM else [program, *words]
    return subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, env=environment(**extra), check=False)


def start(world, *words, ranks=None, bound=None, **extra):
    """Processes of a job, as its replicas would be. bound: the processors of each rank"""
    port = str(free_port())
    bind = [["taskset", "-c", str(processor)] for processor in bound] if bound else [[]] * world
    return [subprocess.Popen([*bind[rank], COMM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=environment(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1",
                                             RH_COMM_PORT=port, **extra))
            for rank in ranks or range(world)]


def finish(processes):
    """Wait for all. -> (status, stdout, stderr) of each"""
    ends = [(*process.communicate(timeout=TIMEOUT), process.returncode) for process in processes]
    return [(status, out, err) for out, err, status in ends]


class Local(unittest.TestCase):
    def test_tables(self):
        done = call("bench", "--local", "3", *QUICK)
        self.assertEqual(done.returncode, FINE if "fine:" in done.stdout else SLOW, done.stderr)
        self.assertIn("3 ranks on 1 host, backend native;", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^on one host +3 +[0-9.e+]+ +[0-9.e+]+ ")
        self.assertRegex(done.stdout, r"(?m)^ +65536 +\d+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$")
        self.assertIn("parameter server in rank 0, 3 workers", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_json_and_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pairs.svg")
            done = call("bench", "--local", "4", "-o", "json", "--svg", path, "--only", "pairs,all-reduce", *QUICK)
            result = json.loads(done.stdout)
            picture = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(done.returncode, result["status"], done.stderr)
        self.assertEqual(result["world"], 4)
        self.assertEqual([size["bytes"] for size in result["allReduce"]], [8, 65536])
        self.assertNotIn("pushPull", result)
        for matrix in result["pairs"].values():
            for row, line in enumerate(matrix):
                self.assertTrue(all((value > 0) == (row != column) for column, value in enumerate(line)), matrix)
        for size in result["allReduce"]:
            self.assertLessEqual(size["bestUs"], size["medianUs"])
            self.assertAlmostEqual(size["algbwGBps"], size["bytes"] / size["medianUs"] / 1000,
                                   delta=size["algbwGBps"] / 1000)
            self.assertAlmostEqual(size["busbwGBps"], 1.5 * size["algbwGBps"], delta=size["algbwGBps"] / 1000)
        self.assertEqual(len(picture.findall(".//{*}title")), 12)

    def test_check_prints_the_verdict_alone(self):
        done = call("check", "--local", "2", *QUICK)
        self.assertEqual(done.returncode, FINE, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 2 + ("note:" in done.stdout), done.stdout)

    def test_one_rank(self):
        done = call("bench", "--local", "1", *QUICK)
        self.assertEqual(done.returncode, FINE, done.stderr)

    def test_ranks_that_share_no_memory(self):
        done = call("bench", "--local", "3", "-o", "json", *QUICK, RH_COMM_SHM="off")
        result = json.loads(done.stdout)
        self.assertEqual([rank["host"] for rank in result["ranks"]], [0, 1, 2])
        self.assertEqual(done.returncode, result["status"])

    def test_slow_is_a_status(self):
        done = call("check", "--local", "2", "--least", "1000000", *QUICK)
        self.assertEqual(done.returncode, SLOW, done.stderr)
        self.assertIn("slow: rank 0 to 1:", done.stdout)
        self.assertIn("less than the 1e+06 that --least demands", done.stdout)

    def test_variables_of_a_job_do_not_confuse_it(self):
        done = call("check", "--local", "2", *QUICK, RANK="7", WORLD_SIZE="9", MASTER_ADDR="nowhere", MASTER_PORT="1")
        self.assertEqual(done.returncode, FINE, done.stderr)


class Job(unittest.TestCase):
    def test_rank_0_prints_and_all_end_alike(self):
        ends = finish(start(3, "check", *QUICK))
        self.assertEqual(len({status for status, _, _ in ends}), 1, ends)
        self.assertIn("3 ranks on 1 host", ends[0][1])
        self.assertEqual([out for _, out, _ in ends[1:]], ["", ""])

    def test_all_know_that_it_is_slow(self):
        ends = finish(start(2, "check", "--least", "1000000", "-o", "json", *QUICK))
        self.assertEqual([status for status, _, _ in ends], [SLOW, SLOW])
        self.assertEqual({item["kind"] for item in json.loads(ends[0][1])["findings"]}, {"below-least"})

    def test_a_rank_that_does_not_come(self):
        ends = finish(start(3, "check", "--timeout", "2", "-o", "json", ranks=[0, 1]))
        self.assertEqual([status for status, _, _ in ends], [UNREACHABLE, UNREACHABLE], ends)
        result = json.loads(ends[0][1])
        self.assertEqual(result["status"], UNREACHABLE)
        self.assertIn("2", result["error"]["text"])

    def test_a_rank_that_dies(self):
        processes = start(3, "bench", "--time", "60", "--sizes", "32M,64M,128M", RH_COMM_LOG="on")
        # all have come when rank 0 says what backend they chose
        self.assertIn("3 ranks", processes[0].stderr.readline())
        processes[2].send_signal(signal.SIGKILL)
        ends = finish(processes)
        self.assertEqual([status for status, _, _ in ends], [UNREACHABLE, UNREACHABLE, -signal.SIGKILL], ends)
        for _, _, err in ends[:2]:
            self.assertIn("rank 2", err)


    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "needs two processors")
    def test_ranks_that_are_bound_to_processors_are_not_crowded(self):
        own = sorted(os.sched_getaffinity(0))
        for bound, crowded in (own[:2], False), ([own[0], own[0]], True):
            ends = finish(start(2, "check", "-o", "json", *QUICK, bound=bound))
            self.assertEqual(json.loads(ends[0][1])["crowded"], crowded, ends)


class Trace(unittest.TestCase):
    """What a killed rank left names it, its operation and number."""

    def traced(self, folder, kill):
        """Ranks 0 to 2 measure; rank 2 is killed if `kill` is set. -> `roundhouse comm trace -o json`, its status"""
        processes = start(3, "bench", "--time", "60" if kill else "0.3", "--only", "all-reduce", "--sizes",
                          "32M" if kill else "8", RH_COMM_LOG="on", RH_COMM_TRACE=folder)
        self.assertIn("3 ranks", processes[0].stderr.readline())
        if kill:
            processes[2].send_signal(signal.SIGKILL)
        finish(processes)
        files = sorted(str(path) for path in pathlib.Path(folder).glob("*.rhtrace"))
        self.assertEqual(len(files), 3)
        done = call("trace", "-o", "json", *files)
        return json.loads(done.stdout), done.returncode

    def test_a_killed_rank_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            result, status = self.traced(folder, True)
        left = [rank["left"] for rank in result["ranks"]]
        self.assertEqual(left, [True, True, False])
        # it may have died in an operation to which it had come; then the others failed in the same one
        last = [max([op["number"] for op in rank["operations"] if "number" in op], default=0)
                for rank in result["ranks"]]
        if last[2] < max(last):
            self.assertEqual(status, 1)
            self.assertEqual(result["findings"][0]["ranks"], [2], result["findings"])
            self.assertEqual(result["findings"][0]["number"], last[2] + 1)

    def test_all_came(self):
        with tempfile.TemporaryDirectory() as folder:
            result, status = self.traced(folder, False)
            text = call("trace", *(str(path) for path in pathlib.Path(folder).glob("*")), program=PROGRAM)
        self.assertEqual((status, result["findings"]), (0, []))
        self.assertTrue(all(rank["left"] for rank in result["ranks"]))
        self.assertIn("fine: all ranks have come", text.stdout)
        self.assertIn("rank 0 on ", text.stdout)

    def test_mistakes(self):
        with tempfile.NamedTemporaryFile() as empty:
            rows = [(["/nonexistent/x"], '"/nonexistent/x": No such file'), ([], "missing operand"),
                    ([empty.name], "not a trace of this version"), (["-o", "xml", "x"], '"xml" is none of')]
            for words, message in rows:
                done = call("trace", *words)
                self.assertEqual(done.returncode, 2, (words, done.stderr))
                self.assertIn(message, done.stderr)
        done = call("check", "--local", "1", *QUICK, RH_COMM_TRACE="/nonexistent")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('warning: RH_COMM_TRACE: create "/nonexistent/rank-0.rhtrace"', done.stderr)


class Mistakes(unittest.TestCase):
    def test_status_and_words(self):
        rows = [
            ([], "missing operand"),
            (["bnech"], 'must be bench or check, not "bnech"'),
            (["bench", "check"], "too many operands"),
            (["bench", "--loacl", "2"], "unknown option --loacl"),
            (["bench", "--local", "many"], '--local "many"'),
            (["bench", "-o", "xml"], '"xml" is none of'),
            (["check"], "the rank is not known"),
            (["check"], "on this machine alone, say --local N"),
            (["check", "--local", "2", "--backend", "nosuch"], "nosuch"),
            (["check", "--local", "1", "--svg", "/nowhere/x.svg", *QUICK], "cannot write /nowhere/x.svg"),
        ]
        for words, message in rows:
            done = call(*words)
            self.assertEqual(done.returncode, CONFIGURATION, (words, done.stderr))
            self.assertIn(message, done.stderr, words)

    def test_full_standard_output(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([COMM, "check", "--local", "1"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=TIMEOUT, env=environment(), check=False)
        self.assertEqual(done.returncode, CONFIGURATION)
        self.assertIn("cannot write the result", done.stderr)

    def test_two_sources_disagree(self):
        done = call("check", RANK="1", WORLD_SIZE="2", RH_COMM_RANK="0", RH_COMM_WORLD="2")
        self.assertEqual(done.returncode, CONFIGURATION)
        self.assertIn("RH_COMM_RANK", done.stderr)
        self.assertIn("RANK", done.stderr)


class Words(unittest.TestCase):
    def test_both_programs_have_the_same_options(self):
        def options(text):
            return set(re.findall(r"(?m)^ +(?:-\w, )?--([a-z]+) ", text.split("common options")[0]))

        outer, inner = call("--help"), call("--help", program=COMM)
        self.assertEqual(inner.returncode, 0)
        self.assertEqual(options(outer.stdout), options(inner.stdout))

    def test_options_come_in_any_order_and_form(self):
        done = call("--time", "0.3", "--log-level", "debug", "check", "-ojson", "--local=2", "--only", "pairs")
        self.assertEqual(done.returncode, FINE, done.stderr)
        self.assertEqual(json.loads(done.stdout)["world"], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
