# SPDX-License-Identifier: Apache-2.0
"""How the ranks of a torch job find each other: through torch's own store, so that no further port needs to be
known."""
import datetime
import os
import socket

import torch.distributed as dist

from roundhouse.comm import Comm
from roundhouse.errors import InvalidError

_made = {"count": 0}


class Store:
    """torch's store as Comm wants one."""

    def __init__(self, store):
        self._store = store

    def set(self, key, value):
        """Publish bytes."""
        self._store.set(key, value)

    def get(self, key, seconds):
        """Wait for bytes."""
        self._store.wait([key], datetime.timedelta(seconds=max(seconds, 0.001)))
        return self._store.get(key)


def own_host():
    """Where the others reach rank 0."""
    named = os.environ.get("RH_COMM_HOST") or os.environ.get("MASTER_ADDR")
    if named:
        return named
    try:
        socket.getaddrinfo(socket.gethostname(), None)
        return socket.gethostname()
    except OSError:
        return "127.0.0.1"


def start(rank, world, store, **more):
    """A Comm of ranks that share a torch store."""
    return Comm(rank, world, host=own_host(), store=Store(store), **more)


def comm_of(group=None):
    """A roundhouse.Comm of the ranks of a process group, whatever backend that has. Collective.

    group: a group of the backend "rh", whose own Comm it is then; or None for all ranks: then, with another backend, a
    new one is made, which the caller closes. Raises InvalidError for a group of some ranks of another backend.
    """
    known = getattr(dist.group.WORLD if group is None else group, "comm", None)
    if known is not None:
        return known
    if group is not None and group is not dist.group.WORLD:
        raise InvalidError("comm_of: a group of another backend than rh; make one of comm_of() with its group()", -1)
    # ranks make them in the same order
    _made["count"] += 1
    store = dist.PrefixStore(f"roundhouse/{_made['count']}", dist.distributed_c10d._get_default_store())
    return start(dist.get_rank(), dist.get_world_size(), store)
