# SPDX-License-Identifier: Apache-2.0
"""Parameter servers: the workers' side, and a server."""
import atexit
import ctypes
import hashlib
import os
import re
import threading
import weakref

from roundhouse import buffers, errors, library
from roundhouse.errors import CommError, InvalidError

_lib = library.lib
_byref = ctypes.byref
_INIT, _PUSH, _PULL, _PUSH_PULL, _BARRIER, _PUSH_ROWS, _PULL_ROWS, _PUSH_PULL_ROWS = range(1, 9)
MODES = {"sync": 1, "async": 2, "stale": 3}
RULES = {"sum": 1, "average": 2, "total": 3, "mean": 4, "sgd": 5, "momentum": 6, "adam": 7,
         "adagrad": 8}
DURABLE = {"logged": 1, "synced": 2}
_OP_SIZE = ctypes.sizeof(library.ServedOp)
_open = weakref.WeakSet()  # of ParameterServer: those that atexit closes


@atexit.register
def _close_all():
    for server in list(_open):
        server.close()


def _need():
    if not hasattr(_lib, "rh_ps_connect"):
        raise InvalidError("this librhcomm has no parameter servers; install one that has", -1)


def _text(value):
    return None if value is None else str(value).encode()


def _word(words, value, name):
    if value is None:
        return 0
    if value not in words:
        raise InvalidError(f'{name} "{value}" is not known; there are {", ".join(words)}', -1)
    return words[value]


class ServedRequest:
    """Operations in flight. It holds the arrays, which must not be changed before all are done."""

    __slots__ = ("_handle", "_server", "_held", "_error", "_lock", "result")

    def __init__(self, server, handle, held, result):
        self._server, self._handle, self._held, self.result = server, handle, held, result
        self._error, self._lock = None, threading.Lock()

    def _end(self, code, error):
        self._handle, self._held = None, None
        self._server._requests.discard(self)
        try:
            self._server._check(code, error)
        except CommError as problem:
            self._error = problem

    def wait(self):
        """Wait until all are done; returns what was pulled. Requests of a worker move on inside its calls only."""
        with self._lock:
            if self._handle is not None:
                error = library.Error()
                self._end(_lib.rh_ps_wait(self._handle, _byref(error)), error)
        if self._error:
            raise self._error
        return self.result

    def test(self):
        """Whether all are done. Raises CommError when one failed."""
        with self._lock:
            if self._handle is not None:
                error = library.Error()
                code = _lib.rh_ps_test(self._handle, _byref(error))
                if code == library.BUSY:
                    return False
                self._end(code, error)
        if self._error:
            raise self._error
        return True


class ParameterServer:
    """A worker's connection to all parameter servers of a job.

        with roundhouse.ParameterServer() as server:         # where the servers are comes from the environment
            server.init({"weights": weights})                # every worker; worker 0's values count, all get them
            server.push_pull({"weights": gradient}, {"weights": weights})

    Keys are texts or whole numbers from 0 to 2**63 - 1. Arrays are as those of Comm: contiguous, used in place, of
    float32, float64, float16, bfloat16 or an integer of 8 to 64 bits, in the memory of the processor; a key keeps its
    length and type.
    A value may have rows, as an embedding: init() is given their width, and push_rows(), pull_rows() and
    push_pull_rows() move some of them.
    Operations on several keys travel together. Each method has a form with ``_start`` that returns a request to wait()
    for.

    Servers end when all workers have left: at the end of ``with``, by close(), or when the interpreter ends, which
    closes what is still open. Any thread may use it; close() must be the last call.
    """

    def __init__(self, servers=None, worker=None, workers=None, *, job=None, secret=None, init_timeout=None,
                 timeout=None, grace=None, death_timeout=None, shared_memory=True, backend=None):
        """Connect to all servers; blocks until they are there. What is None comes from the environment (docs/ps.md).

        servers: "host:port,host:port" or a list of such, in the same order everywhere. worker, workers: which of how
        many. timeout: seconds for one operation; 0 is no limit. grace: seconds to wait for a lost server. backend:
        "own", or one of rh_comm, as the servers'.
        Raises InvalidError, DeadlineError, PeerError, SystemFailure.
        """
        _need()
        if servers is not None and not isinstance(servers, str):
            servers = ",".join(servers)
        self._requests, self._keys, self._handle, self._process = set(), {}, None, os.getpid()
        self._rows = {}  # of keys whose values have rows: elements of a row, and of the value
        options = library.WorkerOptions(
            size=ctypes.sizeof(library.WorkerOptions), has_worker=int(worker is not None), worker=worker or 0,
            workers=workers or 0, servers=_text(servers), job=_text(job), secret=_text(secret),
            init_timeout=buffers.microseconds(init_timeout),
            op_timeout=buffers.microseconds(timeout), grace=buffers.microseconds(grace),
            death_timeout=buffers.microseconds(death_timeout), no_shm=int(not shared_memory), backend=_text(backend))
        handle, error = ctypes.c_void_p(), library.Error()
        library.check(_lib.rh_ps_connect(_byref(options), _byref(handle), _byref(error)), error)
        self._handle = handle
        _open.add(self)
        self.worker, self.workers = _lib.rh_ps_worker(handle), _lib.rh_ps_workers(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Leave, after what is in flight has ended: nobody waits for this worker any more. In a forked process it does
        nothing."""
        if self._process != os.getpid():
            return
        for request in list(self._requests):
            try:
                request.wait()
            except CommError:
                pass
        handle, self._handle = self._handle, None
        if handle is not None:
            _lib.rh_ps_free(handle)

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self.close()

    def _alive(self):
        if self._handle is None:
            raise InvalidError("ParameterServer: it is closed", -1)
        return self._handle

    def _key(self, key):
        if isinstance(key, int):
            if not 0 <= key < 2 ** 63:
                raise InvalidError(f"ParameterServer: key {key} must be from 0 to 2**63 - 1", -1)
            return key
        # names have the upper half of the numbers to themselves
        number = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little") | 1 << 63
        number -= number == 2 ** 64 - 1
        if self._keys.setdefault(number, key) != key:
            raise InvalidError(f'ParameterServer: the keys "{key}" and "{self._keys[number]}" have the same hash; '
                               'rename one', -1)
        return number

    def _name(self, at):
        return f'key "{self._keys[int(at[1])]}"' if int(at[1]) in self._keys else at[0]

    def _check(self, code, error):
        if code < 0:  # the library knows numbers alone
            raise errors.make(code, error.rank, re.sub(r"\bkey (\d+)", self._name, error.text.decode(errors="replace")))

    def _op(self, what, key, source, to, timeout):
        op = library.ServedOp(size=_OP_SIZE, what=what, timeout=buffers.microseconds(timeout))
        about = source or to
        if about is not None:
            if about.memory != library.HOST:
                raise InvalidError(f'ParameterServer: the array of key "{key}" is not in the memory of the processor; '
                                   'use .cpu()', -1)
            op.key, op.count, op.type = self._key(key), about.count, about.type
            op.width = self._rows.get(key, (0, 0))[0]
            op.in_ = source.address if source is not None else None
            op.out = to.address if to is not None else None
        if source is not None and to is not None and (source.count, source.type) != (to.count, to.type):
            raise InvalidError(f'ParameterServer: key "{key}": {source.count} elements are pushed and {to.count} '
                               'pulled, or of another type', -1)
        return op

    def _op_rows(self, what, key, rows, source, to, timeout):
        width, count = self._rows.get(key, (0, 0))
        if width == 0:
            raise InvalidError(f'ParameterServer: key "{key}" has no rows: give init() its width', -1)
        if rows.type not in (library.I64, library.U64) or rows.memory != library.HOST:
            raise InvalidError(f'ParameterServer: the rows of key "{key}" must be int64 or uint64, in the memory of '
                               'the processor', -1)
        for elements in (source, to):
            if elements is not None and elements.count != rows.count * width:
                raise InvalidError(f'ParameterServer: key "{key}": {elements.count} elements are not {rows.count} rows '
                                   f'of {width}', -1)
        op = self._op(what, key, source, to, timeout)
        op.count, op.rows, op.row_count = count, rows.address, rows.count
        return op

    def _start(self, ops, held, result):
        many = (library.ServedOp * len(ops))(*ops)
        handle, error = ctypes.c_void_p(), library.Error()
        self._check(_lib.rh_ps_post(self._alive(), many, len(ops), _byref(handle), _byref(error)), error)
        request = ServedRequest(self, handle, held, result)
        self._requests.add(request)
        return request

    def _start_all(self, what, sources, targets, timeout):
        ops, held = [], []
        for key in sources if sources is not None else targets:
            source = buffers.of(sources[key], writable=False) if sources is not None else None
            if targets is not None and key not in targets:
                raise InvalidError(f'ParameterServer: nothing to pull key "{key}" into', -1)
            to = buffers.of(targets[key]) if targets is not None else None
            held.append((source, to))
            ops.append(self._op(what, key, source, to, timeout))
        return self._start(ops, held, targets)

    def _start_rows(self, what, values, out, timeout):
        ops, held = [], []
        for key, (rows, elements) in values.items():
            if out is not None and key not in out:
                raise InvalidError(f'ParameterServer: nothing to pull key "{key}" into', -1)
            index = buffers.of(rows, writable=False)
            source = buffers.of(elements, writable=False) if what != _PULL_ROWS else None
            to = buffers.of(out[key]) if out is not None else None
            held.append((index, source, to))
            ops.append(self._op_rows(what, key, index, source, to, timeout))
        return self._start(ops, held, out)

    def init_start(self, values, timeout=None, widths=None):
        """init() as a request."""
        for key, width in (widths or {}).items():
            self._rows[key] = width, buffers.of(values[key], writable=False).count
        return self._start_all(_INIT, values, values, timeout)

    def init(self, values, timeout=None, widths=None):
        """Make keys known: every worker, once for each key, before anything else with it.

        values: a dict of key to array. A new key takes worker 0's; every worker's array gets the value that counts.
        widths: of keys whose values have rows, a dict of key to elements of a row, the same in all workers.
        Returns values. Raises CommError.
        """
        return self.init_start(values, timeout, widths).wait()

    def push_start(self, values, timeout=None):
        """push() as a request."""
        return self._start_all(_PUSH, values, None, timeout)

    def push(self, values, timeout=None):
        """Push a dict of key to array, gradients for one. It counts once, also when a server was lost in between.
        Raises CommError."""
        self.push_start(values, timeout).wait()

    def pull_start(self, values, timeout=None):
        """pull() as a request."""
        return self._start_all(_PULL, None, values, timeout)

    def pull(self, values, timeout=None):
        """Pull into the arrays of a dict; returns it. In a synchronous server it waits for the round of the last push.
        Raises CommError."""
        return self.pull_start(values, timeout).wait()

    def push_pull_start(self, values, out=None, timeout=None):
        """push_pull() as a request."""
        return self._start_all(_PUSH_PULL, values, values if out is None else out, timeout)

    def push_pull(self, values, out=None, timeout=None):
        """Push values and pull into out, in one trip. out: a dict of the same keys; None is values. Returns out. Raises
        CommError."""
        return self.push_pull_start(values, out, timeout).wait()

    def push_rows_start(self, values, timeout=None):
        """push_rows() as a request."""
        return self._start_rows(_PUSH_ROWS, values, None, timeout)

    def push_rows(self, values, timeout=None):
        """Push rows, sparse gradients for one, which change these rows and no other.

        values: a dict of key to (rows, elements): which rows, int64 or uint64 and ascending, and their elements, one
        row after another. What is pushed to a row that is named more than once is summed. It counts as the worker's
        push of that key, also without rows. Raises CommError.
        """
        self.push_rows_start(values, timeout).wait()

    def pull_rows_start(self, values, timeout=None):
        """pull_rows() as a request."""
        return self._start_rows(_PULL_ROWS, values, {key: to for key, (_, to) in values.items()}, timeout)

    def pull_rows(self, values, timeout=None):
        """Pull rows. values: a dict of key to (rows, array that gets their elements). Returns a dict of key to that
        array. Raises CommError."""
        return self.pull_rows_start(values, timeout).wait()

    def push_pull_rows_start(self, values, out=None, timeout=None):
        """push_pull_rows() as a request."""
        to = {key: elements for key, (_, elements) in values.items()} if out is None else out
        return self._start_rows(_PUSH_PULL_ROWS, values, to, timeout)

    def push_pull_rows(self, values, out=None, timeout=None):
        """Push rows as push_rows(), and pull the same ones, in one trip. out: a dict of the same keys to arrays; None
        is the elements that were pushed. Returns out. Raises CommError."""
        return self.push_pull_rows_start(values, out, timeout).wait()

    def barrier(self, timeout=None):
        """Wait until all workers are here. Raises CommError."""
        self._start([self._op(_BARRIER, None, None, None, timeout)], (), None).wait()

    def set_rate(self, rate):
        """Change the learning rate of all servers. Raises CommError."""
        error = library.Error()
        library.check(_lib.rh_ps_set_rate(self._alive(), rate, _byref(error)), error)


def serve(*, index=None, servers=None, workers=None, mode=None, staleness=0, rule=None, rate=0.0, momentum=0.0,
          beta1=0.0, beta2=0.0, epsilon=0.0, host=None, port=0, folder=None, durable=None, job=None, secret=None,
          backend=None, ready=None):
    """Be a parameter server until all workers have left. What is None or 0 comes from the environment (docs/ps.md).

    mode: "sync", "async" or "stale". rule: "sum", "average", "total", "mean", "sgd", "momentum", "adam" or
    "adagrad". rate, momentum, beta1, beta2, epsilon: the rule's. folder: where the state is kept, so that a killed
    server goes on; durable: "logged" or "synced". backend: "own", or one of rh_comm, as the workers'. ready: is called
    with the port once it listens. Raises CommError.
    """
    _need()
    options = library.ServerOptions(
        size=ctypes.sizeof(library.ServerOptions), has_index=int(index is not None), index=index or 0,
        servers=servers or 0, workers=workers or 0, mode=_word(MODES, mode, "mode"), staleness=staleness,
        rule=_word(RULES, rule, "rule"), rate=rate, momentum=momentum, beta1=beta1, beta2=beta2, epsilon=epsilon,
        host=_text(host), port=port, folder=_text(folder),
        durable=_word(DURABLE, durable, "durable"), job=_text(job), secret=_text(secret), backend=_text(backend))
    handle, error = ctypes.c_void_p(), library.Error()
    library.check(_lib.rh_ps_server_new(_byref(options), _byref(handle), _byref(error)), error)
    try:
        if ready:
            ready(_lib.rh_ps_server_port(handle))
        library.check(_lib.rh_ps_server_run(handle, _byref(error)), error)
    finally:
        _lib.rh_ps_server_free(handle)


def schedule(*, servers=None, workers=None, host=None, port=0, job=None, secret=None, backend=None, init_timeout=None,
             grace=None, replicas=None, ready=None):
    """Be the scheduler through which servers and workers find each other (docs/ps.md), until all workers have left.

    What is None or 0 comes from the environment (DMLC_*); port -1 is any that is free. init_timeout: seconds for all to
    come. grace: seconds that one who has died may take to come back. replicas: 2 gives each server a backup that takes
    over when it dies; then twice as many servers are to come. ready: is called with the port once it listens.
    Raises CommError that names who did not come, or who has died.
    """
    _need()
    # a library that does not know replicas knows the members before
    size = library.SchedulerOptions.replicas.offset if replicas is None else ctypes.sizeof(library.SchedulerOptions)
    options = library.SchedulerOptions(
        size=size, replicas=replicas or 0, servers=servers or 0, workers=workers or 0, port=port,
        host=_text(host), job=_text(job), secret=_text(secret), backend=_text(backend),
        init_timeout=buffers.microseconds(init_timeout),
        grace=buffers.microseconds(grace))
    handle, error = ctypes.c_void_p(), library.Error()
    library.check(_lib.rh_ps_scheduler_new(_byref(options), _byref(handle), _byref(error)), error)
    try:
        if ready:
            ready(_lib.rh_ps_scheduler_port(handle))
        library.check(_lib.rh_ps_scheduler_run(handle, _byref(error)), error)
    finally:
        _lib.rh_ps_scheduler_free(handle)
