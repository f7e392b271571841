# SPDX-License-Identifier: Apache-2.0
"""The container beside one that trains: it gives batches, and fails after three of them. usage: proxy.py REPLICA

REPLICA is the one whose proxy fails, as "worker-1".
"""
import array
import os
import socket
import sys

MINE = os.environ["HOSTNAME"].endswith(sys.argv[1])
BATCHES = 3


def serve(listener):
    connection, _ = listener.accept()
    with connection:
        connection.sendall(array.array("f", [1.0] * 1000).tobytes())


def main():
    path = os.path.join(os.environ["DATA"], "batches")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path + ".new")
        listener.listen()
        os.rename(path + ".new", path)
        print("proxy: serving batches", flush=True)
        for _ in range(BATCHES):
            serve(listener)
        while not MINE:
            serve(listener)
    raise RuntimeError("proxy: the certificate of the data store has expired")


if __name__ == "__main__":
    main()
