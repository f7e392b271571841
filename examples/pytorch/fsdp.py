#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with FSDP: each process keeps a shard of every parameter, on CPUs.

The data are the 1797 real images that scikit-learn carries. Rank 0 prints the accuracy on images that were not trained
on, and each process ends with 1 when it is below MIN_ACCURACY.

Environment: MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK come from the job. It needs torch 2.4 or newer.
"""
import os
import sys

# On one machine each replica has a loopback address, and gloo must use that interface; elsewhere it finds its own.
if os.environ.get("MASTER_ADDR", "").startswith("127."):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import torch
import torch.distributed as dist
from digits import TRAIN_IMAGES, load_data, train_epoch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

MIN_ACCURACY = 0.95
EPOCHS = 10


def main():
    torch.set_num_threads(1)  # the replicas share the cores of this machine
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    images, labels = load_data()
    train, test = slice(0, TRAIN_IMAGES), slice(TRAIN_IMAGES, None)

    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    whole = sum(weight.numel() for weight in model.parameters())
    mesh = init_device_mesh("cpu", (world,))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    mine = sum(weight.to_local().numel() for weight in model.parameters())
    print(f"rank {rank} of {world} is ready, process {os.getpid()}, with {mine} of {whole} weights", flush=True)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for epoch in range(EPOCHS):
        loss = train_epoch(model, optimizer, images[train], labels[train], epoch)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    # all ranks, because each forward pass gathers the shards
    with torch.no_grad():
        accuracy = (model(images[test]).argmax(1) == labels[test]).float().mean().item()
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
