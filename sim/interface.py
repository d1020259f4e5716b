"""The C functions of a built simulator (``harness/harness.cpp``), with their types."""

import ctypes
import enum
import os


__all__ = ["NO_REGION", "ChannelCounts", "DeviceParameters", "DramTiming", "PortReport", "Report",
           "SimulatorStatus", "load"]


class SimulatorStatus(enum.IntEnum):
    """The status that the functions return."""
    RUNNING = 0
    IDLE    = 1
    MEMORY  = 2     # a request outside the memory
    BROKEN  = 3     # a failed assertion
    WAVE    = 4     # the wave could not be written


class Report(ctypes.Structure):
    """The structure that ``gl_report`` fills in, with values since power on."""
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("cycles", "bytes_read", "bytes_written", "fault_address", "fault_write",
                 "slow_bytes_read", "slow_bytes_written")]


class PortReport(ctypes.Structure):
    """The counts of a memory port that ``gl_port_report`` fills in, since they were cleared."""
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("lines_read", "lines_written", "busy", "waits")]


class DramTiming(ctypes.Structure):
    """How fast a region of the DRAM is, with the latency in core cycles, and how many requests it
    holds."""
    _fields_ = [(name, ctypes.c_uint32)
                for name in ("bytes_per_cycle", "ratio", "latency", "queue")]


#: A region that no request goes to.
NO_REGION = DramTiming(1, 1, 1, 1)


class DeviceParameters(ctypes.Structure):
    """A DRAM device and its controller (:class:`sim.dram_device.DramDevice`)."""
    _fields_ = [(name, ctypes.c_uint32) for name in (
        "burst", "CL", "CWL", "tRCDRD", "tRCDWR", "tRP", "tRAS", "tRRD_S", "tRRD_L", "tFAW",
        "t32AW", "tCCD_S", "tCCD_L", "tRTP", "tWR", "tWTR_S", "tWTR_L", "tRTRS", "tPPD", "tRFC",
        "tREFI", "read_queue", "write_queue", "bank_queue", "hit_limit", "keep_writes",
        "answer_delay", "merge", "close_page", "two_commands", "channel_at", "channel_bits",
        "group_at", "group_bits", "bank_at", "bank_bits", "row_at", "hash", "access_bytes",
        "port_at", "port_bits", "above", "below")]


class ChannelCounts(ctypes.Structure):
    """What a channel of a DRAM device has done since its counts were cleared."""
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "column_reads", "column_writes", "row_hits", "activates", "precharges", "refreshes",
        "turn_rounds")]


def load(path: str | os.PathLike[str]) -> ctypes.CDLL:
    """The C functions of a built library, with their types."""
    library = ctypes.CDLL(str(path))
    machine, u32, u64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    words, timing = ctypes.POINTER(u32), ctypes.POINTER(DramTiming)
    for name, result, *arguments in (
            ("gl_create", machine, ctypes.c_void_p, u64, u64, timing, timing,
             ctypes.POINTER(DeviceParameters), u32),
            ("gl_destroy", None, machine),
            ("gl_power_on", ctypes.c_int, machine),
            ("gl_write", ctypes.c_int, machine, u32, words, u32),
            ("gl_read", ctypes.c_int, machine, u32, words, u32),
            ("gl_run", ctypes.c_int, machine, u64),
            ("gl_error", ctypes.c_int, machine),
            ("gl_report", None, machine, ctypes.POINTER(Report)),
            ("gl_channels", None, machine, ctypes.POINTER(ChannelCounts)),
            ("gl_port_report", None, machine, u32, ctypes.POINTER(PortReport)),
            ("gl_clear_lines", None, machine),
            ("gl_place_slow", None, machine, u64),
            ("gl_message", ctypes.c_char_p, machine),
            ("gl_wave_open", ctypes.c_int, machine, ctypes.c_int),
            ("gl_wave_flush", None, machine),
            ("gl_wave_close", ctypes.c_int, machine)):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
