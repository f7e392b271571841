# SPDX-License-Identifier: Apache-2.0
"""torch's collectives and messages by a Comm: what a process group of the backend "rh" does with tensors of its
devices."""
import threading

import torch
import torch.distributed as dist

from roundhouse.errors import CommError, InvalidError
from roundhouse.torch.work import Pending, wait_alone, waiter

_BITS = ("BAND", "BOR", "BXOR")
# what PREMUL_SUM is of; complex numbers travel as real ones
_SCALED = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128)
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

    held: a dict that keeps it until somebody waits for it. C++ of torch 2.0 to 2.6, DistributedDataParallel's for one,
    keeps only its own half of an object made in Python; waiting for a half alone would never end.
    """

    def __init__(self, pending, background, held):
        super().__init__()
        self.pending, self._background, self._future, self.received = pending, background, None, None
        self._lock, self._held = threading.Lock(), held
        held[id(self)] = self
        # what nobody ever waits for is not kept for ever
        if len(held) > _HELD:
            held.pop(next(iter(held)), None)

    def wait(self, timeout=None):
        """Wait, and raise what went wrong. timeout: a timedelta; when it is over, DeadlineError is raised and the
        operation goes on."""
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

    def _source_rank(self):
        """Of a receive from any rank: which one it was, in the group."""
        if self.received is None or self.received.source is None:
            raise InvalidError("rh: this operation has no source, or has none yet", -1)
        return self.received.source

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
    """The tensor itself, or a copy: contiguous, of real numbers, as they lie in memory."""
    if tensor.layout is not torch.strided:
        raise InvalidError(f"rh: tensors of layout {tensor.layout} are not supported; use .to_dense()", -1)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    tensor = tensor.resolve_neg()
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def _on_device(tensors):
    """Whether they lie in memory of a device: there, messages and all-reduces do what the library has for the host
    alone."""
    return tensors[0].device.type != "cpu"


def _back(pairs):
    """Copy from what travelled to where it belongs: shapes may differ, numbers of elements not."""
    with torch.no_grad():
        for tensor, whole in pairs:
            if tensor.is_complex() and not whole.is_complex():
                whole = torch.view_as_complex(whole.reshape(*tensor.shape, 2))
            tensor.copy_(whole.reshape(tensor.shape))


def _copied(pairs):
    """Those of pairs of tensors and what travels for them that are copies."""
    return [(tensor, whole) for tensor, whole in pairs if tensor.data_ptr() != whole.data_ptr()]


def _lengths(tensors):
    """Elements of each, as they travel."""
    return [tensor.numel() * (2 if tensor.is_complex() else 1) for tensor in tensors]


def _flat(tensors):
    """All behind each other, in new memory."""
    return torch.cat([_dense(tensor).reshape(-1) for tensor in tensors])


def _factor(op, tensor):
    """What PREMUL_SUM multiplies this rank's elements by: a number, or a tensor of one."""
    # torch has no other word for it in Python
    factor = op.__getstate__()[1]
    if tensor.dtype not in _SCALED:
        raise InvalidError(f"rh: PREMUL_SUM of {tensor.dtype} is not supported; it is of float32, float64, float16, "
                           "bfloat16 and complex numbers", -1)
    if not isinstance(factor, torch.Tensor):
        return factor
    if factor.numel() != 1 or factor.is_complex():
        raise InvalidError("rh: the factor of PREMUL_SUM is a real number, or a tensor of one, not a tensor of "
                           f"{factor.numel()} {factor.dtype}", -1)
    # of no dimension: the product keeps the type of what is multiplied
    return factor.detach().reshape(()).to(tensor.device)


def _times(tensor, factor, out=None):
    """A tensor times a factor, in new memory or in out; None: the tensor itself."""
    if factor is None:
        return tensor
    with torch.no_grad():
        return torch.mul(tensor, factor, out=out)


def _reduction(opts, tensor):
    """The name of a reduction, and what each element is multiplied by before it, or None. Of flags a sum is an or, and
    a product an and."""
    op = opts.reduceOp
    if op == dist.ReduceOp.PREMUL_SUM:
        return "sum", _factor(op, tensor)
    return _plain(op, tensor), None


def _plain(op, tensor):
    """The name of a reduction without a factor."""
    for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", *_BITS):
        if op != getattr(dist.ReduceOp, name):
            continue
        if (tensor.is_complex() and name not in ("SUM", "AVG")) or (name in _BITS and tensor.is_floating_point()):
            break
        if tensor.dtype == torch.bool:
            return {"SUM": "max", "BOR": "max", "PRODUCT": "min", "BAND": "min"}.get(name, name.lower())
        return "prod" if name == "PRODUCT" else name.lower()
    raise InvalidError(f"rh: {op} of {tensor.dtype} is not supported; there are SUM, AVG, MIN, MAX and PRODUCT of "
                       "real numbers, SUM and AVG of complex ones, BAND, BOR and BXOR of integers, and PREMUL_SUM of "
                       "floats and complex numbers", -1)


class Operations:
    """The operations. comm: a Comm. seconds: what an operation may take where its call does not say; None: the
    Comm's."""

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

    def stand_in(self):
        """Take the place of a collective that was refused here, as a barrier. Where all ranks were refused, nothing
        happened."""
        try:
            request = self.comm.barrier_start(self._limit())
        except CommError:
            # the world is over, and its ranks know why
            return
        waiter(self.comm).add(Pending([request], []))

    def _finishing(self, pairs):
        """What is to be done in the end for pairs of tensors and what travelled for them; None: nothing."""
        copied = _copied(pairs)
        return (lambda: _back(copied)) if copied else None

    def _in_place(self, tensors, start):
        """Operations on tensors; those that are not contiguous travel as copies."""
        pairs = [(tensor, _dense(tensor)) for tensor in tensors]
        requests = [start(whole) for _, whole in pairs]
        return self._work(requests, tensors, self._finishing(pairs))

    def _apart(self, pairs, start):
        """Operations from one tensor into another: pairs of output and input."""
        made = [(output, _dense(output)) for output, _ in pairs]
        requests = [start(given if given is None else _dense(given), whole) for (_, whole),
                    (_, given) in zip(made, pairs)]
        return self._work(requests, [output for output, _ in pairs], self._finishing(made))

    def _of_all(self, tensors, name, own=None, same=None):
        """Elements of a list of tensors, one for each rank. own: a tensor as long as this rank's. same: one as long as
        all of them."""
        lengths = _lengths(tensors)
        if len(lengths) != self.comm.world:
            raise InvalidError(f"rh: {name} has {len(lengths)} tensors for {self.comm.world} ranks", -1)
        if own is not None and lengths[self.comm.rank] != _lengths([own])[0]:
            raise InvalidError(f"rh: {name} has {tensors[self.comm.rank].numel()} elements for rank {self.comm.rank} "
                               "itself, whose tensor "
                               f"has {own.numel()}", -1)
        for rank, length in enumerate(lengths):
            if same is not None and length != _lengths([same])[0]:
                raise InvalidError(f"rh: {name} has {tensors[rank].numel()} elements for rank {rank}, not "
                                   f"{same.numel()}", -1)
        return lengths

    def allreduce(self, tensors, opts=None):
        op, factor = _reduction(opts or dist.AllreduceOptions(), tensors[0])
        return self._in_place(tensors, lambda whole: self.comm.all_reduce_start(_times(whole, factor, whole), op,
                                                                                timeout=self._limit(opts)))

    def allreduce_coalesced(self, tensors, opts=None):
        op, factor = _reduction(opts or dist.AllreduceOptions(), tensors[0])
        pairs = [(tensor, _dense(tensor)) for tensor in tensors]
        request = self.comm.all_reduce_many_start([_times(whole, factor, whole) for _, whole in pairs], op,
                                                  self._limit(opts))
        return self._work([request], tensors, self._finishing(pairs))

    def broadcast(self, tensors, opts=None):
        return self._in_place(tensors, lambda whole: self.comm.broadcast_start(whole, opts.rootRank, self._limit(opts)))

    def reduce(self, tensors, opts=None):
        op, factor = _reduction(opts, tensors[0])
        if not _on_device(tensors):
            # the tensors of other ranks than the root stay as they are
            return self._in_place(tensors, lambda whole: self.comm.reduce_start(
                _times(whole, factor), op, opts.rootRank, whole if factor is not None else None, self._limit(opts)))
        copies = [_dense(tensor).clone() for tensor in tensors]
        copies = [_times(copy, factor, copy) for copy in copies]
        requests = [self.comm.all_reduce_start(copy, op, timeout=self._limit(opts)) for copy in copies]
        mine = self.comm.rank == opts.rootRank
        return self._work(requests, tensors, (lambda: _back(list(zip(tensors, copies)))) if mine else None)

    def _gathered(self, outputs, tensor, opts):
        """Start to gather; returns the request and what is to be done then."""
        lengths = self._of_all(outputs, "all_gather: the list of outputs", own=tensor)
        whole = _dense(tensor)
        flat = torch.empty(sum(lengths), dtype=whole.dtype, device=whole.device)
        if len(set(lengths)) == 1:
            request = self.comm.all_gather_start(whole, flat, timeout=self._limit(opts))
        else:
            request = self.comm.all_gather_v_start(whole, flat, lengths, timeout=self._limit(opts))
        return request, lambda: _back(zip(outputs, torch.split(flat, lengths)))

    def allgather(self, outputs, inputs, opts=None):
        made = [self._gathered(outs, tensor, opts) for outs, tensor in zip(outputs, inputs)]
        return self._work([request for request, _ in made], outputs, lambda: [finish() for _, finish in made])

    def allgather_coalesced(self, outputs, inputs, opts=None):
        if len(outputs) != self.comm.world or any(len(outs) != len(inputs) for outs in outputs):
            raise InvalidError(f"rh: all_gather_coalesced: the lists of outputs are not {self.comm.world} of "
                               f"{len(inputs)} tensors", -1)
        return self.allgather([[outs[i] for outs in outputs] for i in range(len(inputs))], inputs, opts)

    def all_gather_single(self, output, tensor, opts=None):
        return self.all_gather_single_coalesced([output], [tensor], opts)

    def _allgather_base(self, output, tensor, opts=None):
        return self.all_gather_single(output, tensor, opts)

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        return self._apart(list(zip(outputs, inputs)), lambda given,
                           out: self.comm.all_gather_start(given, out, timeout=self._limit(opts)))

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        return self.all_gather_single_coalesced(outputs, inputs, opts)

    def reduce_scatter_single(self, output, tensor, opts=None):
        return self.reduce_scatter_single_coalesced([output], [tensor], opts)

    def _reduce_scatter_base(self, output, tensor, opts=None):
        return self.reduce_scatter_single(output, tensor, opts)

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None):
        op, factor = _reduction(opts or dist.ReduceScatterOptions(), inputs[0])
        return self._apart(list(zip(outputs, inputs)), lambda given, out: self.comm.reduce_scatter_start(
            _times(given, factor), out, op, timeout=self._limit(opts)))

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        return self.reduce_scatter_single_coalesced(outputs, inputs, opts)

    def _scattered(self, parts, whole, reduction, opts):
        """Start to reduce a list, of which each rank gets its tensor into whole; tensors may have different lengths."""
        lengths, flat, (op, factor) = _lengths(parts), _flat(parts), reduction
        flat = _times(flat, factor, flat)
        if len(set(lengths)) == 1:
            return self.comm.reduce_scatter_start(flat, whole, op, timeout=self._limit(opts))
        return self.comm.reduce_scatter_v_start(flat, whole, lengths, op, timeout=self._limit(opts))

    def reduce_scatter(self, outputs, inputs, opts=None):
        reduction = _reduction(opts or dist.ReduceScatterOptions(), outputs[0])
        for output, parts in zip(outputs, inputs):
            self._of_all(parts, "reduce_scatter: the list of inputs", own=output)
        pairs = [(output, _dense(output)) for output in outputs]
        requests = [self._scattered(parts, whole, reduction, opts) for parts, (_, whole) in zip(inputs, pairs)]
        return self._work(requests, outputs, self._finishing(pairs))

    def _exchange(self, sends, receives, opts):
        """Messages to and from all others: lists of tensors by rank; what is this rank's own is copied."""
        me, copied, requests = self.comm.rank, [], []
        for shift in range(1, self.comm.world):
            source = (me - shift) % self.comm.world
            if receives[source] is not None and receives[source].numel() > 0:
                whole = _dense(receives[source])
                copied.append((receives[source], whole))
                requests.append(self.comm.recv_start(whole, source, _EXCHANGE_TAG, self._limit(opts)))
            to = (me + shift) % self.comm.world
            if sends[to] is not None and sends[to].numel() > 0:
                requests.append(self.comm.send_start(_dense(sends[to]), to, _EXCHANGE_TAG, self._limit(opts)))
        if sends[me] is not None and receives[me] is not None and receives[me].numel() > 0:
            copied.append((receives[me], sends[me]))
        return requests, self._finishing(copied)

    def _exchanged(self, sends, receives, opts, tensors):
        requests, finish = self._exchange(sends, receives, opts)
        return self._work(requests, tensors, finish)

    def alltoall(self, outputs, inputs, opts=None):
        given = self._of_all(inputs, "all_to_all: the list of inputs")
        taken = self._of_all(outputs, "all_to_all: the list of outputs")
        if _on_device(outputs):
            return self._exchanged(list(inputs), list(outputs), opts, outputs)
        flat = _flat(inputs)
        whole = torch.empty(sum(taken), dtype=flat.dtype)
        request = self.comm.all_to_all_v_start(flat, given, whole, taken, self._limit(opts))
        return self._work([request], outputs, lambda: _back(zip(outputs, torch.split(whole, taken))))

    def _rows(self, tensor, sizes, name):
        """Rows for each rank: those that the caller gave, or equal parts."""
        rows, world = tensor.size(0) if tensor.dim() else 1, self.comm.world
        if not sizes and rows % world != 0:
            raise InvalidError(f"rh: all_to_all_single: {name} has {rows} rows, which {world} ranks do not divide; "
                               "give split sizes", -1)
        sizes = list(sizes) or [rows // world] * world
        if len(sizes) != world or min(sizes) < 0 or sum(sizes) != rows:
            raise InvalidError(f"rh: all_to_all_single: the split sizes {sizes} of {name} are not {world} numbers "
                               f"with the sum {rows}", -1)
        return sizes

    def all_to_all_single(self, output, tensor, output_sizes, input_sizes, opts=None):
        given, taken = self._rows(tensor, input_sizes, "the input"), self._rows(output, output_sizes, "the output")
        if _on_device([output]):
            whole = _dense(output)
            requests, finish = self._exchange(list(torch.split(_dense(tensor), given)), list(torch.split(whole, taken)),
                                              opts)
            return self._work(requests, [output], lambda: (finish and finish(), _back(_copied([(output, whole)]))))
        row = [_lengths([each])[0] // max(sum(sizes), 1) for each, sizes in ((tensor, given), (output, taken))]
        return self._apart([(output, tensor)], lambda source, out: self.comm.all_to_all_v_start(
            source, [size * row[0] for size in given], out, [size * row[1] for size in taken], self._limit(opts)))

    def alltoall_base(self, output, tensor, output_sizes, input_sizes, opts=None):
        return self.all_to_all_single(output, tensor, output_sizes, input_sizes, opts)

    def gather(self, outputs, inputs, opts=None):
        mine = self.comm.rank == opts.rootRank
        if mine:
            self._of_all(outputs[0], "gather: the list of outputs", same=inputs[0])
        if _on_device(inputs):
            sends = [inputs[0] if rank == opts.rootRank else None for rank in range(self.comm.world)]
            return self._exchanged(sends, list(outputs[0]) if mine else [None] * self.comm.world, opts, outputs)
        whole = _dense(inputs[0])
        flat = torch.empty((self.comm.world, *whole.shape), dtype=whole.dtype) if mine else None
        request = self.comm.gather_start(whole, flat, opts.rootRank, self._limit(opts))
        return self._work([request], outputs, (lambda: _back(zip(outputs[0], flat))) if mine else None)

    def gather_single(self, output, tensor, opts=None):
        if self.comm.rank != opts.rootRank:
            return self.gather([], [tensor], opts)
        if output.numel() != tensor.numel() * self.comm.world:
            raise InvalidError(f"rh: gather_single: the output has {output.numel()} elements, not {self.comm.world} "
                               f"times {tensor.numel()}", -1)
        if not output.is_contiguous():
            raise InvalidError("rh: gather_single: the output is not contiguous", -1)
        return self.gather([list(output.view(self.comm.world, *tensor.shape))], [tensor], opts)

    def scatter(self, outputs, inputs, opts=None):
        mine = self.comm.rank == opts.rootRank
        if mine:
            self._of_all(inputs[0], "scatter: the list of inputs", same=outputs[0])
        if _on_device(outputs):
            receives = [outputs[0] if rank == opts.rootRank else None for rank in range(self.comm.world)]
            return self._exchanged(list(inputs[0]) if mine else [None] * self.comm.world, receives, opts, outputs)
        return self._apart([(outputs[0], _flat(inputs[0]) if mine else None)], lambda given,
                           out: self.comm.scatter_start(
            given, out, opts.rootRank, self._limit(opts)))

    def barrier(self, opts=None):
        return self._work([self.comm.barrier_start(self._limit(opts))], [])

    def send(self, tensors, to, tag=0):
        return self._work([self.comm.send_start(_dense(tensor), to, tag, self._limit()) for tensor in tensors], tensors,
                          message=True)

    def recv(self, tensors, source, tag=0):
        pairs = [(tensor, _dense(tensor)) for tensor in tensors]
        requests = [self.comm.recv_start(whole, source, tag, self._limit()) for _, whole in pairs]
        return self._work(requests, tensors, self._finishing(pairs), message=True)

    def recv_anysource(self, tensors, tag=0):
        if len(tensors) != 1:
            raise InvalidError(f"rh: recv() from any rank takes one tensor, not {len(tensors)}", -1)
        pairs = [(tensors[0], _dense(tensors[0]))]
        request = self.comm.recv_any_start(pairs[0][1], tag, self._limit())
        work = self._work([request], tensors, self._finishing(pairs), message=True)
        work.received = request
        return work
