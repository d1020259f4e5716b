"""The channels of the DRAM device model by themselves, driven by a list of requests."""

import ctypes
import dataclasses
import functools
import pathlib
import subprocess

import numpy as np

from hw.config import HardwareConfig
from sim import cache, toolchain
from sim.dram_device import DramDevice
from sim.interface import ChannelCounts, DeviceParameters


__all__ = ["Command", "Outcome", "run"]


_HARNESS = pathlib.Path(toolchain.__file__).resolve().parent / "harness"
_SOURCE = pathlib.Path(__file__).with_name("dram_channels.cpp")


class Command(ctypes.Structure):
    """A command: the character ``what`` is A, R, W, P or F, for activate to refresh."""
    _fields_ = [("time", ctypes.c_uint64),
                *((name, ctypes.c_uint32) for name in ("what", "bank", "row"))]


_REQUEST = np.dtype([("time", "<u8"), *((name, "<u4") for name in
                                        ("line", "channel", "bank", "row", "write"))], align=True)


@functools.cache
def _library():
    """The compiled channels, from the cache if their content is unchanged."""
    compiler = toolchain.compiler()
    headers = [path.read_bytes() for path in sorted(_HARNESS.glob("dram_*.h"))]
    key = cache.hashed(_SOURCE.read_bytes(), *headers, compiler.identity)

    def make(work):
        subprocess.run([*compiler.command, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror",
                        "-fPIC", f"-I{_HARNESS}", "-c", _SOURCE, "-o", work / "channels.o"],
                       check=True, env=compiler.environment)
        subprocess.run([*compiler.link, "-shared", work / "channels.o", "-o",
                        work / "channels.so"], check=True, env=compiler.environment)
    place = cache.entry("bench", f"dram-channels-{key}", make, what="channels of the DRAM")
    library = ctypes.CDLL(place / "channels.so")
    u32 = ctypes.c_uint32
    library.dram_run.restype = ctypes.c_uint64
    library.dram_run.argtypes = [
        ctypes.POINTER(DeviceParameters), ctypes.c_void_p, u32, u32, u32, u32,
        ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ChannelCounts)]
    library.dram_commands.restype = ctypes.c_uint64
    library.dram_commands.argtypes = [ctypes.POINTER(ctypes.POINTER(Command))]
    return library


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a list of requests."""
    cycles: int  #: The cycle of the last answer, or of the last acceptance if that is later.
    latencies: list  #: Cycles from acceptance to answer of each request; -1 for a write.
    counts: dict  #: The sums of the counts of all channels.
    commands: list  #: (cycle, letter, bank, row) of each command, if wanted.


def run(device: DramDevice, requests, *, window=0, skip=True, commands=False) -> Outcome:
    """The outcome of requests that are offered in order, one per cycle and channel.

    Parameters
    ----------
    device : DramDevice
        Without a hash.
    requests : list of (int, int, int)
        Byte address, 1 for a write, and the earliest cycle.
    window : int
        The most reads under way; 0 for any number.
    skip : bool
        Whether cycles are left out in which a channel has nothing to do.
    commands : bool
        Whether the commands are wanted.
    """
    parameters = device.parameters(HardwareConfig())
    addresses, writes, times = np.array(requests, np.int64).T
    lines = addresses // device.access_bytes

    def field(name):
        bits = getattr(parameters, f"{name}_bits")
        return lines >> getattr(parameters, f"{name}_at") & (1 << bits) - 1

    items = np.zeros(len(requests), _REQUEST)
    items["time"], items["line"], items["write"] = times, lines, writes
    items["channel"], items["row"] = field("channel"), lines >> parameters.row_at
    items["bank"] = field("group") << parameters.bank_bits | field("bank")
    latencies = (ctypes.c_int64 * len(items))()
    counts = (ChannelCounts * device.channels)()
    library = _library()
    cycles = library.dram_run(parameters, items.ctypes.data, len(items), window, device.channels,
                              skip, latencies, counts)
    place = ctypes.POINTER(Command)()
    size = library.dram_commands(place) if commands else 0
    return Outcome(
        cycles, list(latencies),
        {name: sum(getattr(each, name) for each in counts)
         for name, *_ in ChannelCounts._fields_},
        [(each.time, chr(each.what), each.bank, each.row) for each in place[:size]])
