# SPDX-License-Identifier: Apache-2.0
"""torch.distributed over the backend "rh", with torch 2. usage: test_torch2.py LIBRARY SOURCE [PYTHON]

PYTHON has torch 2; without it, the environment that examples/setup made for pytorch is used.
"""
import importlib.machinery
import importlib.util
import os
import signal
import subprocess
import sys

import kit
from test_torch1 import alone, check_equal, loss_of, network


def python():
    """A Python with torch 2, or the reason why there is none."""
    if len(sys.argv) > 3 and sys.argv[3] != "--case":
        return sys.argv[3]
    loader = importlib.machinery.SourceFileLoader("setup", os.path.join(kit.SOURCE, "examples", "setup"))
    setup = importlib.util.module_from_spec(importlib.util.spec_from_loader("setup", loader))
    loader.exec_module(setup)
    made = setup.Framework("pytorch", setup.PYTHON)
    if not made.ready():
        kit.skip("the environment of pytorch is not made; run examples/setup pytorch")
    return str(made.place / "bin" / "python")


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
    to, source = (rank + 1) % world, (rank - 1) % world
    got = torch.empty(3)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, full(torch, rank, 3), to), dist.P2POp(dist.irecv, got, source)])
    for work in works:
        work.wait()
    assert (got == source + 1).all()
    seen = [None] * world
    dist.all_gather_object(seen, {"rank": rank})
    assert seen == [{"rank": i} for i in range(world)]


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
    for refused in (torch.tensor([rank], dtype=torch.int16), torch.eye(2).to_sparse()):
        try:
            dist.all_reduce(refused)
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


class Torch2(kit.Ranks):
    def run_case(self, name, count=3, **more):
        self.world(count, name, names="torch", python=PYTHON, **more)

    def test_collectives(self):
        self.run_case("collectives")

    def test_exchanges(self):
        self.run_case("exchanges")

    def test_tensors(self):
        self.run_case("tensors", 2)

    def test_groups_and_a_second_world(self):
        self.run_case("groups", 4, further={"TEST_PORT": kit.free_port()})

    def test_asynchronous(self):
        self.run_case("asynchronous", 2)

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
    PYTHON = python()
    if subprocess.run([PYTHON, "-c", "import torch; assert int(torch.__version__.split('.')[0]) >= 2"], stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        kit.skip(f"{PYTHON} has no torch 2")
kit.main()
