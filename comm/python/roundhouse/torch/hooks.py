# SPDX-License-Identifier: Apache-2.0
"""A communication hook for DistributedDataParallel of any torch."""
import torch.distributed as dist

import torch
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
