"""What counters mean: those of the hardware (:mod:`hw.registers`), and those of the simulated
memory, which :meth:`sim.native.NativeMachine.counters` adds."""

from hw.registers import COUNTERS


__all__ = ["meaning"]


_BYTES = {
    "dram_bytes_read": "bytes that memory read: sectors that were wanted, or whole lines",
    "dram_bytes_written": "bytes that memory wrote, likewise",
    "slow_bytes_read": "bytes that the slow region read; dram_bytes_read includes them",
    "slow_bytes_written": "bytes that the slow region wrote; dram_bytes_written includes them",
}

#: Of a memory port: ``port_0_lines_read``.
_OF_PORT = {
    "lines_read": "requests to read a line, whole or in part",
    "lines_written": "requests to write a line, whole or in part",
    "busy": "cycles in which its bus carried data",
    "waits": "cycles in which its memory refused a request",
}

#: Of a channel of a DRAM device: ``channel_0_row_hits``, and ``dram_row_hits`` of all.
_OF_CHANNEL = {
    "column_reads": "column commands to read",
    "column_writes": "column commands to write",
    "row_hits": "column commands that found their row open",
    "activates": "rows that were opened",
    "precharges": "rows that were closed",
    "refreshes": "refreshes",
    "turn_rounds": "turns of the data bus between reads and writes",
}


def meaning(name: str) -> str:
    """The text of a counter; empty for a name that no machine has."""
    plain = COUNTERS | _BYTES
    if name in plain:
        return plain[name]
    kind, _, rest = name.partition("_")
    number, _, what = rest.partition("_")
    if kind == "dram" and rest in _OF_CHANNEL:
        return f"{_OF_CHANNEL[rest]}, of all channels"
    if kind == "port" and what in _OF_PORT:
        return f"memory port {number}: {_OF_PORT[what]}"
    if kind == "channel" and what in _OF_CHANNEL:
        return f"channel {number}: {_OF_CHANNEL[what]}"
    return ""
