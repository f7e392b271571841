# SPDX-License-Identifier: Apache-2.0
"""A small training with mpi4py that goes wrong in a chosen way. usage: mpi_train.py WAY [RANK]"""
import ctypes
import os
import signal
import sys
import threading
import time

WAY = sys.argv[1]
CULPRIT = int(sys.argv[2]) if len(sys.argv) > 2 else -1
STEPS = 3

if WAY == "import_all":
    import flash_attention_extra  # pylint: disable=import-error,unused-import

import numpy as np
from mpi4py import MPI

WORLD = MPI.COMM_WORLD
RANK = WORLD.Get_rank()
MINE = RANK == CULPRIT


def step(number):
    total = np.empty(1000)
    WORLD.Allreduce(np.full(1000, float(number)), total)
    time.sleep(0.05)
    if RANK == 0:
        print(f"step {number} loss {1.0 / (number + 1):.4f}", flush=True)


def raises():
    if MINE:
        raise ValueError("shard 7 of the data set holds a label 12, allowed are 0 to 9")
    step(STEPS)


def gives_up():
    if MINE:
        print("error: the learning rate is not a number, giving up", file=sys.stderr, flush=True)
        WORLD.Abort(13)
    step(STEPS)


def segfaults():
    if MINE:
        ctypes.string_at(0)
    step(STEPS)


def is_killed():
    if MINE:
        os.kill(os.getpid(), signal.SIGKILL)
    step(STEPS)


def exits():
    """Leaves without MPI_Finalize."""
    if MINE:
        print("error: no checkpoint to go on from", file=sys.stderr, flush=True)
        os._exit(3)
    step(STEPS)


def misuses():
    """A message that is longer than its receiver expects."""
    if MINE:
        WORLD.Recv(np.empty(1), source=0)
    elif RANK == 0:
        WORLD.Send(np.ones(100), dest=CULPRIT)
    step(STEPS)


def hangs():
    if MINE:
        print("reading shard 7", flush=True)
        threading.Event().wait()
    step(STEPS)


def main():
    print(f"rank {RANK} starts", flush=True)
    if WAY == "misuses":
        WORLD.Set_errhandler(MPI.ERRORS_ARE_FATAL)
    for number in range(STEPS):
        step(number)
    globals()[WAY]()
    WORLD.Barrier()
    print(f"rank {RANK} is done", flush=True)


if __name__ == "__main__":
    main()
