#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel for old systems: librhcomm.so is compiled against the C library 2.28 (Debian 10, RHEL 8), by zig.

    portable.py --output FOLDER [--zig ZIG] SOURCE...

zig is a program of that name, or the package ziglang of the Python that runs this, or of that which --zig names:
pip install ziglang. The result is checked: it needs no newer symbol. The backend nccl is in it, which links nothing;
ucx and mpi link what an image has, so they are built there.
"""
import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import backend

ROOT = pathlib.Path(__file__).resolve().parents[2]
OLDEST = (2, 28)
FLAGS = ["-std=gnu11", "-O3", "-g0", "-fno-trapping-math", "-fno-math-errno", "-fPIC", "-fvisibility=hidden",
         "-D_GNU_SOURCE", "-shared", "-Wl,-z,defs", "-Iinclude", "-Icore", "-I.", "-Wno-unused-command-line-argument"]


def zig(named):
    """Words that start zig."""
    if named:
        return [named] if os.path.basename(named).startswith("zig") else [named, "-m", "ziglang"]
    if shutil.which("zig"):
        return ["zig"]
    return [sys.executable, "-m", "ziglang"]


def compile_library(words, output, sources, flags=()):
    target = f"{platform.machine()}-linux-gnu.{OLDEST[0]}.{OLDEST[1]}"
    subprocess.run([*words, "cc", "-target", target, *FLAGS, *flags, "-o", str(output), *sources, "-lpthread", "-ldl",
                    "-lrt", "-lm"],
                   cwd=ROOT, check=True)


def newest_symbol(library):
    """The newest version of the C library that it asks for."""
    listing = subprocess.run(["objdump", "-T", str(library)], check=True, capture_output=True, text=True).stdout
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"\bGLIBC_([0-9.]+)", listing)]
    return max(versions, default=(0,))


def make(words, output, sources):
    """Compile, check and pack; returns the wheel's name."""
    with tempfile.TemporaryDirectory() as folder:
        library, nccl = pathlib.Path(folder, backend.LIBRARY), pathlib.Path(folder, "librhcomm_nccl.so")
        compile_library(words, library, sources, [f"-Wl,-soname,{backend.LIBRARY}"])
        backends = []
        if (ROOT / "comm" / "nccl").is_dir():
            # check.c needs the headers of NCCL
            found = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "comm" / "nccl").glob("*.c")
                           if path.name != "check.c")
            found.append("comm/core/memory/symbols.c")
            compile_library(words, nccl, found)
            backends = [nccl]
        for path in [library, *backends]:
            newest = newest_symbol(path)
            if newest > OLDEST:
                raise SystemExit(f"{path.name} needs GLIBC_{'.'.join(map(str, newest))}, newer than "
                                 f"{OLDEST[0]}.{OLDEST[1]}")
        tag = f"manylinux_{OLDEST[0]}_{OLDEST[1]}_{platform.machine()}"
        return backend.make(output, library, backends, tag)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--output", required=True)
    parser.add_argument("--zig")
    parser.add_argument("sources", nargs="+")
    asked = parser.parse_args()
    print(make(zig(asked.zig), os.path.abspath(asked.output), asked.sources))


if __name__ == "__main__":
    main()
