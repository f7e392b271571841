# SPDX-License-Identifier: Apache-2.0
"""The shapes of a collective's tensors, compared among the ranks before it starts: for TORCH_DISTRIBUTED_DEBUG=DETAIL.

rh_comm compares operation, count, type, reduction and root of every collective. It moves elements: tensors of as many
elements in another shape are alike to it, as they are to gloo and nccl.
"""
import collections
import zlib

import torch
import torch.distributed as dist

from roundhouse.errors import InvalidError

# By operation, the argument whose tensors have the same shapes on all ranks. As in torch's own checks, exchanges of
# parts of different lengths, and what a root alone gives or gets, have none.
_ALIKE = {
    "allreduce": 0, "allreduce_coalesced": 0, "broadcast": 0, "reduce": 0, "allgather": 1, "allgather_coalesced": 0,
    "all_gather_single": 1, "_allgather_base": 1, "all_gather_single_coalesced": 1,
    "allgather_into_tensor_coalesced": 1, "reduce_scatter": 1, "reduce_scatter_single": 1, "_reduce_scatter_base": 1,
    "reduce_scatter_single_coalesced": 1, "reduce_scatter_tensor_coalesced": 1}
# Dimensions that an error shows.
_SHOWN = 8


def enabled():
    """Whether torch is to compare what its ranks post."""
    return dist.get_debug_level() == dist.DebugLevel.DETAIL


def _shapes(tensors):
    """The shapes of a tensor, or of those in lists, in their order."""
    if isinstance(tensors, torch.Tensor):
        return [tuple(tensors.shape)]
    return [shape for tensor in tensors for shape in _shapes(tensor)]


def _same(name, arguments):
    """The shapes that are to be the same on all ranks."""
    place = _ALIKE.get(name)
    if name == "allgather" and arguments and any(len(set(_shapes(outputs))) > 1 for outputs in arguments[0]):
        # of different lengths: all ranks give the same list of outputs
        place = 0
    # torch gives tensors by place; what comes by name is not compared, by no rank
    return [] if place is None or place >= len(arguments) else _shapes(arguments[place])


def _described(name, shapes):
    """Numbers for others: of the operation, of the shapes, and the first shape, for people."""
    first = shapes[0] if shapes else ()
    shown = first[:_SHOWN]
    return [zlib.crc32(name.encode()), zlib.crc32(repr(shapes).encode()), len(first), *shown,
            *[0] * (_SHOWN - len(shown))]


def _text(numbers):
    """The first shape, of _described() numbers: "[2, 3]"."""
    shown = [str(number) for number in numbers[3:3 + numbers[2]]]
    return f"[{', '.join(shown)}{', ...' if numbers[2] > _SHOWN else ''}]"


def compare(comm, ranks, name, arguments, seconds):
    """Raise InvalidError on all ranks where a collective's tensors have another shape on one of them. Collective.

    ranks: of the group, in the world. seconds: what it may take. Where ranks post different operations, nothing is
    raised: rh_comm finds that itself.
    """
    if comm.world == 1:
        return
    own = torch.tensor(_described(name, _same(name, arguments)), dtype=torch.int64)
    found = torch.empty(comm.world * len(own), dtype=torch.int64)
    comm.all_gather(own, found, timeout=seconds)
    rows = [tuple(row) for row in found.reshape(comm.world, -1).tolist()]
    usual = collections.Counter(rows).most_common(1)[0][0]
    odd = next((place for place, row in enumerate(rows) if row != usual), None)
    if odd is None or len({row[0] for row in rows}) > 1:
        return
    raise InvalidError(f"ranks post different collectives: rank {ranks[odd]} {name} of shape {_text(rows[odd])}, rank "
                       f"{ranks[rows.index(usual)]} of shape {_text(usual)}; all must have the same shapes under "
                       "TORCH_DISTRIBUTED_DEBUG=DETAIL", ranks[odd])
