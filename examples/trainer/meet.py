# SPDX-License-Identifier: Apache-2.0
"""The nodes of a TrainJob meet: each greets the first one, which adds up their ranks and gives the sum to all."""
import os
import socket
import time

rank, nodes = int(os.environ["PET_NODE_RANK"]), int(os.environ["PET_NNODES"])
first = (os.environ["PET_MASTER_ADDR"], int(os.environ["PET_MASTER_PORT"]))


def connect():
    while True:
        try:
            return socket.create_connection(first)
        except OSError:  # the first node may start later
            time.sleep(0.1)


def lead():
    with socket.create_server(first) as server:
        others = [server.accept()[0] for _ in range(nodes - 1)]
        total = rank + sum(int(other.makefile().readline()) for other in others)
        for other in others:
            other.sendall(f"{total}\n".encode())
        return total


def follow():
    with connect() as link:
        link.sendall(f"{rank}\n".encode())
        return int(link.makefile().readline())


print(f"node {rank} of {nodes}: the sum of all ranks is {lead() if rank == 0 else follow()}", flush=True)
