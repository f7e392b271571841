# SPDX-License-Identifier: Apache-2.0
"""Errors of the library as exceptions. All are CommError, which is a RuntimeError."""


class CommError(RuntimeError):
    """Something went wrong. code: RH_COMM_E*; rank: the rank that it is about, or None."""

    def __init__(self, text, code=0, rank=None):
        super().__init__(text)
        self.code = code
        self.rank = rank

    def __reduce__(self):
        return type(self), (str(self), self.code, self.rank)


class InvalidError(CommError, ValueError):
    """Wrong arguments or configuration; a retry cannot help."""


class OutOfMemoryError(CommError, MemoryError):
    """Out of memory."""


class SystemFailure(CommError, OSError):
    """The operating system refused; the text has its words."""

    def __str__(self):
        return RuntimeError.__str__(self)


class PeerError(CommError, ConnectionError):
    """A rank died or was cut off: see ``rank``. The context is over; every later operation raises this again."""

    def __str__(self):
        return RuntimeError.__str__(self)


class DeadlineError(CommError, TimeoutError):
    """A time limit is over; the text names the ranks that were waited for."""

    def __str__(self):
        return RuntimeError.__str__(self)


class AbortedError(CommError):
    """A rank called abort(); the text names it and its reason."""


class UnsupportedError(CommError, NotImplementedError):
    """The backend cannot do that."""


class BackendError(CommError):
    """The backend failed; the text has its words."""


_KINDS = {-1: InvalidError, -2: OutOfMemoryError, -5: SystemFailure, -20: PeerError, -21: DeadlineError,
          -22: AbortedError, -23: UnsupportedError, -24: BackendError}


def make(code, rank, text):
    """The exception for an error of the library."""
    return _KINDS.get(code, CommError)(text or f"rh_comm: error {code}", code, rank if rank >= 0 else None)


def late(seconds):
    """The exception for a wait that is over before its operation."""
    return DeadlineError(f"not done after {seconds:g} s; the operation itself goes on until its own time limit", -21)
