# SPDX-License-Identifier: Apache-2.0
"""Every operation of torch.distributed by rh and by gloo. usage: test_torch_operations.py LIBRARY SOURCE [PYTHON]

docs/comm-python.md has the table of what passes; without PYTHON it must be the one that is found here.
"""
import difflib
import os
import re
import sys
import traceback

import kit
import torch2
from torch_rows import ROWS, Turn

PAGE = os.path.join(kit.SOURCE, "docs", "comm-python.md")
HEAD = "| operation | rh | gloo | |\n|---|---|---|---|\n"


def table():
    """The lines of the page."""
    marks = {True: "yes", False: "no"}
    return HEAD + "".join(f"| {each.name} | {marks[each.rh]} | {marks[each.gloo]} | {each.why and each.why + ' '}|\n"
                          for each in ROWS)


def start():
    """gloo is for what the ranks say to each other about their results, too."""
    import roundhouse.torch  # noqa: F401 (registers the backend)
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    return torch, dist, dist.get_rank(), dist.get_world_size()


def same(torch, one, other):
    """Whether two results are: of the same types, shapes and bits."""
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(torch, a, b) for a, b in zip(one, other))
    if torch.is_tensor(one):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    return one == other


def attempt(call, turn):
    """What a row left, and what went wrong, in words."""
    try:
        return call(turn), None
    except Exception as error:  # how it is refused is the backend's own
        return None, f"{type(error).__name__}: {error} ({traceback.extract_tb(error.__traceback__)[-1].line})"


def everywhere(dist, world, found):
    """What all ranks found."""
    everybody = [None] * world
    dist.all_gather_object(everybody, found)
    return everybody


@kit.case
def rows():
    torch, dist, rank, world = start()
    groups = {name: dist.new_group(backend=name) for name in ("gloo", "rh")}
    wrong = []
    for each in ROWS:
        if each.least > world:
            continue
        results = {}
        for backend, gaps in (("gloo", False), ("rh", False), ("rh", True)):
            wanted = each.gloo if backend == "gloo" else each.rh
            result, problem = attempt(each.call, Turn(torch, backend, groups[backend], gaps))
            if wanted and not problem and "gloo" in results and not same(torch, results["gloo"], result):
                problem = f"{result} is not gloo's {results['gloo']}"
            if backend == "gloo" and not problem:
                results[backend] = result
            found = everywhere(dist, world, problem)
            if (wanted and any(found)) or (not wanted and not all(found)):
                wrong.append((each.name, backend, "with gaps" if gaps else "", found))
    if rank == 0:
        print("\n".join(map(str, wrong)))
    assert not wrong
    dist.destroy_process_group()


def unequal(turn, odd):
    """One more on the odd rank."""
    return 3 if turn.rank == odd else 2


# Calls of which one rank's differs from the others'. All ranks get an error, and it names that rank.
WRONG = {
    "all_reduce: length": lambda t, odd: t.dist.all_reduce(t.room(unequal(t, odd)), group=t.group),
    "all_reduce: type": lambda t, odd: t.dist.all_reduce(t.room(2, dtype=t.torch.int64 if t.rank == odd else None),
                                                         group=t.group),
    "all_reduce: op": lambda t, odd: t.dist.all_reduce(
        t.room(2), t.dist.ReduceOp.MAX if t.rank == odd else t.dist.ReduceOp.SUM, group=t.group),
    "all_reduce: refused": lambda t, odd: t.dist.all_reduce(t.room(2).to_sparse() if t.rank == odd else t.room(2),
                                                            group=t.group),
    "all_reduce: bits of floats": lambda t, odd: t.dist.all_reduce(
        t.room(2), t.dist.ReduceOp.BAND if t.rank == odd else t.dist.ReduceOp.SUM, group=t.group),
    "reduce: root": lambda t, odd: t.dist.reduce(t.room(2), t.rank == odd, group=t.group),
    "broadcast: root": lambda t, odd: t.dist.broadcast(t.room(2), int(t.rank == odd), group=t.group),
    "all_gather: length": lambda t, odd: t.dist.all_gather(t.rooms([unequal(t, odd)] * t.world),
                                                           t.room(unequal(t, odd)), group=t.group),
    "all_gather: list": lambda t, odd: t.dist.all_gather(t.rooms([2] * (t.world - (t.rank == odd))), t.room(2),
                                                         group=t.group),
    "all_gather_into_tensor: output": lambda t, odd: t.dist.all_gather_into_tensor(t.room(unequal(t, odd) * t.world),
                                                                                   t.room(2), group=t.group),
    "reduce_scatter: list": lambda t, odd: t.dist.reduce_scatter(t.room(2), t.rooms([unequal(t, odd)] * t.world),
                                                                 group=t.group),
    "reduce_scatter_tensor: length": lambda t, odd: t.dist.reduce_scatter_tensor(
        t.room(unequal(t, odd)), t.room(unequal(t, odd) * t.world), group=t.group),
    "all_to_all: what one has": lambda t, odd: t.dist.all_to_all(t.rooms([2] * t.world),
                                                                 t.rooms([unequal(t, odd)] * t.world), group=t.group),
    "all_to_all_single: split sizes": lambda t, odd: t.dist.all_to_all_single(
        t.room(2 * t.world), t.room(unequal(t, odd) * t.world), [2] * t.world, [unequal(t, odd)] * t.world,
        group=t.group),
    "all_to_all_single: their sum": lambda t, odd: t.dist.all_to_all_single(
        t.room(2 * t.world), t.room(2 * t.world), [2] * t.world, [unequal(t, odd)] * t.world, group=t.group),
    "gather: length": lambda t, odd: t.dist.gather(t.room(unequal(t, odd)),
                                                   t.rooms([2] * t.world) if t.rank == 0 else None, 0, group=t.group),
    "gather: root": lambda t, odd: t.dist.gather(
        t.room(2), t.rooms([2] * t.world) if t.rank in (0, odd) else None, odd if t.rank == odd else 0, group=t.group),
    "scatter: length": lambda t, odd: t.dist.scatter(t.room(unequal(t, odd)),
                                                     t.rooms([2] * t.world) if t.rank == 0 else None, 0, group=t.group),
    "scatter: root": lambda t, odd: t.dist.scatter(
        t.room(2), t.rooms([2] * t.world) if t.rank in (0, odd) else None, odd if t.rank == odd else 0, group=t.group),
    "another operation": lambda t, odd: t.dist.barrier(group=t.group) if t.rank == odd
    else t.dist.all_reduce(t.room(2), group=t.group),
}
# The root's own mistakes.
WRONG_OF_ROOT = {
    "gather: list": lambda t, odd: t.dist.gather(t.room(2), t.rooms([3] * t.world) if t.rank == odd else None, odd,
                                                 group=t.group),
    "scatter: list": lambda t, odd: t.dist.scatter(t.room(2), t.rooms([2] * (t.world + 1)) if t.rank == odd else None,
                                                   odd, group=t.group),
}


@kit.case
def wrong_calls():
    torch, dist, rank, world = start()
    for name, call in (WRONG | WRONG_OF_ROOT).items():
        group, odd, problem = dist.new_group(backend="rh"), world - 1, None
        try:
            call(Turn(torch, "rh", group, False), odd)
            # who has nothing to wait for learns it with the next one
            dist.barrier(group=group)
        except ValueError as error:
            problem = str(error)
        found = everywhere(dist, world, problem)
        assert all(found), (name, found)
        assert all(f"rank {odd}" in text for at, text in enumerate(found) if at != odd), (name, found)
        dist.destroy_process_group(group)
    dist.destroy_process_group()


@kit.case
def refused_by_all():
    """What no rank can do harms nothing: the next operations are done."""
    torch, dist, rank, world = start()
    turn = Turn(torch, "rh", dist.new_group(backend="rh"), False)
    for _ in range(3):
        for call in (lambda: dist.all_reduce(turn.room(2).to_sparse(), group=turn.group),
                     lambda: dist.all_gather(turn.rooms([2] * (world + 1)), turn.room(2), group=turn.group),
                     lambda: dist.reduce_scatter_tensor(turn.room(3), turn.room(2 * world), group=turn.group)):
            try:
                call()
            except ValueError:
                continue
            raise AssertionError("was not refused")
        tensor = torch.ones(3)
        dist.all_reduce(tensor, group=turn.group)
        assert (tensor == world).all()
    dist.destroy_process_group()


@kit.case
def monitored():
    """A barrier that one rank does not reach names it on all others, and the group goes on."""
    import datetime
    torch, dist, rank, world = start()
    group, soon = dist.new_group(backend="rh"), datetime.timedelta(seconds=2)
    for away, everybody in ((1, False), (world - 1, True), (0, False)):
        problem = None
        if rank != away:
            try:
                dist.monitored_barrier(group, soon, everybody)
            except TimeoutError as error:
                problem = str(error)
        found = everywhere(dist, world, problem)
        assert all(f"rank {away} did not come" in text for at, text in enumerate(found) if at != away), found
        if rank == away:
            try:
                # the one that all others have left
                dist.monitored_barrier(group, soon)
            except TimeoutError:
                pass
            else:
                raise AssertionError("it came alone, and was let through")
        tensor = torch.ones(2)
        dist.all_reduce(tensor, group=group)
        assert (tensor == world).all()
    dist.monitored_barrier(group)
    dist.destroy_process_group()


class TorchOperations(kit.Ranks):
    def run_case(self, name, count):
        return self.world(count, name, names="torch", python=PYTHON)

    def test_rows(self):
        for count in (3, 1, 2, 4):
            self.run_case("rows", count)

    def test_a_wrong_call_is_an_error_everywhere(self):
        for count in (3, 2, 4):
            self.run_case("wrong_calls", count)

    def test_what_all_are_refused_harms_nothing(self):
        self.run_case("refused_by_all", 3)

    def test_monitored_barrier(self):
        self.run_case("monitored", 3)

    def test_the_page_has_the_table(self):
        with open(PAGE, encoding="utf-8") as file:
            found = re.search(re.escape(HEAD) + r"(\|.*\n)*", file.read())
        want, have = table().splitlines(), (found[0] if found else "").splitlines()
        self.assertEqual(have, want, "\n".join(["the table of docs/comm-python.md is to be:",
                                                *difflib.unified_diff(have, want, lineterm="")]))


if "--case" not in sys.argv:
    PYTHON = torch2.python()
if __name__ == "__main__":
    kit.main()
