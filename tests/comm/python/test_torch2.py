# SPDX-License-Identifier: Apache-2.0
"""torch.distributed over the backend "rh", with torch 2. usage: test_torch2.py LIBRARY SOURCE [PYTHON]

PYTHON has torch 2; without it, the environment that examples/setup made for pytorch is used.
"""
import os
import signal
import sys
import tempfile

import kit
import torch2
from test_torch1 import alone, check_equal, loss_of, network


def start():
    import roundhouse.torch  # noqa: F401 (registers the backend)
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("rh")
    return torch, dist, dist.get_rank(), dist.get_world_size()


def full(torch, rank, *shape):
    return torch.full(shape, float(rank + 1))


def in_ranks(world):
    return [float(rank + 1) for rank in range(world)]


@kit.case
def collectives():
    torch, dist, rank, world = start()
    total = sum(in_ranks(world))
    t = full(torch, rank, 3, 5)
    dist.all_reduce(t)
    assert (t == total).all()
    for op, want in ((dist.ReduceOp.AVG, total / world), (dist.ReduceOp.MAX, world), (dist.ReduceOp.MIN, 1)):
        t = full(torch, rank, 4)
        dist.all_reduce(t, op)
        assert (t == want).all(), op
    out = [torch.empty(2) for _ in range(world)]
    dist.all_gather(out, full(torch, rank, 2))
    assert [float(o[1]) for o in out] == in_ranks(world)
    out = torch.empty(2 * world)
    dist.all_gather_into_tensor(out, full(torch, rank, 2))
    assert out[::2].tolist() == in_ranks(world)
    out = torch.empty(2)
    dist.reduce_scatter_tensor(out, torch.arange(2.0 * world))
    assert out.tolist() == [2.0 * rank * world, (2.0 * rank + 1) * world]
    dist.reduce_scatter(out, [full(torch, rank, 2) * (i + 1) for i in range(world)])
    assert (out == total * (rank + 1)).all()
    t = full(torch, rank, 3)
    dist.reduce(t, world - 1)
    assert (t == (total if rank == world - 1 else rank + 1)).all()
    t = full(torch, rank, 3)
    dist.broadcast(t, 1)
    assert (t == 2).all()
    dist.barrier()


@kit.case
def exchanges():
    torch, dist, rank, world = start()
    out = [torch.empty(2) for _ in range(world)] if rank == 1 else None
    dist.gather(full(torch, rank, 2), out, 1)
    assert rank != 1 or [float(o[0]) for o in out] == in_ranks(world)
    got = torch.empty(2)
    dist.scatter(got, [full(torch, i, 2) for i in range(world)] if rank == 1 else None, 1)
    assert (got == rank + 1).all()
    out = [torch.empty(rank + 1) for _ in range(world)]
    dist.all_to_all(out, [full(torch, rank, i + 1) for i in range(world)])
    assert [float(o[0]) for o in out] == in_ranks(world)
    sizes = [i + 1 for i in range(world)]
    out = torch.empty((rank + 1) * world, 2)
    dist.all_to_all_single(out, full(torch, rank, sum(sizes), 2), [rank + 1] * world, sizes)
    assert out[:: rank + 1, 0].tolist() == in_ranks(world)
    # empty parts, types that are only moved, tensors with gaps
    sizes = [i % 2 * 3 for i in range(world)]
    out = torch.empty(rank % 2 * 3 * world, dtype=torch.complex64)
    dist.all_to_all_single(out, torch.full((sum(sizes),), complex(rank, 1)), [rank % 2 * 3] * world, sizes)
    assert out.tolist() == [complex(i, 1) for i in range(world) for _ in range(rank % 2 * 3)]
    out = [torch.empty(2, 3, dtype=torch.int16).t() for _ in range(world)]
    dist.all_to_all(out, [torch.full((2, 3), 100 * rank + i, dtype=torch.int16).t() for i in range(world)])
    assert [int(o[1, 1]) for o in out] == [100 * i + rank for i in range(world)]
    out = torch.empty(world, 2, dtype=torch.bool)
    dist.all_to_all_single(out, torch.eye(world, 2, dtype=torch.bool))
    assert out.tolist() == [[rank == 0, rank == 1]] * world
    got = torch.empty(4, 2).t()
    dist.scatter(got, [full(torch, i, 4, 2).t() for i in range(world)] if rank == 0 else None, 0)
    assert (got == rank + 1).all()
    t = full(torch, rank, 4, 2).t()
    dist.reduce(t, 1, dist.ReduceOp.MAX)
    assert (t == (world if rank == 1 else rank + 1)).all()
    to, source = (rank + 1) % world, (rank - 1) % world
    got = torch.empty(3)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, full(torch, rank, 3), to),
                                    dist.P2POp(dist.irecv, got, source)])
    for work in works:
        work.wait()
    assert (got == source + 1).all()
    seen = [None] * world
    dist.all_gather_object(seen, {"rank": rank})
    assert seen == [{"rank": i} for i in range(world)]


@kit.case
def exchange_mismatch():
    torch, dist, rank, world = start()
    sizes = [2] * world
    if rank == 1:
        sizes[0] = 1
    try:
        dist.all_to_all_single(torch.empty(2 * world), torch.empty(sum(sizes)), [2] * world, sizes)
        dist.barrier()
    except ValueError as error:
        assert "rank 1 has 1 elements for rank 0, which expects 2" in str(error), error
        return
    raise AssertionError("nobody noticed")


@kit.case
def tensors():
    torch, dist, rank, world = start()
    total = sum(in_ranks(world))
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64, torch.uint8):
        t = full(torch, rank, 5).to(dtype)
        dist.all_reduce(t)
        assert t.dtype == dtype and (t == total).all(), dtype
    gaps = full(torch, rank, 6, 4).t()[:, ::2]
    dist.all_reduce(gaps)
    assert (gaps == total).all()
    flags = torch.tensor([rank == 0, True, False])
    dist.all_reduce(flags)
    assert flags.tolist() == [True, True, False]
    t = torch.complex(full(torch, rank, 2), -full(torch, rank, 2))
    dist.all_reduce(t)
    assert (t == total * (1 - 1j)).all()
    moved = torch.tensor([rank], dtype=torch.int16)
    dist.broadcast(moved, 1)
    assert moved.tolist() == [1]
    for refused, op in ((torch.ones(1), dist.ReduceOp.BAND), (torch.eye(2).to_sparse(), dist.ReduceOp.SUM)):
        try:
            dist.all_reduce(refused, op)
        except ValueError:
            continue
        raise AssertionError("was not refused")
    t = full(torch, rank, 1)
    dist.all_reduce(t)


@kit.case
def groups():
    torch, dist, rank, world = start()
    even, odd = list(range(0, world, 2)), list(range(1, world, 2))
    halves = [dist.new_group(even), dist.new_group(odd)]
    mine = even if rank in even else odd
    t = full(torch, rank, 4)
    dist.all_reduce(t, group=halves[rank % 2])
    assert (t == sum(i + 1 for i in mine)).all()
    again = dist.new_group(list(range(world)))
    dist.all_reduce(t, group=again)
    dist.destroy_process_group()
    # and once more, in the same process
    os.environ["MASTER_PORT"] = os.environ["TEST_PORT"]
    dist.init_process_group("rh")
    t = full(torch, rank, 4)
    dist.all_reduce(t)
    assert (t == sum(in_ranks(world))).all()
    dist.destroy_process_group()


@kit.case
def asynchronous():
    torch, dist, rank, world = start()
    if rank == 0:
        # nobody else is there: a call that waited would never come back
        work = dist.all_reduce(full(torch, rank, 1000), async_op=True)
        future = work.get_future()
        assert not work.is_completed() and not future.done()
        dist.distributed_c10d._get_default_store().set("go", "1")
        assert (future.wait()[0] == sum(in_ranks(world))).all()
        assert work.is_completed() and work.wait() and work.get_future().done()
    else:
        dist.distributed_c10d._get_default_store().wait(["go"])
        dist.all_reduce(full(torch, rank, 1000))
    works = [dist.all_reduce(full(torch, rank, 100 * (i + 1)), async_op=True) for i in range(20)]
    assert all((work.get_future().wait()[0] == sum(in_ranks(world))).all() for work in reversed(works))


@kit.case
def ddp():
    torch, _, rank, world = start()
    for hooked in (False, True):
        model = torch.nn.parallel.DistributedDataParallel(network(0), bucket_cap_mb=0.004)
        if hooked:
            import roundhouse.torch
            model.register_comm_hook(torch.distributed.group.WORLD.comm, roundhouse.torch.all_reduce_hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        for step in range(10):
            optimizer.zero_grad()
            loss_of(model, rank, step).backward()
            optimizer.step()
        check_equal(model.module, alone(world, 10, network))


@kit.case
def ddp_death():
    torch, dist, rank, _ = start()
    model = torch.nn.parallel.DistributedDataParallel(network(0))
    for step in range(3):
        loss_of(model, rank, step).backward()
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        for step in range(1000):
            loss_of(model, rank, step).backward()
    except RuntimeError as error:
        assert "rank 1" in str(error) and "died" in str(error), error
        return
    raise AssertionError("nobody missed rank 1")


@kit.case
def sharded():
    torch, _, rank, world = start()
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = network(0)
    mesh = init_device_mesh("cpu", (world,))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for step in range(5):
        optimizer.zero_grad()
        loss_of(model, rank, step).backward()
        optimizer.step()
    whole = {name: value.full_tensor() for name, value in model.state_dict().items()}
    reference = alone(world, 5, network)
    assert all(torch.allclose(whole[name], value, atol=1e-5) for name, value in reference.state_dict().items())
    model = torch.nn.parallel.DistributedDataParallel(network(0))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.02, momentum=0.9)
    for step in range(5):
        optimizer.zero_grad()
        loss_of(model, rank, step).backward()
        optimizer.step()
    check_equal(model.module, reference)


@kit.case
def beside_gloo():
    import roundhouse.torch
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    everybody = dist.new_group(backend="rh")
    t = full(torch, rank, 4)
    dist.all_reduce(t, group=everybody)
    assert (t == sum(in_ranks(world))).all()
    assert roundhouse.torch.comm_of(everybody) is everybody.comm
    for _ in range(2):
        with roundhouse.torch.comm_of() as comm:
            t = full(torch, rank, 4)
            assert (comm.all_reduce(t) == sum(in_ranks(world))).all()
    dist.barrier()


@kit.case
def some_beside_gloo():
    import roundhouse.torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    try:
        dist.new_group([0, 1], backend="rh")
    except roundhouse.InvalidError as error:
        assert "init_process_group" in str(error)
    else:
        assert dist.get_rank() == 2
    some = dist.new_group([0, 1])
    if dist.get_rank() < 2:
        try:
            roundhouse.torch.comm_of(some)
        except roundhouse.InvalidError:
            pass
        else:
            raise AssertionError("was not refused")
    dist.barrier()


@kit.case
def callbacks():
    """Call-backs that wait for other operations, posted before and after, and for operations of their own."""
    torch, dist, rank, world = start()
    total = sum(in_ranks(world))
    works = [dist.all_reduce(full(torch, rank, 10), async_op=True) for _ in range(6)]
    futures = [work.get_future() for work in works]
    # each waits for the next: six call-backs wait at one time
    last = futures[-1].then(lambda future: future.value()[0])
    for future in reversed(futures[:-1]):
        last = future.then(lambda _, after=last: after.wait() + 1)
    assert (last.wait() == total + 5).all()

    def nested(depth):
        future = dist.all_reduce(full(torch, rank, 10), async_op=True).get_future()
        return future.then(lambda done: done.value()[0] + (nested(depth - 1).wait() if depth else 0))

    assert (nested(4).wait() == 5 * total).all()

    def raises(_):
        raise ValueError("of the call-back")

    for problem in (dist.all_reduce(full(torch, rank, 1), async_op=True).get_future().then(raises),):
        try:
            problem.wait()
        except Exception as error:
            assert "of the call-back" in str(error)
        else:
            raise AssertionError("an exception was lost")
    dist.barrier()
    dist.destroy_process_group()


@kit.case
def power_sgd():
    torch, dist, rank, world = start()
    import roundhouse.torch
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    # torch's batched hook gives one matrix to a helper that takes a batch of them, and fails with every backend
    whole = powerSGD_hook._orthogonalize
    powerSGD_hook._orthogonalize = lambda matrices, epsilon=0: whole(matrices.view(-1, *matrices.shape[-2:]), epsilon)
    for hook in (powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook):
        # with several buckets, the order of what call-backs post is only the same everywhere if buckets come one at a
        # time
        for megabytes, used in ((25, hook), (0.004, roundhouse.torch.in_order(hook))):
            model = torch.nn.parallel.DistributedDataParallel(network(0), bucket_cap_mb=megabytes)
            state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2,
                                                min_compression_rate=0.5)
            model.register_comm_hook(state, used)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.002)
            losses = []
            for step in range(12):
                optimizer.zero_grad()
                loss = loss_of(model, rank, step % 3)
                loss.backward()
                optimizer.step()
                losses.append(float(loss.detach()))
            assert sum(losses[-3:]) < sum(losses[:3]), losses
            for value in model.module.state_dict().values():
                everybody = [torch.empty_like(value) for _ in range(world)]
                dist.all_gather(everybody, value)
                assert all((one == value).all() for one in everybody)


def kinds_of(torch, dist, call):
    """Which backends' operations torch's profiler saw."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    return {event.key.split(":")[0] for event in profile.key_averages()} & {"rh", "gloo"}


@kit.case
def mixed():
    import roundhouse
    import roundhouse.torch
    import torch
    import torch.distributed as dist
    ports = os.environ["TEST_PORTS"].split(",")
    gpu = torch.cuda.is_available()
    for backend, kind in (("rh", "rh"), ("cpu:gloo,cuda:rh", "gloo"), ("cuda:rh,cpu:gloo", "gloo"),
                          ("cpu:rh,cuda:nccl", "rh"), ("cpu:rh", "rh")):
        os.environ["MASTER_PORT"] = ports.pop()
        dist.init_process_group(backend)
        rank, world = dist.get_rank(), dist.get_world_size()
        assert dist.get_backend() == backend, dist.get_backend()
        for group in (None, dist.new_group(), dist.new_group(list(range(world)), backend=backend)):
            t = full(torch, rank, 4)
            assert kinds_of(torch, dist, lambda: dist.all_reduce(t, group=group)) == {kind}, (backend, group)
            assert (t == sum(in_ranks(world))).all()
            carrier = (group or dist.group.WORLD)._get_backend(torch.device("cpu"))
            assert isinstance(carrier, dist.ProcessGroupGloo) == (kind == "gloo")
            objects = [None] * world
            dist.all_gather_object(objects, {"rank": rank}, group=group)
            assert objects == [{"rank": i} for i in range(world)]
            out = [torch.empty(2) for _ in range(world)]
            dist.all_gather(out, full(torch, rank, 2), group=group)
            assert [float(o[1]) for o in out] == in_ranks(world)
            dist.broadcast(t, 0, group=group)
            if rank == 0:
                dist.send(t, 1, group=group)
            elif rank == 1:
                dist.recv(t, 0, group=group)
            dist.barrier(group=group)
            if gpu:
                on_gpu = full(torch, rank, 4).cuda()
                dist.all_reduce(on_gpu, group=group)
                assert (on_gpu == sum(in_ranks(world))).all()
        assert roundhouse.torch.comm_of().world == world
        dist.destroy_process_group()
    os.environ["MASTER_PORT"] = ports.pop()
    dist.init_process_group("cuda:rh")
    try:
        dist.all_reduce(torch.ones(1))
    except roundhouse.InvalidError as error:
        assert "no backend for tensors of cpu" in str(error) and "cuda:rh" in str(error), error
    else:
        raise AssertionError("was not refused")
    dist.destroy_process_group()


@kit.case
def coalesced():
    torch, dist, rank, world = start()
    from torch.distributed.distributed_c10d import _coalescing_manager
    total = sum(in_ranks(world))
    tensors = [full(torch, rank, 3) for _ in range(4)]
    with _coalescing_manager(async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    manager.wait()
    assert all((tensor == total).all() for tensor in tensors)
    tensors = [full(torch, rank, 3) for _ in range(2)]
    with _coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
        dist.broadcast(tensors[0], 0)
        dist.broadcast(tensors[1], 1)
    manager.wait()
    assert [float(tensor[0]) for tensor in tensors] == [1.0, 2.0]


@kit.case
def saved_in_background():
    torch, dist, rank, _ = start()
    import torch.distributed.checkpoint as checkpoint
    import torch.distributed.checkpoint.state_dict_saver  # noqa: F401
    folder = os.environ["TEST_FOLDER"]
    checkpoint.async_save({"weights": torch.arange(5.0)}, checkpoint_id=folder).result()
    loaded = {"weights": torch.zeros(5)}
    checkpoint.load(loaded, checkpoint_id=folder)
    assert (loaded["weights"] == torch.arange(5.0)).all()
    dist.barrier()


def refused_late(call):
    try:
        call()
    except TimeoutError as error:
        return str(error)
    raise AssertionError("there was no time limit")


@kit.case
def time_limits():
    """A group's time limit counts for its operations and messages, the call's for its waiting alone. The default is
    half an hour."""
    import datetime
    torch, dist, rank, _ = start()
    store = dist.distributed_c10d._get_default_store()
    soon, groups = datetime.timedelta(seconds=3), []
    for _ in range(3):
        # torch meets within the limit, too
        dist.barrier()
        groups.append(dist.new_group(timeout=soon))
    reduced, sent, received = groups
    if rank == 0:
        work = dist.all_reduce(full(torch, rank, 4), async_op=True)
        assert "goes on" in refused_late(lambda: work.wait(soon))
        assert not work.is_completed()
        store.set("go", "1")
        assert work.wait() and work.is_completed() and work.wait(soon)
        refused_late(lambda: dist.all_reduce(full(torch, rank, 4), group=reduced))
        refused_late(lambda: dist.recv(full(torch, rank, 4), 1, group=received))
        # more than what is in flight between two ranks
        refused_late(lambda: dist.send(full(torch, rank, 64 << 20), 1, group=sent))
        store.set("over", "1")
    else:
        store.wait(["go"])
        dist.all_reduce(full(torch, rank, 4))
        store.wait(["over"])


@kit.case
def time_limit_of_all():
    import datetime
    import roundhouse.torch  # noqa: F401
    import torch
    import torch.distributed as dist
    dist.init_process_group("rh", timeout=datetime.timedelta(seconds=kit.TIMEOUT))
    store, rank = dist.distributed_c10d._get_default_store(), dist.get_rank()
    dist.barrier()
    if rank == 0:
        dist.group.WORLD.set_timeout(datetime.timedelta(seconds=1))
        refused_late(lambda: dist.all_reduce(torch.ones(4)))
        store.set("over", "1")
    else:
        store.wait(["over"], datetime.timedelta(seconds=kit.TIMEOUT))


def fault_of(call):
    """What a call raises."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return "nothing"


@kit.case
def detail():
    """Under TORCH_DISTRIBUTED_DEBUG=DETAIL each rank names the one whose collective differs, whatever differs."""
    import roundhouse.torch  # noqa: F401
    import torch
    import torch.distributed as dist
    assert dist.get_debug_level() == dist.DebugLevel.DETAIL
    ways = {
        "operation": lambda odd: dist.barrier() if odd else dist.all_reduce(torch.ones(4)),
        "count": lambda odd: dist.all_reduce(torch.ones(5 if odd else 4)),
        "type": lambda odd: dist.all_reduce(torch.ones(4, dtype=torch.int32 if odd else torch.float32)),
        "reduction": lambda odd: dist.all_reduce(torch.ones(4), dist.ReduceOp.MAX if odd else dist.ReduceOp.SUM),
    }
    for port, (name, call) in zip(os.environ["TEST_PORTS"].split(","), ways.items(), strict=True):
        os.environ["MASTER_PORT"] = port
        dist.init_process_group("rh")
        odd = dist.get_rank() == 1
        dist.barrier()
        text = fault_of(lambda: call(odd))
        assert "different collectives" in text and ": rank 1 " in text, (name, text)
        dist.destroy_process_group()


# collectives of as many elements on all ranks, whose shapes differ
SHAPED = {
    "all_reduce": lambda torch, dist, shape, world: dist.all_reduce(torch.ones(shape)),
    "broadcast": lambda torch, dist, shape, world: dist.broadcast(torch.ones(shape), 0),
    "reduce": lambda torch, dist, shape, world: dist.reduce(torch.ones(shape), 0),
    "all_gather": lambda torch, dist, shape, world: dist.all_gather([torch.empty(6) for _ in range(world)],
                                                                    torch.ones(shape)),
    "all_gather_into_tensor": lambda torch, dist, shape, world: dist.all_gather_into_tensor(torch.empty(6 * world),
                                                                                            torch.ones(shape)),
    "reduce_scatter": lambda torch, dist, shape, world: dist.reduce_scatter(torch.empty(shape), [torch.ones(shape)]
                                                                            * world),
}


@kit.case
def shapes():
    """Tensors of as many elements in other shapes are alike, as with gloo."""
    torch, dist, rank, world = start()
    gloo = dist.new_group(backend="gloo")
    for group in (None, gloo):
        t = full(torch, rank, *((3, 2) if rank == 1 else (2, 3)))
        dist.all_reduce(t, group=group)
        assert (t == sum(in_ranks(world))).all()
        t = full(torch, rank, *((6,) if rank == 1 else (2, 3)))
        dist.broadcast(t, 0, group=group)
        assert (t == 1).all()
    for call in SHAPED.values():
        call(torch, dist, (3, 2) if rank == 1 else (2, 3), world)
    dist.barrier()


@kit.case
def detail_of_shapes():
    """Under TORCH_DISTRIBUTED_DEBUG=DETAIL all ranks refuse them, and name who differs; the group goes on."""
    torch, dist, rank, world = start()
    pair = dist.new_group([1, 2])
    for name, call in SHAPED.items():
        text = fault_of(lambda: call(torch, dist, (3, 2) if rank == 1 else (2, 3), world))
        assert ": rank 1 " in text and "of shape [3, 2], rank 0 of shape [2, 3]" in text, (name, text)
    if rank > 0:
        text = fault_of(lambda: dist.all_reduce(torch.ones(rank, 2 // rank), group=pair))
        assert ": rank 2 allreduce of shape [2, 1], rank 1 of shape [1, 2]" in text, text
    # what may differ: lengths of gathered parts, and what a root alone has
    out = [torch.empty(i + 1) for i in range(world)]
    dist.all_gather(out, full(torch, rank, rank + 1))
    assert [float(o[0]) for o in out] == in_ranks(world)
    got = torch.empty(2)
    dist.scatter(got, [full(torch, i, 2) for i in range(world)] if rank == 1 else None, 1)
    assert (got == rank + 1).all()
    objects = [None] * world
    dist.all_gather_object(objects, "x" * rank)
    assert objects == ["x" * i for i in range(world)]
    model = torch.nn.parallel.DistributedDataParallel(network(0))
    loss_of(model, rank, 0).backward()
    t = full(torch, rank, 4)
    dist.all_reduce(t)
    assert (t == sum(in_ranks(world))).all()


@kit.case
def detail_of_others():
    """The backends beside rh are checked by torch, as they are where torch makes them."""
    import roundhouse.torch  # noqa: F401
    import torch
    import torch.distributed as dist
    dist.init_process_group("cpu:gloo,cuda:rh")
    rank = dist.get_rank()
    t = full(torch, rank, 4)
    dist.all_reduce(t)
    assert (t == sum(in_ranks(dist.get_world_size()))).all()
    text = fault_of(lambda: dist.all_reduce(torch.ones(5 if rank == 1 else 4)))
    assert "mismatch between collectives" in text, text


@kit.case
def no_devices():
    """torch 2.0 has no `devices` in register_backend()."""
    import inspect
    import torch
    import torch.distributed as dist
    whole = dist.Backend.register_backend

    def register_backend(name, func, extended_api=False):
        return whole(name, func, extended_api)

    dist.Backend.register_backend = register_backend
    import roundhouse.torch  # noqa: F401
    assert "devices" not in inspect.signature(dist.Backend.register_backend).parameters
    dist.init_process_group("rh")
    t = full(torch, dist.get_rank(), 4)
    dist.all_reduce(t)
    assert (t == sum(in_ranks(dist.get_world_size()))).all()


def spawned(rank, world, port):
    import roundhouse.torch  # noqa: F401
    import torch
    import torch.distributed as dist
    dist.init_process_group("rh", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    t = full(torch, rank, 4)
    dist.all_reduce(t)
    assert (t == sum(in_ranks(world))).all()


@kit.case
def spawn():
    import torch.multiprocessing
    torch.multiprocessing.spawn(spawned, (2, int(os.environ["TEST_PORT"])), 2)


class Torch2(kit.Ranks):
    def run_case(self, name, count=3, **more):
        self.world(count, name, names="torch", python=PYTHON, **more)

    def test_collectives(self):
        self.run_case("collectives")

    def test_exchange_mismatch(self):
        self.run_case("exchange_mismatch")

    def test_exchanges(self):
        self.run_case("exchanges")

    def test_tensors(self):
        self.run_case("tensors", 2)

    def test_groups_and_a_second_world(self):
        self.run_case("groups", 4, further={"TEST_PORT": kit.free_port()})

    def test_asynchronous(self):
        self.run_case("asynchronous", 2)

    def test_callbacks_may_wait(self):
        self.run_case("callbacks", 2)

    def test_power_sgd(self):
        self.run_case("power_sgd", 2)

    def test_a_backend_for_each_device(self):
        self.run_case("mixed", 2, further={"TEST_PORTS": kit.free_ports(6)})

    def test_coalesced(self):
        self.run_case("coalesced", 2)

    def test_a_checkpoint_in_the_background(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_case("saved_in_background", 2, further={"TEST_FOLDER": folder})

    def test_time_limits(self):
        self.run_case("time_limits", 2)

    def test_time_limit_of_all(self):
        self.run_case("time_limit_of_all", 2)

    def test_detail_names_the_rank_that_differs(self):
        self.run_case("detail", further={"TORCH_DISTRIBUTED_DEBUG": "DETAIL", "TEST_PORTS": kit.free_ports(4)})

    def test_shapes_of_one_size_are_alike(self):
        self.run_case("shapes", 2)

    def test_detail_names_the_rank_whose_shape_differs(self):
        self.run_case("detail_of_shapes", further={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"})

    def test_detail_checks_the_backends_beside(self):
        self.run_case("detail_of_others", further={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"})

    def test_register_backend_without_devices(self):
        self.run_case("no_devices", 2)

    def test_rank_and_world_of_the_caller_count(self):
        for left in ({"WORLD_SIZE": 7}, {"RANK": 5, "WORLD_SIZE": 7}):
            self.world(1, "spawn", names="none", python=PYTHON, further=left | {"TEST_PORT": kit.free_port()})

    def test_ddp(self):
        self.run_case("ddp")

    def test_ddp_names_who_died(self):
        self.run_case("ddp_death", 2, statuses=[0, -signal.SIGKILL])

    def test_sharded(self):
        self.run_case("sharded", 2)

    def test_beside_gloo(self):
        self.run_case("beside_gloo", 2)

    def test_group_of_some_needs_the_group_of_all(self):
        self.run_case("some_beside_gloo")


if "--case" not in sys.argv:
    PYTHON = torch2.python()
# not in what torch's spawn() starts
if __name__ == "__main__":
    kit.main()
