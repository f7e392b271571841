# SPDX-License-Identifier: Apache-2.0
"""Roundhouse for training processes: collectives, messages and parameter servers.

    import numpy, roundhouse
    comm = roundhouse.Comm()                       # rank and world from the environment
    gradients = numpy.ones(1000, dtype="float32")
    comm.all_reduce(gradients, op="avg")           # in place, without a copy

For torch: ``import roundhouse.torch``, then ``torch.distributed.init_process_group("rh")``. numpy and torch are not
needed by this package itself; what has the buffer protocol does.
"""
from roundhouse.comm import Comm, Request
from roundhouse.compress import Compressor
from roundhouse.errors import (AbortedError, BackendError, CommError, DeadlineError, InvalidError, OutOfMemoryError,
                               PeerError, SystemFailure, UnsupportedError)
from roundhouse.rates import linear_scaled_lr

__version__ = "0.1.0"
__all__ = ["AbortedError", "BackendError", "Comm", "CommError", "Compressor", "DeadlineError", "InvalidError",
           "OutOfMemoryError", "ParameterServer", "PeerError", "Request", "SystemFailure", "UnsupportedError",
           "linear_scaled_lr"]


def __getattr__(name):
    # a library without parameter servers is good for all the rest
    if name == "ParameterServer":
        from roundhouse.ps import ParameterServer
        return ParameterServer
    raise AttributeError(f"module 'roundhouse' has no attribute '{name}'")
