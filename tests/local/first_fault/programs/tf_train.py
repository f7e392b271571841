# SPDX-License-Identifier: Apache-2.0
"""A small training with TensorFlow that goes wrong in a chosen way. usage: tf_train.py WAY [TASK]

TASK, as "worker1", goes wrong. With a Chief it is ParameterServerStrategy, without one MultiWorkerMirroredStrategy.
"""
import ctypes
import json
import os
import signal
import sys
import threading
import time

WAY = sys.argv[1]
CONFIG = json.loads(os.environ["TF_CONFIG"])
TASK = f"{CONFIG['task']['type']}{CONFIG['task']['index']}"
MINE = len(sys.argv) > 2 and TASK == sys.argv[2]
STEPS = 3

if WAY == "import_all":
    import tensorflow_addons_extra  # pylint: disable=import-error,unused-import

import tensorflow as tf


def fails():
    """What the culprit does in the place of its step."""
    if WAY == "raises":
        raise ValueError("shard 7 of the data set holds a label 12, allowed are 0 to 9")
    if WAY == "segfaults":
        ctypes.string_at(0)
    if WAY == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if WAY == "exits":
        os._exit(3)
    if WAY == "ends_early":
        print("no more batches, done", flush=True)
        os._exit(0)
    if WAY == "hangs":
        print("reading shard 7", flush=True)
        threading.Event().wait()


def fails_later(seconds):
    """A server fails from a thread of its own, while it serves."""
    def work():
        time.sleep(seconds)
        try:
            fails()
        except ValueError as error:
            print(f"server failed: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    threading.Thread(target=work, daemon=True).start()


def serve(cluster):
    server = tf.distribute.Server(cluster.cluster_spec(), job_name=CONFIG["task"]["type"],
                                  task_index=CONFIG["task"]["index"], protocol="grpc",
                                  start=True)
    print(f"{TASK} serves", flush=True)
    if MINE:
        fails_later(12.0)
    server.join()


def lead(cluster):
    """The Chief of parameter servers."""
    strategy = tf.distribute.ParameterServerStrategy(cluster)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = tf.Variable(tf.zeros((10,)))

    @tf.function
    def step():
        weights.assign_add(tf.ones((10,)))
        return weights[0]
    for number in range(1000):
        value = coordinator.schedule(step)
        coordinator.join()
        print(f"step {number} weight {value.fetch():.1f}", flush=True)
        if MINE and number == STEPS:
            fails()
        time.sleep(0.3)


def work_together():
    """All Workers keep one model in step."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    print(f"{TASK} of {strategy.num_replicas_in_sync} is ready", flush=True)

    @tf.function
    def step(number):
        def compute():
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tf.ones((10,)) * number)
        return strategy.run(compute)
    for number in range(STEPS + 1):
        if MINE and number == STEPS:
            fails()
        value = step(tf.constant(float(number)))
        if CONFIG["task"]["index"] == 0:
            print(f"step {number} sum {float(value[0]):.1f}", flush=True)
        time.sleep(0.1)


def main():
    print(f"{TASK} starts", flush=True)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    if WAY == "hangs_before_init" and MINE:
        print("downloading the data set", flush=True)
        threading.Event().wait()
    if WAY == "port_taken" and MINE:
        import socket
        global taken  # kept open
        taken = socket.socket()
        address, port = CONFIG["cluster"][CONFIG["task"]["type"]][CONFIG["task"]["index"]].rsplit(":", 1)
        taken.bind((address, int(port)))
        taken.listen()
    if "chief" not in CONFIG["cluster"]:
        work_together()
        return
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if CONFIG["task"]["type"] == "chief":
        lead(cluster)
    else:
        serve(cluster)


if __name__ == "__main__":
    main()
