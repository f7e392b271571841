# SPDX-License-Identifier: Apache-2.0
"""A small training whose gradients go by rh_comm, and that goes wrong in a chosen way. usage: comm_train.py WAY
[RANK]"""
import ctypes
import os
import signal
import sys
import threading
import time

import numpy as np
import roundhouse

WAY = sys.argv[1]
CULPRIT = int(sys.argv[2]) if len(sys.argv) > 2 else -1
RANK = int(os.environ["RANK"])
MINE = RANK == CULPRIT
STEPS = 3


def step(comm, number):
    time.sleep(0.05)
    comm.all_reduce(np.full(1000, float(number), dtype="float32"), op="avg")
    if RANK == 0:
        print(f"step {number} loss {1.0 / (number + 1):.4f}", flush=True)


def fails():
    """What the culprit does in the place of its step."""
    if WAY == "raises":
        raise ValueError("shard 7 of the data set holds a label 12, allowed are 0 to 9")
    if WAY == "segfaults":
        ctypes.string_at(0)
    if WAY == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if WAY == "exits":
        os._exit(3)
    if WAY == "hangs":
        print("reading shard 7", flush=True)
        threading.Event().wait()


def main():
    print(f"rank {RANK} starts", flush=True)
    if WAY == "hangs_before_init" and MINE:
        print("downloading the data set", flush=True)
        threading.Event().wait()
    limit = os.environ.get("COLLECTIVE_SECONDS")
    with roundhouse.Comm(**({"timeout": float(limit)} if limit else {})) as comm:
        for number in range(STEPS):
            step(comm, number)
        if MINE:
            fails()
        step(comm, STEPS)
    print(f"rank {RANK} is done", flush=True)


if __name__ == "__main__":
    main()
