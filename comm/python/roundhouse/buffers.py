# SPDX-License-Identifier: Apache-2.0
"""Where the elements of an array lie: numpy arrays, torch tensors, and all that has the buffer protocol, without a
copy."""
import ctypes

from roundhouse import library
from roundhouse.errors import InvalidError

_TYPESTR = {"f4": library.F32, "f8": library.F64, "f2": library.F16, "i1": library.I8, "i4": library.I32,
            "i8": library.I64, "u1": library.U8, "b1": library.U8, "i2": library.I16, "u2": library.U16,
            "u4": library.U32, "u8": library.U64}
_TORCH = {"torch.float32": library.F32, "torch.float64": library.F64, "torch.float16": library.F16,
          "torch.bfloat16": library.BF16, "torch.int8": library.I8, "torch.int32": library.I32,
          "torch.int64": library.I64, "torch.uint8": library.U8,
          "torch.bool": library.U8, "torch.int16": library.I16, "torch.uint16": library.U16,
          "torch.uint32": library.U32, "torch.uint64": library.U64,
          "torch.float8_e4m3fn": library.F8_E4M3, "torch.float8_e5m2": library.F8_E5M2}
# of ml_dtypes, whose elements look like bytes without a meaning
_ML = {"bfloat16": library.BF16, "float8_e4m3fn": library.F8_E4M3, "float8_e5m2": library.F8_E5M2}
_FORMAT = {"f": library.F32, "d": library.F64, "e": library.F16, "b": library.I8, "i": library.I32, "q": library.I64,
           "B": library.U8, "?": library.U8, "c": library.U8,
           "l": library.I64 if ctypes.sizeof(ctypes.c_long) == 8 else library.I32,
          "h": library.I16, "H": library.U16, "I": library.U32, "Q": library.U64,
          "L": library.U64 if ctypes.sizeof(ctypes.c_long) == 8 else library.U32}
_TYPES = "float32, float64, float16, bfloat16, float8 e4m3fn or e5m2, bool, or an integer of 8 to 64 bits"


class Buffer:
    """Address, number and type of elements; owner keeps them alive. scale: elements for each one of the owner."""

    __slots__ = ("address", "count", "type", "itemsize", "memory", "stream", "owner", "scale")

    def __init__(self, owner, address, count, type_, itemsize):
        self.owner, self.address, self.count, self.type, self.itemsize = owner, address, count, type_, itemsize
        self.memory, self.stream, self.scale = library.HOST, None, 1

    def as_bytes(self):
        """The same memory as uint8: for what is moved and not reduced."""
        self.scale = self.itemsize
        self.count, self.type, self.itemsize = self.count * self.itemsize, library.U8, 1
        return self


def _refuse(owner, why):
    raise InvalidError(f"{type(owner).__name__}: {why}", -1)


def _of_tensor(tensor, moved):
    type_ = _TORCH.get(str(tensor.dtype))
    if tensor.device.type != "cpu" and type_ is not None and type_ > library.U8:
        type_ = None
    if not tensor.is_contiguous():
        _refuse(tensor, "it is not contiguous; use .contiguous()")
    if type_ is None and not moved:
        _refuse(tensor, f"{tensor.dtype} cannot be reduced; use {_TYPES}")
    buffer = Buffer(tensor, tensor.data_ptr(), tensor.numel(), type_, tensor.element_size())
    if tensor.device.type == "cuda":
        import torch
        buffer.memory, buffer.stream = library.CUDA, torch.cuda.current_stream(tensor.device).cuda_stream
    elif tensor.device.type != "cpu":
        _refuse(tensor, f"memory of {tensor.device} cannot be reached")
    return buffer if type_ is not None else buffer.as_bytes()


def _of_array(array, moved, writable):
    about = array.__array_interface__
    type_ = _ML.get(str(getattr(array, "dtype", ""))) or _TYPESTR.get(about["typestr"][1:])
    if about["typestr"][0] == ">":
        _refuse(array, "its bytes are in the other order; use .astype() with the machine's")
    if about.get("strides") is not None and not array.flags.c_contiguous:
        _refuse(array, "it is not contiguous; use numpy.ascontiguousarray()")
    if writable and about["data"][1]:
        _refuse(array, "it cannot be written to")
    if array.dtype.hasobject:
        _refuse(array, "it holds Python objects, which mean nothing elsewhere")
    if type_ is None and not moved:
        _refuse(array, f"{array.dtype} cannot be reduced; use {_TYPES}")
    buffer = Buffer(array, about["data"][0], array.size, type_, array.itemsize)
    return buffer if type_ is not None else buffer.as_bytes()


class _PyBuffer(ctypes.Structure):
    # Py_buffer of the stable ABI: it also gives the address of memory that is read-only
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


def _address(view):
    about = _PyBuffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(about), ctypes.c_int(0))
    address = about.buf
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(about))
    return address


def _of_buffer(owner, moved, writable):
    try:
        view = memoryview(owner)
    except TypeError:
        _refuse(owner, "it is not an array: it has neither __array_interface__, nor data_ptr(), nor the buffer "
                "protocol")
    if not view.c_contiguous or (writable and view.readonly):
        _refuse(owner, "it cannot be written to" if view.c_contiguous else "it is not contiguous")
    type_ = _FORMAT.get(view.format.lstrip("@=<"))
    if type_ is None and not moved:
        _refuse(owner, f"elements of format \"{view.format}\" cannot be reduced; use {_TYPES}")
    buffer = Buffer(view, _address(view), view.nbytes // view.itemsize, type_, view.itemsize)
    return buffer if type_ is not None else buffer.as_bytes()


def microseconds(seconds):
    """Of a time in seconds; None is the default, 0 or less is no limit."""
    if seconds is None:
        return 0
    return int(seconds * 1e6) if seconds > 0 else -1


def of(array, writable=True, moved=False):
    """The Buffer of an array. moved: it is not reduced, so any type will do. Raises InvalidError."""
    if hasattr(array, "data_ptr"):
        return _of_tensor(array, moved)
    if hasattr(array, "__array_interface__"):
        return _of_array(array, moved, writable)
    return _of_buffer(array, moved, writable)
