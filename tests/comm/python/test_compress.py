# SPDX-License-Identifier: Apache-2.0
"""Compressed averages from Python, without numpy or torch. usage: test_compress.py LIBRARY SOURCE"""
import array

import kit


def values(rank, turn, count):
    """What a rank gives: repeatable, few large ones."""
    first = rank * 7919 + turn * 104729
    return array.array("f", (((first + i * 31337) % 2003 / 1001.5 - 1) ** 3 for i in range(count)))


@kit.case
def average():
    import roundhouse
    count, turns = 3000, 8
    with roundhouse.Comm() as comm:
        for how in ("f16", "bf16", "e4m3", "e5m2", "top", "sign"):
            compressor = roundhouse.Compressor(comm, count, how, part=0.1)
            came, meant = [0.0] * count, [0.0] * count
            for turn in range(turns):
                mine = values(comm.rank, turn, count)
                assert compressor.average(mine) is mine
                ends = array.array("f", mine)
                comm.broadcast(ends, 0)
                assert ends == mine, how
                all_of = [values(rank, turn, count) for rank in range(comm.world)]
                came = [a + b for a, b in zip(came, mine)]
                meant = [a + sum(some) / comm.world for a, some in zip(meant, zip(*all_of))]
            kept = comm.all_reduce(compressor.drain(array.array("f", bytes(4 * count))), "avg")
            worst = max(abs(a + b - c) for a, b, c in zip(came, kept, meant))
            # halves keep nothing
            assert worst < (0.05 if how == "bf16" else 0.005 if how == "f16" else 1e-4), (how, worst)
            saved = compressor.saved
            assert saved.calls == turns and saved.plain_bytes == turns * 8 * count * (comm.world - 1) // comm.world
            assert saved.sent_bytes < saved.plain_bytes / 1.9, (how, saved)


@kit.case
def refused():
    import roundhouse
    with roundhouse.Comm() as comm:
        for make, word in ((lambda: roundhouse.Compressor(comm, 10, "gzip"), "gzip"),
                           (lambda: roundhouse.Compressor(comm, 10, "top", part=0), "part is 0"),
                           (lambda: roundhouse.Compressor(comm, 0, "sign"), "count is 0"),
                           (lambda: roundhouse.Compressor(comm, 3, "sign").average(array.array("f", [1, 2])), "2 elem"),
                           (lambda: roundhouse.Compressor(comm, 2, "sign").average(array.array("d", [1, 2])),
                            "float32")):
            try:
                make()
            except roundhouse.InvalidError as error:
                assert word in str(error), error
            else:
                raise AssertionError(word)


@kit.case
def different():
    import roundhouse
    with roundhouse.Comm() as comm:
        compressor = roundhouse.Compressor(comm, 10, "e4m3" if comm.rank == 0 else "e5m2")
        try:
            compressor.average(array.array("f", [1] * 10))
        except roundhouse.InvalidError as error:
            assert error.rank == 1 - comm.rank and "compresses by e" in str(error), error
            return
    raise AssertionError("nobody noticed")


class Compress(kit.Ranks):
    def test_averages(self):
        for world in (2, 3):
            self.world(world, "average")

    def test_refuses(self):
        self.world(1, "refused")

    def test_ranks_that_differ_are_named(self):
        self.world(2, "different")


kit.main()
