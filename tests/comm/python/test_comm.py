# SPDX-License-Identifier: Apache-2.0
"""The Python package with nothing but Python: contexts, requests, errors. usage: test_comm.py LIBRARY SOURCE"""
import array
import gc
import os
import pickle
import signal
import threading
import unittest
import weakref

import kit
import roundhouse
from roundhouse import buffers, linear_scaled_lr


def ranks_sum(world):
    return sum(range(1, world + 1))


@kit.case
def collectives():
    comm = roundhouse.Comm()
    rank, world = comm.rank, comm.world
    assert (comm.local_rank, comm.local_world, comm.backend) == (rank, world, "native"), comm
    mine = array.array("f", [rank + 1.0] * 1001)
    assert comm.all_reduce(mine) is mine and set(mine) == {float(ranks_sum(world))}, mine
    for op, want in (("avg", ranks_sum(world) / world), ("min", 1), ("max", world)):
        assert comm.all_reduce(array.array("d", [rank + 1.0]), op)[0] == want, op
    out = array.array("q", [0])
    given = array.array("q", [rank + 1])
    assert comm.all_reduce(given, out=out) is out and (given[0], out[0]) == (rank + 1, ranks_sum(world))
    parts = array.array("i", range(3 * world))
    part = comm.reduce_scatter(parts, array.array("i", [0] * 3))
    assert list(part) == [(3 * rank + i) * world for i in range(3)], part
    everybody = comm.all_gather(array.array("h", [rank]), array.array("h", [0] * world))
    assert list(everybody) == list(range(world)), everybody
    text = bytearray(b"rank 1") if rank == 1 else bytearray(6)
    assert comm.broadcast(text, root=1) == b"rank 1"
    comm.barrier()
    comm.close()
    assert "closed" in repr(comm)


@kit.case
def exchanges():
    with roundhouse.Comm() as comm:
        rank, world = comm.rank, comm.world
        everybody = range(world)
        out = comm.all_to_all(array.array("i", [10 * rank + i for i in everybody]), array.array("i", [0] * world))
        assert list(out) == [10 * i + rank for i in everybody]
        # parts of 0, 1, 2 ... elements of a type that is only moved
        given = array.array("h", [rank * 10 + to for to in everybody for _ in range(to)])
        out = array.array("h", [0] * (rank * world))
        request = comm.all_to_all_v_start(given, list(everybody), out, [rank] * world)
        assert list(request.wait()) == [i * 10 + rank for i in everybody for _ in range(rank)]
        mine = rank == world - 1
        out = comm.gather(array.array("d", [rank]), array.array("d", [0] * world) if mine else None, world - 1)
        assert list(out) == list(everybody) if mine else out is None
        total = sum(everybody)
        out = comm.gather_v(array.array("f", [rank] * rank), array.array("f", [0] * total) if mine else None, everybody,
                            world - 1)
        assert list(out) == [i for i in everybody for _ in range(i)] if mine else out is None
        out = comm.scatter(array.array("b", everybody) if mine else None, array.array("b", [0]), world - 1)
        assert out[0] == rank
        given = array.array("q", [i for i in everybody for _ in range(i)]) if mine else None
        assert list(comm.scatter_v(given, everybody, array.array("q", [0] * rank), world - 1)) == [rank] * rank
        out = comm.reduce(array.array("i", [rank + 1]), "sum", world - 1)
        assert out[0] == (ranks_sum(world) if mine else rank + 1)
        out = comm.all_gather_v(array.array("i", [rank] * rank), array.array("i", [0] * total), everybody)
        assert list(out) == [i for i in everybody for _ in range(i)]
        out = comm.reduce_scatter_v(array.array("i", range(total)), array.array("i", [0] * rank), everybody, "max")
        assert list(out) == [sum(range(rank)) + i for i in range(rank)]
        for wrong in ([1] * (world + 1), [-1] + [1] * (world - 1), [2] * world):
            try:
                comm.all_to_all_v(array.array("i", [0] * world), wrong, array.array("i", [0] * world), [1] * world)
            except roundhouse.InvalidError as error:
                assert "count" in str(error)
            else:
                raise AssertionError(f"{wrong} was not refused")


@kit.case
def outstanding():
    with roundhouse.Comm() as comm:
        arrays = [array.array("f", [comm.rank + 1.0] * (10 ** (i % 5) + 1)) for i in range(20)]
        requests = [comm.all_reduce_start(a) for a in arrays]
        for request in reversed(requests):
            assert request.wait() is request.result
        assert all(set(a) == {float(ranks_sum(comm.world))} for a in arrays)
        barrier = comm.barrier_start()
        while not barrier.test():
            pass
        assert barrier.test() and barrier.wait() is None


@kit.case
def many():
    with roundhouse.Comm() as comm:
        arrays = [array.array("fdi"[i % 3], [comm.rank + 1] * (i * 37 % 50))
                  for i in range(100)] + [array.array("f", [1.0] * 2000000)]
        assert comm.all_reduce_many(arrays) is arrays
        assert all(set(a) <= {ranks_sum(comm.world)} for a in arrays[:-1]) and set(arrays[-1]) == {float(comm.world)}
        assert comm.all_reduce_many([]) == []


@kit.case
def held():
    # nobody but the library knows the array any more
    with roundhouse.Comm() as comm:
        for _ in range(20):
            request = comm.all_reduce_start(array.array("d", [1.0] * 50000))
            known = weakref.ref(request)
            del request
            gc.collect()
            assert known() is None or not known()._error
        comm.barrier()


@kit.case
def one_request_many_threads():
    with roundhouse.Comm() as comm:
        request = comm.all_reduce_start(array.array("d", [1.0] * 100000))
        seen = []
        threads = [threading.Thread(target=lambda: seen.append(request.wait()[0])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [float(comm.world)] * 4, seen


@kit.case
def messages():
    with roundhouse.Comm() as comm:
        to, source = (comm.rank + 1) % comm.world, (comm.rank - 1) % comm.world
        sent = [comm.send_start(f"{comm.rank} {tag}".encode(), to, tag) for tag in range(3)]
        for tag in (2, 0, 1):
            assert comm.recv(bytearray(3), source, tag) == f"{source} {tag}".encode()
        for request in sent:
            request.wait()


@kit.case
def from_any_rank():
    with roundhouse.Comm() as comm:
        if comm.rank > 0:
            comm.send(f"{comm.rank}".encode(), 0, 5)
            comm.send(f"{comm.rank}".encode(), 0, 6)
            return
        for tag in (6, 5):
            seen = {}
            for _ in range(1, comm.world):
                got = bytearray(1)
                seen[comm.recv_any(got, tag)] = got
            assert seen == {rank: f"{rank}".encode() for rank in range(1, comm.world)}, seen
        request = comm.recv_any_start(bytearray(1), 7)
        assert request.source is None
        try:
            request.wait()
        except roundhouse.PeerError as error:
            assert "any" in str(error) or "all others" in str(error), error
            return
        raise AssertionError("somebody has sent")


@kit.case
def groups():
    comm = roundhouse.Comm()
    mine = [0, 2] if comm.rank % 2 == 0 else [3, 1]
    group = comm.group(mine)
    assert group.is_group and not comm.is_group and mine[group.rank] == comm.rank
    got = group.all_gather(array.array("i", [comm.rank]), array.array("i", [0, 0]))
    assert list(got) == mine, got
    comm.close()
    try:
        group.barrier()
    except roundhouse.InvalidError:
        return
    raise AssertionError("a group outlives its world")


@kit.case
def death():
    comm = roundhouse.Comm()
    request = comm.all_reduce_start(array.array("f", [1.0] * 1000)) if comm.rank != 1 else None
    if comm.rank == 1:
        for other in (0, 2):
            comm.recv(bytearray(3), other)
        os.kill(os.getpid(), signal.SIGKILL)
    comm.send(b"now", 1)
    for call in (request.wait, request.wait, comm.barrier, comm.barrier_start):
        try:
            call()
        except roundhouse.PeerError as error:
            assert error.rank == 1 and isinstance(error, ConnectionError) and "rank 1" in str(error), error
        else:
            raise AssertionError("nobody died")


@kit.case
def abort():
    comm = roundhouse.Comm()
    comm.barrier()
    if comm.rank == 1:
        comm.abort("enough")
    try:
        while True:
            comm.all_reduce(array.array("f", [1.0]))
    except roundhouse.AbortedError as error:
        assert "enough" in str(error) and error.rank == 1, error


@kit.case
def unwinds():
    try:
        with roundhouse.Comm() as comm:
            if comm.rank == 0:
                raise KeyError("lost")
            comm.barrier()
    except KeyError:
        assert comm.rank == 0
    except roundhouse.AbortedError as error:
        assert comm.rank == 1 and "KeyError" in str(error), error


@kit.case
def deadline():
    with roundhouse.Comm() as comm:
        comm.barrier()
        if comm.rank == 0:
            try:
                comm.recv(bytearray(1), 1, timeout=0.2)
                raise AssertionError("nothing was sent")
            except roundhouse.DeadlineError as error:
                assert isinstance(error, TimeoutError), error
            return
        try:
            comm.recv(bytearray(1), 0)
        except roundhouse.CommError:
            pass


@kit.case
def leaves_by_itself():
    # the first to end neither closes nor waits, and is no death to the others
    comm = roundhouse.Comm()
    comm.barrier()


@kit.case
def ends_with_an_outstanding_operation():
    comm = roundhouse.Comm()
    comm.barrier()
    if comm.rank == 0:
        comm.recv_start(bytearray(3), 1)
        return
    try:
        comm.barrier()
    except roundhouse.AbortedError as error:
        assert error.rank == 0 and "in flight" in str(error), error
        return
    raise AssertionError("rank 0 is not missed")


@kit.case
def settings_that_differ():
    # what must be the same is rank 0's
    rank = int(os.environ["RH_COMM_RANK"])
    os.environ["RH_COMM_FUSION"] = str(8000 >> rank)
    os.environ["RH_COMM_TUNE"] = ["", "allreduce:@ring", "allreduce:@doubling"][rank]
    with roundhouse.Comm() as comm:
        arrays = [array.array("q", [rank + k] * 300) for k in range(20)]
        comm.all_reduce_many(arrays, timeout=60)
        assert [set(each) for each in arrays] == [{3 + 3 * k} for k in range(20)], [set(each) for each in arrays]


@kit.case
def backends_that_differ():
    os.environ["RH_COMM_BACKEND"] = ["nccl", "native"][int(os.environ["RH_COMM_RANK"])]
    try:
        roundhouse.Comm(init_timeout=60)
    except roundhouse.InvalidError as error:
        assert '"nccl"' in str(error) and '"native"' in str(error), error
        return
    raise AssertionError("one rank has another backend than the other")


@kit.case
def forked():
    with roundhouse.Comm() as comm:
        pending = comm.recv_start(bytearray(1), (comm.rank + 1) % comm.world)
        child = os.fork()
        if child == 0:
            # ends as any program does, and neither leaves nor ends what is its parent's
            try:
                comm.barrier()
            except roundhouse.InvalidError as error:
                assert "fork" in str(error), error
                return
            raise AssertionError("a child is taken for a rank")
        assert os.waitpid(child, 0)[1] == 0
        comm.barrier()
        comm.send(b"x", (comm.rank - 1) % comm.world)
        assert pending.wait() == b"x"


def interrupt_soon():
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()


@kit.case
def interrupted():
    with roundhouse.Comm() as comm:
        got = bytearray(2)
        if comm.rank == 1:
            comm.recv(got, 0)
            comm.send(got, 0, tag=1)
            comm.barrier()
            return
        request = comm.recv_start(got, 1, tag=1)
        interrupt_soon()
        try:
            request.wait()
            raise AssertionError("nothing was sent")
        except KeyboardInterrupt:
            pass
        # the wait is over, the operation is not
        assert not request.done()
        comm.send(b"ok", 1)
        request.wait()
        assert got == b"ok", got
        comm.barrier()


@kit.case
def interrupted_in_a_collective():
    with roundhouse.Comm() as comm:
        if comm.rank == 0:
            interrupt_soon()
        elif comm.rank == 1:
            comm.recv(bytearray(1), 0)
        try:
            comm.barrier()
            assert comm.rank != 0
        except KeyboardInterrupt:
            assert comm.rank == 0
            # it goes on without us: the others come through
            comm.send(b"1", 1)
        comm.barrier()


@kit.case
def interrupted_while_ranks_are_to_come():
    interrupt_soon()
    try:
        roundhouse.Comm()
    except KeyboardInterrupt:
        return
    raise AssertionError("rank 1 is not missed")


@kit.case
def contradiction():
    try:
        roundhouse.Comm()
    except roundhouse.InvalidError as error:
        assert "RH_COMM_RANK" in str(error) and "RANK" in str(error), error
        return
    raise AssertionError("two ranks in one process")


class Store:
    """A key-value store in files."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, key):
        return os.path.join(self.folder, key.replace("/", "_"))

    def set(self, key, value):
        with open(self.path(key) + ".new", "wb") as file:
            file.write(value)
        os.replace(self.path(key) + ".new", self.path(key))

    def get(self, key, seconds):
        assert seconds > 0
        while not os.path.exists(self.path(key)):
            pass
        with open(self.path(key), "rb") as file:
            return file.read()


@kit.case
def foreign_store():
    rank, world = int(os.environ["TEST_RANK"]), 2
    with roundhouse.Comm(rank, world, host="127.0.0.1", store=Store(os.environ["TEST_FOLDER"])) as comm:
        assert comm.all_reduce(array.array("f", [1.0]))[0] == world


@kit.case
def limited_wait():
    """What limits a wait does not limit the operation."""
    with roundhouse.Comm() as comm:
        if comm.rank == 0:
            got = array.array("f", [0.0])
            request = comm.recv_start(got, 1)
            for limit in (0.2, 0):
                try:
                    request.wait(limit)
                except roundhouse.DeadlineError as error:
                    assert "goes on" in str(error)
                else:
                    raise AssertionError("there was no limit")
            assert not request.join(0) and not request.done()
            comm.send(bytearray(1), 1)
            assert request.wait(60)[0] == 7.0 and request.join(0)
        else:
            comm.recv(bytearray(1), 0)
            comm.send(array.array("f", [7.0]), 0)


class Broken:
    def set(self, key, value):
        raise PermissionError("read-only")

    get = set


class Worlds(kit.Ranks):
    def test_a_wait_may_end_before_its_operation(self):
        self.world(2, "limited_wait")

    def test_collectives(self):
        for count in (1, 2, 3):
            with self.subTest(count):
                # rank 1 broadcasts
                if count > 1:
                    self.world(count, "collectives")

    def test_exchanges(self):
        for count in (1, 2, 3, 5):
            with self.subTest(count):
                self.world(count, "exchanges")

    def test_outstanding(self):
        self.world(3, "outstanding")

    def test_many(self):
        self.world(3, "many")

    def test_forgotten_requests_keep_their_arrays(self):
        self.world(2, "held")

    def test_one_request_many_threads(self):
        self.world(2, "one_request_many_threads")

    def test_messages(self):
        self.world(3, "messages")

    def test_from_any_rank(self):
        self.world(3, "from_any_rank")

    def test_groups(self):
        self.world(4, "groups")

    def test_death_is_named(self):
        self.world(3, "death", statuses=[0, -signal.SIGKILL, 0])

    def test_abort(self):
        self.world(2, "abort")

    def test_exception_ends_the_others(self):
        self.world(2, "unwinds")

    def test_deadline(self):
        self.world(2, "deadline")

    def test_leaves_by_itself(self):
        self.world(3, "leaves_by_itself")

    def test_settings_that_differ(self):
        self.world(3, "settings_that_differ")

    def test_backends_that_differ(self):
        self.world(2, "backends_that_differ")

    def test_forked(self):
        self.world(3, "forked")

    def test_ends_with_an_outstanding_operation(self):
        self.world(3, "ends_with_an_outstanding_operation")

    def test_ctrl_c_ends_the_wait_and_not_the_operation(self):
        self.world(2, "interrupted")
        self.world(3, "interrupted_in_a_collective")

    def test_ctrl_c_while_ranks_are_to_come(self):
        self.world(1, "interrupted_while_ranks_are_to_come", further={"RH_COMM_WORLD": 2})

    def test_contradiction(self):
        self.world(1, "contradiction", further={"RANK": 1, "WORLD_SIZE": 2})


class ForeignStore(kit.Ranks):
    def test_two_ranks(self):
        import subprocess
        import sys
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            children = [subprocess.Popen([sys.executable, "-B", *sys.argv, "--case", "foreign_store"],
                                         env=kit.environment(
                0, 0, 0, "none", {"TEST_RANK": rank, "TEST_FOLDER": folder})) for rank in range(2)]
            self.assertEqual([child.wait(kit.TIMEOUT) for child in children], [0, 0])

    def test_failures_are_reported(self):
        with self.assertRaises(roundhouse.CommError) as caught:
            roundhouse.Comm(0, 2, host="127.0.0.1", store=Broken())
        self.assertIsInstance(caught.exception.__cause__, PermissionError)


class Alone(unittest.TestCase):
    """A world of one rank."""

    def setUp(self):
        self.comm = roundhouse.Comm(0, 1)
        self.addCleanup(self.comm.close)

    def test_same_arrays_come_back(self):
        for code in "fdbiqB":
            a = array.array(code, [1, 2, 3])
            self.assertEqual(list(self.comm.all_reduce(a, "avg")), [1, 2, 3], code)

    def test_empty(self):
        self.assertEqual(list(self.comm.all_reduce(array.array("f"))), [])

    def test_refusals(self):
        f = array.array("f", [1.0, 2.0])
        cases = {
            "unknown reduction": (lambda: self.comm.all_reduce(f, "median"), "median"),
            "elements without a reduction": (lambda: self.comm.all_reduce(memoryview(bytearray(8)).cast("P")), '"P"'),
            "read-only": (lambda: self.comm.all_reduce(b"abc"), "cannot be written"),
            "not an array": (lambda: self.comm.all_reduce(7), "not an array"),
            "a view with gaps": (lambda: self.comm.all_reduce(memoryview(array.array("f", [0.0] * 4))[::2]),
                                 "contiguous"),
            "other type of out": (lambda: self.comm.all_reduce(f, out=array.array("d", [0.0, 0.0])), "one type"),
            "shorter out": (lambda: self.comm.all_reduce(f, out=array.array("f", [0.0])), "do not fit"),
            "gather into too little": (lambda: self.comm.all_gather(f, array.array("f", [0.0])), "do not fit"),
            "a rank that is not there": (lambda: self.comm.broadcast(f, root=3), "3"),
            "a group of others": (lambda: self.comm.group([5]), "5"),
            "half a rank": (lambda: roundhouse.Comm(rank=0), "rank and world"),
        }
        for name, (call, words) in cases.items():
            with self.subTest(name), self.assertRaises(roundhouse.InvalidError) as caught:
                call()
            self.assertIn(words, str(caught.exception), name)
            self.assertIsInstance(caught.exception, ValueError)
        # nothing of that harmed the context
        self.comm.barrier()

    def test_closed(self):
        self.comm.close()
        with self.assertRaisesRegex(roundhouse.InvalidError, "closed"):
            self.comm.barrier()
        self.comm.close()

    def test_bytes_that_are_read_only_can_be_sent(self):
        self.assertEqual(buffers.of(b"abc", writable=False, moved=True).count, 3)
        # that the library could read there
        self.assertNotEqual(buffers.of(b"abc", writable=False, moved=True).address, 0)

    def test_library_is_named_when_it_is_not_there(self):
        import roundhouse.library
        before, os.environ["RH_COMM_LIBRARY"] = os.environ["RH_COMM_LIBRARY"], "/nowhere/librhcomm.so"
        try:
            with self.assertRaisesRegex(ImportError, "/nowhere/librhcomm.so"):
                roundhouse.library.load()
        finally:
            os.environ["RH_COMM_LIBRARY"] = before


class Errors(unittest.TestCase):
    def test_travel_between_processes(self):
        error = roundhouse.PeerError("rank 3 died", -20, 3)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.code, again.rank),
                         (roundhouse.PeerError, "rank 3 died", -20, 3))

    def test_kinds(self):
        from roundhouse import errors
        for code, kind, builtin in ((-1, roundhouse.InvalidError, ValueError),
                                    (-2, roundhouse.OutOfMemoryError, MemoryError),
                                    (-5, roundhouse.SystemFailure, OSError),
                                    (-20, roundhouse.PeerError, ConnectionError),
                                    (-21, roundhouse.DeadlineError, TimeoutError),
                                    (-22, roundhouse.AbortedError, RuntimeError),
                                    (-23, roundhouse.UnsupportedError, NotImplementedError),
                                    (-24, roundhouse.BackendError, RuntimeError),
                                    (-99, roundhouse.CommError, RuntimeError)):
            error = errors.make(code, -1, "words")
            self.assertIs(type(error), kind)
            self.assertIsInstance(error, builtin)
            self.assertIsInstance(error, RuntimeError)
            self.assertEqual((str(error), error.code, error.rank), ("words", code, None))


class Rates(unittest.TestCase):
    def test_linear_scaled_lr(self):
        rows = [
            ("one process", (0.1, 1), 0.1), ("eight", (0.1, 8), 0.8), ("warm-up begins", (0.1, 8, 0, 10), 0.1),
            ("half way", (0.1, 9, 5, 10), 0.5), ("warm-up ends", (0.1, 8, 10, 10), 0.8),
            ("afterwards", (0.1, 8, 1000, 10), 0.8), ("no warm-up", (0.1, 8, 0, 0), 0.8)]
        for name, arguments, want in rows:
            self.assertAlmostEqual(linear_scaled_lr(*arguments), want, msg=name)

    def test_refusals(self):
        for arguments in ((0.1, 0), (0.1, 2, -1), (0.1, 2, 0, -1)):
            with self.assertRaises(ValueError):
                linear_scaled_lr(*arguments)


kit.main()
