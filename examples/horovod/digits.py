#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with Horovod: each process has a share of the images, DistributedOptimizer averages
the gradients.

The data are the 1797 real images that scikit-learn carries, so nothing is downloaded. Rank 0 prints the accuracy on
images that were not trained on, and the script ends with 1 when it is below MIN_ACCURACY.

Environment:
  EPOCHS  passes over the data (10)
"""
import os
import sys

import horovod.torch as hvd
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

MIN_ACCURACY = 0.93
TRAIN_IMAGES = 1500
BATCH = 25


def load_data():
    """Images and labels in an order that is random but the same on every rank."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return torch.tensor(images[order] / 16.0, dtype=torch.float32), torch.tensor(labels[order])


def train_epoch(model, optimizer, images, labels):
    total = 0.0
    # every rank makes the same number of steps, or the others would wait for it
    steps = TRAIN_IMAGES // hvd.size() // BATCH
    order = torch.randperm(len(images))
    for step in range(steps):
        pick = order[step * BATCH : (step + 1) * BATCH]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[pick]), labels[pick])
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / steps


def main():
    hvd.init()
    rank, world = hvd.rank(), hvd.size()
    torch.set_num_threads(1)  # the replicas share the cores of this machine
    torch.manual_seed(0)
    print(f"rank {rank} of {world} is ready, process {os.getpid()} in {os.environ.get('HOSTNAME')}", flush=True)

    images, labels = load_data()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    for epoch in range(int(os.environ.get("EPOCHS", "10"))):
        loss = train_epoch(model, optimizer, images[rank:TRAIN_IMAGES:world], labels[rank:TRAIN_IMAGES:world])
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    sums = hvd.allgather(torch.tensor([sum(values.sum().item() for values in model.parameters())]))
    if sums.min() != sums.max():
        print(f"the ranks have different weights: {sums.tolist()}", flush=True)
        return 1
    with torch.no_grad():
        accuracy = (model(images[TRAIN_IMAGES:]).argmax(1) == labels[TRAIN_IMAGES:]).float().mean().item()
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    hvd.shutdown()
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
