#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gloo through torch.distributed as a contender: the loop of rounds.h. usage: reduce_gloo.py BYTES..."""
import os
import sys
import time

import torch
import torch.distributed as dist


def batch(size):
    """Operations of one round."""
    return 200 if size <= 1024 else 50 if size <= 65536 else 8 if size <= 1 << 20 else 1


def count(size):
    """Rounds of a size."""
    return 30 if size <= 4 << 20 else 15 if size <= 16 << 20 else 7 if size <= 64 << 20 else 3


def main():
    """All sizes of the command line."""
    sizes = [int(word) for word in sys.argv[1:]]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    probe = torch.arange(1000.0) + rank
    dist.all_reduce(probe)
    assert torch.equal(probe, torch.arange(1000.0) * world + world * (world - 1) / 2)
    buffer = torch.zeros(sizes[-1] // 4)
    for size in sizes:
        # 400 us an operation: a tenth of the others' repetitions says as much
        view, samples, repeat = buffer[: size // 4], [], max(1, batch(size) // 10)
        for turn in range(-2, count(size)):
            dist.barrier()
            start = time.perf_counter()
            for _ in range(repeat):
                dist.all_reduce(view)
            if turn >= 0:
                samples.append((time.perf_counter() - start) / repeat * 1e6)
        samples.sort()
        if rank == 0:
            print(size, f"{samples[0]:.3f} {samples[len(samples) // 2]:.3f}", flush=True)
    dist.destroy_process_group()


main()
