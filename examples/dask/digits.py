#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits on a Dask cluster: each Worker trains trees of one forest, and their votes are added
up.

The data are the 1797 real images that scikit-learn carries. Ends with 1 when the accuracy on images that were not
trained on is below MIN_ACCURACY.

Environment: DASK_SCHEDULER_ADDRESS and DASK_NWORKERS come from the job; EPOCHS is the number of rounds (4), each of 16
trees.
"""
import os
import sys

import numpy as np
from distributed import Client
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

MIN_ACCURACY = 0.9
TRAIN_IMAGES = 1500
TREES = 16
ROUNDS = int(os.environ.get("EPOCHS", "4"))


def load_data():
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return images[order], labels[order]


def votes_of_tree(seed):
    """Train one tree on a sample, in a Worker. -> its votes for the images that are not trained on"""
    images, labels = load_data()
    pick = np.random.RandomState(seed).randint(0, TRAIN_IMAGES, TRAIN_IMAGES)
    tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(images[pick], labels[pick])
    return tree.predict_proba(images[TRAIN_IMAGES:])


def process_of_worker():
    return os.getpid()


def main():
    workers = int(os.environ["DASK_NWORKERS"])
    # the address comes from the environment
    with Client() as client:
        client.wait_for_workers(workers)
        for rank, process in enumerate(sorted(client.run(process_of_worker).values())):
            print(f"rank {rank} of {workers} is ready, process {process}", flush=True)
        labels = load_data()[1][TRAIN_IMAGES:]
        votes, accuracy = 0, 0.0
        for epoch in range(ROUNDS):
            seeds = range(epoch * TREES, (epoch + 1) * TREES)
            # pure: the same call twice is not one result, so that a lost Worker's trees are trained again
            votes = votes + sum(client.gather(client.map(votes_of_tree, seeds, pure=False)))
            accuracy = float((votes.argmax(1) == labels).mean())
            print(f"epoch {epoch} loss {1 - accuracy:.4f}", flush=True)
        # the cluster is this job's alone; a Worker that loses its Scheduler waits long before it ends
        client.shutdown()
    print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
