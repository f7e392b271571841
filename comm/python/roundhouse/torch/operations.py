# SPDX-License-Identifier: Apache-2.0
"""torch's collectives and messages by a Comm: what a process group of the backend "rh" does with tensors of its devices."""
import threading

import torch
import torch.distributed as dist

from roundhouse.errors import InvalidError
from roundhouse.torch.work import Pending, wait_alone, waiter

_BITS = {"BAND": "min", "BOR": "max"}
# above what users give their messages
_EXCHANGE_TAG = 0xFFFFFF01
# operations that may be under way in C++ of torch at one time
_HELD = 64
_Base = getattr(torch.distributed, "_Work", None) or torch._C._distributed_c10d.Work


def _seconds(timeout):
    """torch's time limits: a timedelta, of which 0 and less are none."""
    seconds = timeout.total_seconds() if timeout is not None else 0
    return seconds if seconds > 0 else None


class Work(_Base):
    """An operation in flight, as torch wants it. background: what waits for a Pending, once somebody wants a future.

    held: a dict that keeps it until somebody waits for it. C++ of torch 2.0 to 2.6, DistributedDataParallel's for one, keeps
    only its own half of an object made in Python; waiting for a half alone would never end.
    """

    def __init__(self, pending, background, held):
        super().__init__()
        self.pending, self._background, self._future = pending, background, None
        self._lock, self._held = threading.Lock(), held
        held[id(self)] = self
        # what nobody ever waits for is not kept for ever
        if len(held) > _HELD:
            held.pop(next(iter(held)), None)

    def wait(self, timeout=None):
        """Wait, and raise what went wrong. timeout: a timedelta; when it is over, DeadlineError is raised and the operation goes on."""
        self._held.pop(id(self), None)
        self.pending.wait(_seconds(timeout))
        return True

    def is_completed(self):
        return self.pending.done()

    def is_success(self):
        return self.pending.done() and self.pending.problem is None

    def exception(self):
        return self.pending.problem

    def result(self):
        return self.pending.result()

    def synchronize(self):
        self.wait()

    def get_future(self):
        self._held.pop(id(self), None)
        with self._lock:
            if self._future is None:
                self._future = self.pending.future()
                self._background(self.pending)
        return self._future


def _dense(tensor):
    if tensor.is_sparse:
        raise InvalidError("rh: sparse tensors are not reduced; use .to_dense()", -1)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def _back(pairs):
    """Copy from what travelled to where it belongs."""
    with torch.no_grad():
        for tensor, whole in pairs:
            tensor.copy_(torch.view_as_complex(whole) if tensor.is_complex() and not whole.is_complex() else whole)


def _reduction(opts, tensor):
    op = opts.reduceOp
    for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
        if op == getattr(dist.ReduceOp, name):
            if tensor.is_complex() and name not in ("SUM", "AVG"):
                break
            if tensor.dtype == torch.bool:
                return {"SUM": "max", "PRODUCT": "min"}.get(name, name.lower())
            return "prod" if name == "PRODUCT" else name.lower()
    for name, reduction in _BITS.items():
        if op == getattr(dist.ReduceOp, name) and tensor.dtype == torch.bool:
            return reduction
    raise InvalidError(f"rh: {op} of {tensor.dtype} is not supported; there are SUM, AVG, MIN, MAX and PRODUCT of real numbers", -1)


class Operations:
    """The operations. comm: a Comm. seconds: what an operation may take where its call does not say; None: the Comm's."""

    def __init__(self, comm, seconds=None):
        self.comm, self.seconds = comm, seconds
        self._coalesced, self._held = None, {}

    def _limit(self, opts=None):
        """Seconds that an operation may take: what the call says, else the group."""
        return _seconds(getattr(opts, "timeout", None)) or self.seconds

    def _work(self, requests, tensors, finish=None, message=False):
        work = Work(Pending(requests, tensors, finish), wait_alone if message else waiter(self.comm).add, self._held)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def start_coalescing(self):
        """What is posted from now on is one Work in the end."""
        self._coalesced = []

    def end_coalescing(self):
        works, self._coalesced = self._coalesced or [], None
        return self._work([work.pending for work in works], [work.pending.tensors for work in works])

    def _in_place(self, tensors, start):
        """Operations on tensors; those that are not contiguous travel as copies."""
        pairs = [(tensor, _dense(tensor)) for tensor in tensors]
        requests = [start(whole) for _, whole in pairs]
        copied = [(tensor, whole) for tensor, whole in pairs if tensor.data_ptr() != whole.data_ptr()]
        return self._work(requests, tensors, (lambda: _back(copied)) if copied else None)

    def allreduce(self, tensors, opts=None):
        op = _reduction(opts or dist.AllreduceOptions(), tensors[0])
        return self._in_place(tensors, lambda whole: self.comm.all_reduce_start(whole, op, timeout=self._limit(opts)))

    def allreduce_coalesced(self, tensors, opts=None):
        op = _reduction(opts or dist.AllreduceOptions(), tensors[0])
        pairs = [(tensor, _dense(tensor)) for tensor in tensors]
        copied = [(tensor, whole) for tensor, whole in pairs if tensor.data_ptr() != whole.data_ptr()]
        request = self.comm.all_reduce_many_start([whole for _, whole in pairs], op, self._limit(opts))
        return self._work([request], tensors, lambda: _back(copied))

    def broadcast(self, tensors, opts=None):
        return self._in_place(tensors, lambda whole: self.comm.broadcast_start(whole, opts.rootRank, self._limit(opts)))

    def reduce(self, tensors, opts=None):
        copies = [_dense(tensor).clone() for tensor in tensors]
        op = _reduction(opts, tensors[0])
        requests = [self.comm.all_reduce_start(copy, op, timeout=self._limit(opts)) for copy in copies]
        mine = self.comm.rank == opts.rootRank
        return self._work(requests, tensors, (lambda: _back(list(zip(tensors, copies)))) if mine else None)

    def _gathered(self, outputs, tensor, opts):
        """Start to gather; returns the request and what is to be done then."""
        whole = _dense(tensor)
        flat = torch.empty((self.comm.world, *whole.shape), dtype=whole.dtype, device=whole.device)
        request = self.comm.all_gather_start(whole, flat, timeout=self._limit(opts))
        return request, lambda: _back([(output, flat[i]) for i, output in enumerate(outputs)])

    def allgather(self, outputs, inputs, opts=None):
        made = [self._gathered(outs, tensor, opts) for outs, tensor in zip(outputs, inputs)]
        return self._work([request for request, _ in made], outputs, lambda: [finish() for _, finish in made])

    def allgather_coalesced(self, outputs, inputs, opts=None):
        return self.allgather([[outs[i] for outs in outputs] for i in range(len(inputs))], inputs, opts)

    def _single(self, pairs, start):
        """Operations from one tensor into another; outputs that are not contiguous get a copy."""
        made = [(output, output if output.is_contiguous() else torch.empty_like(output, memory_format=torch.contiguous_format), tensor)
                for output, tensor in pairs]
        requests = [start(tensor if tensor.is_contiguous() else tensor.contiguous(), whole) for _, whole, tensor in made]
        copied = [(output, whole) for output, whole, _ in made if output is not whole]
        return self._work(requests, [output for output, _ in pairs], (lambda: _back(copied)) if copied else None)

    def all_gather_single(self, output, tensor, opts=None):
        return self._single([(output, tensor)], lambda given, out: self.comm.all_gather_start(given, out, timeout=self._limit(opts)))

    def _allgather_base(self, output, tensor, opts=None):
        return self.all_gather_single(output, tensor, opts)

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        return self._single(list(zip(outputs, inputs)), lambda given, out: self.comm.all_gather_start(given, out, timeout=self._limit(opts)))

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        return self.all_gather_single_coalesced(outputs, inputs, opts)

    def _scattering(self, opts, tensor):
        op = _reduction(opts or dist.ReduceScatterOptions(), tensor)
        return lambda given, out: self.comm.reduce_scatter_start(given, out, op, timeout=self._limit(opts))

    def reduce_scatter_single(self, output, tensor, opts=None):
        return self._single([(output, tensor)], self._scattering(opts, tensor))

    def _reduce_scatter_base(self, output, tensor, opts=None):
        return self.reduce_scatter_single(output, tensor, opts)

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None):
        return self._single(list(zip(outputs, inputs)), self._scattering(opts, inputs[0]))

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        return self.reduce_scatter_single_coalesced(outputs, inputs, opts)

    def reduce_scatter(self, outputs, inputs, opts=None):
        flats = [torch.stack([tensor.contiguous() for tensor in parts]) for parts in inputs]
        return self._single(list(zip(outputs, flats)), self._scattering(opts, flats[0]))

    def _exchange(self, sends, receives, opts):
        """Messages to and from all others: lists of tensors by rank; what is this rank's own is copied."""
        me, copied, requests = self.comm.rank, [], []
        for shift in range(1, self.comm.world):
            source = (me - shift) % self.comm.world
            if receives[source] is not None and receives[source].numel() > 0:
                whole = receives[source] if receives[source].is_contiguous() else torch.empty_like(
                    receives[source], memory_format=torch.contiguous_format)
                copied += [(receives[source], whole)] if whole is not receives[source] else []
                requests.append(self.comm.recv_start(whole, source, _EXCHANGE_TAG, self._limit(opts)))
            to = (me + shift) % self.comm.world
            if sends[to] is not None and sends[to].numel() > 0:
                requests.append(self.comm.send_start(sends[to].contiguous(), to, _EXCHANGE_TAG, self._limit(opts)))
        if sends[me] is not None and receives[me] is not None and receives[me].numel() > 0:
            copied.append((receives[me], sends[me]))
        return requests, lambda: _back(copied)

    def _exchanged(self, sends, receives, opts, tensors):
        requests, finish = self._exchange(sends, receives, opts)
        return self._work(requests, tensors, finish)

    def alltoall(self, outputs, inputs, opts=None):
        return self._exchanged(list(inputs), list(outputs), opts, outputs)

    def all_to_all_single(self, output, tensor, output_sizes, input_sizes, opts=None):
        whole = output if output.is_contiguous() else torch.empty_like(output, memory_format=torch.contiguous_format)
        sends = list(torch.split(tensor.contiguous(), list(input_sizes) or tensor.size(0) // self.comm.world))
        receives = list(torch.split(whole, list(output_sizes) or output.size(0) // self.comm.world))
        requests, finish = self._exchange(sends, receives, opts)
        return self._work(requests, [output], lambda: (finish(), _back([(output, whole)] if whole is not output else [])))

    def alltoall_base(self, output, tensor, output_sizes, input_sizes, opts=None):
        return self.all_to_all_single(output, tensor, output_sizes, input_sizes, opts)

    def gather(self, outputs, inputs, opts=None):
        mine = self.comm.rank == opts.rootRank
        sends = [inputs[0] if rank == opts.rootRank else None for rank in range(self.comm.world)]
        return self._exchanged(sends, list(outputs[0]) if mine else [None] * self.comm.world, opts, outputs)

    def gather_single(self, output, tensor, opts=None):
        parts = list(output.view(self.comm.world, *tensor.shape)) if self.comm.rank == opts.rootRank else []
        return self.gather([parts] if parts else [], [tensor], opts)

    def scatter(self, outputs, inputs, opts=None):
        mine = self.comm.rank == opts.rootRank
        receives = [outputs[0] if rank == opts.rootRank else None for rank in range(self.comm.world)]
        return self._exchanged(list(inputs[0]) if mine else [None] * self.comm.world, receives, opts, outputs)

    def barrier(self, opts=None):
        return self._work([self.comm.barrier_start(self._limit(opts))], [])

    def send(self, tensors, to, tag=0):
        return self._work([self.comm.send_start(_dense(tensor), to, tag, self._limit()) for tensor in tensors], tensors, message=True)

    def recv(self, tensors, source, tag=0):
        pairs = [(tensor, _dense(tensor)) for tensor in tensors]
        requests = [self.comm.recv_start(whole, source, tag, self._limit()) for _, whole in pairs]
        copied = [(tensor, whole) for tensor, whole in pairs if tensor.data_ptr() != whole.data_ptr()]
        return self._work(requests, tensors, lambda: _back(copied), message=True)

    def recv_anysource(self, _tensors, _tag=0):
        raise InvalidError("rh: recv() needs its source; a message from any rank is not supported", -1)
