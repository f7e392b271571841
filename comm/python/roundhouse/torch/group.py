# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed backend "rh", for torch 2.0 and newer: a ProcessGroup over a Comm."""
import threading

import torch
import torch.distributed as dist

from roundhouse.errors import CommError, InvalidError
from roundhouse.torch.bootstrap import start
from roundhouse.torch.work import Pending, forget, waiter

NAME = "rh"
_Base = getattr(dist, "_Work", None) or torch._C._distributed_c10d.Work
_BITS = {"BAND": "min", "BOR": "max"}
# the Comm of all ranks, of which groups are made
_state = {"world": None}


class _Work(_Base):
    """An operation in flight, as torch wants it."""

    def __init__(self, pending, background):
        super().__init__()
        self._pending, self._background, self._future = pending, background, None
        self._lock = threading.Lock()

    def wait(self, timeout=None):
        """Wait, and raise what went wrong. The operation's own time limit counts, not timeout."""
        self._pending.wait()
        return True

    def is_completed(self):
        return self._pending.test()

    def is_success(self):
        return self._pending.test() and self._pending.problem is None

    def exception(self):
        return self._pending.problem

    def result(self):
        return self._pending.result()

    def synchronize(self):
        self._pending.wait()

    def get_future(self):
        with self._lock:
            if self._future is None:
                self._future = self._pending.future()
                self._background(self._pending)
        return self._future


def _apart(pending):
    """Messages may end in any order: each has a thread of its own, where somebody wants a future of it."""
    threading.Thread(target=_quietly, args=(pending,), daemon=True, name="rh_comm message").start()


def _quietly(pending):
    try:
        pending.wait()
    except CommError:
        pass


def _timeout(opts):
    given = getattr(opts, "timeout", None)
    return given.total_seconds() if given is not None and given.total_seconds() > 0 else None


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


class Group(dist.ProcessGroup):
    """A torch ProcessGroup. comm: its Comm, for what torch has no words for."""

    def __init__(self, comm):
        super().__init__(comm.rank, comm.world)
        self.comm = comm
        self._rank, self._size = comm.rank, comm.world
        self._group_name, self._group_desc = "", ""

    def size(self):
        return self._size

    def rank(self):
        return self._rank

    def name(self):
        return NAME

    def getBackendName(self):
        return NAME

    def getSize(self):
        return self._size

    def getRank(self):
        return self._rank

    @property
    def group_name(self):
        return self._group_name

    def _set_group_name(self, name):
        self._group_name = name

    @property
    def group_desc(self):
        return self._group_desc

    def _set_group_desc(self, desc):
        self._group_desc = desc

    @property
    def supports_coalescing(self):
        return False

    @property
    def supports_splitting(self):
        return False

    def _get_backend(self, _device):
        return self

    def shutdown(self):
        """Leave; torch's destroy_process_group() calls it."""
        comm = self.comm
        forget(comm)
        if _state["world"] is comm:
            _state["world"] = None
        comm.close()

    def abort(self):
        """End all operations of all ranks."""
        self.comm.abort("torch's abort()")

    def _work(self, requests, tensors, finish=None, message=False):
        return _Work(Pending(requests, tensors, finish), _apart if message else lambda pending: waiter(self.comm).add(pending))

    def _in_place(self, tensors, start):
        """Operations on tensors; those that are not contiguous travel as copies."""
        pairs = [(tensor, _dense(tensor)) for tensor in tensors]
        requests = [start(whole) for _, whole in pairs]
        copied = [(tensor, whole) for tensor, whole in pairs if tensor.data_ptr() != whole.data_ptr()]
        return self._work(requests, tensors, (lambda: _back(copied)) if copied else None)

    def allreduce(self, tensors, opts=None):
        op = _reduction(opts or dist.AllreduceOptions(), tensors[0])
        return self._in_place(tensors, lambda whole: self.comm.all_reduce_start(whole, op, timeout=_timeout(opts)))

    def allreduce_coalesced(self, tensors, opts=None):
        op = _reduction(opts or dist.AllreduceOptions(), tensors[0])
        pairs = [(tensor, _dense(tensor)) for tensor in tensors]
        copied = [(tensor, whole) for tensor, whole in pairs if tensor.data_ptr() != whole.data_ptr()]
        request = self.comm.all_reduce_many_start([whole for _, whole in pairs], op, _timeout(opts))
        return self._work([request], tensors, lambda: _back(copied))

    def broadcast(self, tensors, opts=None):
        return self._in_place(tensors, lambda whole: self.comm.broadcast_start(whole, opts.rootRank, _timeout(opts)))

    def reduce(self, tensors, opts=None):
        copies = [_dense(tensor).clone() for tensor in tensors]
        op = _reduction(opts, tensors[0])
        requests = [self.comm.all_reduce_start(copy, op, timeout=_timeout(opts)) for copy in copies]
        mine = self.rank() == opts.rootRank
        return self._work(requests, tensors, (lambda: _back(list(zip(tensors, copies)))) if mine else None)

    def _gathered(self, outputs, tensor, opts):
        """Start to gather; returns the request and what is to be done then."""
        whole = _dense(tensor)
        flat = torch.empty((self.size(), *whole.shape), dtype=whole.dtype, device=whole.device)
        request = self.comm.all_gather_start(whole, flat, timeout=_timeout(opts))
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
        return self._single([(output, tensor)], lambda given, out: self.comm.all_gather_start(given, out, timeout=_timeout(opts)))

    def _allgather_base(self, output, tensor, opts=None):
        return self.all_gather_single(output, tensor, opts)

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        return self._single(list(zip(outputs, inputs)), lambda given, out: self.comm.all_gather_start(given, out, timeout=_timeout(opts)))

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        return self.all_gather_single_coalesced(outputs, inputs, opts)

    def _scattering(self, opts, tensor):
        op = _reduction(opts or dist.ReduceScatterOptions(), tensor)
        return lambda given, out: self.comm.reduce_scatter_start(given, out, op, timeout=_timeout(opts))

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
        me, copied, requests = self.rank(), [], []
        for shift in range(1, self.size()):
            source = (me - shift) % self.size()
            if receives[source] is not None and receives[source].numel() > 0:
                whole = receives[source] if receives[source].is_contiguous() else torch.empty_like(
                    receives[source], memory_format=torch.contiguous_format)
                copied += [(receives[source], whole)] if whole is not receives[source] else []
                requests.append(self.comm.recv_start(whole, source, _EXCHANGE_TAG, _timeout(opts)))
            to = (me + shift) % self.size()
            if sends[to] is not None and sends[to].numel() > 0:
                requests.append(self.comm.send_start(sends[to].contiguous(), to, _EXCHANGE_TAG, _timeout(opts)))
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
        sends = list(torch.split(tensor.contiguous(), list(input_sizes) or tensor.size(0) // self.size()))
        receives = list(torch.split(whole, list(output_sizes) or output.size(0) // self.size()))
        requests, finish = self._exchange(sends, receives, opts)
        return self._work(requests, [output], lambda: (finish(), _back([(output, whole)] if whole is not output else [])))

    def alltoall_base(self, output, tensor, output_sizes, input_sizes, opts=None):
        return self.all_to_all_single(output, tensor, output_sizes, input_sizes, opts)

    def gather(self, outputs, inputs, opts=None):
        mine = self.rank() == opts.rootRank
        sends = [inputs[0] if rank == opts.rootRank else None for rank in range(self.size())]
        return self._exchanged(sends, list(outputs[0]) if mine else [None] * self.size(), opts, outputs)

    def gather_single(self, output, tensor, opts=None):
        parts = list(output.view(self.size(), *tensor.shape)) if self.rank() == opts.rootRank else []
        return self.gather([parts] if parts else [], [tensor], opts)

    def scatter(self, outputs, inputs, opts=None):
        mine = self.rank() == opts.rootRank
        receives = [outputs[0] if rank == opts.rootRank else None for rank in range(self.size())]
        return self._exchanged(list(inputs[0]) if mine else [None] * self.size(), receives, opts, outputs)

    def barrier(self, opts=None):
        return self._work([self.comm.barrier_start(_timeout(opts))], [])

    def send(self, tensors, to, tag=0):
        return self._work([self.comm.send_start(_dense(tensor), to, tag) for tensor in tensors], tensors, message=True)

    def recv(self, tensors, source, tag=0):
        pairs = [(tensor, _dense(tensor)) for tensor in tensors]
        requests = [self.comm.recv_start(whole, source, tag) for _, whole in pairs]
        copied = [(tensor, whole) for tensor, whole in pairs if tensor.data_ptr() != whole.data_ptr()]
        return self._work(requests, tensors, lambda: _back(copied), message=True)


# above what users give their messages
_EXCHANGE_TAG = 0xFFFFFF01


def _create(options, _backend_options=None):
    """Make the group that torch asks for."""
    ranks = list(options.global_ranks_in_group)
    world = _state["world"]
    if world is not None and ranks:
        return Group(world.group(ranks))
    everybody = not ranks or (dist.is_initialized() and len(ranks) == dist.get_world_size() and ranks == sorted(ranks))
    if not everybody:
        raise InvalidError('rh: a group of some ranks is made of the group of all; init_process_group("rh") first', -1)
    seconds = options.timeout.total_seconds()
    comm = start(options.group_rank, options.group_size, options.store, init_timeout=seconds, timeout=seconds)
    _state["world"] = comm
    return Group(comm)


def register():
    """Make the backend "rh" known to torch.distributed."""
    dist.Backend.register_backend(NAME, _create, extended_api=True, devices=["cpu", "cuda"])
