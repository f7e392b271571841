# SPDX-License-Identifier: Apache-2.0
"""Operations of torch.distributed, as rows of a table: each is done by rh and by gloo, and both must come to the same.

A row is a function of a Turn that returns what the operation left, in lists of tensors and objects. It is done with
tensors that are contiguous, and by rh also with others. What a backend is not to pass it must refuse by an exception,
on every rank.
"""
import collections

ROWS = []
# why: for people, where one of both cannot. least: ranks that it needs
Row = collections.namedtuple("Row", "name call rh gloo why least")


def row(name, rh=True, gloo=True, why="", least=1):
    """A function that becomes a row of the table."""
    def add(call):
        ROWS.append(Row(name, call, rh, gloo, why, least))
        return call
    return add


class Turn:
    """What a row works with. gaps: its tensors are not contiguous."""

    def __init__(self, torch, backend, group, gaps):
        self.torch, self.dist, self.backend, self.group, self.gaps = torch, torch.distributed, backend, group, gaps
        self.rank, self.world = self.dist.get_rank(), self.dist.get_world_size()
        self.everybody = range(self.world)
        self.next = (self.rank + 1) % self.world
        self.last = (self.rank - 1) % self.world

    def room(self, *shape, dtype=None):
        """A tensor of zeros."""
        dtype = dtype or self.torch.float32
        if not self.gaps or len(shape) == 0:
            return self.torch.zeros(shape, dtype=self.torch.uint8).to(dtype)
        # turned over, and with every other column left out
        longer = self.torch.zeros((2 * shape[-1], *reversed(shape[:-1])), dtype=self.torch.uint8).to(dtype)
        return longer.permute(*reversed(range(len(shape))))[..., ::2]

    def make(self, *shape, dtype=None, rank=None, most=5):
        """A tensor of small whole numbers, which are another rank's, if that is given."""
        torch, rank = self.torch, self.rank if rank is None else rank
        made = self.room(*shape, dtype=dtype)
        numbers = (torch.arange(made.numel()) * 7 + rank * 3) % most
        if made.is_complex():
            numbers = torch.complex(numbers.float(), numbers.float() * 2 - 1)
        made.copy_(numbers.reshape(made.shape).to(made.dtype))
        return made

    def rooms(self, lengths, *shape, dtype=None):
        return [self.room(length, *shape, dtype=dtype) for length in lengths]

    def lent(self, names):
        """Types by name."""
        return [getattr(self.torch, name) for name in names.split()]


FLOATS, INTEGERS = "float32 float64 float16 bfloat16", "int8 uint8 int32 int64"
OTHERS = "int16 uint16 uint32 uint64"


def reduced(turn, types, ops):
    """All-reduces of every type by every operation."""
    results = []
    for dtype in turn.lent(types):
        for op in ops.split():
            # products of many stay small
            tensor = turn.make(3, 5, dtype=dtype, most=3 if op == "PRODUCT" else 5)
            turn.dist.all_reduce(tensor, getattr(turn.dist.ReduceOp, op), group=turn.group)
            results.append(tensor)
    return results


@row("`all_reduce`: SUM, PRODUCT, MIN, MAX of floats and integers")
def _(turn):
    return reduced(turn, f"{FLOATS} {INTEGERS}", "SUM PRODUCT MIN MAX")


@row("`all_reduce`: AVG")
def _(turn):
    tensor = turn.make(4, 6) * turn.world
    turn.dist.all_reduce(tensor, turn.dist.ReduceOp.AVG, group=turn.group)
    assert (tensor == sum(turn.make(4, 6, rank=rank) for rank in turn.everybody)).all()
    return tensor


@row("`all_reduce`: BAND, BOR, BXOR of integers")
def _(turn):
    return reduced(turn, INTEGERS, "BAND BOR BXOR")


@row("`all_reduce` of bool")
def _(turn):
    return reduced(turn, "bool", "SUM PRODUCT MIN MAX BAND BOR")


@row("`all_reduce` of complex64, complex128")
def _(turn):
    return reduced(turn, "complex64 complex128", "SUM")


@row("`all_reduce` of int16, uint16, uint32, uint64", gloo=False, why="gloo has no such types")
def _(turn):
    results = reduced(turn, OTHERS, "SUM MIN MAX PRODUCT BAND BOR BXOR")
    numbers = [turn.make(3, 5, dtype=turn.torch.int64, rank=rank) for rank in turn.everybody]
    assert all((results[i].to(turn.torch.int64) == sum(numbers)).all() for i in (0, 7, 14, 21))
    return results


@row("`all_reduce`, `reduce`: MIN and MAX keep NaN", gloo=False, why="gloo loses it, by the order of ranks", least=2)
def _(turn):
    for dtype in turn.lent(FLOATS):
        for of in turn.everybody:
            for op in (turn.dist.ReduceOp.MIN, turn.dist.ReduceOp.MAX):
                tensor = turn.make(67, dtype=dtype)
                tensor[3:60:2] = float("nan") if turn.rank == of else 1
                turn.dist.all_reduce(tensor, op, group=turn.group)
                assert tensor[3:60:2].isnan().all() and not tensor[4:60:2].isnan().any(), (dtype, of, op)
                tensor[3] = float("nan") if turn.rank == of else 1
                turn.dist.reduce(tensor, 0, op, group=turn.group)
                assert turn.rank != 0 or tensor[3].isnan(), (dtype, of, op)
    return []


def scaled(turn, *shape, dtype):
    """The sum of all ranks' tensors, each times a factor of its own; every number on the way is exact in float16."""
    return sum(turn.make(*shape, dtype=dtype, rank=rank).to(turn.torch.complex128) * (rank - 0.5)
               for rank in turn.everybody)


@row("`all_reduce`, `reduce`, `reduce_scatter` in all forms: PREMUL_SUM of floats and complex numbers", gloo=False,
     why="gloo does not have it")
def _(turn):
    dist, own = turn.dist, slice(2 * turn.rank, 2 * turn.rank + 2)
    for dtype in turn.lent(f"{FLOATS} complex64 complex128"):
        for factor in (turn.rank - 0.5, turn.torch.tensor([turn.rank - 0.5], dtype=turn.torch.float64)):
            op, want = dist._make_nccl_premul_sum(factor), scaled(turn, 2 * turn.world, dtype=dtype)
            tensor, more = turn.make(2 * turn.world, dtype=dtype), turn.make(3, 5, dtype=dtype)
            dist.all_reduce(tensor, op, group=turn.group)
            assert tensor.dtype == dtype and (tensor == want).all(), (dtype, tensor, want)
            dist.all_reduce_coalesced([more], op, group=turn.group)
            assert (more == scaled(turn, 3, 5, dtype=dtype)).all(), (dtype, more)
            given, out = turn.make(2 * turn.world, dtype=dtype), turn.room(2, dtype=dtype)
            dist.reduce_scatter_tensor(out, given, op, group=turn.group)
            assert (out == want[own]).all() and (given == turn.make(2 * turn.world, dtype=dtype)).all()
            dist.reduce_scatter(out, list(given.split(2)), op, group=turn.group)
            assert (out == want[own]).all() and (given == turn.make(2 * turn.world, dtype=dtype)).all()
            for root in turn.everybody:
                tensor = turn.make(2 * turn.world, dtype=dtype)
                dist.reduce(tensor, root, op, group=turn.group)
                assert (tensor == want).all() if turn.rank == root else (tensor == given).all()
    return []


@row("PREMUL_SUM of integers", rh=False, gloo=False, why="their factor would be one")
def _(turn):
    for dtype in turn.lent("int32 bool float8_e4m3fn"):
        try:
            turn.dist.all_reduce(turn.make(3, dtype=dtype), turn.dist._make_nccl_premul_sum(2.0), group=turn.group)
        except Exception:  # gloo's is another one than ours
            continue
        return []
    raise ValueError("all were refused")


@row("`all_reduce`, `reduce`, `reduce_scatter` in all forms of float8 (e4m3fn, e5m2): SUM, AVG, MIN, MAX, PRODUCT",
     gloo=False, why="gloo has no such types")
def _(turn):
    dist, own = turn.dist, slice(2 * turn.rank, 2 * turn.rank + 2)
    for dtype in turn.lent("float8_e4m3fn float8_e5m2"):
        # sums of four ranks are at most 8, which both types hold, as all on the way
        numbers = turn.torch.stack([turn.make(2 * turn.world, rank=rank, most=3) for rank in turn.everybody])
        for name, want in (("SUM", numbers.sum(0)), ("MIN", numbers.amin(0)), ("MAX", numbers.amax(0)),
                           ("PRODUCT", numbers.prod(0)), ("AVG", (numbers.sum(0) / turn.world).to(dtype).float())):
            op, given = getattr(dist.ReduceOp, name), turn.make(2 * turn.world, dtype=dtype, most=3)
            tensor, out = turn.make(2 * turn.world, dtype=dtype, most=3), turn.room(2, dtype=dtype)
            dist.all_reduce(tensor, op, group=turn.group)
            assert tensor.dtype == dtype and (tensor.float() == want).all(), (dtype, name, tensor, want)
            dist.reduce_scatter_tensor(out, given, op, group=turn.group)
            assert (out.float() == want[own]).all(), (dtype, name, out, want)
            dist.reduce_scatter(out, list(given.split(2)), op, group=turn.group)
            assert (out.float() == want[own]).all(), (dtype, name, out, want)
            tensor = turn.make(2 * turn.world, dtype=dtype, most=3)
            dist.reduce(tensor, 0, op, group=turn.group)
            assert turn.rank != 0 or (tensor.float() == want).all(), (dtype, name, tensor, want)
    return []


@row("`all_reduce` of sparse tensors", rh=False, why="use `.to_dense()`")
def _(turn):
    tensor = turn.make(3, 3).to_sparse()
    turn.dist.all_reduce(tensor, group=turn.group)
    return tensor.to_dense()


@row("`all_reduce_coalesced`, and all-reduces in a coalescing manager")
def _(turn):
    tensors = [turn.make(3, 4), turn.make(5), turn.make(1, 2)]
    turn.dist.all_reduce_coalesced(tensors, group=turn.group)
    again = [turn.make(3, 4), turn.make(5)]
    with turn.dist.distributed_c10d._coalescing_manager(turn.group, async_ops=True) as manager:
        for tensor in again:
            turn.dist.all_reduce(tensor, group=turn.group)
    manager.wait()
    return tensors, again


@row("`reduce` to every root, of floats, integers, complex")
def _(turn):
    results = []
    for root in turn.everybody:
        for dtype in turn.lent("float32 bfloat16 int64 uint8 complex64"):
            tensor = turn.make(3, 5, dtype=dtype)
            turn.dist.reduce(tensor, root, group=turn.group)
            # gloo leaves parts of the sum in the others
            results.append(tensor if turn.rank == root else None)
    return results


@row("`broadcast` from every root, of floats, integers, bool, complex")
def _(turn):
    results = []
    for root in turn.everybody:
        for dtype in turn.lent(f"{FLOATS} {INTEGERS} bool complex64"):
            results.append(turn.make(3, 5, dtype=dtype))
            turn.dist.broadcast(results[-1], root, group=turn.group)
    return results


@row("`broadcast` of int16, uint16 to uint64, float8", gloo=False, why="gloo has no such types")
def _(turn):
    for dtype in turn.lent(f"{OTHERS} float8_e4m3fn float8_e5m2"):
        tensor = turn.make(3, 5, dtype=dtype)
        turn.dist.broadcast(tensor, turn.world - 1, group=turn.group)
        assert (tensor.float() == turn.make(3, 5, rank=turn.world - 1)).all()
    return []


@row("`all_gather` into a list")
def _(turn):
    results = []
    for dtype in turn.lent("float32 int64 bool complex64"):
        results.append(turn.rooms([3] * turn.world, 2, dtype=dtype))
        turn.dist.all_gather(results[-1], turn.make(3, 2, dtype=dtype), group=turn.group)
    return results


@row("`all_gather` of different lengths", gloo=False, why="gloo needs equal ones", least=2)
def _(turn):
    lengths = [rank % 3 for rank in turn.everybody]
    out = turn.rooms(lengths, 2)
    turn.dist.all_gather(out, turn.make(lengths[turn.rank], 2), group=turn.group)
    assert all((out[rank] == turn.make(lengths[rank], 2, rank=rank)).all() for rank in turn.everybody)
    return out


@row("`all_gather_into_tensor`, as `torch.cat` has it")
def _(turn):
    results = []
    for dtype in turn.lent("float32 int64 bool complex64"):
        results.append(turn.room(3 * turn.world, 2, dtype=dtype))
        turn.dist.all_gather_into_tensor(results[-1], turn.make(3, 2, dtype=dtype), group=turn.group)
    return results


@row("`all_gather_into_tensor`, as `torch.stack` has it", gloo=False, why="gloo has the other form alone", least=2)
def _(turn):
    out = turn.room(turn.world, 3, 2)
    turn.dist.all_gather_into_tensor(out, turn.make(3, 2), group=turn.group)
    assert all((out[rank] == turn.make(3, 2, rank=rank)).all() for rank in turn.everybody)
    return out


@row("`all_gather_into_tensor`, `reduce_scatter_tensor` in a coalescing manager")
def _(turn):
    from torch.distributed.distributed_c10d import _coalescing_manager
    outs = [turn.room(3 * turn.world), turn.room(2 * turn.world)]
    with _coalescing_manager(turn.group, async_ops=True) as manager:
        turn.dist.all_gather_into_tensor(outs[0], turn.make(3), group=turn.group)
        turn.dist.all_gather_into_tensor(outs[1], turn.make(2), group=turn.group)
    manager.wait()
    assert all((outs[0][3 * rank:3 * rank + 3] == turn.make(3, rank=rank)).all() for rank in turn.everybody)
    given, outs = [turn.make(3 * turn.world), turn.make(2 * turn.world)], [turn.room(3), turn.room(2)]
    with _coalescing_manager(turn.group, async_ops=True) as manager:
        turn.dist.reduce_scatter_tensor(outs[0], given[0], group=turn.group)
        turn.dist.reduce_scatter_tensor(outs[1], given[1], group=turn.group)
    manager.wait()
    total = sum(turn.make(2 * turn.world, rank=rank) for rank in turn.everybody)
    assert (outs[1] == total[2 * turn.rank:2 * turn.rank + 2]).all()
    return []


@row("`all_gather_coalesced`")
def _(turn):
    out = [[turn.room(2, 3), turn.room(4)] for _ in turn.everybody]
    turn.dist.all_gather_coalesced(out, [turn.make(2, 3), turn.make(4)], group=turn.group)
    return out


@row("`reduce_scatter` of a list")
def _(turn):
    results = []
    for dtype in turn.lent("float32 bfloat16 int64"):
        for op in (turn.dist.ReduceOp.SUM, turn.dist.ReduceOp.MAX):
            results.append(turn.room(3, 2, dtype=dtype))
            turn.dist.reduce_scatter(results[-1], [turn.make(3, 2, dtype=dtype, rank=turn.rank + i)
                                                   for i in turn.everybody], op, group=turn.group)
    return results


@row("`reduce_scatter` of different lengths", least=2)
def _(turn):
    lengths = [rank % 3 for rank in turn.everybody]
    out = turn.room(lengths[turn.rank], 2)
    turn.dist.reduce_scatter(out, [turn.make(lengths[i], 2, rank=turn.rank + i) for i in turn.everybody],
                             group=turn.group)
    assert (out == sum(turn.make(lengths[turn.rank], 2, rank=turn.rank + i) for i in turn.everybody)).all()
    return out


@row("`reduce_scatter_tensor`, as `torch.cat` has it")
def _(turn):
    results = []
    for dtype in turn.lent("float32 float16 int64"):
        for op in (turn.dist.ReduceOp.SUM, turn.dist.ReduceOp.MIN):
            results.append(turn.room(3, 2, dtype=dtype))
            turn.dist.reduce_scatter_tensor(results[-1], turn.make(3 * turn.world, 2, dtype=dtype), op,
                                            group=turn.group)
    return results


@row("`reduce_scatter_tensor`, as `torch.stack` has it", gloo=False, why="gloo has the other form alone", least=2)
def _(turn):
    out = turn.room(3, 2)
    turn.dist.reduce_scatter_tensor(out, turn.make(turn.world, 3, 2), turn.dist.ReduceOp.MAX, group=turn.group)
    parts = [turn.make(turn.world, 3, 2, rank=rank)[turn.rank] for rank in turn.everybody]
    assert (out == turn.torch.stack(parts).amax(0)).all()
    return out


@row("`reduce_scatter`, `reduce_scatter_tensor` of complex64")
def _(turn):
    dtype = turn.torch.complex64
    one, other = turn.room(3, dtype=dtype), turn.room(3, dtype=dtype)
    turn.dist.reduce_scatter_tensor(one, turn.make(3 * turn.world, dtype=dtype), group=turn.group)
    total = sum(turn.make(3 * turn.world, dtype=dtype, rank=rank) for rank in turn.everybody)
    assert (one == total[3 * turn.rank:3 * turn.rank + 3]).all()
    turn.dist.reduce_scatter(other, [turn.make(3, dtype=dtype) for _ in turn.everybody], group=turn.group)
    assert (other == sum(turn.make(3, dtype=dtype, rank=rank) for rank in turn.everybody)).all()
    return []


@row("`all_to_all`, equal lengths")
def _(turn):
    results = []
    for dtype in turn.lent("float32 int64 bool complex64"):
        results.append(turn.rooms([2] * turn.world, 3, dtype=dtype))
        turn.dist.all_to_all(results[-1], [turn.make(2, 3, dtype=dtype, rank=turn.rank * 10 + i)
                                           for i in turn.everybody], group=turn.group)
    return results


@row("`all_to_all`, different lengths, some 0", gloo=False, why="gloo needs equal ones", least=2)
def _(turn):
    for dtype in turn.lent("float32 int64 bool complex64"):
        # what rank r has for rank s is as long as what s has for r
        given = [turn.make((turn.rank + i) % 3, 2, dtype=dtype) for i in turn.everybody]
        out = turn.rooms([(turn.rank + i) % 3 for i in turn.everybody], 2, dtype=dtype)
        turn.dist.all_to_all(out, given, group=turn.group)
        assert all(turn.torch.equal(out[i], turn.make((turn.rank + i) % 3, 2, dtype=dtype, rank=i))
                   for i in turn.everybody)
    return []


@row("`all_to_all_single`, equal parts")
def _(turn):
    results = []
    for dtype in turn.lent("float32 float64 int32 bool complex64"):
        results.append(turn.room(2 * turn.world, 3, dtype=dtype))
        turn.dist.all_to_all_single(results[-1], turn.make(2 * turn.world, 3, dtype=dtype), group=turn.group)
    return results


@row("`all_to_all_single`, split sizes, some 0")
def _(turn):
    results = []
    for dtype in turn.lent("float32 int64 complex64"):
        sizes = [(turn.rank + i) % 3 for i in turn.everybody]
        results.append(turn.room(sum(sizes), 3, dtype=dtype))
        turn.dist.all_to_all_single(results[-1], turn.make(sum(sizes), 3, dtype=dtype), sizes, sizes, group=turn.group)
        rows = [turn.rank + 1] * turn.world
        results.append(turn.room(sum(rows), dtype=dtype))
        given = [i + 1 for i in turn.everybody]
        turn.dist.all_to_all_single(results[-1], turn.make(sum(given), dtype=dtype), rows, given, group=turn.group)
    return results


@row("`gather` to every root")
def _(turn):
    results = []
    for root in turn.everybody:
        for dtype in turn.lent("float32 int64 bool"):
            out = turn.rooms([3] * turn.world, 2, dtype=dtype) if turn.rank == root else None
            turn.dist.gather(turn.make(3, 2, dtype=dtype), out, root, group=turn.group)
            results.append(out)
    return results


@row("`gather` of complex64", gloo=False, why="gloo has no such types")
def _(turn):
    out = turn.rooms([3] * turn.world, 2, dtype=turn.torch.complex64) if turn.rank == 0 else None
    turn.dist.gather(turn.make(3, 2, dtype=turn.torch.complex64), out, 0, group=turn.group)
    assert turn.rank != 0 or all((out[i] == turn.make(3, 2, dtype=turn.torch.complex64, rank=i)).all()
                                 for i in turn.everybody)
    return out


@row("`gather_single`", gloo=False, why="gloo does not have it")
def _(turn):
    # the output must be contiguous, for every backend
    out = turn.torch.zeros(turn.world, 3, 2) if turn.rank == 0 else None
    turn.dist.gather_single(turn.make(3, 2), out, 0, group=turn.group)
    return out


@row("`scatter` from every root, of floats, integers, bool, complex")
def _(turn):
    results = []
    for root in turn.everybody:
        for dtype in turn.lent("float32 int64 bool complex64"):
            given = [turn.make(3, 2, dtype=dtype, rank=10 * i) for i in turn.everybody] if turn.rank == root else None
            results.append(turn.room(3, 2, dtype=dtype))
            turn.dist.scatter(results[-1], given, root, group=turn.group)
    return results


@row("all of them with 0 elements")
def _(turn):
    dist, group, world = turn.dist, turn.group, turn.world
    empty = turn.room(0, 3)
    dist.all_reduce(empty, group=group)
    dist.broadcast(empty, 0, group=group)
    dist.reduce(empty, 0, group=group)
    out = turn.rooms([0] * world, 3)
    dist.all_gather(out, empty, group=group)
    dist.all_to_all_single(turn.room(0, 3), empty, group=group)
    dist.all_to_all_single(turn.room(0), turn.room(0), [0] * world, [0] * world, group=group)
    dist.gather(empty, turn.rooms([0] * world, 3) if turn.rank == 0 else None, 0, group=group)
    dist.scatter(empty, turn.rooms([0] * world, 3) if turn.rank == 0 else None, 0, group=group)
    return empty, out


@row("`barrier`, waited for or not")
def _(turn):
    turn.dist.barrier(group=turn.group)
    assert turn.dist.barrier(group=turn.group, async_op=True).wait() is not False
    return []


@row("`monitored_barrier`")
def _(turn):
    for everybody in (False, True):
        turn.dist.monitored_barrier(group=turn.group, wait_all_ranks=everybody)
    return []


@row("`all_gather_object`, `gather_object`, `broadcast_object_list`, `scatter_object_list`")
def _(turn):
    dist, group = turn.dist, turn.group
    own = {"rank": turn.rank, "long": "x" * 100 * turn.rank}
    everybody = [None] * turn.world
    dist.all_gather_object(everybody, own, group=group)
    gathered = [None] * turn.world if turn.rank == 0 else None
    dist.gather_object(own, gathered, 0, group=group)
    known = [turn.rank, own]
    dist.broadcast_object_list(known, turn.world - 1, group=group)
    mine = [None]
    dist.scatter_object_list(mine, [own] * turn.world if turn.rank == 0 else None, 0, group=group)
    return everybody, gathered, known, mine


@row("`send`, `recv`, with tags", least=2)
def _(turn):
    got = []
    for dtype in turn.lent("float32 int64 bool complex64"):
        if turn.rank == 0:
            for to in range(1, turn.world):
                for tag in (4, 3):
                    turn.dist.send(turn.make(3, 2, dtype=dtype, rank=to + tag), to, group=turn.group, tag=tag)
        else:
            for tag in (4, 3):
                got.append(turn.room(3, 2, dtype=dtype))
                turn.dist.recv(got[-1], 0, group=turn.group, tag=tag)
    return got


@row("`isend`, `irecv`, `batch_isend_irecv`", least=2)
def _(turn):
    dist, got = turn.dist, [turn.room(3, 2) for _ in range(3)]
    works = [dist.irecv(got[i], turn.last, group=turn.group, tag=i) for i in (0, 1)]
    works += [dist.isend(turn.make(3, 2, rank=turn.rank + i), turn.next, group=turn.group, tag=i) for i in (1, 0)]
    for work in works:
        work.wait()
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, turn.make(3, 2), turn.next, turn.group),
                                        dist.P2POp(dist.irecv, got[2], turn.last, turn.group)]):
        work.wait()
    return got


@row("`send_object_list`, `recv_object_list`", least=2)
def _(turn):
    got = [None, None]
    if turn.rank == 0:
        turn.dist.send_object_list([{"a": 1}, "text"], 1, group=turn.group)
    elif turn.rank == 1:
        turn.dist.recv_object_list(got, 0, group=turn.group)
    return got


@row("`recv`, `irecv` from any rank", least=2)
def _(turn):
    dist, others, seen = turn.dist, range(1, turn.world), []
    if turn.rank > 0:
        for tag in (5, 6):
            dist.send(turn.make(3, dtype=turn.torch.int64), 0, group=turn.group, tag=tag)
        return []
    for _ in others:
        got = turn.room(3, dtype=turn.torch.int64)
        seen.append(dist.recv(got, group=turn.group, tag=5))
        assert (got == turn.make(3, dtype=got.dtype, rank=seen[-1])).all()
    rooms = [turn.room(3, dtype=turn.torch.int64) for _ in others]
    works = [dist.irecv(got, group=turn.group, tag=6) for got in rooms]
    for work, got in zip(works, rooms):
        work.wait()
        seen.append(work._source_rank())
        assert (got == turn.make(3, dtype=got.dtype, rank=seen[-1])).all()
    assert sorted(seen) == sorted([*others, *others])
    return []


@row("`new_group` of some ranks, its roots and messages", least=2)
def _(turn):
    dist, results = turn.dist, []
    for ranks in (list(turn.everybody), list(range(0, turn.world, 2)), [turn.world - 1, 0], [1]):
        group = dist.new_group(ranks, backend=turn.backend)
        if turn.rank in ranks:
            tensor, out = turn.make(3, 2), turn.rooms([2] * len(ranks))
            dist.all_reduce(tensor, group=group)
            dist.broadcast(tensor, max(ranks), group=group)
            dist.all_to_all(out, [turn.make(2, rank=turn.rank + i) for i in range(len(ranks))], group=group)
            results += [tensor, out]
            dist.destroy_process_group(group)
    return results


@row("`async_op=True`: futures, `wait(timeout)`, many in flight")
def _(turn):
    import datetime
    tensors = [turn.make(100 * (i + 1)) for i in range(20)]
    works = [turn.dist.all_reduce(tensor, group=turn.group, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait(datetime.timedelta(seconds=200))
    doubled = turn.dist.all_reduce(tensors[0], group=turn.group,
                                   async_op=True).get_future().then(lambda done: done.value()[0] * 2)
    return tensors, doubled.wait()


@row("`split_group`, also of its results, and in another order of ranks", least=2)
def _(turn):
    dist, results = turn.dist, []
    for parts in ([[0], list(range(1, turn.world))], [[turn.world - 1, 0]], [[0, turn.world - 1]]):
        group = dist.split_group(turn.group, parts)
        mine = next((part for part in parts if turn.rank in part), None)
        if mine is None:
            assert group is dist.GroupMember.NON_GROUP_MEMBER
            continue
        assert dist.get_process_group_ranks(group) == mine and dist.get_rank(group) == mine.index(turn.rank)
        tensor, out = turn.make(3), turn.room(2 * len(mine))
        dist.all_reduce(tensor, group=group)
        dist.all_gather_into_tensor(out, turn.make(2), group=group)
        again = dist.split_group(group, [list(range(len(mine)))])
        last = turn.make(2)
        dist.broadcast(last, mine[-1], group=again)
        assert (last == turn.make(2, rank=mine[-1])).all()
        results += [tensor, out]
        dist.destroy_process_group(again)
        dist.destroy_process_group(group)
    return results
