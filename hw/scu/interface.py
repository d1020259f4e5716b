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
    """Events of a cycle, for the counters."""
    return data.StructLayout({
        "busy": 1,              # an operation is under way
        "started": 1,           # an operation began
        "elements": 3,          # elements that reached the output
        "read": 1,              # a line was requested
        "written": 1,           # a line, whole or in part, was written
        "looked_up": 3,         # elements that were looked up in the hash table
        "found": 3,             # these elements that were in the hash table
        "fetched": 3,           # lines of the hash table that were requested
        **{f"stall_{name}": 1 for name in SCU_STALLS},      # while an operation is under way
    })
