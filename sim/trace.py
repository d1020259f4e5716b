"""The records of a trace as numpy arrays. :mod:`hw.core.trace` gives their values in each cycle.

Four streams, each an array of structures in the order of the cycles. Every record begins with

``cycle``
    Number of counted cycles before the record since power on. Only cycles of launches count, one
    after another, as in the ``cycles`` counter.
``launch``
    Number of the launch since power on, from 0.
``core``
    Number of the core.

============ ================================================================================
stream       the rest of a record, and when there is one
============ ================================================================================
``issue``    ``warp``, ``phase`` (PHASE before the instruction), ``rd`` (0: writes no register),
             ``rd2`` (0: writes no second one), ``pc``, ``mask``: an instruction issued
``access``   ``address``, ``data`` by lane: the instruction that issued in this cycle is one for
             the load/store unit; ``data`` is rs2
``write``    ``warp``, ``rd``, ``mask``, ``value`` by lane: a result reached the register file
``state``    ``stall``, ``state`` by warp: they changed; :data:`hw.stalls.WARP_STATES`, and
             :data:`END` in the last record of a launch
============ ================================================================================

Values of lanes outside the mask of their instruction are undefined.
"""

import ctypes
import dataclasses
from collections.abc import Callable

import numpy as np


__all__ = ["END", "STREAMS", "Tracer", "access_of", "dtypes", "record_words", "written_by"]


#: Streams in the order of the harness.
STREAMS = ("issue", "access", "write", "state")

#: ``stall`` of the state record that ends a launch. Its cycle follows the last cycle.
END = 0xFF

#: Bytes of a stream that the harness collects before Python takes them.
_CHUNK_BYTES = 8 << 20

_FOREVER = (1 << 64) - 1


def dtypes(config) -> dict:
    """{stream: dtype of its records}."""
    lanes = ("<u4", (config.threads,))
    parts = {
        "issue": [("warp", "u1"), ("phase", "u1"), ("rd", "u1"), ("rd2", "u1"), ("pc", "<u4"),
                  ("mask", "<u4")],
        "access": [("address", *lanes), ("data", *lanes)],
        "write": [("warp", "u1"), ("rd", "u1"), ("_", "<u2"), ("mask", "<u4"), ("value", *lanes)],
        "state": [("_0", "u1"), ("stall", "u1"), ("_1", "<u2"), ("state", "u1", (config.warps,))],
    }
    if config.warps % 4:
        parts["state"].append(("_2", "u1", (-config.warps % 4,)))
    header = [("cycle", "<u8"), ("launch", "<u4"), ("core", "<u4")]
    return {stream: np.dtype(header + fields) for stream, fields in parts.items()}


def record_words(config) -> int:
    """32-bit words of a core's record at the trace port."""
    header = 16
    return sum((kind.itemsize - header) // 4 for kind in dtypes(config).values())


@dataclasses.dataclass
class Tracer:
    """The streams to trace of a machine, and the function that takes them."""
    #: Called with {stream: array of records} whenever some megabytes have been collected, and at
    #: the end of a launch or of a part of it. The function may keep the arrays.
    consume: Callable[[dict[str, np.ndarray]], None]
    #: The traced streams, of :data:`STREAMS`; the arrays of other streams are empty.
    streams: tuple[str, ...] = STREAMS
    #: First cycle, and the cycle after the last; None for all.
    window: tuple[int, int] | None = None
    #: Number of bytes after which a stream is taken, at least a few records.
    chunk_bytes: int = _CHUNK_BYTES

    def start(self, library, handle, config):
        """Begin with the machine of a library; it must have been built with a trace port."""
        self._library, self._handle, self._dtypes = library, handle, dtypes(config)
        library.gl_trace_words.restype = ctypes.c_uint64
        first, last = self.window or (0, _FOREVER)
        mask = sum(1 << STREAMS.index(stream) for stream in self.streams)
        largest = 4 * config.cores * (record_words(config) + 4)
        library.gl_trace_start(ctypes.c_void_p(handle), mask, ctypes.c_uint64(first),
                               ctypes.c_uint64(last),
                               ctypes.c_uint64(max(self.chunk_bytes, 2 * largest)))

    def stop(self):
        """Record nothing any more."""
        self._library.gl_trace_start(ctypes.c_void_p(self._handle), 0, ctypes.c_uint64(0),
                                     ctypes.c_uint64(0), ctypes.c_uint64(0))

    def take(self):
        """Pass the collected records on, if there are any."""
        chunk, words = {}, ctypes.c_void_p()
        for number, stream in enumerate(STREAMS):
            count = self._library.gl_trace_words(ctypes.c_void_p(self._handle), number,
                                                 ctypes.byref(words))
            data = ctypes.string_at(words, 4 * count) if count else b""
            chunk[stream] = np.frombuffer(bytearray(data), self._dtypes[stream])
        self._library.gl_trace_clear(ctypes.c_void_p(self._handle))
        if any(map(len, chunk.values())):
            self.consume(chunk)


def written_by(issues, writes):
    """The write-backs of each issued instruction, to its ``rd`` and to its ``rd2``: their indices
    in ``writes``, or -1; of shape (issues, 2).

    An instruction that writes no register has no write-back, nor does an instruction whose result
    is still missing. The scoreboard lets only one result at a time be under way to a register. So
    the next write-back to an instruction's register is its own.
    """
    registers = np.stack([issues["rd"], issues["rd2"]], axis=1)
    wanting, which = np.nonzero(registers)
    place = np.concatenate([2 * wanting + which, np.arange(len(writes))])
    both = [np.concatenate([issues[name][wanting], writes[name]])
            for name in ("core", "warp", "cycle")]
    both.insert(2, np.concatenate([registers[wanting, which], writes["rd"]]))
    key = (both[0].astype(np.int64) * 256 + both[1]) * 32 + both[2]
    is_issue = np.arange(len(place)) < len(wanting)
    # By register, then by time; an instruction is not written in the cycle of its issue.
    order = np.lexsort((is_issue, both[3], key))
    key, is_issue, place = key[order], is_issue[order], place[order]
    found = np.flatnonzero(is_issue[:-1] & ~is_issue[1:] & (key[:-1] == key[1:]))
    match = np.full(2 * len(issues), -1, np.intp)
    match[place[found]] = place[found + 1]
    return match.reshape(-1, 2)


def access_of(issues, accesses):
    """The access of each issued instruction: its index in ``accesses``, or -1."""
    match = np.full(len(issues), -1, np.intp)
    for core in np.unique(accesses["core"]):
        mine = np.flatnonzero(accesses["core"] == core)
        theirs = np.flatnonzero(issues["core"] == core)
        _, here, there = np.intersect1d(issues["cycle"][theirs], accesses["cycle"][mine],
                                        assume_unique=True, return_indices=True)
        match[theirs[here]] = mine[there]
    return match
