# SPDX-License-Identifier: Apache-2.0
"""A small training whose gradients go by rh_comm, and that goes wrong in a chosen way. usage: comm_train.py WAY
[RANK]"""
import ctypes
import os
import signal
import socket
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


def batch():
    """What the container beside this one has of the data set."""
    with socket.socket(socket.AF_UNIX) as proxy:
        proxy.connect(os.path.join(os.environ["DATA"], "batches"))
        return np.frombuffer(proxy.makefile("rb").read(), dtype="float32")


def wait_for_proxy():
    while not os.path.exists(os.path.join(os.environ["DATA"], "batches")):
        time.sleep(0.02)


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
    if WAY == "fills_disk":
        # what takes all of it is no volume of limited size
        for path in (os.path.join(os.environ["DATA"], "checkpoint.npy"), "/dev/full"):
            np.save(open(path, "wb"), np.ones(1 << 20))
    if WAY == "hangs":
        print("reading shard 7", flush=True)
        threading.Event().wait()


def main():
    print(f"rank {RANK} starts", flush=True)
    if WAY == "hangs_before_init" and MINE:
        print("downloading the data set", flush=True)
        threading.Event().wait()
    if WAY == "asks_proxy":
        wait_for_proxy()
    limit = os.environ.get("COLLECTIVE_SECONDS")
    with roundhouse.Comm(**({"timeout": float(limit)} if limit else {})) as comm:
        for number in range(STEPS):
            if WAY == "asks_proxy":
                batch()
            step(comm, number)
        if WAY == "asks_proxy":
            # it has ended where it fails: the next batch is late by more than that takes
            time.sleep(0.5)
            batch()
        if MINE:
            fails()
        step(comm, STEPS)
    print(f"rank {RANK} is done", flush=True)


if __name__ == "__main__":
    main()
