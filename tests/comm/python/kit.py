# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: worlds of processes, each of which runs one case.

A test is started as test_NAME.py LIBRARY SOURCE [FURTHER]; a rank as test_NAME.py LIBRARY SOURCE [FURTHER] --case CASE.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

SKIP_STATUS = 77
# Far above what any case takes, for a machine that does other things too.
TIMEOUT = 300
CASES = {}

LIBRARY, SOURCE = sys.argv[1], sys.argv[2]
PACKAGE = os.path.join(SOURCE, "comm", "python")
sys.path[:0] = [PACKAGE, os.path.join(SOURCE, "tests")]
os.environ["RH_COMM_LIBRARY"] = LIBRARY
os.environ["RH_COMM_LOG"] = "off"

from ports import free_port  # noqa: E402


def free_ports(count):
    """-> so many ports for worlds one after the other, as a variable has them: "10001,10002"."""
    return ",".join(str(free_port()) for _ in range(count))


def case(function):
    """What a rank runs."""
    CASES[function.__name__] = function
    return function


def skip(reason):
    print("SKIPPED:", " | ".join(str(reason).split("\n")))
    sys.exit(SKIP_STATUS)


def need(module, package):
    """A module, of this Python or of Debian's; else skip."""
    if importlib.util.find_spec(module) is not None:
        return
    debian = "/usr/bin/python3"
    if subprocess.run([debian, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        skip(f"there is no {module}; install {package}")
    os.execv(debian, [debian, "-B", *sys.argv])


def environment(rank, world, port, names, further):
    """names: "rh" for variables of our own, "torch" for torch's."""
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith(("RH_", "MASTER_", "OMPI_", "PMI_", "DMLC_"))}
    clean = {key: value for key, value in clean.items() if key not in ("RANK", "WORLD_SIZE", "TF_CONFIG")}
    own = {"RH_COMM_RANK": rank, "RH_COMM_WORLD": world, "RH_COMM_HOST": "127.0.0.1", "RH_COMM_PORT": port}
    torchs = {"RANK": rank, "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
              "GLOO_SOCKET_IFNAME": "lo"}
    variables = {"rh": own, "torch": torchs, "none": {}}[names]
    return clean | {"RH_COMM_LIBRARY": LIBRARY, "RH_COMM_LOG": "off", "OMP_NUM_THREADS": "1", "PYTHONPATH": PACKAGE} | {
        key: str(value) for key, value in (variables | (further or {})).items()}


class Ranks(unittest.TestCase):
    """Tests that start worlds."""

    def world(self, count, name, names="rh", statuses=None, further=None, python=sys.executable):
        """Run a case in so many ranks; each ends with 0, or with what statuses says. Returns what each wrote."""
        port, words = free_port(), [python, "-B", *sys.argv, "--case", name]
        outputs = [tempfile.TemporaryFile("w+") for _ in range(count)]
        children = [subprocess.Popen(words, env=environment(rank, count, port, names, further), stdout=outputs[rank],
                                     stderr=subprocess.STDOUT)
                    for rank in range(count)]
        try:
            found = [child.wait(TIMEOUT) for child in children]
        finally:
            for child in children:
                child.kill()
                child.wait()
            texts = []
            for output in outputs:
                output.seek(0)
                texts.append(output.read())
                output.close()
        self.assertEqual(found, statuses or [0] * count, "\n--\n".join(texts))
        return texts


def main():
    if "--case" in sys.argv:
        CASES[sys.argv[sys.argv.index("--case") + 1]]()
        return
    unittest.main(module="__main__", argv=sys.argv[:1], verbosity=2)
