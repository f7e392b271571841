#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with DistributedDataParallel, whose gradients are averaged by rh_comm.

torch 2 uses the backend "rh"; an older one, such as Debian's 1.13, keeps gloo and gets a communication hook. The data
are the 1797 real images that scikit-learn carries. Rank 0 prints the accuracy on images that were not trained on; below
MIN_ACCURACY the script ends with 1.

Environment: MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK come from the job, RH_COMM_BACKEND from its annotation
roundhouse.dev/comm.
EPOCHS is the number of passes over the data (10).
"""
import os
import sys

# On one machine each replica has a loopback address, and gloo must use that interface; elsewhere it finds its own.
if os.environ.get("MASTER_ADDR", "").startswith("127."):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import numpy as np
import roundhouse.torch
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

MIN_ACCURACY = 0.95
TRAIN_IMAGES = 1500
BATCH = 96
RATE = 0.17


def load_data():
    """Images and labels in an order that is random but the same on every rank."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return torch.tensor(images[order] / 16.0, dtype=torch.float32), torch.tensor(labels[order])


def start(network):
    """The model that averages its gradients over all ranks, and the roundhouse.Comm that does it."""
    if int(torch.__version__.split(".")[0]) >= 2:
        dist.init_process_group("rh")
        return DistributedDataParallel(network), dist.group.WORLD.comm
    dist.init_process_group("gloo")
    model, comm = DistributedDataParallel(network), roundhouse.torch.comm_of()
    model.register_comm_hook(comm, roundhouse.torch.all_reduce_hook)
    return model, comm


def train_epoch(model, optimizer, images, labels, comm, epoch):
    """One pass over this rank's share of the images."""
    order = torch.from_numpy(np.random.RandomState(epoch).permutation(len(images)))
    batch = BATCH // comm.world
    # every rank makes the same number of steps, or the others would wait for it
    share = order[comm.rank::comm.world][: len(images) // comm.world]
    total = 0.0
    steps = range(0, len(share), batch)
    for first in steps:
        pick = share[first:first + batch]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[pick]), labels[pick])
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(steps)


def main():
    torch.set_num_threads(1)  # the replicas share the cores of this machine
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    model, comm = start(network)
    print(f"rank {comm.rank} of {comm.world} is ready, process {os.getpid()}, backend {comm.backend}", flush=True)

    images, labels = load_data()
    optimizer = torch.optim.SGD(model.parameters(), lr=roundhouse.linear_scaled_lr(RATE, comm.world))
    for epoch in range(int(os.environ.get("EPOCHS", "10"))):
        loss = train_epoch(model, optimizer, images[:TRAIN_IMAGES], labels[:TRAIN_IMAGES], comm, epoch)
        if comm.rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    with torch.no_grad():
        accuracy = (network(images[TRAIN_IMAGES:]).argmax(1) == labels[TRAIN_IMAGES:]).float().mean().item()
    comm.barrier()
    dist.destroy_process_group()
    if comm.rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
