# SPDX-License-Identifier: Apache-2.0
"""librhcomm.so by ctypes: its structs and functions, as include/roundhouse/comm.h has them."""
import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32,
                    c_uint64, c_void_p)

from roundhouse import errors

BUSY = 1
NO_RANK = -1
ANY_RANK = -2
NAME = "librhcomm.so.0"

F32, F64, F16, BF16, I8, I32, I64, U8, I16, U16, U32, U64, F8_E4M3, F8_E5M2 = range(1, 15)
REDUCTIONS = {"sum": 1, "avg": 2, "min": 3, "max": 4, "prod": 5, "band": 6, "bor": 7, "bxor": 8}
ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, BARRIER, SEND, RECV = range(1, 8)
ALL_TO_ALL, ALL_TO_ALL_V, GATHER, GATHER_V, SCATTER, SCATTER_V, REDUCE, ALL_GATHER_V, REDUCE_SCATTER_V = range(8, 17)
HOST, CUDA = 0, 1

KV_SET = CFUNCTYPE(c_int32, c_void_p, c_char_p, c_void_p, c_size_t)
KV_GET = CFUNCTYPE(c_int64, c_void_p, c_char_p, c_void_p, c_size_t, c_int64)


class Error(Structure):
    """struct rh_comm_error"""
    _fields_ = [("code", c_int32), ("rank", c_int32), ("text", c_char * 504)]


class Options(Structure):
    """struct rh_comm_options"""
    _fields_ = [("size", c_uint32), ("has_rank", c_int32), ("rank", c_int32), ("world", c_int32), ("backend", c_char_p),
                ("host", c_char_p), ("port", c_int32), ("job", c_char_p), ("secret", c_char_p),
                ("init_timeout", c_int64), ("op_timeout", c_int64), ("death_timeout", c_int64), ("kv_set", KV_SET),
                ("kv_get", KV_GET), ("kv_arg", c_void_p)]


class Op(Structure):
    """struct rh_comm_op"""
    _fields_ = [("size", c_uint32), ("what", c_int32), ("in_", c_void_p), ("out", c_void_p), ("count", c_size_t),
                ("type", c_int32), ("reduce", c_int32), ("peer", c_int32), ("tag", c_uint32), ("memory", c_int32),
                ("reserved", c_int32), ("stream", c_void_p), ("timeout", c_int64), ("in_counts", POINTER(c_size_t)),
                ("out_counts", POINTER(c_size_t)), ("source", POINTER(c_int32))]


class Compression(Structure):
    """struct rh_comm_compression"""
    _fields_ = [("size", c_uint32), ("how", c_int32), ("count", c_size_t), ("part", c_double)]


class Compressed(Structure):
    """struct rh_comm_compressed"""
    _fields_ = [("size", c_uint32), ("reserved", c_uint32), ("calls", c_uint64), ("plain_bytes", c_uint64),
                ("sent_bytes", c_uint64)]


class ServerOptions(Structure):
    """struct rh_ps_server_options"""
    _fields_ = [("size", c_uint32), ("has_index", c_int32), ("index", c_int32), ("servers", c_int32),
                ("workers", c_int32), ("mode", c_int32), ("staleness", c_int32), ("rule", c_int32), ("rate", c_double),
                ("momentum", c_double), ("beta1", c_double), ("beta2", c_double), ("epsilon", c_double),
                ("host", c_char_p), ("port", c_int32), ("folder", c_char_p), ("durable", c_int32), ("job", c_char_p),
                ("secret", c_char_p), ("grace", c_int64), ("death_timeout", c_int64), ("snapshot", c_int64),
                ("backend", c_char_p)]


class WorkerOptions(Structure):
    """struct rh_ps_options"""
    _fields_ = [("size", c_uint32), ("has_worker", c_int32), ("worker", c_int32), ("workers", c_int32),
                ("servers", c_char_p), ("job", c_char_p), ("secret", c_char_p), ("part", c_int64),
                ("init_timeout", c_int64), ("op_timeout", c_int64),
                ("grace", c_int64), ("death_timeout", c_int64), ("no_shm", c_int32), ("reserved", c_int32),
                ("backend", c_char_p)]


class SchedulerOptions(Structure):
    """struct rh_ps_scheduler_options"""
    _fields_ = [("size", c_uint32), ("servers", c_int32), ("workers", c_int32), ("port", c_int32), ("host", c_char_p),
                ("job", c_char_p), ("secret", c_char_p), ("backend", c_char_p), ("init_timeout", c_int64),
                ("grace", c_int64), ("death_timeout", c_int64), ("replicas", c_int32), ("reserved", c_int32)]


class ServedOp(Structure):
    """struct rh_ps_op"""
    _fields_ = [("size", c_uint32), ("what", c_int32), ("key", c_uint64), ("in_", c_void_p), ("out", c_void_p),
                ("count", c_size_t), ("type", c_int32), ("width", c_int32), ("timeout", c_int64), ("rows", c_void_p),
                ("row_count", c_size_t)]


OP_SIZE = ctypes.sizeof(Op)

_FUNCTIONS = {
    "rh_comm_init": (c_int32, [POINTER(Options), POINTER(c_void_p), POINTER(Error)]),
    "rh_comm_free": (None, [c_void_p]),
    "rh_comm_group": (c_int32, [c_void_p, POINTER(c_int32), c_int32, POINTER(c_void_p), POINTER(Error)]),
    "rh_comm_rank": (c_int32, [c_void_p]),
    "rh_comm_world": (c_int32, [c_void_p]),
    "rh_comm_local_rank": (c_int32, [c_void_p]),
    "rh_comm_local_world": (c_int32, [c_void_p]),
    "rh_comm_backend_name": (c_char_p, [c_void_p]),
    "rh_comm_post": (c_int32, [c_void_p, POINTER(Op), POINTER(c_void_p), POINTER(Error)]),
    "rh_comm_post_batch": (c_int32, [c_void_p, POINTER(Op), c_size_t, POINTER(c_void_p), POINTER(Error)]),
    "rh_comm_test": (c_int32, [c_void_p, POINTER(Error)]),
    "rh_comm_wait": (c_int32, [c_void_p, POINTER(Error)]),
    "rh_comm_wait_for": (c_int32, [c_void_p, c_int64, POINTER(Error)]),
    "rh_comm_run": (c_int32, [c_void_p, POINTER(Op), POINTER(Error)]),
    "rh_comm_run_for": (c_int32, [c_void_p, POINTER(Op), c_int64, POINTER(c_void_p), POINTER(Error)]),
    "rh_comm_abort": (None, [c_void_p, c_char_p]),
    "rh_comm_type_size": (c_size_t, [c_int32]),
    "rh_comm_status_text": (c_char_p, [c_int32]),
    "rh_comm_compressor_new": (c_int32, [c_void_p, POINTER(Compression), POINTER(c_void_p), POINTER(Error)]),
    "rh_comm_compressor_free": (None, [c_void_p]),
    "rh_comm_compressor_average": (c_int32, [c_void_p, c_void_p, c_int64, POINTER(Error)]),
    "rh_comm_compressor_drain": (None, [c_void_p, c_void_p]),
    "rh_comm_compressor_saved": (None, [c_void_p, POINTER(Compressed)]),
}

# what a library without parameter servers lacks
_SERVED_FUNCTIONS = {
    "rh_ps_server_new": (c_int32, [POINTER(ServerOptions), POINTER(c_void_p), POINTER(Error)]),
    "rh_ps_server_port": (c_int32, [c_void_p]),
    "rh_ps_server_run": (c_int32, [c_void_p, POINTER(Error)]),
    "rh_ps_server_stop": (None, [c_void_p]),
    "rh_ps_server_free": (None, [c_void_p]),
    "rh_ps_scheduler_new": (c_int32, [POINTER(SchedulerOptions), POINTER(c_void_p), POINTER(Error)]),
    "rh_ps_scheduler_port": (c_int32, [c_void_p]),
    "rh_ps_scheduler_run": (c_int32, [c_void_p, POINTER(Error)]),
    "rh_ps_scheduler_free": (None, [c_void_p]),
    "rh_ps_connect": (c_int32, [POINTER(WorkerOptions), POINTER(c_void_p), POINTER(Error)]),
    "rh_ps_free": (None, [c_void_p]),
    "rh_ps_worker": (c_int32, [c_void_p]),
    "rh_ps_workers": (c_int32, [c_void_p]),
    "rh_ps_post": (c_int32, [c_void_p, POINTER(ServedOp), c_size_t, POINTER(c_void_p), POINTER(Error)]),
    "rh_ps_test": (c_int32, [c_void_p, POINTER(Error)]),
    "rh_ps_wait": (c_int32, [c_void_p, POINTER(Error)]),
    "rh_ps_run": (c_int32, [c_void_p, POINTER(ServedOp), c_size_t, POINTER(Error)]),
    "rh_ps_set_rate": (c_int32, [c_void_p, c_double, POINTER(Error)]),
}


def candidates():
    """Where the library is looked for: what RH_COMM_LIBRARY says; else in this package; else where the system looks."""
    named = os.environ.get("RH_COMM_LIBRARY")
    if named:
        return [named]
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)
    return [inside, NAME] if os.path.exists(inside) else [NAME]


def _declare(library, functions):
    for name, (result, arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def load():
    """The library. Raises ImportError that says where it was looked for."""
    found = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            found.append(f"{path}: {error}")
            continue
        _declare(library, _FUNCTIONS)
        if hasattr(library, "rh_ps_connect"):
            _declare(library, _SERVED_FUNCTIONS)
        return library
    raise ImportError("librhcomm cannot be loaded; set RH_COMM_LIBRARY to its path, or install it: " + "; ".join(found))


lib = load()


def check(code, error):
    """Raise an error that the library returned; do nothing for a status of success."""
    if code < 0:
        raise errors.make(code, error.rank, error.text.decode(errors="replace"))
    return code

