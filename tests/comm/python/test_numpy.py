# SPDX-License-Identifier: Apache-2.0
"""numpy arrays, without a copy. usage: test_numpy.py LIBRARY SOURCE"""
import importlib.util
import os

import kit

kit.need("numpy", "python3-numpy")
import numpy as np
import roundhouse
from roundhouse import buffers, library

REAL = ["float32", "float64", "float16", "int8", "int32", "int64", "uint8"]


@kit.case
def types():
    with roundhouse.Comm() as comm:
        for name in REAL:
            for count in (0, 1, 7, 1000, 40001):
                rng = [np.random.RandomState(rank).randint(1, 4, count).astype(name) for rank in range(comm.world)]
                for op, function in (("sum", sum), ("min", lambda all_: np.min(all_, axis=0)),
                                     ("max", lambda all_: np.max(all_, axis=0))):
                    mine = rng[comm.rank].copy()
                    assert comm.all_reduce(mine, op) is mine
                    assert np.array_equal(mine, function(rng)), (name, count, op)


@kit.case
def short_floats():
    import ml_dtypes
    with roundhouse.Comm() as comm:
        for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
            mine = np.arange(3).astype(getattr(ml_dtypes, name))
            comm.all_reduce(mine)
            assert list(mine.astype("float32")) == [0, comm.world, 2 * comm.world], (name, mine)


@kit.case
def shapes():
    with roundhouse.Comm() as comm:
        matrix = np.full((3, 4, 5), comm.rank + 1, dtype="float32")
        comm.all_reduce(matrix[1])
        assert (matrix[0] == comm.rank + 1).all() and (matrix[1] == sum(range(1, comm.world + 1))).all()
        for moved in (np.array([comm.rank], dtype="complex128"), np.array([np.datetime64(comm.rank, "s")]),
                      np.array([f"{comm.rank}"])):
            everybody = np.zeros(comm.world, dtype=moved.dtype)
            comm.all_gather(moved, everybody)
            assert [str(item) for item in everybody] == [str(type(moved[0])(rank, "s") if moved.dtype.kind == "M"
                                                             else moved.dtype.type(rank))
                                                         for rank in range(comm.world)], everybody
        mine = np.arange(comm.world, dtype="int32") * (comm.rank + 1)
        inside = np.zeros(comm.world, dtype="int32")
        inside[comm.rank] = 5 + comm.rank
        comm.all_gather(inside[comm.rank:comm.rank + 1], inside)
        assert list(inside) == [5 + rank for rank in range(comm.world)]
        part = comm.reduce_scatter(mine, np.zeros(1, dtype="int32"), "max")
        assert part[0] == comm.rank * comm.world


@kit.case
def same_bits():
    with roundhouse.Comm() as comm:
        for count in (3, 5000, 300001):
            mine = np.random.RandomState(comm.rank).standard_normal(count).astype("float32")
            again = mine.copy()
            comm.all_reduce(mine)
            comm.all_reduce(again)
            assert mine.tobytes() == again.tobytes()
            everybody = np.zeros((comm.world, count), dtype="float32")
            comm.all_gather(mine, everybody)
            assert all((row == everybody[0]).all() for row in everybody)


class Numpy(kit.Ranks):
    def test_types(self):
        self.world(3, "types")

    def test_short_floats(self):
        found = importlib.util.find_spec("ml_dtypes")
        if found is None:
            self.skipTest("there is no ml_dtypes")
        paths = (kit.PACKAGE, os.path.dirname(os.path.dirname(found.origin)))
        self.world(3, "short_floats", further={"PYTHONPATH": os.pathsep.join(paths)})

    def test_shapes(self):
        self.world(3, "shapes")

    def test_all_ranks_have_the_same_bits_each_time(self):
        self.world(3, "same_bits")

    def test_no_copy(self):
        array = np.zeros(10, dtype="float32")
        buffer = buffers.of(array)
        self.assertEqual((buffer.address, buffer.count, buffer.type), (array.ctypes.data, 10, library.F32))

    def test_refusals(self):
        frozen = np.zeros(3)
        frozen.setflags(write=False)
        rows = {
            "not contiguous": np.zeros((4, 4))[:, 1], "contiguous the other way": np.asfortranarray(np.zeros((3, 4))),
            "other order of bytes": np.zeros(3, dtype=">f4"), "read-only": frozen,
            "complex": np.zeros(3, dtype="complex64"), "objects": np.array([object()]),
            "dates": np.zeros(3, dtype="datetime64[s]")}
        for name, array in rows.items():
            with self.subTest(name), self.assertRaises(roundhouse.InvalidError):
                buffers.of(array)

    def test_objects_cannot_be_moved_either(self):
        with self.assertRaises(roundhouse.InvalidError):
            buffers.of(np.array([object()]), moved=True)


kit.main()
