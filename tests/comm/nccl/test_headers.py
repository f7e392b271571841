#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our declarations of NCCL and the CUDA runtime against the real headers (comm/nccl/check.c must compile), and the
symbols against the real libraries, wherever this machine has them: a toolkit, or the wheels of a training environment.
What a wheel lacks of the headers (crt, nv/target) is fetched from the package index. Exit status 77, with the reason:
skipped."""
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[3]
PLACES = ["/usr", "/usr/local/cuda", os.environ.get("CUDA_HOME", ""), os.environ.get("NCCL_HOME", "")]


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def wheels():
    """Folders nvidia/ of Python environments."""
    pattern = ".cache/roundhouse/env/*/lib/python3*/site-packages/nvidia"
    return glob.glob(str(pathlib.Path.home() / pattern)) + [entry + "/nvidia" for entry in sys.path if entry]


def find(name, below):
    """Folders below which a header is found under this name."""
    roots = [place for place in PLACES if place] + wheels()
    return [path[: -len(name) - 1] for root in roots for middle in below
            for path in glob.glob(os.path.join(root, middle, name))]


def complete(folder, missing):
    """Fetch the small wheels that have the rest of the CUDA headers."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, *missing]
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        skip("the CUDA headers here lack crt/host_defines.h, and the package index cannot be reached")
    for wheel in glob.glob(folder + "/*.whl"):
        subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, folder], check=True)
    return [path for path in glob.glob(folder + "/nvidia/*/include") + glob.glob(folder + "/nvidia/*/include/cccl")]


def compile_check(include):
    command = [os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra",
               "-Werror", "-Wno-unused-function", f"-I{SOURCE}", f"-I{SOURCE}/include"]
    for folder in include:
        command += ["-isystem", folder]
    return subprocess.run(command + [str(SOURCE / "comm/nccl/check.c")], capture_output=True, text=True)


def symbols_missing(library, prefix):
    """Those of api.c that a real library does not export."""
    wanted = set(re.findall(rf'"({prefix}\w+)"', (SOURCE / "comm/nccl/api.c").read_text()))
    assert len(wanted) >= 8, wanted
    table = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return wanted - {line.split()[-1].split("@")[0] for line in table.splitlines() if line.split()}


def main():
    nccl = find("nccl.h", ["include", "nccl/include"])
    cuda = find("cuda_runtime_api.h", ["include", "cu*/include", "cuda_runtime/include"])
    if not nccl or not cuda:
        skip("no nccl.h and cuda_runtime_api.h on this machine")
    include = [nccl[0], cuda[0]]
    with tempfile.TemporaryDirectory() as folder:
        if not os.path.exists(os.path.join(cuda[0], "crt/host_defines.h")):
            include += complete(folder, ["nvidia-cuda-crt", "nvidia-cuda-cccl"])
        result = compile_check(include)
    print(f"{nccl[0]}, {cuda[0]}: {'they agree' if result.returncode == 0 else result.stderr}")
    failed = result.returncode != 0
    for pattern, prefix in (("nccl/lib/libnccl.so.2", "nccl"), ("cu*/lib/libcudart.so.*", "cuda")):
        for library in [path for root in wheels() for path in glob.glob(os.path.join(root, pattern))]:
            missing = symbols_missing(library, prefix)
            print(f"{library}: {'lacks ' + ', '.join(sorted(missing)) if missing else 'has all that is called'}")
            failed |= bool(missing)
    return failed


if __name__ == "__main__":
    sys.exit(main())
