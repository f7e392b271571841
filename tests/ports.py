# SPDX-License-Identifier: Apache-2.0
"""Ports for servers of tests: none that the kernel gives to connections, and none that another test was just given."""
import fcntl
import os
import socket
import tempfile

# Below the kernel's range for connections (32768) and that of local runs (20000). tests/comm/ranks.c takes the same.
FIRST, COUNT = 10000, 9000
TURN = os.path.join(tempfile.gettempdir(), f"roundhouse-test-ports-{os.getuid()}")


def _next():
    """Each call, of whatever process, gets the port after the one before."""
    with open(os.open(TURN, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "r+",
              encoding="ascii") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        at = int(turn.read() or os.getpid()) % COUNT
        turn.seek(0)
        turn.write(f"{(at + 1) % COUNT:5d}\n")
        turn.flush()
    return FIRST + at


def free_port():
    """A TCP port on which nobody listens, at whatever address."""
    for _ in range(COUNT):
        port = _next()
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise OSError(f"no port from {FIRST} to {FIRST + COUNT - 1} is free")
