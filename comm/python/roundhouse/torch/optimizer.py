# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training without DistributedDataParallel: one line around the optimizer."""
import threading

import torch

from roundhouse.errors import InvalidError

BUCKET_BYTES = 4 << 20


def broadcast_parameters(parameters, comm, root=0):
    """Give the parameters of rank root to all ranks, in place.

    parameters: a state_dict(), or what named_parameters() or parameters() gives, in the same order on every rank.
    Tensors of any shape and type; what is no tensor is left alone. comm: a roundhouse.Comm.
    Raises InvalidError, PeerError and the other CommErrors.
    """
    items = parameters.values() if hasattr(parameters, "values") else parameters
    tensors = [item[1] if isinstance(item, tuple) else item for item in items]
    requests = []
    for tensor in tensors:
        if not torch.is_tensor(tensor) or tensor.numel() == 0:
            continue
        data = tensor.detach()
        whole = data if data.is_contiguous() else data.contiguous()
        requests.append((comm.broadcast_start(whole, root), data, whole))
    for request, data, whole in requests:
        request.wait()
        if whole is not data:
            data.copy_(whole)


def warm_up(optimizer, world, steps):
    """A scheduler for the Linear Scaling Rule: from the optimizer's rates to ``world`` times that, in equal parts over
    steps.

    Call its step() after each step of the optimizer. Returns a torch.optim.lr_scheduler.LambdaLR.
    """
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1
                                             + (world - 1) * min(1.0, step / steps if steps else 1.0))


class _Bucket:
    """Gradients that travel together."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.reset()

    def reset(self):
        self.missing, self.request = set(self.parameters), None

    def start(self, comm, op):
        """Send the gradients. A rank that has none for a parameter gives zeros."""
        for p in self.parameters:
            if p.grad is None:
                p.grad = torch.zeros_like(p, memory_format=torch.contiguous_format)
            elif not p.grad.is_contiguous():
                p.grad = p.grad.contiguous()
        self.request = comm.all_reduce_many_start([p.grad for p in self.parameters], op)


def _buckets(parameters, limit):
    """The last parameters, whose gradients come first, are in the first bucket."""
    made, batch, size = [], [], 0
    for p in reversed(parameters):
        bytes_ = p.numel() * p.element_size()
        if batch and (size + bytes_ > limit or (p.dtype, p.device) != (batch[0].dtype, batch[0].device)):
            made.append(_Bucket(batch))
            batch, size = [], 0
        batch.append(p)
        size += bytes_
    return made + ([_Bucket(batch)] if batch else [])


class DistributedOptimizer:
    """An optimizer whose step() works on the gradients averaged over all ranks. In the manner of Horovod's.

        optimizer = roundhouse.torch.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), comm)
        roundhouse.torch.broadcast_parameters(model.state_dict(), comm)

    Gradients are sent while the backward pass goes on, in buckets and in an order that is the same on all ranks,
    whatever the order in which they come; parameters without a gradient count as zeros.

    optimizer: any torch optimizer. comm: a roundhouse.Comm. op: "avg" or "sum". bucket_bytes: size of a bucket.
    backward_passes: so many calls of backward() belong to one step; their gradients add up, as torch has it.
    Dense gradients of float32, float64, float16 and bfloat16. Everything else of the optimizer is reached through this.
    """

    def __init__(self, optimizer, comm, op="avg", bucket_bytes=BUCKET_BYTES, backward_passes=1):
        if op not in ("avg", "sum"):
            raise InvalidError(f'DistributedOptimizer: op "{op}" must be avg or sum', -1)
        self._optimizer, self._comm, self._op = optimizer, comm, op
        self._passes, self._lock = backward_passes, threading.Lock()
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
        self._all = _buckets(parameters, bucket_bytes)
        self._of = {p: bucket for bucket in self._all for p in bucket.parameters}
        self._count, self._next, self._synchronized = dict.fromkeys(parameters, 0), 0, False
        # a hook lives as long as what it hangs on
        self._keep = [self._watch(p) for p in parameters]

    @property
    def __class__(self):
        # schedulers take nothing but what calls itself an Optimizer
        return type(self.__dict__["_optimizer"]) if "_optimizer" in self.__dict__ else DistributedOptimizer

    def __getattr__(self, name):
        return getattr(self.__dict__["_optimizer"], name)

    def _watch(self, p):
        if hasattr(p, "register_post_accumulate_grad_hook"):
            return p.register_post_accumulate_grad_hook(self._ready)
        # before torch 2.1: the node that adds to .grad
        node = p.expand_as(p).grad_fn.next_functions[0][0]
        node.register_hook(lambda *_: self._ready(p))
        return node

    def _ready(self, p):
        with self._lock:
            self._synchronized = False
            self._count[p] += 1
            if self._count[p] != self._passes:
                return
            self._of[p].missing.discard(p)
            self._send(False)

    def _send(self, everything):
        while self._next < len(self._all) and (everything or not self._all[self._next].missing):
            self._all[self._next].start(self._comm, self._op)
            self._next += 1

    def synchronize(self):
        """Wait until all gradients are averaged; step() does it. For what looks at gradients before, such as
        clipping."""
        if self._synchronized:
            return
        with torch.no_grad():
            with self._lock:
                self._send(True)
            for bucket in self._all:
                bucket.request.wait()
                bucket.reset()
        self._count, self._next, self._synchronized = dict.fromkeys(self._count, 0), 0, True

    def step(self, closure=None):
        """synchronize(), and a step of the optimizer. Returns what that returns. Raises CommError."""
        if closure is not None:
            raise InvalidError("DistributedOptimizer: step() takes no closure, for it would run backward() again", -1)
        self.synchronize()
        self._synchronized = False
        return self._optimizer.step()

    def zero_grad(self, *args, **kwargs):
        """The optimizer's. Raises RuntimeError between backward() and step(), for the other ranks wait for those
        gradients."""
        if any(self._count.values()):
            raise RuntimeError("DistributedOptimizer: zero_grad() between backward() and step(); call synchronize() "
                               "or step() first")
        return self._optimizer.zero_grad(*args, **kwargs)
