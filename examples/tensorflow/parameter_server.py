#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits under ParameterServerStrategy: the chief hands out steps, workers compute them, and
the variables lie on the parameter servers.

The data are the 1797 real images that scikit-learn carries. The chief prints the accuracy on images that were not
trained on, and ends with 1 when it is below MIN_ACCURACY. Workers and parameter servers serve until they are stopped.

Environment: TF_CONFIG comes from the job.
"""
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

MIN_ACCURACY = 0.90
TRAIN_IMAGES = 1500
BATCH = 25
EPOCHS = 12
RATE = 0.2


def load_data():
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return np.float32(images[order] / 16.0), labels[order]


class Network(tf.Module):
    def __init__(self):
        super().__init__()
        random = np.random.RandomState(0)
        layers = [random.randn(64, 64) * 0.1, np.zeros(64), random.randn(64, 10) * 0.1, np.zeros(10)]
        self.layers = [tf.Variable(np.float32(layer)) for layer in layers]

    def __call__(self, images):
        first, first_bias, second, second_bias = self.layers
        return tf.nn.relu(images @ first + first_bias) @ second + second_bias


def serve(cluster, task):
    server = tf.distribute.Server(cluster.cluster_spec(), job_name=task["type"], task_index=task["index"],
                                  protocol="grpc", start=True)
    print(f"{task['type']} {task['index']} serves, process {os.getpid()}", flush=True)
    server.join()


def train(cluster, images, labels):
    strategy = tf.distribute.ParameterServerStrategy(cluster)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        network = Network()

    @tf.function
    def step(batches):
        pick, want = next(batches)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(want, network(pick)))
        for layer, gradient in zip(network.layers, tape.gradient(loss, network.layers)):
            layer.assign_sub(RATE * gradient)
        return loss

    def batches():
        return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images)).repeat().batch(BATCH)

    source = iter(coordinator.create_per_worker_dataset(batches))
    print(f"variables are on {network.layers[0].device}", flush=True)
    for epoch in range(EPOCHS):
        for _ in range(TRAIN_IMAGES // BATCH):
            loss = coordinator.schedule(step, args=(source,))
        coordinator.join()
        print(f"epoch {epoch} loss {float(loss.fetch()):.4f}", flush=True)
    return network


def main():
    tf.config.threading.set_intra_op_parallelism_threads(1)  # the replicas share the cores of this machine
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if task["type"] in ("ps", "worker"):
        serve(cluster, task)
    images, labels = load_data()
    train_part, test_part = slice(0, TRAIN_IMAGES), slice(TRAIN_IMAGES, None)
    network = train(cluster, images[train_part], labels[train_part])
    accuracy = float((network(images[test_part]).numpy().argmax(1) == labels[test_part]).mean())
    print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # the coordinator's threads would wait for workers that never end
