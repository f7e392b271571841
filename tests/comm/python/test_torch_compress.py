# SPDX-License-Identifier: Apache-2.0
"""Compression as a hook of DistributedDataParallel, and what it does to the example that reads digits; docs/comm.md
shows that as a table, which is compared. usage: test_torch_compress.py LIBRARY SOURCE [PYTHON]
"""
import os
import re
import signal
import sys

import kit
import torch2
from test_torch1 import alone, check_equal, check_same, loss_of, network, train_until_a_rank_dies

# What an accuracy on 297 images may differ on another machine, whose sums are rounded in another order.
ACCURACY = 0.02


def start(backend="rh"):
    import roundhouse.torch
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    return torch, dist, roundhouse.torch.comm_of()


@kit.case
def hook():
    """Several buckets in flight, over gloo and rh; ranks stay the same to the bit, and learn what one alone would."""
    import roundhouse.torch
    torch, dist, comm = start(os.environ["TEST_BACKEND"])
    for how, close in (("f16", 5e-3), ("bf16", 5e-2), ("e4m3", 0.1), ("sign", None), ("top", None)):
        with torch.random.fork_rng():
            model = torch.nn.parallel.DistributedDataParallel(network(0), bucket_cap_mb=0.002)
        state = roundhouse.torch.Compression(comm, how, part=0.2, start=2)
        model.register_comm_hook(state, roundhouse.torch.compress_hook)
        # what is left out comes late, and momentum with it: both together want a lower rate, and more steps
        steps, rate, momentum = (30, 0.02, 0.9) if close else (100, 0.005, 0)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
        losses = []
        for step in range(steps):
            optimizer.zero_grad()
            loss = loss_of(model, comm.rank, step)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
            if step == 1:
                # steps before start travel as they are
                if close:
                    check_equal(model.module, alone(comm.world, 2, network))
                assert state.saved.calls == 0
        check_same(model.module, comm)
        if close:
            single = alone(comm.world, 30, network).state_dict()
            for name, value in model.module.state_dict().items():
                assert torch.allclose(value, single[name], atol=close), (how, name, (value - single[name]).abs().max())
        # from 19 to below 1 without compression
        assert close or sum(losses[-20:]) / 20 < 2, (how, losses)
        buckets = state.saved.calls // (steps - 2)
        assert buckets >= 2 and state.saved.calls == (steps - 2) * buckets, state.saved
        assert state.saved.sent_bytes < state.saved.plain_bytes / 1.6, state.saved
        state.close()
    dist.barrier()


@kit.case
def other_types():
    """Gradients of float64 and bfloat16 are compressed as float32."""
    import roundhouse.torch
    torch, dist, comm = start()
    for dtype in (torch.float64, torch.bfloat16):
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 3).to(dtype))
        model.register_comm_hook(roundhouse.torch.Compression(comm, "e4m3", start=0), roundhouse.torch.compress_hook)
        model(torch.full((2, 4), comm.rank + 1.0, dtype=dtype)).sum().backward()
        grad = model.module.weight.grad
        want = 2.0 * sum(range(1, comm.world + 1)) / comm.world
        assert grad.dtype == dtype and torch.allclose(grad.double(), torch.full((3, 4), want, dtype=torch.float64),
                                                      rtol=0.07), grad
    dist.barrier()


@kit.case
def death():
    import roundhouse.torch
    torch, _, comm = start("gloo")
    model = torch.nn.parallel.DistributedDataParallel(network(0))
    model.register_comm_hook(roundhouse.torch.Compression(comm, "sign"), roundhouse.torch.compress_hook)
    train_until_a_rank_dies(model, comm)


@kit.case
def digits():
    """The example's own training, with the hook instead of the plain average."""
    import roundhouse.torch
    sys.path.insert(0, os.path.join(kit.SOURCE, "examples", "pytorch"))
    import digits as example
    torch, dist, comm = start()
    images, labels = example.load_data()
    for how in (None, "f16", "bf16", "e4m3", "e5m2", "top", "sign"):
        torch.manual_seed(0)
        model = torch.nn.parallel.DistributedDataParallel(
            torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)))
        state = roundhouse.torch.Compression(comm, how) if how else None
        if state:
            model.register_comm_hook(state, roundhouse.torch.compress_hook)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for epoch in range(10):
            loss = example.train_epoch(model, optimizer, images[:example.TRAIN_IMAGES], labels[:example.TRAIN_IMAGES],
                                       epoch)
        with torch.no_grad():
            right = (model(images[example.TRAIN_IMAGES:]).argmax(1) == labels[example.TRAIN_IMAGES:]).float().mean()
        check_same(model.module, comm)
        if comm.rank == 0:
            less = state.saved.plain_bytes / state.saved.sent_bytes if state else 1
            print(f"| {how or 'none'} | {less:.1f} | {loss:.3f} | {float(right):.3f} |", flush=True)
    dist.barrier()


def rows(text):
    """The rows of the table: {how: (less, loss, accuracy)}."""
    return {found[1]: tuple(map(float, found.groups()[1:]))
            for found in re.finditer(r"^\| `?(\w+)`? \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", text, re.M)}


class Compress(kit.Ranks):
    def test_trains(self):
        for backend in ("gloo", "rh"):
            self.world(3, "hook", names="torch", python=PYTHON, further={"TEST_BACKEND": backend})

    def test_other_types(self):
        self.world(2, "other_types", names="torch", python=PYTHON)

    def test_names_who_died(self):
        self.world(2, "death", names="torch", python=PYTHON, statuses=[0, -signal.SIGKILL])

    def test_digits(self):
        found = self.world(3, "digits", names="torch", python=PYTHON)[0]
        print(found)
        with open(os.path.join(kit.SOURCE, "docs", "comm.md"), encoding="utf-8") as file:
            shown = rows(file.read())
        measured = rows(found)
        self.assertEqual(measured.keys(), shown.keys())
        for how, (less, _, accuracy) in measured.items():
            self.assertEqual(less, shown[how][0], how)
            self.assertLess(abs(accuracy - shown[how][2]), ACCURACY, how)
            self.assertGreater(accuracy, 0.95, how)


if __name__ == "__main__":
    PYTHON = sys.executable if "--case" in sys.argv else torch2.python()
    kit.main()
