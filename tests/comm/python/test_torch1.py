# SPDX-License-Identifier: Apache-2.0
"""Any torch, Debian's 1.13 for one: the hook, the optimizer, parameters. usage: test_torch1.py LIBRARY SOURCE"""
import os
import signal
import subprocess
import sys

import kit

PYTHON = "/usr/bin/python3"


def network(seed):
    import torch
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.Tanh(), torch.nn.Linear(50, 30), torch.nn.Tanh(),
                               torch.nn.Linear(30, 1))


def data(rank, step):
    import torch
    generator = torch.Generator().manual_seed(1000 * step + rank)
    x = torch.randn(16, 20, generator=generator)
    return x, x.sum(1, keepdim=True)


def loss_of(model, rank, step):
    x, y = data(rank, step)
    return ((model(x) - y) ** 2).mean()


def alone(world, steps, make, rate=0.02):
    """What one process would have learnt from the data of all ranks."""
    import torch
    model = make(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        (sum(loss_of(model, rank, step) for rank in range(world)) / world).backward()
        optimizer.step()
    return model


def check_equal(model, reference):
    import torch
    for name, value in reference.state_dict().items():
        assert torch.allclose(model.state_dict()[name], value, atol=1e-5), name


def check_same(model, comm):
    """To the bit on all ranks."""
    import torch
    for value in model.state_dict().values():
        everybody = torch.empty((comm.world, *value.shape), dtype=value.dtype)
        comm.all_gather(value, everybody)
        assert (everybody == everybody[0]).all()


@kit.case
def hook():
    import roundhouse.torch
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    comm = roundhouse.torch.comm_of()
    model = torch.nn.parallel.DistributedDataParallel(network(0), bucket_cap_mb=0.004)
    model.register_comm_hook(comm, roundhouse.torch.all_reduce_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for step in range(10):
        optimizer.zero_grad()
        loss_of(model, comm.rank, step).backward()
        optimizer.step()
    check_equal(model.module, alone(comm.world, 10, network))
    check_same(model.module, comm)
    dist.barrier()
    comm.close()


def train_until_a_rank_dies(model, comm):
    """Rank 1 is killed after some steps: torch makes its buckets anew after the first ones, over gloo."""
    for step in range(3):
        loss_of(model, comm.rank, step).backward()
    comm.barrier()
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        for step in range(3, 1000):
            loss_of(model, comm.rank, step).backward()
    except RuntimeError as error:
        assert "rank 1" in str(error) and "died" in str(error), error
        return
    raise AssertionError("nobody missed rank 1")


@kit.case
def hook_death():
    import roundhouse.torch
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    comm = roundhouse.torch.comm_of()
    model = torch.nn.parallel.DistributedDataParallel(network(0))
    model.register_comm_hook(comm, roundhouse.torch.all_reduce_hook)
    train_until_a_rank_dies(model, comm)


@kit.case
def optimizer():
    import roundhouse
    import roundhouse.torch
    import torch
    with roundhouse.Comm() as comm:
        model = network(comm.rank)
        roundhouse.torch.broadcast_parameters(model.state_dict(), comm)
        check_same(model, comm)
        for bucket, passes in ((100, 1), (1 << 20, 1), (1000, 2)):
            model = network(0)
            rate = 0.02 / passes
            wrapped = roundhouse.torch.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9),
                                                            comm, bucket_bytes=bucket, backward_passes=passes)
            for step in range(6):
                wrapped.zero_grad()
                for _ in range(passes):
                    loss_of(model, comm.rank, step).backward()
                wrapped.step()
            check_equal(model, alone(comm.world, 6, network))
            check_same(model, comm)
            assert wrapped.param_groups[0]["lr"] == rate and wrapped.state_dict()["state"]
        assert isinstance(wrapped, torch.optim.Optimizer)
        schedule = roundhouse.torch.warm_up(wrapped, comm.world, 1)
        for _ in range(2):
            wrapped.zero_grad()
            loss_of(model, comm.rank, 0).backward()
            wrapped.step()
            schedule.step()
        assert wrapped.param_groups[0]["lr"] == rate * comm.world
        check_same(model, comm)


@kit.case
def optimizer_order():
    """Ranks whose gradients come in different orders, or not at all."""
    import roundhouse
    import roundhouse.torch
    import torch
    with roundhouse.Comm() as comm:
        weights = [torch.nn.Parameter(torch.ones(5)) for _ in range(6)]
        wrapped = roundhouse.torch.DistributedOptimizer(torch.optim.SGD(weights, lr=1.0), comm, op="sum",
                                                        bucket_bytes=20)
        order = list(range(6))[comm.rank:] + list(range(6))[:comm.rank]
        for index in order:
            # the last is used by rank 0 alone
            if index < 5 or comm.rank == 0:
                (weights[index] * (index + 1)).sum().backward()
        try:
            wrapped.zero_grad()
        except RuntimeError as error:
            assert "synchronize" in str(error)
        else:
            raise AssertionError("gradients were thrown away")
        wrapped.synchronize()
        wrapped.synchronize()
        gradients = [float(weight.grad[0]) for weight in weights]
        assert gradients == [float((index + 1) * comm.world) for index in range(5)] + [6.0], gradients
        wrapped.step()
        assert float(weights[5].detach()[0]) == -5.0
        for call in (lambda: wrapped.step(lambda: 0), lambda: roundhouse.torch.DistributedOptimizer(wrapped, comm,
                                                                                                    op="max")):
            try:
                call()
            except roundhouse.InvalidError:
                continue
            raise AssertionError("was not refused")


@kit.case
def callbacks():
    """Call-backs of futures that wait for other operations: later ones, and ones that they start."""
    import roundhouse
    import torch
    from roundhouse.torch.work import Pending, forget, waiter
    with roundhouse.Comm() as comm:
        def reduced():
            tensor = torch.ones(10)
            pending = Pending([comm.all_reduce_start(tensor)], tensor)
            future = pending.future()
            waiter(comm).add(pending)
            return future

        futures = [reduced() for _ in range(6)]
        last = futures[-1]
        for future in reversed(futures[:-1]):
            last = future.then(lambda _, after=last: after.wait() + 1)
        assert (last.wait() == comm.world + 5).all()

        def nested(depth):
            return reduced().then(lambda done: done.value() + (nested(depth - 1).wait() if depth else 0))

        assert (nested(4).wait() == 5 * comm.world).all()
        forget(comm)


@kit.case
def ends_in_a_callback():
    """The program ends while a call-back runs in the background: with its own status, and the call-back whole."""
    import threading
    import time
    import roundhouse
    import torch
    from roundhouse.torch.work import Pending, waiter
    comm = roundhouse.Comm()
    tensor, entered = torch.ones(10), threading.Event()
    pending = Pending([comm.all_reduce_start(tensor)], tensor)

    def linger(_):
        entered.set()
        # the main thread has returned long before
        time.sleep(0.5)
        print("whole", flush=True)

    pending.future().then(linger)
    waiter(comm).add(pending)
    entered.wait()


@kit.case
def warm_up():
    import roundhouse.torch
    import torch
    sgd = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    schedule = roundhouse.torch.warm_up(sgd, 5, 4)
    rates = []
    for _ in range(6):
        rates.append(round(sgd.param_groups[0]["lr"], 6))
        sgd.step()
        schedule.step()
    assert rates == [0.1, 0.2, 0.3, 0.4, 0.5, 0.5], rates
    assert rates == [round(roundhouse.linear_scaled_lr(0.1, 5, step, 4), 6) for step in range(6)]


class Torch(kit.Ranks):
    def test_hook_averages(self):
        self.world(3, "hook", names="torch", python=PYTHON)

    def test_hook_names_who_died(self):
        self.world(2, "hook_death", names="torch", python=PYTHON, statuses=[0, -signal.SIGKILL])

    def test_callbacks_may_wait(self):
        self.world(2, "callbacks", python=PYTHON)

    def test_ends_in_a_callback(self):
        self.assertEqual(self.world(2, "ends_in_a_callback", python=PYTHON), ["whole\n"] * 2)

    def test_optimizer(self):
        self.world(2, "optimizer", python=PYTHON)

    def test_order_of_gradients_is_of_no_account(self):
        self.world(3, "optimizer_order", python=PYTHON)

    def test_warm_up(self):
        self.world(1, "warm_up", python=PYTHON)


if __name__ == "__main__":
    if "--case" not in sys.argv and subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL,
                                                   check=False).returncode != 0:
        kit.skip(f"{PYTHON} has no torch; install python3-torch")
    kit.main()
