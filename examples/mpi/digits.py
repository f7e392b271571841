#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with mpi4py: each process has a share of the images, and Allreduce sums the
gradients.

The data are the 1797 real images that scikit-learn carries, so nothing is downloaded. Rank 0 prints the accuracy on
images that were not trained on, and the script ends with 1 when it is below MIN_ACCURACY.

Environment:
  EPOCHS         passes over the data (10)
  EPOCH_SECONDS  least time that one pass takes (0); gives one time to see a failure
"""
import os
import sys
import time

import numpy as np
from mpi4py import MPI
from sklearn.datasets import load_digits

MIN_ACCURACY = 0.93
TRAIN_IMAGES = 1500
STEPS = 40
RATE = 1.0


def load_data():
    """Images, each with a constant 1 for the bias, and labels, in an order that is random but the same on every
    rank."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return np.hstack([images[order] / 16.0, np.ones((len(images), 1))]), labels[order]


def train_epoch(world, weights, images, labels):
    """STEPS steps of softmax regression, the gradient of each averaged over all ranks. Returns the loss of this rank's
    last one."""
    wanted = np.eye(10)[labels]
    loss = 0.0
    for _ in range(STEPS):
        scores = images @ weights
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        loss = -np.log(chances[np.arange(len(labels)), labels]).mean()
        gradient = images.T @ (chances - wanted) / len(images)
        total = np.empty_like(gradient)
        world.Allreduce(gradient, total, MPI.SUM)
        weights -= RATE * total / world.Get_size()
    return loss


def main():
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    print(f"rank {rank} of {size} is ready, process {os.getpid()} in {os.environ.get('HOSTNAME')}", flush=True)

    images, labels = load_data()
    weights = np.zeros((images.shape[1], 10))
    least = float(os.environ.get("EPOCH_SECONDS", "0"))
    for epoch in range(int(os.environ.get("EPOCHS", "10"))):
        begin = time.monotonic()
        loss = train_epoch(world, weights, images[rank:TRAIN_IMAGES:size], labels[rank:TRAIN_IMAGES:size])
        time.sleep(max(0.0, least - (time.monotonic() - begin)))
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    sums = world.allgather(float(weights.sum()))
    if len(set(sums)) != 1:
        print(f"the ranks have different weights: {sums}", flush=True)
        return 1
    accuracy = ((images[TRAIN_IMAGES:] @ weights).argmax(1) == labels[TRAIN_IMAGES:]).mean()
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
