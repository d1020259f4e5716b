"""The library of a program, its structs, and memory of the GPU."""

import contextlib
import ctypes
from typing import Any

import numpy as np

from sim.errors import ToolError


__all__ = ["CudaLibrary", "CudaMemory", "CudaStatus", "call_type"]


class CudaStatus(ctypes.Structure):
    """``Status`` of runtime.cuh."""
    _fields_ = [*((name, ctypes.c_uint64) for name in ("fault", "total", "output", "rest")),
                ("most", ctypes.c_uint32), ("late", ctypes.c_uint32),
                ("buckets", ctypes.c_uint32 * 3), ("turn", ctypes.c_uint32)]


class CudaAsked(ctypes.Structure):
    """``Asked`` of runtime.cuh."""
    _fields_ = [(name, ctypes.c_uint64) for name in ("kernels", "transfers")]


class CudaRows(ctypes.Structure):
    """``Rows`` of runtime.cuh."""
    _fields_ = [(name, ctypes.c_void_p) for name in ("offsets", "neighbors", "weights", "owners",
                                                     "vertices")]


class CudaBlocks(ctypes.Structure):
    """``Blocks`` of runtime.cuh."""
    _fields_ = [("rows", CudaRows), *((name, ctypes.c_void_p) for name in (
        "rows_of", "arcs_of", "host_rows_of", "host_arcs_of")), ("count", ctypes.c_uint64)]


def call_type(generated) -> Any:
    """``Call`` of runtime.cuh, for the vectors, uniforms and literals of a program."""
    vectors, literals, uniforms, blocks, operators = (max(len(values), 1) for values in (
        generated.vectors, generated.literals, generated.uniforms, generated.blocks,
        generated.edges))
    fields = [("leaving", CudaRows), ("entering", CudaRows), ("blocks", CudaBlocks * blocks),
              ("now", ctypes.c_void_p * vectors), ("start", ctypes.c_void_p * vectors),
              *((name, ctypes.c_void_p)
                for name in ("queue", "members", "marks", "stamps", "output", "rest", "buckets",
                             "pieces", "sums", "lost", "wanted", "status", "answer")),
              ("threshold", ctypes.c_uint64), ("literals", ctypes.c_uint64 * literals),
              *((name, ctypes.c_uint32)
                for name in ("vertices", "edges", "count", "stamp", "arcs", "weighs", "creation",
                             "deduplication", "members_shift", "marked", "order", "turn", "most",
                             "first", "number", "first_arc", "last_arc")),
              ("uniforms", ctypes.c_uint32 * uniforms), ("least", ctypes.c_uint32 * operators)]
    return type("_Call", (ctypes.Structure,), {"_fields_": fields})


class CudaLibrary:
    """The functions of a compiled library. Raises ToolError if one of them fails."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._message = self._library.graphloom_message
        self._message.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        """Call a function that gives a cudaError_t."""
        code = getattr(self._library, name)(*arguments)
        if code:
            raise ToolError(f"CUDA: {self._message(code).decode()} ({name})")


    def busy(self):
        """Whether the GPU has work."""
        return bool(self._library.graphloom_busy())

    def asked(self):
        """What this library has asked the GPU for until now."""
        found = CudaAsked()
        self._library.graphloom_asked(ctypes.byref(found))
        return found


class CudaMemory:
    """Memory of the GPU, and one status that the host can read."""

    def __init__(self, library):
        self.library, self._places, self._pinned = library, [], ctypes.c_void_p()
        library.call("graphloom_pin", ctypes.byref(self._pinned),
                     ctypes.c_uint64(ctypes.sizeof(CudaStatus)))
        self.status = CudaStatus.from_address(self._pinned.value or 0)

    def reserve(self, size):
        """The address of so many bytes."""
        place = ctypes.c_void_p()
        self.library.call("graphloom_reserve", ctypes.byref(place),
                          ctypes.c_uint64(max(size, 1)))
        self._places.append(place)
        return place.value

    def upload(self, array, dtype=np.uint32):
        """The address of a copy of an array."""
        array = np.ascontiguousarray(array, dtype=dtype)
        place = self.reserve(array.nbytes)
        self.write(place, array)
        return place

    def write(self, place, array):
        """Copy an array to an address."""
        self.library.call("graphloom_copy", ctypes.c_void_p(place),
                          array.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(array.nbytes))

    def read(self, place, count):
        """The words at an address, as uint32."""
        array = np.empty(count, np.uint32)
        self.library.call("graphloom_copy", array.ctypes.data_as(ctypes.c_void_p),
                          ctypes.c_void_p(place), ctypes.c_uint64(array.nbytes))
        return array

    def release(self):
        """Give all memory back."""
        with contextlib.suppress(ToolError):
            for place in self._places:
                self.library.call("graphloom_release", place)
            self.library.call("graphloom_unpin", self._pinned)
