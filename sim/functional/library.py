"""The C functions of the functional simulator (``model/library.cpp``), with their types."""

from __future__ import annotations

import ctypes
import enum
from typing import TYPE_CHECKING

from .build import unit_number

if TYPE_CHECKING:
    import os

    from hw.config import HardwareConfig


__all__ = ["CoreReport", "RunStatus", "Shape", "StopPlace", "load"]


class RunStatus(enum.IntEnum):
    """The status that ``fn_run`` returns."""
    RUNNING = 0
    DONE    = 1
    FAILED  = 2     # a core has stopped with an error
    STUCK   = 3     # warps wait for work, and no warp is left to register any


class Shape(ctypes.Structure):
    """The structure ``Config``: the fields of a configuration that have a meaning without time."""
    #: Fields of :class:`~hw.config.HardwareConfig` as they are.
    SAME = ("cores", "warps", "threads", "imem_bytes", "local_bytes", "memory_bytes", "line_bytes",
            "barriers", "graphpeg_filter")

    _fields_ = [(name, ctypes.c_uint32)
                for name in (*SAME, "gather", "table_rows", "rows_under_way")]

    @classmethod
    def of(cls, config: HardwareConfig) -> Shape:
        """The structure of a configuration."""
        rows = config.weaver_table_entries // config.threads
        same = {name: getattr(config, name) for name in cls.SAME}
        return cls(**same, gather=unit_number(config.gather), table_rows=rows,
                   rows_under_way=min(rows, config.table_latency))


class StopPlace(ctypes.Structure):
    """The structure ``Failure``: why and where a core has stopped; cause 0 if it has not."""
    _fields_ = [(name, ctypes.c_uint32) for name in
                ("cause", "core", "warp", "lane", "pc", "address")]


class CoreReport(ctypes.Structure):
    """The structure that ``fn_report`` fills in."""
    _fields_ = [("instructions", ctypes.c_uint64), ("lanes", ctypes.c_uint64),
                ("failure", StopPlace)]


def load(path: str | os.PathLike[str]) -> ctypes.CDLL:
    """The C functions of a built library, with their types."""
    library = ctypes.CDLL(str(path))
    gpu, u32, u64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    words = ctypes.POINTER(u32)
    for name, result, *arguments in (
            ("fn_create", gpu, ctypes.POINTER(Shape), ctypes.c_void_p, u64, u64),
            ("fn_destroy", None, gpu),
            ("fn_power_on", None, gpu),
            ("fn_program", None, gpu, ctypes.c_void_p),
            ("fn_start", None, gpu, u32, u32, u32),
            ("fn_run", ctypes.c_int, gpu, u64),
            ("fn_compact", None, gpu, words, words),
            ("fn_report", None, gpu, u32, ctypes.POINTER(CoreReport)),
            ("fn_clear_counters", None, gpu),
            ("fn_registers", u32, gpu, u32, u32, ctypes.POINTER(words)),
            ("fn_local", None, gpu, u32, ctypes.POINTER(ctypes.POINTER(ctypes.c_uint8))),
            ("fn_position", None, gpu, u32, u32, words, words)):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
