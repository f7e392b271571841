# SPDX-License-Identifier: Apache-2.0
"""Gradients of DistributedDataParallel that travel compressed."""
from __future__ import annotations

import collections
import threading
from typing import Any

import torch

from roundhouse.comm import Comm
from roundhouse.compress import Compressor, Saved, check
from roundhouse.errors import CommError, InvalidError
from roundhouse.torch.work import Pending, forget


class _Turn:
    """The average of one bucket, when its turn comes; it is waited for as a Request of the Comm is."""

    def __init__(self, state: Compression, tensor: torch.Tensor, compressor: Compressor | None) -> None:
        self._state, self._tensor, self._compressor = state, tensor, compressor
        self._ended, self._problem = False, None

    def run(self) -> None:
        """Average, and wait; what goes wrong is kept for wait()."""
        try:
            if self._compressor is None:
                self._state.comm.all_reduce(self._tensor, "avg")
            elif self._tensor.dtype == torch.float32:
                self._compressor.average(self._tensor)
            else:
                self._tensor.copy_(self._compressor.average(self._tensor.to(torch.float32)))
        except CommError as problem:
            self._problem = problem
        self._tensor = self._compressor = None
        self._ended = True

    def join(self, _seconds: float | None = None) -> bool:
        """Wait until it is done, well or not."""
        self._state._run_up_to(self)
        return True

    def wait(self) -> None:
        """Wait; raises what went wrong."""
        self.join()
        if self._problem:
            raise self._problem

    def done(self) -> bool:
        """Whether it is done, well or not."""
        return self._ended


class Compression:
    """How compress_hook() compresses: the state that DistributedDataParallel gives it.

        state = roundhouse.torch.Compression(roundhouse.torch.comm_of(), "e4m3")
        model.register_comm_hook(state, roundhouse.torch.compress_hook)
        ...
        print(state.saved)

    comm: a Comm of the ranks of the process group. how, part: as of roundhouse.Compressor. start: the number of first
    steps whose gradients travel as they are; DistributedDataParallel makes its buckets anew after the first one.
    Collective: all ranks make it, with the same arguments. It has a group of its own, which close() or the end of comm
    closes.
    """

    def __init__(self, comm: Comm, how: str, part: float = 0.01, start: int = 1) -> None:
        """Raises InvalidError, CommError."""
        check(how, part)
        self.comm = comm.group(list(range(comm.world)))
        self.how, self.part, self.start = how, part, start
        self._steps, self._compressors = 0, {}
        self._past = Saved(0, 0, 0)
        self._turns: collections.deque[_Turn] = collections.deque()
        self._running = threading.Lock()

    def average(self, bucket: Any) -> Pending:
        """Start to average a bucket; DistributedDataParallel calls it, through compress_hook()."""
        tensor = bucket.buffer()
        if tensor.device.type != "cpu" or not tensor.is_floating_point():
            raise InvalidError(f"compress_hook: gradients are {tensor.dtype} on {tensor.device}; it takes floats of "
                               "the CPU alone", -1)
        turn = _Turn(self, tensor, self._compressor(bucket) if self._steps >= self.start else None)
        self._steps += bucket.is_last()
        self._turns.append(turn)
        # close() of the Comm, and the end of Python, wait for it
        self.comm._requests.add(turn)
        return Pending([turn], tensor)

    def _compressor(self, bucket: Any) -> Compressor:
        """That of a bucket: of the same parameters, in the same order. What was left out of others is no use here."""
        index, members = bucket.index(), tuple(map(id, bucket.parameters()))
        known = self._compressors.get(index)
        if known is None or known[0] != members:
            if known is not None:
                self._past = _sum(self._past, known[1].saved)
            known = (members, Compressor(self.comm, bucket.buffer().numel(), self.how, self.part))
            self._compressors[index] = known
        return known[1]

    def _run_up_to(self, turn: _Turn) -> None:
        """Run turns in the order in which they were posted, which is the same on all ranks, up to this one."""
        with self._running:
            while not turn.done():
                following = self._turns.popleft()
                following.run()
                self.comm._requests.discard(following)

    @property
    def saved(self) -> Saved:
        """What all buckets have saved so far, without the steps before start."""
        total = self._past
        for _, compressor in list(self._compressors.values()):
            total = _sum(total, compressor.saved)
        return total

    def close(self) -> None:
        """Leave the group, after what is in flight has ended."""
        forget(self.comm)
        self.comm.close()


def _sum(a: Saved, b: Saved) -> Saved:
    return Saved(*(x + y for x, y in zip(a, b)))
