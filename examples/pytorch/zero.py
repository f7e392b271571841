#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with DeepSpeed's ZeRO, stage 2: optimizer state and gradients are split over the
processes, on CPUs.

The data are the 1797 real images that scikit-learn carries. Rank 0 prints the accuracy on images that were not trained
on, and each process ends with 1 when it is below MIN_ACCURACY.

Environment: MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK come from the job.
"""
import os
import sys

# On one machine each replica has a loopback address, and gloo must use that interface; elsewhere it finds its own.
if os.environ.get("MASTER_ADDR", "").startswith("127."):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("LOCAL_RANK", "0")  # one process a pod

import deepspeed
import numpy as np
import torch
from digits import BATCH, TRAIN_IMAGES, load_data
from torch import nn

MIN_ACCURACY = 0.95
EPOCHS = 10


def train_epoch(engine, images, labels, epoch, rank, world):
    order = torch.from_numpy(np.random.RandomState(epoch).permutation(len(images)))
    share = order[rank::world][: len(images) // world]
    for pick in share.split(BATCH // world):
        loss = nn.functional.cross_entropy(engine(images[pick]), labels[pick])
        engine.backward(loss)
        engine.step()
    return loss.item()


def main():
    torch.set_num_threads(1)  # the replicas share the cores of this machine
    torch.manual_seed(0)
    deepspeed.init_distributed("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    print(f"rank {rank} of {world} is ready, process {os.getpid()}", flush=True)
    images, labels = load_data()
    train, test = slice(0, TRAIN_IMAGES), slice(TRAIN_IMAGES, None)

    network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    engine, _, _, _ = deepspeed.initialize(model=network, optimizer=optimizer, config={
        "train_micro_batch_size_per_gpu": BATCH // world, "zero_optimization": {"stage": 2},
        "zero_allow_untested_optimizer": True})
    for epoch in range(EPOCHS):
        loss = train_epoch(engine, images[train], labels[train], epoch, rank, world)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    with torch.no_grad():
        accuracy = (engine(images[test]).argmax(1) == labels[test]).float().mean().item()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
