#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with Paddle's DataParallel, started by paddle.distributed.launch in each pod of the
job.

The data are the 1797 real images that scikit-learn carries. Rank 0 prints the accuracy on images that were not trained
on, and each process ends with 1 when it is below MIN_ACCURACY.

Environment: what paddle.distributed.launch gives, which in turn reads PADDLE_MASTER, PADDLE_NNODES and PADDLE_JOB_ID
from the job.
"""
import os
import sys

import numpy as np
import paddle
import paddle.distributed as dist
from paddle import nn
from sklearn.datasets import load_digits

MIN_ACCURACY = 0.95
TRAIN_IMAGES = 1500
BATCH = 50
EPOCHS = 10


def load_data():
    """Images and labels in an order that is random but the same on every rank."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return np.float32(images[order] / 16.0), labels[order]


def train_epoch(model, optimizer, images, labels, epoch):
    """One pass over this rank's share; DataParallel averages the gradients of all ranks."""
    rank, world = dist.get_rank(), dist.get_world_size()
    order = np.random.RandomState(epoch).permutation(len(images))
    # every rank makes the same number of steps, or the others would wait for it
    share = order[rank::world][: len(images) // world]
    batch = BATCH // world
    for start in range(0, len(share) - batch + 1, batch):
        pick = share[start : start + batch]
        loss = nn.functional.cross_entropy(model(paddle.to_tensor(images[pick])), paddle.to_tensor(labels[pick]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss.item()


def main():
    paddle.set_device("cpu")
    paddle.seed(0)
    dist.init_parallel_env()
    rank = dist.get_rank()
    print(f"rank {rank} of {dist.get_world_size()} is ready, process {os.getpid()}", flush=True)

    images, labels = load_data()
    train, test = slice(0, TRAIN_IMAGES), slice(TRAIN_IMAGES, None)
    model = paddle.DataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = paddle.optimizer.Momentum(0.1, 0.9, parameters=model.parameters())
    for epoch in range(EPOCHS):
        loss = train_epoch(model, optimizer, images[train], labels[train], epoch)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    accuracy = float((model(paddle.to_tensor(images[test])).numpy().argmax(1) == labels[test]).mean())
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
