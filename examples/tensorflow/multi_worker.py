#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with Keras under MultiWorkerMirroredStrategy, on all workers of the job.

The data are the 1797 real images that scikit-learn carries. Worker 0 prints the accuracy on images that were not
trained on, and each worker ends with 1 when it is below MIN_ACCURACY.

Environment: TF_CONFIG comes from the job; EPOCHS is the number of passes over the data (10).
"""
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
import tf_keras as keras  # fit() of Keras 3 knows nothing of this strategy
from sklearn.datasets import load_digits

MIN_ACCURACY = 0.93
TRAIN_IMAGES = 1500
BATCH = 50
EPOCHS = int(os.environ.get("EPOCHS", "10"))


def load_data():
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return np.float32(images[order] / 16.0), labels[order]


def build_model():
    model = keras.Sequential([keras.layers.Input((64,)), keras.layers.Dense(64, activation="relu"),
                              keras.layers.Dense(10)])
    model.compile(
        optimizer=keras.optimizers.SGD(0.3), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def batches(images, labels):
    """All images, again and again; each worker takes its share of every batch."""
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images), seed=1).repeat().batch(BATCH)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return data.with_options(options)


def accuracy_of(model, images, labels):
    """Counted here and not by evaluate(), which all workers would have to take part in."""
    first, first_bias, second, second_bias = model.get_weights()
    scores = np.maximum(images @ first + first_bias, 0) @ second + second_bias
    return float((scores.argmax(1) == labels).mean())


def main():
    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    tf.config.threading.set_intra_op_parallelism_threads(1)  # the replicas share the cores of this machine
    keras.utils.set_random_seed(0)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print(f"rank {rank} of {strategy.num_replicas_in_sync} is ready, process {os.getpid()}", flush=True)
    images, labels = load_data()
    train, test = slice(0, TRAIN_IMAGES), slice(TRAIN_IMAGES, None)
    with strategy.scope():
        model = build_model()

    def report(epoch, logs):
        if rank == 0:
            print(f"epoch {epoch} loss {logs['loss']:.4f}", flush=True)

    model.fit(batches(images[train], labels[train]), epochs=EPOCHS, steps_per_epoch=TRAIN_IMAGES // BATCH, verbose=0,
              callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=report)])
    accuracy = accuracy_of(model, images[test], labels[test])
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # without the collective's threads, which complain about workers that have ended already
