# SPDX-License-Identifier: Apache-2.0
"""Roundhouse for torch.

Importing this registers the backend "rh" with torch 2.0 and newer; plain DistributedDataParallel trains with it:

    import torch.distributed, roundhouse.torch
    torch.distributed.init_process_group("rh")

Any torch, 1.13 included, can let DistributedDataParallel average its gradients with a communication hook, over whatever
backend the process group has: see all_reduce_hook(). Without DistributedDataParallel: see DistributedOptimizer.
"""
import torch as _torch

from roundhouse.rates import linear_scaled_lr
from roundhouse.torch.bootstrap import comm_of
from roundhouse.torch.compression import Compression
from roundhouse.torch.hooks import all_reduce_hook, compress_hook, in_order
from roundhouse.torch.optimizer import DistributedOptimizer, broadcast_parameters, warm_up

__all__ = ["Compression", "DistributedOptimizer", "all_reduce_hook", "comm_of", "compress_hook", "broadcast_parameters",
           "in_order", "linear_scaled_lr", "warm_up"]

if int(_torch.__version__.split(".")[0]) >= 2 and _torch.distributed.is_available():
    from roundhouse.torch.group import Group, register

    register()
    __all__ += ["Group"]
