#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boosted trees on handwritten digits with LightGBM, trained by all processes of the job together.

The data are the 1797 real images that scikit-learn carries; each process takes its share. The master prints the
accuracy on images that were not trained on; below MIN_ACCURACY the script ends with 1.

Environment: MASTER_ADDR, MASTER_PORT, WORKER_ADDRS, WORKER_PORT, WORLD_SIZE and RANK come from the job.
"""
import hashlib
import os
import socket
import sys
import time

import lightgbm
import numpy as np
from sklearn.datasets import load_digits

MIN_ACCURACY = 0.93
TRAIN_IMAGES = 1500
TREES = 20


def load_data(rank, world):
    """This process' share of the training images, and all test images."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    mine, test = order[:TRAIN_IMAGES][rank::world], order[TRAIN_IMAGES:]
    return lightgbm.Dataset(images[mine], labels[mine]), images[test], labels[test]


def resolve(name):
    """The address of a replica; its name may take a while to be known."""
    for _ in range(60):
        try:
            address = socket.gethostbyname(name)
            break
        except OSError:
            time.sleep(1)
    else:
        raise TimeoutError(f"{name} has no address")
    # On one machine each replica has a loopback address, but LightGBM looks for itself among those of the interfaces,
    # where there is this one only. So the replicas differ by their ports, and V1's contract has two: one Master and one
    # Worker.
    return "127.0.0.1" if address.startswith("127.") else address


def network(rank, world):
    """LightGBM wants to know all machines, and on which port of its own it listens."""
    ports = [os.environ["MASTER_PORT"]] + [os.environ["WORKER_PORT"]] * (world - 1)
    names = [os.environ["MASTER_ADDR"], *os.environ["WORKER_ADDRS"].split(",")]
    machines = [f"{resolve(name)}:{port}" for name, port in zip(names, ports)]
    if len(set(machines)) < world:
        raise ValueError(f"LightGBM cannot distinguish these machines: {machines}; on one machine, use one Worker")
    return {"num_machines": world, "machines": ",".join(machines), "local_listen_port": int(ports[rank]), "time_out": 2}


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    data, images, labels = load_data(rank, world)
    print(f"rank {rank} of {world} is ready, process {os.getpid()}", flush=True)
    options = {"objective": "multiclass", "num_class": 10, "tree_learner": "data", "num_leaves": 15, "num_threads": 1,
               "verbose": -1}
    model = lightgbm.train(options | network(rank, world), data, TREES)
    trees = model.model_to_string().split("parameters:")[0]
    print(f"rank {rank} model {hashlib.sha256(trees.encode()).hexdigest()[:12]}", flush=True)
    accuracy = float((model.predict(images).argmax(1) == labels).mean())
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
