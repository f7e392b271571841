# SPDX-License-Identifier: Apache-2.0
"""Communication hooks for DistributedDataParallel of any torch."""
import functools

import torch.distributed as dist

import torch
from roundhouse.torch.compression import Compression
from roundhouse.torch.work import Pending, waiter


def all_reduce_hook(comm, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients over the ranks of a Comm, while the backward pass goes on.

        comm = roundhouse.torch.comm_of()
        model = DistributedDataParallel(network)          # over gloo, for one
        model.register_comm_hook(comm, roundhouse.torch.all_reduce_hook)

    comm: a roundhouse.Comm of the same ranks as the process group. bucket: float32, float64, float16 or bfloat16, any
    length. The future's value is the bucket's tensor, averaged in place; CommError ends the backward pass.
    """
    tensor = bucket.buffer()
    pending = Pending([comm.all_reduce_start(tensor, "avg")], tensor)
    future = pending.future()
    waiter(comm).add(pending)
    return future


def compress_hook(state: Compression, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients compressed, while the backward pass goes on; for register_comm_hook().

    state: a Compression. bucket: floats in host memory; what is not float32 is compressed as such. The future's value
    is the bucket's tensor, averaged in place; CommError ends the backward pass. Buckets travel one after the other.
    """
    pending = state.average(bucket)
    future = pending.future()
    waiter(state.comm).add(pending)
    return future


def in_order(hook):
    """A communication hook that ends before the next bucket begins, for hooks whose call-backs start collectives.

        model.register_comm_hook(state, roundhouse.torch.in_order(powerSGD_hook))

    All ranks must start the same collectives in the same order. Call-backs come when their operation is done, and so,
    with several buckets, in an order of each rank's own; this is so with gloo, too. hook: a communication hook of
    DistributedDataParallel. Returns one. A bucket then no longer travels while the backward pass goes on.
    """

    @functools.wraps(hook)
    def ordered(state, bucket):
        future = hook(state, bucket)
        future.wait()
        return future

    return ordered
