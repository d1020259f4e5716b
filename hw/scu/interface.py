"""Payloads between the blocks of the Stream Compaction Unit, and between unit and memory."""

from amaranth.lib import data
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.memory.port import line_layout
from hw.stalls import SCU_STALLS


__all__ = ["SLOTS", "TABLE_SLOTS", "event_layout", "line_request_layout", "line_response_layout",
           "read_layout"]


#: Maximum number of lines under way, for the Data Fetch and for the Filtering/Grouping Unit each
#: (Segura et al., table 1).
SLOTS = 32

#: Maximum number of lines that the Filtering/Grouping Unit holds, lines under way included.
TABLE_SLOTS = 128


def line_request_layout(config: HardwareConfig):
    """A block's request to the memory. Reads are answered in any order, with their ``slot``. Writes
    are not answered. Requests of a block are performed in their order."""
    return data.StructLayout({
        "write": 1,
        "line": 32 - config.line_bits,
        "data": line_layout(config),
        "mask": config.line_bytes,
        "slot": ceil_log2(TABLE_SLOTS),
    })


def line_response_layout(config: HardwareConfig):
    """The answer to a block's read."""
    return data.StructLayout({
        "slot": ceil_log2(TABLE_SLOTS),
        "data": line_layout(config),
    })


def read_layout(config: HardwareConfig):
    """The request of a block that only reads."""
    return data.StructLayout({"line": 32 - config.line_bits, "slot": ceil_log2(SLOTS)})


def event_layout():
    """Events of a cycle, for the counters.

    Members
    -------
    busy : unsigned(1)
        An operation is under way.
    started : unsigned(1)
        An operation began.
    elements : unsigned(3)
        Elements that reached the output.
    read, written : unsigned(1)
        A line was requested; a line, whole or in part, was written.
    looked_up, found : unsigned(3)
        Elements that were looked up in the hash table; of these, those that were in it.
    fetched : unsigned(3)
        Lines of the hash table that were requested.
    stall_fetch, stall_filter, stall_store, stall_l2 : unsigned(1)
        The cause for which an operation waits (:data:`hw.stalls.SCU_STALLS`).
    """
    return data.StructLayout({
        "busy": 1, "started": 1, "elements": 3, "read": 1, "written": 1,
        "looked_up": 3, "found": 3, "fetched": 3,
        **{f"stall_{name}": 1 for name in SCU_STALLS},
    })
