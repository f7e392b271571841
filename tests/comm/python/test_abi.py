# SPDX-License-Identifier: Apache-2.0
"""The structs and constants of the package against the real headers. usage: test_abi.py LIBRARY SOURCE COMPILER"""
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

import kit
from roundhouse import compress, errors, library, ps

COMPILER = sys.argv[3]
STRUCTS = {
    "roundhouse/comm.h": {"rh_comm_error": library.Error, "rh_comm_options": library.Options, "rh_comm_op": library.Op},
    "roundhouse/compress.h": {"rh_comm_compression": library.Compression, "rh_comm_compressed": library.Compressed},
    "roundhouse/ps.h": {"rh_ps_server_options": library.ServerOptions, "rh_ps_options": library.WorkerOptions,
                        "rh_ps_op": library.ServedOp, "rh_ps_scheduler_options": library.SchedulerOptions},
}
CONSTANTS = {
    "roundhouse/comm.h": {
        "RH_COMM_BUSY": library.BUSY, "RH_COMM_F32": library.F32, "RH_COMM_F64": library.F64,
        "RH_COMM_F16": library.F16, "RH_COMM_BF16": library.BF16, "RH_COMM_I8": library.I8, "RH_COMM_I32": library.I32,
        "RH_COMM_I64": library.I64, "RH_COMM_U8": library.U8, "RH_COMM_I16": library.I16, "RH_COMM_U16": library.U16,
        "RH_COMM_U32": library.U32, "RH_COMM_U64": library.U64, "RH_COMM_F8_E4M3": library.F8_E4M3,
        "RH_COMM_F8_E5M2": library.F8_E5M2, "RH_COMM_ALL_REDUCE": library.ALL_REDUCE,
        "RH_COMM_REDUCE_SCATTER": library.REDUCE_SCATTER,
        "RH_COMM_ALL_GATHER": library.ALL_GATHER, "RH_COMM_BROADCAST": library.BROADCAST,
        "RH_COMM_BARRIER": library.BARRIER, "RH_COMM_ALL_TO_ALL": library.ALL_TO_ALL,
        "RH_COMM_ALL_TO_ALL_V": library.ALL_TO_ALL_V, "RH_COMM_GATHER": library.GATHER,
        "RH_COMM_GATHER_V": library.GATHER_V, "RH_COMM_SCATTER": library.SCATTER,
        "RH_COMM_SCATTER_V": library.SCATTER_V, "RH_COMM_REDUCE": library.REDUCE,
        "RH_COMM_ALL_GATHER_V": library.ALL_GATHER_V, "RH_COMM_REDUCE_SCATTER_V": library.REDUCE_SCATTER_V,
        "RH_COMM_SEND": library.SEND, "RH_COMM_RECV": library.RECV, "RH_COMM_HOST": library.HOST,
        "RH_COMM_CUDA": library.CUDA, "RH_COMM_NO_RANK": library.NO_RANK, "RH_COMM_ANY_RANK": library.ANY_RANK,
        "RH_COMM_MAJOR": int(library.NAME.rpartition(".")[2]),
        **{f"RH_COMM_{name.upper()}": value for name, value in library.REDUCTIONS.items()}},
    "roundhouse/compress.h": {f"RH_COMM_COMPRESS_{name.upper()}": value for name, value in compress.KINDS.items()},
    "roundhouse/ps.h": {
        "RH_PS_INIT": ps._INIT, "RH_PS_PUSH": ps._PUSH, "RH_PS_PULL": ps._PULL, "RH_PS_PUSH_PULL": ps._PUSH_PULL,
        "RH_PS_BARRIER": ps._BARRIER, **{f"RH_PS_{name.upper()}": value for words in (ps.MODES, ps.RULES, ps.DURABLE)
                                         for name, value in words.items()}},
}
ERRORS = ["EINVAL", "ENOMEM", "EIO", "EPEER", "ETIME", "EABORTED", "ENOTSUP", "EBACKEND"]


def ask(header, expressions):
    """The values that the compiler gives the expressions."""
    lines = "".join(f'printf("%lld\\n", (long long)({expression}));\n' for expression in expressions)
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "ask.c"), os.path.join(folder, "ask")
        with open(source, "w", encoding="ascii") as file:
            file.write(f"#include <{header}>\n#include <stdio.h>\nint main(void)\n{{\n{lines}return 0;\n}}\n")
        subprocess.run([COMPILER, "-I", os.path.join(kit.SOURCE, "include"), source, "-o", program], check=True)
        return [int(line) for line in subprocess.run([program], check=True, capture_output=True,
                                                     text=True).stdout.split()]


class Abi(unittest.TestCase):
    def test_structs(self):
        for header, structs in STRUCTS.items():
            for name, struct in structs.items():
                fields = [field for field, _ in struct._fields_]
                want = ask(header, [f"sizeof(struct {name})"]
                           + [f"offsetof(struct {name}, {field.rstrip('_')})" for field in fields])
                have = [ctypes.sizeof(struct)] + [getattr(struct, field).offset for field in fields]
                self.assertEqual(dict(zip(["size of all", *fields], have)), dict(zip(["size of all", *fields], want)),
                                 name)

    def test_constants(self):
        for header, constants in CONSTANTS.items():
            self.assertEqual(constants, dict(zip(constants, ask(header, constants))), header)

    def test_errors(self):
        codes = ask("roundhouse/comm.h", [f"RH_COMM_{name}" for name in ERRORS])
        self.assertEqual(sorted(errors._KINDS), sorted(codes))

    def test_exports(self):
        """All that the headers declare is there, and nothing else."""
        import re
        declared = set()
        for header in STRUCTS:
            with open(os.path.join(kit.SOURCE, "include", header), encoding="utf-8") as file:
                declared |= set(re.findall(r"^RH_COMM_API [^;]*?\b(rh_\w+)\(", file.read(), re.M))
        lines = subprocess.run(["nm", "-D", "--defined-only", kit.LIBRARY], check=True, capture_output=True,
                               text=True).stdout
        exported = {line.split()[-1].split("@")[0] for line in lines.splitlines()}
        # a library without parameter servers lacks all of them
        if not any(name.startswith("rh_ps_") for name in exported):
            declared = {name for name in declared if not name.startswith("rh_ps_")}
        self.assertEqual({name for name in exported if not name.startswith("_")}, declared)
        self.assertLessEqual(set(library._FUNCTIONS), declared)


kit.main()
