# SPDX-License-Identifier: Apache-2.0
"""examples/comm: rh_comm under torch, parameter servers in Python, the package injected. usage: test_comm.py PROGRAM
SOURCE LIBRARY [WHEEL]

With WHEEL it is Debian's torch, without it torch 2 of examples/setup.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import kit

PYTHON = "/usr/bin/python3"
LIBRARY = sys.argv[3]
WHEEL = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
PACKAGE = {"PYTHONPATH": os.path.join(kit.SOURCE, "comm", "python"), "RH_COMM_LIBRARY": LIBRARY}


class Comm(kit.Training):
    def check_backend(self, seen, world):
        backends = {m[1] for m in (re.search(r"is ready, process \d+, backend (\w+)", text)
                                   for text in kit.lines(seen)) if m}
        self.assertEqual(len(backends), 1, f"{world} ranks with {backends}")

    def with_wheel(self, example):
        """The example with the folder of the wheel in the place of the installed one."""
        text = pathlib.Path(kit.EXAMPLES, example).read_text()
        self.assertIn("/usr/local/share/roundhouse/python", text)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # commands run in the folder of the file
        made = pathlib.Path(folder.name, "inject.yaml")
        made.write_text(text.replace("/usr/local/share/roundhouse/python", str(WHEEL.parent)))
        pathlib.Path(folder.name, "digits.py").write_bytes(pathlib.Path(kit.EXAMPLES, "comm", "digits.py").read_bytes())
        return str(made)


class Debian(Comm):
    def test_digits_learns(self):
        status, seen = kit.rows("comm/digits.yaml", environment=PACKAGE)
        self.check_learnt(status, seen, world=3, floor=0.95)
        self.check_falls(seen)
        self.check_backend(seen, 3)
        self.assertEqual(kit.outcomes(seen), {"Master-0": "Succeeded", "Worker-0": "Succeeded",
                                              "Worker-1": "Succeeded"})

    def test_killed_rank_is_named_and_all_meet_again(self):
        """The other ranks end with an error, all containers are started again, and the training succeeds."""
        killer = kit.Killer(epoch=3, rank=2)
        status, seen = kit.rows("comm/digits.yaml", react=killer, environment=PACKAGE | {"EPOCHS": "300"})
        self.assertTrue(killer.killed)
        self.check_learnt(status, seen, world=3, floor=0.95)
        errors = [text for text in kit.lines(seen) if "PeerError" in text or "RuntimeError" in text]
        self.assertTrue(any(re.search(r"rank 2\b.* died", text) for text in errors), errors)
        restarts = {f"{row['replicaType']}-{row['index']}": row["restarts"] for row in seen if row["type"] == "replica"}
        self.assertEqual(restarts, {"Master-0": 1, "Worker-0": 1, "Worker-1": 1})

    def test_tfjob_has_ranks(self):
        """A framework that does not number its processes: the Chief and the Workers are one world, with one model."""
        status, seen = kit.rows("comm/tfjob.yaml", environment=PACKAGE)
        self.assertEqual(status, 0, kit.lines(seen))
        self.check_backend(seen, 3)
        ends = [m for m in (re.search(r"rank (\d) weights (\w+) error (\S+)", text) for text in kit.lines(seen)) if m]
        self.assertEqual(sorted(end[1] for end in ends), ["0", "1", "2"], kit.lines(seen))
        self.assertEqual(len({end[2] for end in ends}), 1, "the same bits on all ranks")
        self.assertLess(max(float(end[3]) for end in ends), 0.001)

    def test_parameter_servers_learn(self):
        status, seen = kit.rows("comm/parameter_server.yaml", environment=PACKAGE)
        self.check_learnt(status, seen, world=3, floor=0.92)
        self.check_falls(seen)
        outcomes = kit.outcomes(seen)
        self.assertEqual(set(outcomes), {"Chief-0", "PS-0", "PS-1", "Worker-0", "Worker-1"})
        self.assertEqual(outcomes["Chief-0"], "Succeeded")

    def test_injected_package_trains(self):
        status, seen = kit.rows(self.with_wheel("comm/inject.yaml"))
        self.check_learnt(status, seen, world=2, floor=0.95)
        self.check_backend(seen, 2)


class Torch2(Comm):
    def test_backend_rh_learns(self):
        status, seen = kit.rows("comm/digits2.yaml", CONFIG, environment=PACKAGE)
        self.check_learnt(status, seen, world=2, floor=0.95)
        self.check_falls(seen)
        self.check_backend(seen, 2)


if WHEEL:
    del Torch2
    if subprocess.run([PYTHON, "-c", "import torch, sklearn"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        kit.skip(f"{PYTHON} has no torch or sklearn; install python3-torch and python3-sklearn")
else:
    del Debian
    CONFIG = kit.configuration("pytorch")
kit.main()
