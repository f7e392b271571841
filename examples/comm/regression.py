# SPDX-License-Identifier: Apache-2.0
"""Linear regression on data that each rank has a part of: gradients are averaged by rh_comm, so all ranks keep one
model."""
import os

import numpy

import roundhouse

STEPS = int(os.environ.get("STEPS", "200"))
WEIGHTS = numpy.array([3.0, -2.0, 0.5], dtype="float32")


def main():
    with roundhouse.Comm() as comm:
        print(f"rank {comm.rank} of {comm.world} is ready, process {os.getpid()}, backend {comm.backend}", flush=True)
        random = numpy.random.default_rng(comm.rank)
        inputs = random.normal(size=(256, 3)).astype("float32")
        targets = inputs @ WEIGHTS
        weights = numpy.zeros(3, dtype="float32")
        for _ in range(STEPS):
            gradient = 2 * inputs.T @ (inputs @ weights - targets) / len(inputs)
            comm.all_reduce(gradient, op="avg")
            weights -= 0.1 * gradient
        print(f"rank {comm.rank} weights {weights.tobytes().hex()} error {float(abs(weights - WEIGHTS).max()):.6f}",
              flush=True)


if __name__ == "__main__":
    main()
