#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA memory on a real device. usage: test_gpu.py PROGRAM

Finds NCCL and the CUDA runtime: in the folders that RH_TEST_NCCL names (joined by ':', searched to any depth, as an
unpacked wheel or an environment has them), else in the environments of examples/setup, in this Python, and where
systems have them. Then it runs the program. Exit status 77, with the reason: skipped. On a machine with a device:

    cmake --preset dev && cmake --build --preset dev --target test_comm_nccl_gpu_gpu && ctest --preset dev -L gpu
"""
import ctypes
import glob
import os
import pathlib
import sys

LIBRARIES = {"RH_COMM_NCCL_LIBRARY": ["libnccl.so.2"],
             "RH_COMM_CUDART": ["libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"]}
SYSTEM = ["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"]


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


def places():
    named = os.environ.get("RH_TEST_NCCL")
    if named:
        return [path for folder in named.split(":") for path in (folder,
                                                                 *glob.glob(folder + "/**/lib", recursive=True))]
    roots = glob.glob(str(pathlib.Path.home() / ".cache/roundhouse/env/*/lib/python3*/site-packages")) + [path
            for path in sys.path if path]
    return [path for root in roots for path in glob.glob(root + "/nvidia/*/lib")] + SYSTEM


def find(names):
    for name in names:
        for place in places():
            path = os.path.join(place, name)
            if os.path.exists(path):
                return path
    return None


def main():
    program = sys.argv[1]
    for variable, names in LIBRARIES.items():
        found = os.environ.get(variable) or find(names)
        if not found:
            skip(f"no {names[0]} is found; RH_TEST_NCCL may name its folder (wheels nvidia-nccl-cu12 and "
                 "nvidia-cuda-runtime-cu12 have it)")
        os.environ[variable] = found
    count = ctypes.c_int()
    status = ctypes.CDLL(os.environ["RH_COMM_CUDART"]).cudaGetDeviceCount(ctypes.byref(count))
    if status != 0 or count.value == 0:
        skip(f"no CUDA device (cudaGetDeviceCount returns {status}, with {os.environ['RH_COMM_CUDART']})")
    print(f"{count.value} device(s), {os.environ['RH_COMM_NCCL_LIBRARY']}", flush=True)
    os.execv(program, [program, *sys.argv[2:]])


main()
