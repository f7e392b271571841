# SPDX-License-Identifier: Apache-2.0
"""Contexts: collectives and messages between the processes of a job."""
import atexit
import ctypes
import os
import threading
import time
import weakref

from roundhouse import buffers, library
from roundhouse.errors import CommError, InvalidError, late

_lib = library.lib
_byref = ctypes.byref
# what is still open when the interpreter ends takes leave, so that its peers see no death
_open = weakref.WeakSet()


# seconds that what is in flight at the end of the interpreter may still take
_PATIENCE = 5
# microseconds of one wait in C: between two of them the interpreter looks at signals
_SLICE = 100_000
# of which a launcher of MPI sets one
_LAUNCHED = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}


def _forget():
    """In a child of fork(): what was open is the parent's, and must neither be used nor left."""
    for comm in list(_open):
        for request in comm._requests:
            request._handle = None
        comm._requests.clear()
        comm._handle = None
    _open.clear()


os.register_at_fork(after_in_child=_forget)


@atexit.register
def _leave():
    until = time.monotonic() + _PATIENCE
    for comm in [comm for comm in _open if not comm.is_group]:
        everything = [request for one in (comm, *comm._groups) for request in list(one._requests)]
        while not all(request.done() for request in everything) and time.monotonic() < until:
            time.sleep(0.001)
        # nobody will wait for it any more; the others shall not either
        if not all(request.done() for request in everything):
            comm.abort("its program ended with operations in flight")
        comm.close()


def _reduction(op):
    try:
        return library.REDUCTIONS[op]
    except KeyError:
        raise InvalidError(f'op "{op}" is not a reduction; valid are {", ".join(library.REDUCTIONS)}', -1) from None


def _text(value):
    return None if value is None else str(value).encode()


def _call(function, *args, undo=None):
    """Call what blocks in C so that Ctrl-C ends the wait. undo is called with the result of what nobody waits for any
    more."""
    # signals are the main thread's, and so is MPI
    if threading.current_thread() is not threading.main_thread() or _LAUNCHED & os.environ.keys():
        return function(*args)
    lock, results, given_up = threading.Lock(), [], []

    def work():
        result = function(*args)
        with lock:
            results.append(result)
            late = bool(given_up)
        if late and undo:
            undo(result)

    thread = threading.Thread(target=work, name="rh_comm start", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_SLICE / 1e6)
        return results[0]
    except BaseException:
        with lock:
            given_up.append(True)
            late = bool(results)
        if late and undo:
            undo(results[0])
        raise


class Request:
    """An operation in flight. It holds the arrays, so they may be forgotten; they must not be changed before it is
    done."""

    __slots__ = ("_handle", "_comm", "_buffers", "_lock", "_error", "_source", "result", "__weakref__")

    def __init__(self, comm, handle, held, result):
        self._comm, self._handle, self._buffers = comm, handle, held
        self._lock, self._error, self._source = threading.Lock(), None, None
        self.result = result

    @property
    def source(self):
        """The rank whose message recv_any_start() has received; None: not yet, or it is another operation."""
        found = self._source
        return None if found is None or found.value == library.NO_RANK else found.value

    def _end(self, code, error):
        self._handle = None
        self._buffers = None
        self._comm._requests.discard(self)
        if code < 0:
            try:
                library.check(code, error)
            except CommError as problem:
                self._error = problem

    def _outcome(self):
        if self._error:
            raise self._error
        return self.result

    def wait(self, timeout=None):
        """Wait until it is done; returns the array with the result. From any thread, and as often as one likes.

        timeout: seconds that this call waits; None: as long as the operation may take. When they are over,
        DeadlineError is raised, and the operation goes on.
        Raises CommError: PeerError names a rank that died, DeadlineError those that were waited for. The interpreter is
        free for other threads meanwhile. Ctrl-C ends the wait, not the operation.
        """
        if not self.join(timeout):
            raise late(timeout)
        return self._outcome()

    def join(self, seconds=None):
        """Wait until it is done, well or not, for so many seconds at most. Returns whether it is done."""
        if seconds is None:
            with self._lock:
                while self._handle is not None:
                    self._step(_SLICE)
            return True
        until = time.monotonic() + seconds
        if not self._lock.acquire(timeout=max(seconds, 0)):
            return False
        try:
            while self._handle is not None and time.monotonic() < until:
                self._step(max(1, min(_SLICE, int((until - time.monotonic()) * 1e6))))
            return self._handle is None
        finally:
            self._lock.release()

    def _step(self, microseconds):
        """Wait a little, with the lock held."""
        error = library.Error()
        code = _lib.rh_comm_wait_for(self._handle, microseconds, _byref(error))
        if code != library.BUSY:
            self._end(code, error)

    def done(self):
        """Whether it is done, well or not."""
        try:
            return self.test()
        except CommError:
            return True

    def test(self):
        """Whether it is done. Raises CommError when it failed."""
        # somebody else waits for it: not done
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._handle is not None:
                error = library.Error()
                code = _lib.rh_comm_test(self._handle, _byref(error))
                if code == library.BUSY:
                    return False
                self._end(code, error)
        finally:
            self._lock.release()
        self._outcome()
        return True


class _Store:
    """Somebody else's key-value store for the bootstrap, as the library wants it; what fails is kept for the
    message."""

    def __init__(self, store):
        self.store, self.problem = store, None
        self.set, self.get = library.KV_SET(self._set), library.KV_GET(self._get)

    def _set(self, _arg, key, value, length):
        try:
            self.store.set(key.decode(), ctypes.string_at(value, length))
            return 0
        except Exception as problem:  # nothing may pass through C
            self.problem = problem
            return -1

    def _get(self, _arg, key, value, room, timeout):
        try:
            found = self.store.get(key.decode(), timeout / 1e6)
            if len(found) > room:
                raise ValueError(f"{key.decode()} has {len(found)} bytes, there is room for {room}")
            ctypes.memmove(value, bytes(found), len(found))
            return len(found)
        except Exception as problem:
            self.problem = problem
            return -1


class Comm:
    """One rank's seat in a world of ranks.

    All ranks call the same collectives in the same order. Each comes in two forms: ``all_reduce()`` waits, and
    ``all_reduce_start()`` returns a Request. All ranks end with the same bits. After an error the context is over:
    every later operation raises it again; close it, and make a new one.

    Arrays are numpy arrays, torch tensors (of a CUDA device, too, where the backend takes it) or what has the buffer
    protocol. They must be contiguous and are used in place, without a copy. What is reduced is of float32, float64,
    float16, bfloat16 and float8 (e4m3fn, e5m2; torch, ml_dtypes), bool, or an integer of 8 to 64 bits; what is only
    moved is of any type. Operations are ``"sum"``, ``"avg"``, ``"min"``, ``"max"`` and ``"prod"``, of integers also
    ``"band"``, ``"bor"`` and ``"bxor"``; integers wrap around, and their average rounds to zero. ``"min"`` and
    ``"max"`` keep NaN.

    Any thread may use it; close() must be the last call.
    """

    def __init__(self, rank=None, world=None, *, backend=None, host=None, port=0, job=None, secret=None,
                 init_timeout=None, timeout=None, death_timeout=None, store=None):
        """Join the world; blocks until all ranks have come. What is None comes from the environment (docs/comm.md).

        rank, world: both or neither; where they are given, no variable for them is read. backend: "auto", "native",
        "ucx", "mpi" or "nccl". host, port: where rank 0 listens.
        job, secret: ranks of another job are refused. init_timeout, timeout, death_timeout: seconds; timeout is that of
        one operation, 0 is none; death_timeout is the silence after which a host counts as lost.
        store: an object with set(key, bytes) and get(key, seconds) -> bytes, instead of a store of our own.

        Raises InvalidError for wrong or contradictory settings, DeadlineError when ranks do not come, SystemFailure.
        """
        if (rank is None) != (world is None):
            raise InvalidError("Comm: give rank and world, or neither", -1)
        self._requests, self._groups, self._lock = set(), weakref.WeakSet(), threading.Lock()
        self._handle, self.parent = None, None
        foreign = _Store(store) if store is not None else None
        options = library.Options(
            size=ctypes.sizeof(library.Options), has_rank=int(rank is not None), rank=rank or 0, world=world or 0,
            backend=_text(backend), host=_text(host), port=port, job=_text(job), secret=_text(secret),
            init_timeout=buffers.microseconds(init_timeout),
            op_timeout=buffers.microseconds(timeout), death_timeout=buffers.microseconds(death_timeout))
        if foreign:
            options.kv_set, options.kv_get = foreign.set, foreign.get
        handle, error = ctypes.c_void_p(), library.Error()
        code = _call(_lib.rh_comm_init, _byref(options), _byref(handle), _byref(error),
                     undo=lambda code: _lib.rh_comm_free(handle) if code == 0 else None)
        try:
            library.check(code, error)
        except CommError as problem:
            raise problem from (foreign.problem if foreign else None)
        self._open(handle)

    def _open(self, handle):
        self._handle = handle
        self.rank, self.world = _lib.rh_comm_rank(handle), _lib.rh_comm_world(handle)
        self.local_rank, self.local_world = _lib.rh_comm_local_rank(handle), _lib.rh_comm_local_world(handle)
        self.backend = _lib.rh_comm_backend_name(handle).decode()
        _open.add(self)

    @property
    def is_group(self):
        """Whether group() made it."""
        return self.parent is not None

    def group(self, ranks):
        """A Comm of these ranks, which become 0 … in that order. Collective among them. Raises InvalidError,
        CommError."""
        numbers = (ctypes.c_int32 * len(ranks))(*ranks)
        handle, error = ctypes.c_void_p(), library.Error()
        library.check(_call(_lib.rh_comm_group, self._alive(), numbers, len(ranks), _byref(handle), _byref(error)),
                      error)
        made = Comm.__new__(Comm)
        made._requests, made._groups, made._lock, made.parent = set(), weakref.WeakSet(), threading.Lock(), self
        made._open(handle)
        self._groups.add(made)
        return made

    def close(self):
        """Leave, after what is in flight has ended; groups of it leave first. Peers that still need this rank get
        PeerError."""
        for group in list(self._groups):
            group.close()
        for request in list(self._requests):
            try:
                request.wait()
            except CommError:
                pass
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            _lib.rh_comm_free(handle)
        _open.discard(self)

    def abort(self, why=""):
        """End all pending and later operations of all ranks with AbortedError, which says why. From any thread."""
        _lib.rh_comm_abort(self._alive(), str(why).encode())

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        # the others shall not wait for a rank that is unwinding, and shall learn why
        if kind is not None and self._handle is not None:
            self.abort(f"{kind.__name__}: {value}")
        self.close()

    def __repr__(self):
        return f"<Comm rank {self.rank} of {self.world}, {self.backend}{', closed' if self._handle is None else ''}>"

    def _alive(self):
        if self._handle is None:
            raise InvalidError("Comm: it is closed, or was made before fork()", -1)
        return self._handle

    def _op(self, what, timeout, out=None, source=None, count=None, reduce=0, peer=0, tag=0, in_counts=None,
            out_counts=None):
        buffer = out or source
        op = library.Op(size=library.OP_SIZE, what=what, reduce=reduce, peer=peer, tag=tag,
                        timeout=buffers.microseconds(timeout))
        if buffer is not None:
            op.in_ = source.address if source is not None else None
            op.out = out.address if out is not None else None
            op.count = buffer.count if count is None else count
            op.type, op.memory, op.stream = buffer.type, buffer.memory, buffer.stream
        op.in_counts, op.out_counts = in_counts, out_counts
        return op

    def _list(self, name, counts, buffer, whole=True):
        """Counts of elements by rank, for C. whole: they are all that buffer has."""
        if counts is None or len(counts) != self.world:
            raise InvalidError(f"{name}: {'no' if counts is None else len(counts)} counts for {self.world} ranks", -1)
        if min(counts) < 0:
            raise InvalidError(f"{name}: a count is {min(counts)}, which is below 0", -1)
        if whole and sum(counts) * buffer.scale != buffer.count:
            raise InvalidError(f"{name}: the counts are {sum(counts)} elements, the array has "
                               f"{buffer.count // buffer.scale}", -1)
        return (ctypes.c_size_t * self.world)(*(count * buffer.scale for count in counts))

    def _run(self, op, held, result):
        handle, error = ctypes.c_void_p(), library.Error()
        code = _lib.rh_comm_run_for(self._alive(), _byref(op), _SLICE, _byref(handle), _byref(error))
        if code == library.BUSY:
            return self._hold(handle, held, result).wait()
        if code < 0:
            library.check(code, error)
        return result

    def _start(self, op, held, result):
        handle, error = ctypes.c_void_p(), library.Error()
        library.check(_lib.rh_comm_post(self._alive(), _byref(op), _byref(handle), _byref(error)), error)
        return self._hold(handle, held, result)

    def _hold(self, handle, held, result):
        request = Request(self, handle, held, result)
        self._requests.add(request)
        return request

    def _all_reduce(self, array, op, out, timeout):
        to = buffers.of(array if out is None else out)
        source = to if out is None else buffers.of(array, writable=False)
        self._check_same(source, to, to.count, "all_reduce")
        return self._op(library.ALL_REDUCE, timeout, to, source, reduce=_reduction(op)), (source,
                to), array if out is None else out

    def all_reduce(self, array, op="sum", out=None, timeout=None):
        """Reduce the arrays of all ranks, element by element; all get the result.

        array: any shape, the same number of elements and type on every rank. out: where the result goes, as large as
        array; None is array itself. timeout: seconds; None is the context's, 0 none. Returns the array with the result.
        Raises InvalidError, PeerError, DeadlineError, AbortedError, BackendError.
        """
        return self._run(*self._all_reduce(array, op, out, timeout))

    def all_reduce_start(self, array, op="sum", out=None, timeout=None):
        """all_reduce() as a Request."""
        return self._start(*self._all_reduce(array, op, out, timeout))

    def all_reduce_many(self, arrays, op="sum", timeout=None):
        """all_reduce() of a list of arrays in place, in buckets: many small arrays take about as long as a few large
        ones.

        The same arrays in the same order on every rank, of any types. Returns the list. Raises as all_reduce().
        """
        return self.all_reduce_many_start(arrays, op, timeout).wait()

    def all_reduce_many_start(self, arrays, op="sum", timeout=None):
        """all_reduce_many() as a Request."""
        made = [self._all_reduce(array, op, None, timeout) for array in arrays]
        ops = (library.Op * len(made))(*(op for op, _, _ in made))
        handle, error = ctypes.c_void_p(), library.Error()
        library.check(_lib.rh_comm_post_batch(self._alive(), ops, len(made), _byref(handle), _byref(error)), error)
        return self._hold(handle, [held for _, held, _ in made], arrays)

    def _reduce_scatter(self, array, out, op, timeout):
        source, to = buffers.of(array, writable=False), buffers.of(out)
        self._check_same(source, to, to.count * self.world, "reduce_scatter")
        return self._op(library.REDUCE_SCATTER, timeout, to, source, reduce=_reduction(op)), (source, to), out

    def reduce_scatter(self, array, out, op="sum", timeout=None):
        """Reduce the arrays of all ranks; rank r gets the r-th part of the result.

        array: world times as many elements as out, of the same type. Returns out. Raises as all_reduce().
        """
        return self._run(*self._reduce_scatter(array, out, op, timeout))

    def reduce_scatter_start(self, array, out, op="sum", timeout=None):
        """reduce_scatter() as a Request."""
        return self._start(*self._reduce_scatter(array, out, op, timeout))

    def _all_gather(self, array, out, timeout):
        source, to = buffers.of(array, writable=False, moved=True), buffers.of(out, moved=True)
        self._check_same(source, to, to.count // self.world, "all_gather")
        if to.count != source.count * self.world:
            raise InvalidError(f"all_gather: out has {to.count} elements, not {self.world} times {source.count}", -1)
        return self._op(library.ALL_GATHER, timeout, to, source, count=source.count), (source, to), out

    def all_gather(self, array, out, timeout=None):
        """Put the arrays of all ranks behind each other, by rank, into out of every rank.

        out: world times as many elements as array, of the same type; array may be this rank's part of out. Any type.
        Returns out. Raises as all_reduce().
        """
        return self._run(*self._all_gather(array, out, timeout))

    def all_gather_start(self, array, out, timeout=None):
        """all_gather() as a Request."""
        return self._start(*self._all_gather(array, out, timeout))

    def _all_to_all(self, array, out, timeout):
        source, to = buffers.of(array, writable=False, moved=True), buffers.of(out, moved=True)
        self._check_same(source, to, to.count, "all_to_all")
        if source.count % self.world != 0:
            raise InvalidError(f"all_to_all: {source.count // source.scale} elements cannot be shared out to "
                               f"{self.world} ranks", -1)
        return self._op(library.ALL_TO_ALL, timeout, to, source, count=source.count // self.world), (source, to), out

    def all_to_all(self, array, out, timeout=None):
        """Give part r of array to rank r, and put what comes from rank r into part r of out.

        array, out: of the same size and type, which world divides; not the same memory. Any type. Returns out. Raises
        as all_reduce().
        """
        return self._run(*self._all_to_all(array, out, timeout))

    def all_to_all_start(self, array, out, timeout=None):
        """all_to_all() as a Request."""
        return self._start(*self._all_to_all(array, out, timeout))

    def _all_to_all_v(self, array, in_counts, out, out_counts, timeout):
        source, to = buffers.of(array, writable=False, moved=True), buffers.of(out, moved=True)
        self._check_types(source, to, "all_to_all_v")
        given, taken = self._list("all_to_all_v", in_counts, source), self._list("all_to_all_v", out_counts, to)
        op = self._op(library.ALL_TO_ALL_V, timeout, to, source, count=0, in_counts=given, out_counts=taken)
        return op, (source, to, given, taken), out

    def all_to_all_v(self, array, in_counts, out, out_counts, timeout=None):
        """all_to_all() with parts of different lengths, which lie behind each other and may be empty.

        in_counts, out_counts: elements by rank. What a rank has for another must be what that one expects; else all
        ranks get InvalidError, which names both. Returns out. Raises as all_reduce().
        """
        return self._run(*self._all_to_all_v(array, in_counts, out, out_counts, timeout))

    def all_to_all_v_start(self, array, in_counts, out, out_counts, timeout=None):
        """all_to_all_v() as a Request."""
        return self._start(*self._all_to_all_v(array, in_counts, out, out_counts, timeout))

    def _at_root(self, array, root, name):
        """The Buffer of what the root alone has."""
        if self.rank != root:
            return None
        if array is None:
            raise InvalidError(f"{name}: rank {root} is the root and gives no array for all ranks", -1)
        return buffers.of(array, moved=True, writable=name.startswith("gather"))

    def _gather(self, array, out, root, timeout):
        source, to = buffers.of(array, writable=False, moved=True), self._at_root(out, root, "gather")
        if to is not None:
            self._check_types(source, to, "gather")
            if to.count != source.count * self.world:
                raise InvalidError(f"gather: out has {to.count} elements, not {self.world} times {source.count}", -1)
        return self._op(library.GATHER, timeout, to, source, count=source.count, peer=root), (source, to), out

    def gather(self, array, out=None, root=0, timeout=None):
        """Put the arrays of all ranks behind each other, by rank, into out of rank root.

        array: the same size and type on every rank, any type. out: world times as large; of rank root alone. Returns
        out.
        Raises as all_reduce().
        """
        return self._run(*self._gather(array, out, root, timeout))

    def gather_start(self, array, out=None, root=0, timeout=None):
        """gather() as a Request."""
        return self._start(*self._gather(array, out, root, timeout))

    def _gather_v(self, array, out, counts, root, timeout):
        source, to, taken = buffers.of(array, writable=False, moved=True), self._at_root(out, root, "gather_v"), None
        if to is not None:
            self._check_types(source, to, "gather_v")
            taken = self._list("gather_v", counts, to)
        op = self._op(library.GATHER_V, timeout, to, source, count=source.count, peer=root, out_counts=taken)
        return op, (source, to, taken), out

    def gather_v(self, array, out=None, counts=None, root=0, timeout=None):
        """gather() of arrays of different lengths. out, counts: of rank root alone; counts are elements by rank."""
        return self._run(*self._gather_v(array, out, counts, root, timeout))

    def gather_v_start(self, array, out=None, counts=None, root=0, timeout=None):
        """gather_v() as a Request."""
        return self._start(*self._gather_v(array, out, counts, root, timeout))

    def _scatter(self, array, out, root, timeout):
        source, to = self._at_root(array, root, "scatter"), buffers.of(out, moved=True)
        if source is not None:
            self._check_same(source, to, to.count * self.world, "scatter")
        return self._op(library.SCATTER, timeout, to, source, peer=root), (source, to), out

    def scatter(self, array, out, root=0, timeout=None):
        """Give part r of the array of rank root to rank r. array: world times as large as out; None on the others.
        Returns out."""
        return self._run(*self._scatter(array, out, root, timeout))

    def scatter_start(self, array, out, root=0, timeout=None):
        """scatter() as a Request."""
        return self._start(*self._scatter(array, out, root, timeout))

    def _scatter_v(self, array, counts, out, root, timeout):
        source, to, given = self._at_root(array, root, "scatter_v"), buffers.of(out, moved=True), None
        if source is not None:
            self._check_types(source, to, "scatter_v")
            given = self._list("scatter_v", counts, source)
        return self._op(library.SCATTER_V, timeout, to, source, peer=root, in_counts=given), (source, to, given), out

    def scatter_v(self, array, counts, out, root=0, timeout=None):
        """scatter() with parts of different lengths. array, counts: of rank root, None on the others; counts are
        elements by rank."""
        return self._run(*self._scatter_v(array, counts, out, root, timeout))

    def scatter_v_start(self, array, counts, out, root=0, timeout=None):
        """scatter_v() as a Request."""
        return self._start(*self._scatter_v(array, counts, out, root, timeout))

    def _reduce(self, array, op, root, out, timeout):
        mine = self.rank == root
        source = buffers.of(array, writable=mine and out is None)
        to = (source if out is None else buffers.of(out)) if mine else None
        if to is not None:
            self._check_same(source, to, to.count, "reduce")
        result = array if out is None else out
        return self._op(library.REDUCE, timeout, to, source, reduce=_reduction(op), peer=root), (source, to), result

    def reduce(self, array, op="sum", root=0, out=None, timeout=None):
        """all_reduce() of which rank root alone gets the result: in out, or in array itself. Returns that array."""
        return self._run(*self._reduce(array, op, root, out, timeout))

    def reduce_start(self, array, op="sum", root=0, out=None, timeout=None):
        """reduce() as a Request."""
        return self._start(*self._reduce(array, op, root, out, timeout))

    def _all_gather_v(self, array, out, counts, timeout):
        source, to = buffers.of(array, writable=False, moved=True), buffers.of(out, moved=True)
        self._check_types(source, to, "all_gather_v")
        taken = self._list("all_gather_v", counts, to)
        if taken[self.rank] != source.count:
            raise InvalidError(f"all_gather_v: array has {source.count} elements, its count is {taken[self.rank]}", -1)
        return self._op(library.ALL_GATHER_V, timeout, to, source, count=0, out_counts=taken), (source, to, taken), out

    def all_gather_v(self, array, out, counts, timeout=None):
        """all_gather() of arrays of different lengths. counts: elements by rank, the same list on every rank. Returns
        out."""
        return self._run(*self._all_gather_v(array, out, counts, timeout))

    def all_gather_v_start(self, array, out, counts, timeout=None):
        """all_gather_v() as a Request."""
        return self._start(*self._all_gather_v(array, out, counts, timeout))

    def _reduce_scatter_v(self, array, out, counts, op, timeout):
        source, to = buffers.of(array, writable=False), buffers.of(out)
        self._check_types(source, to, "reduce_scatter_v")
        given = self._list("reduce_scatter_v", counts, source)
        if given[self.rank] != to.count:
            raise InvalidError(f"reduce_scatter_v: out has {to.count} elements, its count is {given[self.rank]}", -1)
        made = self._op(library.REDUCE_SCATTER_V, timeout, to, source, count=0, reduce=_reduction(op), in_counts=given)
        return made, (source, to, given), out

    def reduce_scatter_v(self, array, out, counts, op="sum", timeout=None):
        """reduce_scatter() into parts of different lengths. counts: elements by rank, the same list on every rank.
        Returns out."""
        return self._run(*self._reduce_scatter_v(array, out, counts, op, timeout))

    def reduce_scatter_v_start(self, array, out, counts, op="sum", timeout=None):
        """reduce_scatter_v() as a Request."""
        return self._start(*self._reduce_scatter_v(array, out, counts, op, timeout))

    def _broadcast(self, array, root, timeout):
        buffer = buffers.of(array, moved=True, writable=self.rank != root)
        return self._op(library.BROADCAST, timeout, buffer, buffer, peer=root), (buffer,), array

    def broadcast(self, array, root=0, timeout=None):
        """Give the array of rank root to all. The same size on every rank, of any type. Returns array. Raises as
        all_reduce()."""
        return self._run(*self._broadcast(array, root, timeout))

    def broadcast_start(self, array, root=0, timeout=None):
        """broadcast() as a Request."""
        return self._start(*self._broadcast(array, root, timeout))

    def barrier(self, timeout=None):
        """Wait until all ranks are here. Raises as all_reduce()."""
        self._run(self._op(library.BARRIER, timeout), (), None)

    def barrier_start(self, timeout=None):
        """barrier() as a Request."""
        return self._start(self._op(library.BARRIER, timeout), (), None)

    def send(self, array, to, tag=0, timeout=None):
        """Send an array of any type to rank ``to``. Messages of a tag meet in the order of their posting. Raises as
        all_reduce()."""
        self.send_start(array, to, tag, timeout).wait()

    def send_start(self, array, to, tag=0, timeout=None):
        """send() as a Request."""
        buffer = buffers.of(array, writable=False, moved=True)
        return self._start(self._op(library.SEND, timeout, source=buffer, peer=to, tag=tag), (buffer,), None)

    def recv(self, array, source, tag=0, timeout=None):
        """Receive into array, which is as large as what rank ``source`` sends. Returns array. Raises as
        all_reduce()."""
        return self.recv_start(array, source, tag, timeout).wait()

    def recv_start(self, array, source, tag=0, timeout=None):
        """recv() as a Request."""
        buffer = buffers.of(array, moved=True)
        return self._start(self._op(library.RECV, timeout, out=buffer, peer=source, tag=tag), (buffer,), array)

    def recv_any(self, array, tag=0, timeout=None):
        """Receive into array from whichever other rank sends a message of the tag; it is not empty. Returns that rank.

        Ranks that have messages are taken in turn. Raises as all_reduce(); PeerError also when all others have left.
        """
        request = self.recv_any_start(array, tag, timeout)
        request.wait()
        return request.source

    def recv_any_start(self, array, tag=0, timeout=None):
        """recv_any() as a Request, whose source is that rank."""
        buffer, source = buffers.of(array, moved=True), ctypes.c_int32(library.NO_RANK)
        op = self._op(library.RECV, timeout, out=buffer, peer=library.ANY_RANK, tag=tag)
        op.source = ctypes.pointer(source)
        request = self._start(op, (buffer,), array)
        request._source = source
        return request

    @staticmethod
    def _check_types(source, to, name):
        if source.type != to.type or source.memory != to.memory:
            raise InvalidError(f"{name}: array and out must be of one type, in one memory", -1)

    @staticmethod
    def _check_same(source, to, count, name):
        Comm._check_types(source, to, name)
        if source.count != count:
            raise InvalidError(f"{name}: {source.count} elements do not fit {to.count}", -1)
