# SPDX-License-Identifier: Apache-2.0
"""`roundhouse-comm trace` on what torch's flight recorder writes of real ranks with Gloo.
usage: test_recorder.py LIBRARY SOURCE ROUNDHOUSE_COMM"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[3]
del sys.argv[3]
import kit  # noqa: E402
import torch2  # noqa: E402

WORLD = 3
# Ranks write both forms once all of them have posted all they post, and end without waiting for each other.
RANK = """
import os, torch, torch.distributed as dist
import torch._C._distributed_c10d as c10d
rank, case, folder = int(os.environ["RANK"]), os.environ["CASE"], os.environ["FOLDER"]
dist.init_process_group("gloo")
group = dist.new_group([0, 2])
def step():
    if rank != 1:
        dist.all_reduce(torch.ones(3, 4), group=group)
    dist.all_reduce(torch.ones(3, 4))
for _ in range(4):
    step()
if case == "missing" and rank == 2:
    works = [dist.all_reduce(torch.ones(7), group=group, async_op=True)]
elif case == "order":
    works = [(dist.barrier(async_op=True) if rank == 1 else dist.all_reduce(torch.ones(7), async_op=True))]
for form, dump in (("", c10d._dump_fr_trace), (".json", c10d._dump_fr_trace_json)):
    with open(f"{folder}/trace_rank_{rank}{form}", "wb") as file:
        file.write(dump())
store = dist.distributed_c10d._get_default_store()
store.add("done", 1)
while rank == 0 and store.add("done", 0) < 3:
    pass
os._exit(0)
"""


class Recorder(unittest.TestCase):
    def judged(self, case):
        """-> status and output for pickles, and for JSON"""
        with tempfile.TemporaryDirectory() as folder:
            port = kit.free_port()
            ranks = [subprocess.Popen([PYTHON, "-c", RANK], stderr=subprocess.PIPE, text=True,
                                      env=kit.environment(rank, WORLD, port, "torch", {
                                          "CASE": case, "FOLDER": folder, "TORCH_FR_BUFFER_SIZE": 2000}))
                     for rank in range(WORLD)]
            errors = [process.communicate(timeout=kit.TIMEOUT)[1] for process in ranks]
            self.assertEqual([process.returncode for process in ranks], [0] * WORLD, errors)
            files = [sorted(map(str, pathlib.Path(folder).glob(f"trace_rank_?{form}"))) for form in ("", ".json")]
            done = [subprocess.run([PROGRAM, "trace", *each], capture_output=True, text=True, timeout=kit.TIMEOUT,
                                   check=False) for each in files]
        return [(each.returncode, each.stdout + each.stderr) for each in done]

    def test_all_came(self):
        for status, text in self.judged("fine"):
            self.assertEqual(status, 0, text)
            self.assertIn("fine: all ranks have come", text)

    def test_a_rank_missing_in_a_group(self):
        for status, text in self.judged("missing"):
            self.assertEqual(status, 1, text)
            self.assertRegex(text, r"missing: rank 0 did not come to number 5 of group 1, all_reduce of \[7\] Float"
                                   r"( \(in <module> at <string>:\d+\))?; rank 2 waits there")

    def test_another_operation(self):
        for status, text in self.judged("order"):
            self.assertEqual(status, 1, text)
            self.assertRegex(text, r"differs: rank 1 posted barrier.* as number 5, rank 0 all_reduce of \[7\] Float")


if __name__ == "__main__":
    PYTHON = torch2.python()
    if subprocess.run([PYTHON, "-c", "import torch._C._distributed_c10d as c; c._dump_fr_trace"],
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        kit.skip("this torch has no flight recorder for Gloo: before 2.8")
    sys.argv[1:] = []
    os.environ.pop("TORCH_NCCL_TRACE_BUFFER_SIZE", None)
    unittest.main(verbosity=2)
