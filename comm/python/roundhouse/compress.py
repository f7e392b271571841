# SPDX-License-Identifier: Apache-2.0
"""Averages of gradients that travel in fewer bytes."""
from __future__ import annotations

import ctypes
import threading
from typing import Any, NamedTuple

from roundhouse import buffers, library
from roundhouse.comm import Comm
from roundhouse.errors import InvalidError

_lib = library.lib
KINDS = {"f16": 1, "bf16": 2, "e4m3": 3, "e5m2": 4, "top": 5, "sign": 6}


class Saved(NamedTuple):
    """What a Compressor has saved so far."""

    calls: int  # averages that ended well
    plain_bytes: int  # that would have left this rank: twice its array, but for the part of one rank
    sent_bytes: int  # that this rank had for others


def check(how: str, part: float) -> None:
    """Raise InvalidError for what is no compression."""
    if how not in KINDS:
        raise InvalidError(f'how "{how}" is not a compression; valid are {", ".join(KINDS)}', -1)
    if not 0 < part <= 1:
        raise InvalidError(f"part is {part}; it is above 0 and at most 1", -1)


class Compressor:
    """The compression of one array of float32 on this rank, and what it has left out so far.

        compressor = roundhouse.Compressor(comm, len(gradients), "sign")
        compressor.average(gradients)

    how: ``"f16"`` and ``"bf16"`` halve the bytes, ``"e4m3"`` and ``"e5m2"``, float8 with a scale for each 256 elements,
    quarter them, ``"sign"`` sends the sign of each element and the mean magnitude of each 256, and ``"top"`` the
    elements of greatest magnitude, ``part`` of all. All but the first two keep what they leave out, and add it to the
    next array. All ranks make compressors of the same kind and length, and average in the same order. One thread at a
    time. It is freed with its last reference; comm must not be closed before its last average().
    """

    def __init__(self, comm: Comm, count: int, how: str, part: float = 0.01) -> None:
        """count: elements of the arrays. part: of "top". Raises InvalidError, OutOfMemoryError."""
        check(how, part)
        self._handle = None
        self.comm, self.count, self.how = comm, count, how
        asked = library.Compression(size=ctypes.sizeof(library.Compression), how=KINDS[how], count=count, part=part)
        handle, error = ctypes.c_void_p(), library.Error()
        library.check(_lib.rh_comm_compressor_new(comm._alive(), ctypes.byref(asked), ctypes.byref(handle),
                                                  ctypes.byref(error)), error)
        self._handle = handle
        self._lock = threading.Lock()

    def __del__(self) -> None:
        if self._handle is not None:
            _lib.rh_comm_compressor_free(self._handle)

    def _address(self, array: Any) -> int:
        buffer = buffers.of(array)
        if buffer.type != library.F32 or buffer.memory != library.HOST:
            raise InvalidError("what is compressed is float32 in host memory", -1)
        if buffer.count != self.count:
            raise InvalidError(f"the array has {buffer.count} elements, its compressor {self.count}", -1)
        return buffer.address

    def average(self, array: Any, timeout: float | None = None) -> Any:
        """Replace array by the average of the arrays of all ranks, and wait. Collective. Returns array.

        array: numpy, torch or the buffer protocol, contiguous, float32. timeout: seconds; None is the context's. In a
        world of one rank the array stays as it is. Ctrl-C does not end it.
        Raises InvalidError, which names a rank that compresses otherwise, PeerError, DeadlineError, AbortedError.
        """
        address, error = self._address(array), library.Error()
        with self._lock:
            self.comm._alive()
            library.check(_lib.rh_comm_compressor_average(self._handle, address, buffers.microseconds(timeout),
                                                          ctypes.byref(error)), error)
        return array

    def drain(self, array: Any) -> Any:
        """Add what was left out so far to array, and keep nothing: before a plain average, or a checkpoint. No message
        is sent. Returns array."""
        address = self._address(array)
        with self._lock:
            _lib.rh_comm_compressor_drain(self._handle, address)
        return array

    @property
    def saved(self) -> Saved:
        """What it has saved so far."""
        found = library.Compressed(size=ctypes.sizeof(library.Compressed))
        _lib.rh_comm_compressor_saved(self._handle, ctypes.byref(found))
        return Saved(found.calls, found.plain_bytes, found.sent_bytes)
