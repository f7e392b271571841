# SPDX-License-Identifier: Apache-2.0
"""Pi by throwing darts: each process throws its own, and the first one adds up. Started by mpirun."""
import random

from mpi4py import MPI

THROWS = 200_000
world = MPI.COMM_WORLD
dice = random.Random(world.rank)
inside = sum(dice.random() ** 2 + dice.random() ** 2 < 1 for _ in range(THROWS))
hits = world.reduce(inside)
if world.rank == 0:
    print(f"{world.size} processes: pi is about {4 * hits / THROWS / world.size:.3f}", flush=True)
