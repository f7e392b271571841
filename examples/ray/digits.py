#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits on a Ray cluster: each node trains trees of one forest, and their votes are added
up.

The data are the 1797 real images that scikit-learn carries. Ends with 1 when the accuracy on images that were not
trained on is below MIN_ACCURACY.

Environment: RAY_ADDRESS and RAY_NODES come from the job; EPOCHS is the number of rounds (4), each of 16 trees.
"""
import os
import sys
import time

import numpy as np
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
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


@ray.remote
def votes_of_tree(seed):
    """Train one tree on a sample. -> its votes for the images that are not trained on"""
    images, labels = load_data()
    pick = np.random.RandomState(seed).randint(0, TRAIN_IMAGES, TRAIN_IMAGES)
    tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed).fit(images[pick], labels[pick])
    return tree.predict_proba(images[TRAIN_IMAGES:])


@ray.remote
def process_of_node():
    return os.getpid()


def wait_for_nodes(count):
    """Ray has no event for it."""
    while sum(node["Alive"] for node in ray.nodes()) < count:
        time.sleep(0.2)


def main():
    nodes = int(os.environ["RAY_NODES"])
    # the address comes from the environment
    ray.init(log_to_driver=False)
    wait_for_nodes(nodes)
    for rank, node in enumerate(sorted(ray.nodes(), key=lambda node: node["NodeManagerAddress"])):
        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        process = ray.get(process_of_node.options(scheduling_strategy=there).remote())
        print(f"rank {rank} of {nodes} is ready, process {process}", flush=True)
    labels = load_data()[1][TRAIN_IMAGES:]
    votes, accuracy = 0, 0.0
    for epoch in range(ROUNDS):
        votes = votes + sum(ray.get([votes_of_tree.remote(seed) for seed in range(epoch * TREES, (epoch + 1) * TREES)]))
        accuracy = float((votes.argmax(1) == labels).mean())
        print(f"epoch {epoch} loss {1 - accuracy:.4f}", flush=True)
    print(f"test accuracy {accuracy:.3f}", flush=True)
    ray.shutdown()
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
