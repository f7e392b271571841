#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`roundhouse-comm trace` on dumps of torch's flight recorder and outputs of NCCL's RAS.
usage: test_foreign.py ROUNDHOUSE_COMM"""
import json
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
FILES = pathlib.Path(__file__).resolve().parent / "dumps"
TIMEOUT = 120
FINE, FOUND, BAD = 0, 1, 2


def call(*words):
    return subprocess.run([PROGRAM, "trace", *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT,
                          check=False)


def recorded(case):
    return sorted(FILES.glob(f"{case}_*.json"))


def entry(number, name, group="0", state="completed", **more):
    """An operation as NCCL's flight recorder has it."""
    sizes, types = more.pop("sizes", [[8]]), more.pop("types", ["Float"])
    return {"record_id": more.pop("record", number - 1), "pg_id": 0,
            "process_group": [group, "default_pg" if group == "0" else "tp"],
            "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number, "profiling_name": f"nccl:{name}",
            "time_created_ns": 1795533302000000000 + number, "input_sizes": sizes, "input_dtypes": types,
            "output_sizes": sizes, "output_dtypes": types, "state": state, "retired": state == "completed",
            "is_p2p": False, "timeout_ms": 600000, **more}


def dump(entries, groups=None):
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"},
              **{name: {"name": name, "desc": "tp", "ranks": ranks} for name, ranks in (groups or {}).items()}}
    return {"version": "2.4", "pg_config": config, "pg_status": {}, "entries": entries}


class Case(unittest.TestCase):
    def findings(self, dumps, write=json.dumps, name="trace_{}.json"):
        """-> status and findings of dumps, one for each rank; None: the rank has no file"""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for rank, one in enumerate(dumps):
                path = pathlib.Path(folder) / name.format(rank)
                written = write(one)
                path.write_bytes(written.encode() if isinstance(written, str) else written)
                paths += [path] if one is not None else []
            done = call("-o", "json", *paths)
            self.assertNotEqual(done.returncode, BAD, done.stderr)
            text = call(*paths)
        self.assertEqual(text.returncode, done.returncode)
        return done.returncode, json.loads(done.stdout)["findings"]


class Recorded(Case):
    """What torch itself wrote, of Gloo."""

    def check(self, case, status, *sentences):
        done = call(*recorded(case))
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        for sentence in sentences:
            self.assertIn(sentence, done.stdout)
        return done.stdout

    def test_who_did_not_come(self):
        self.check("missing", FOUND,
                   "missing: rank 1 did not come to number 5, all_reduce of [7] Float; rank 0 waits there\n",
                   "rank 1: 5 operations; the last: barrier, number 4, done\n")

    def test_another_operation(self):
        self.check("order", FOUND, "differs: rank 2 posted broadcast of [7] Float as number 5, rank 0 all_reduce of")

    def test_another_shape_and_a_rank_without_a_dump(self):
        text = self.check("shape", FOUND, "all_reduce of [8] Float", "as number 6", "no trace of rank 0\n")
        self.assertEqual(text.count("differs:"), 1)

    def test_all_came(self):
        self.check("fine", FINE, "fine: all ranks have come to the same operations\n")


class Documented(Case):
    """What torch's sources say of NCCL's."""

    def test_a_rank_missing_in_a_group(self):
        worlds = {"5": "[1, 2]"}
        ranks = [dump([entry(1, "all_reduce")]),
                 dump([entry(1, "all_reduce"), entry(1, "broadcast", "5", "started", record=1)], worlds),
                 dump([entry(1, "all_reduce")], worlds)]
        status, found = self.findings(ranks)
        self.assertEqual(status, FOUND)
        self.assertEqual([(one["kind"], one["ranks"], one["number"], one["waiting"]) for one in found],
                         [("missing", [2], 1, 1)])
        self.assertIn("of group 5 (tp) (2 ranks), broadcast of [8] Float; rank 1 waits there", found[0]["text"])

    def test_of_groups_with_one_name_each_is_compared_alone(self):
        others = dump([], {"3": "[1, 2]"})
        ranks = [dump([entry(1, "all_reduce", "3")], {"3": "[0]"}), others, others]
        self.assertEqual(self.findings(ranks), (FINE, []))

    def test_a_time_out(self):
        """retired, and not completed"""
        ended = entry(2, "all_reduce", state="started") | {"retired": True}
        status, found = self.findings([dump([entry(1, "all_reduce"), ended]), dump([entry(1, "all_reduce")]),
                                       dump([entry(1, "all_reduce"), ended])])
        self.assertEqual((status, found[0]["ranks"], found[0]["waiting"]), (FOUND, [1], 0))

    def test_what_may_differ_between_ranks(self):
        uneven = [{"input_sizes": [[rank + 1]], "output_sizes": [[1], [2], [3]]} for rank in range(3)]
        ranks = [dump([entry(1, "all_gather", **uneven[rank]), entry(2, "all_to_all", sizes=[[rank]]),
                       entry(3, "all_reduce", sizes=[[4, 2] if rank else [8]])]) for rank in range(3)]
        self.assertEqual(self.findings(ranks), (FINE, []))

    def test_another_type(self):
        status, found = self.findings([dump([entry(1, "all_reduce", types=["Half" if rank == 1 else "Float"])])
                                       for rank in range(3)])
        self.assertEqual((status, found[0]["kind"], found[0]["ranks"]), (FOUND, "differs", [1]))
        self.assertIn("all_reduce of [8] Half", found[0]["text"])

    def test_messages_of_a_batch_end_with_it(self):
        """The entries of the messages stay scheduled; what became of them is in that of the batch."""
        def batch(state):
            messages = [entry(1, name, state="scheduled", record=i, is_p2p=True, p2p_seq_id=1)
                        for i, name in enumerate(["send 0->1", "recv 0<-1"])]
            return messages + [entry(1, "coalesced", state=state, record=2, p2p_seq_id=1, sizes=[])]
        self.assertEqual(self.findings([dump(batch("completed"))]), (FINE, []))
        status, found = self.findings([dump(batch("started"))])
        self.assertEqual((status, [one["kind"] for one in found]), (FOUND, ["open-message"] * 2))
        self.assertIn("rank 0 waits for send 0->1 of [8] Float", found[0]["text"])

    def test_collectives_launched_together(self):
        def both(second, state):
            return [entry(1, "all_reduce", state="scheduled", record=0), entry(1, second, state="scheduled", record=1),
                    entry(1, "coalesced", state=state, record=2, sizes=[])]
        same = [dump(both("broadcast", "completed"))] * 3
        self.assertEqual(self.findings(same), (FINE, []))
        status, found = self.findings([*same[:2], dump(both("reduce", "started"))])
        self.assertEqual((status, found[0]["kind"], found[0]["ranks"]), (FOUND, "differs", [2]))

    def test_a_dump_without_what_is_done_is_held_against_nobody(self):
        quiet = dump([]) | {"pg_status": {"0": {"last_enqueued_collective": "40"}}}
        waits = dump([entry(40, "all_reduce", state="started", record=39)])
        self.assertEqual(self.findings([waits, quiet, waits]), (FINE, []))

    def test_where_it_was_called(self):
        frames = [{"name": "all_reduce", "filename": "/x/site-packages/torch/distributed/c10d.py", "line": 1},
                  {"name": "step", "filename": "/home/me/train.py", "line": 35}]
        _, found = self.findings([dump([entry(1, "all_reduce", state="started", frames=frames)]), dump([])])
        self.assertIn("all_reduce of [8] Float (in step at train.py:35)", found[0]["text"])

    def test_nothing_of_a_file_reaches_the_terminal_as_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace_0.json"
            path.write_text(json.dumps(dump([entry(1, "all\x1b[2Jreduce", state="started")])))
            done = call(path)
        self.assertNotIn("\x1b", done.stdout)
        self.assertIn("all?[2Jreduce", done.stdout)


class Touch:
    def __reduce__(self):
        return open, ("/tmp/rh-pickle-was-executed", "w")


class Pickles(Case):
    def test_each_protocol_says_the_same_as_json(self):
        for case in ("missing", "order", "fine"):
            dumps = [json.loads(path.read_text()) for path in recorded(case)]
            wanted = self.findings(dumps)
            for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
                found = self.findings(dumps, lambda one, protocol=protocol: pickle.dumps(one, protocol),
                                      "nccl_trace_rank_{}")
                self.assertEqual(found, wanted, (case, protocol))

    def refused(self, written, *messages):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "nccl_trace_rank_0"
            path.write_bytes(written)
            done = call(path)
        self.assertEqual((done.returncode, done.stdout), (BAD, ""))
        for message in messages:
            self.assertIn(message, done.stderr)

    def test_code_is_refused_and_not_run(self):
        evidence = pathlib.Path("/tmp/rh-pickle-was-executed")
        evidence.unlink(missing_ok=True)
        for protocol, name in ((2, "GLOBAL"), (4, "STACK_GLOBAL")):
            self.refused(pickle.dumps({"version": Touch()}, protocol), f"the pickle has {name}, which names or runs")
        self.assertFalse(evidence.exists())

    def test_what_is_cut_or_damaged(self):
        whole = pickle.dumps(dump([entry(1, "all_reduce")]), 2)
        for length in range(1, len(whole) - 1):
            self.refused(whole[:length], "nccl_trace_rank_0")
        self.refused(b"\x80\x02]q\x00h\x00a.", "neither a trace of rh_comm nor a dump")
        self.refused(b"\x80\x02(u.", "takes values where there are none")
        self.refused(b"\x80\x02\x8b\x01\x00\x00\x00\x01.", "the instruction 0x8b")


class Mistakes(Case):
    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            whole = json.dumps(dump([entry(1, "all_reduce")]))
            rows = [("trace", whole, "its name must end in the rank"), ("trace_1234567", whole, "must end in the rank"),
                    ("trace_0", whole[:-3], "it is cut, or no JSON"), ("trace_0", "{}", "neither a trace of rh_comm"),
                    ("trace_0", "[" * 100, "not a trace of this version"),
                    ("trace_0", '{"a":' * 100, "nested too deep")]
            for name, text, message in rows:
                path = pathlib.Path(folder) / name
                path.write_text(text)
                done = call(path)
                self.assertEqual(done.returncode, BAD, (name, done.stdout))
                self.assertIn(message, done.stderr)
            first, second = (pathlib.Path(folder) / f"{prefix}_0" for prefix in "ab")
            first.write_text(whole)
            second.write_text(whole)
            self.assertIn("two files are of rank 0", call(first, second).stderr)


class Ras(unittest.TestCase):
    def test_text(self):
        done = call(FILES / "ras.txt")
        self.assertEqual(done.returncode, FOUND, done.stderr)
        self.assertEqual(done.stdout.split("\n")[:5], [
            "dead: 1 process cannot be reached by NCCL (process 3487984 on node 172.16.64.213)",
            "silent: rank 13 of communicator 1ad5a5a4f32d5f3f sent no data (process 3487984 on node 172.16.64.213)",
            "status: ranks 3, 4 of communicator 1ad5a5a4f32d5f3f: status ABORT, unlike most (process 71 on node "
            "172.16.64.210, process 72 on node 172.16.64.210)",
            "missing: rank 2 of communicator 1ad5a5a4f32d5f3f did not come to AllReduce number 22699; others have "
            "launched 22699 (process 70 on node 172.16.64.210)",
            "missing: ranks 7, 8, 9 of communicator 1ad5a5a4f32d5f3f did not come to Broadcast number 1; others have "
            "launched 5 (process 75 on node 172.16.64.210, process 76 on node 172.16.64.213)"])

    def judged(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ras"
            path.write_text(text)
            done = call("-o", "json", path)
        self.assertNotEqual(done.returncode, BAD, done.stderr)
        return done.returncode, json.loads(done.stdout)["findings"]

    def test_text_without_anything_wrong(self):
        whole = (FILES / "ras.txt").read_text()
        fine = whole[:whole.index("DEAD\n")] + "\nWarnings\n========\n\n"
        self.assertEqual(self.judged(fine), (FINE, []))

    def test_text_that_is_cut(self):
        whole = (FILES / "ras.txt").read_text()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "ras"
            path.write_text(whole[:whole.index("Warnings")])
            done = call(path)
        self.assertEqual(done.returncode, BAD)
        self.assertIn("the output of ncclras is cut", done.stderr)

    def test_json(self):
        def rank(number, reduces, **status):
            states = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False,
                      "abort_flag": False, **status}
            return {"rank": number, "host": "10.0.0.7", "pid": 70 + number, "status": states,
                    "collective_counts": {"Broadcast": 0, "AllReduce": reduces}}
        ranks = [rank(0, 41), rank(1, 41, async_error=6), rank(2, 40), rank(3, 41, abort_flag=True)]
        whole = {"nccl_version": "2.30.7", "communicators_count": 1, "communicators": [
            {"hash": "0xcafe", "size": 5, "ranks": ranks, "missing_ranks": [{"rank": 4, "status": {}}]}]}
        status, found = self.judged(json.dumps(whole, indent=2))
        self.assertEqual(status, FOUND)
        self.assertEqual([(one["kind"], one["ranks"]) for one in found],
                         [("error", [1]), ("silent", [4]), ("status", [3]), ("missing", [2])])
        self.assertEqual((found[3]["operation"], found[3]["number"]), ("AllReduce", 41))
        whole["communicators"] = []
        self.assertEqual(self.judged(json.dumps(whole)), (FINE, []))


if __name__ == "__main__":
    sys.argv[1:] = []
    unittest.main(verbosity=2)
