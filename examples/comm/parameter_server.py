#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with parameter servers: numpy alone, no framework.

The job's TF_CONFIG says who is what. PS replicas keep the weights and apply the gradients (RH_PS_RULE, RH_PS_RATE);
Chief and Workers push theirs and pull what became of the weights. The Chief prints the accuracy on images that were not
trained on, and the script ends with 1 there when it is below MIN_ACCURACY.
"""
import json
import os
import sys

import numpy as np
import roundhouse
import roundhouse.ps
from sklearn.datasets import load_digits

MIN_ACCURACY = 0.92
TRAIN_IMAGES = 1500
BATCH = 96
EPOCHS = 15


def load_data():
    """Images and labels in an order that is random but the same everywhere."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return (images[order] / 16.0).astype("float32"), labels[order]


def forward(weights, images):
    """Hidden layer, and the probabilities of the ten digits."""
    hidden = np.tanh(images @ weights["hidden"] + weights["hidden bias"])
    scores = hidden @ weights["out"] + weights["out bias"]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, scores / scores.sum(axis=1, keepdims=True)


def backward(weights, images, labels):
    """Loss and gradients of a batch."""
    hidden, scores = forward(weights, images)
    loss = -np.log(scores[np.arange(len(labels)), labels]).mean()
    scores[np.arange(len(labels)), labels] -= 1
    scores /= len(labels)
    inner = scores @ weights["out"].T * (1 - hidden * hidden)
    return loss, {"hidden": images.T @ inner, "hidden bias": inner.sum(axis=0), "out": hidden.T @ scores,
                  "out bias": scores.sum(axis=0)}


def work(server, chief):
    """Train on this worker's share; returns the accuracy."""
    images, labels = load_data()
    rng = np.random.RandomState(1)
    weights = {"hidden": rng.randn(64, 64) * 0.1, "hidden bias": np.zeros(64), "out": rng.randn(64, 10) * 0.1,
               "out bias": np.zeros(10)}
    weights = {name: np.ascontiguousarray(value, dtype="float32") for name, value in weights.items()}
    server.init(weights)
    batch, share = BATCH // server.workers, TRAIN_IMAGES // server.workers
    for epoch in range(EPOCHS):
        order = np.random.RandomState(epoch).permutation(TRAIN_IMAGES)[server.worker::server.workers][:share]
        losses = []
        for first in range(0, share, batch):
            pick = order[first:first + batch]
            loss, gradients = backward(weights, images[pick], labels[pick])
            server.push_pull({name: np.ascontiguousarray(value, dtype="float32") for name, value in gradients.items()},
                             weights)
            losses.append(loss)
        if chief:
            print(f"epoch {epoch} loss {np.mean(losses):.4f}", flush=True)
    server.barrier()
    return (forward(weights, images[TRAIN_IMAGES:])[1].argmax(axis=1) == labels[TRAIN_IMAGES:]).mean()


def main():
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    if task["type"] == "ps":
        roundhouse.ps.serve(ready=lambda port: print(f"ps {task['index']} serves, process {os.getpid()}, port {port}",
                                                     flush=True))
        return 0
    chief = task["type"] == "chief"
    with roundhouse.ParameterServer() as server:
        print(f"rank {server.worker} of {server.workers} is ready, process {os.getpid()}", flush=True)
        accuracy = work(server, chief)
    if not chief:
        return 0
    print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
