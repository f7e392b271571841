#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boosted trees on handwritten digits with XGBoost, trained by all processes of the job together.

The data are the 1797 real images that scikit-learn carries; each process takes its share. The master also runs the
tracker, through which the processes find each other. It prints the accuracy on images that were not trained on; below
MIN_ACCURACY the script ends with 1.

Environment: MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK come from the job.
"""
import os
import sys

import numpy as np
import xgboost
from sklearn.datasets import load_digits
from xgboost import collective
from xgboost.tracker import RabitTracker

MIN_ACCURACY = 0.93
TRAIN_IMAGES = 1500
TREES = 20


def load_data(rank, world):
    """This process' share of the training images, and all test images."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    mine, test = order[:TRAIN_IMAGES][rank::world], order[TRAIN_IMAGES:]
    return xgboost.DMatrix(images[mine], labels[mine]), xgboost.DMatrix(images[test], labels[test])


def train():
    """Returns this process' rank and the accuracy of the model, which is the same in all of them."""
    rank, world = collective.get_rank(), collective.get_world_size()
    print(f"rank {rank} of {world} is ready, process {os.getpid()}", flush=True)
    data, test = load_data(rank, world)
    options = {"objective": "multi:softmax", "num_class": 10, "max_depth": 4, "eta": 0.3, "nthread": 1,
               "tree_method": "hist"}
    history = {}
    model = xgboost.train(options, data, TREES, evals=[(test, "test")], evals_result=history, verbose_eval=False)
    if rank == 0:
        for tree in range(4, TREES, 5):
            print(f"tree {tree} test loss {history['test']['mlogloss'][tree]:.4f}", flush=True)
    return rank, float((model.predict(test) == test.get_label()).mean())


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    tracker = None
    if rank == 0:
        # sorted by task id, so that the ranks are those of the job
        tracker = RabitTracker(n_workers=world, host_ip="0.0.0.0", port=port, sortby="task", timeout=120)
        tracker.start()
    # a worker that starts before the master tries again, after 2, 4, 6 ... seconds
    with collective.CommunicatorContext(dmlc_tracker_uri=address, dmlc_tracker_port=port, dmlc_task_id=f"{rank:04d}",
                                        dmlc_retry=8, dmlc_timeout=120):
        rank, accuracy = train()
    if tracker:
        tracker.wait_for(60)
        print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
