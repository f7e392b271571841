#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with JAX on all processes of the job: one mesh of their devices, the batch split
over it.

The data are the 1797 real images that scikit-learn carries. Process 0 prints the accuracy on images that were not
trained on, and each process ends with 1 when it is below MIN_ACCURACY.

Environment: COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES and PROCESS_ID come from the job; EPOCHS is the number
of passes over the data (15).
"""
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sklearn.datasets import load_digits

MIN_ACCURACY = 0.95
TRAIN_IMAGES = 1500
BATCH = 96
EPOCHS = int(os.environ.get("EPOCHS", "15"))
RATE = 0.5


def load_data():
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return np.float32(images[order] / 16.0), labels[order]


def initial_weights():
    """The same in every process."""
    random = np.random.RandomState(0)
    layers = [random.randn(64, 64) * 0.1, np.zeros(64), random.randn(64, 10) * 0.1, np.zeros(10)]
    return [np.float32(layer) for layer in layers]


def scores(weights, images):
    first, first_bias, second, second_bias = weights
    return jax.nn.relu(images @ first + first_bias) @ second + second_bias


def loss_of(weights, images, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(scores(weights, images)), labels[:, None], 1).mean()


@jax.jit
def step(weights, images, labels):
    """One step on a batch that is split over all processes; the mean over it makes them exchange their gradients."""
    loss, gradients = jax.value_and_grad(loss_of)(weights, images, labels)
    return [weight - RATE * gradient for weight, gradient in zip(weights, gradients)], loss


def train(images, labels):
    mesh = Mesh(np.array(jax.devices()), ("data",))
    split, everywhere = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    weights = [jax.device_put(layer, everywhere) for layer in initial_weights()]
    rank, world = jax.process_index(), jax.process_count()
    share = BATCH // world
    for epoch in range(EPOCHS):
        order = np.random.RandomState(epoch).permutation(len(images))
        for start in range(0, len(order) - share * world + 1, share * world):
            pick = order[start + rank * share : start + (rank + 1) * share]
            batch = [jax.make_array_from_process_local_data(split, data[pick]) for data in (images, labels)]
            weights, loss = step(weights, *batch)
        if rank == 0:
            print(f"epoch {epoch} loss {float(loss):.4f}", flush=True)
    return [np.asarray(weight) for weight in weights]


def main():
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"{os.environ['COORDINATOR_ADDRESS']}:{os.environ['COORDINATOR_PORT']}",
                               int(os.environ["NUM_PROCESSES"]), int(os.environ["PROCESS_ID"]))
    rank = jax.process_index()
    print(f"rank {rank} of {jax.process_count()} is ready, process {os.getpid()}", flush=True)
    images, labels = load_data()
    train_part, test_part = slice(0, TRAIN_IMAGES), slice(TRAIN_IMAGES, None)
    weights = train(images[train_part], labels[train_part])
    accuracy = float((np.asarray(scores(weights, images[test_part])).argmax(1) == labels[test_part]).mean())
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    jax.distributed.shutdown()  # waits for all processes
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
