"""Configurations for benches of the Stream Compaction Unit and of its blocks."""

from hw.config import HardwareConfig, preset


__all__ = ["scu_config"]


def scu_config(line_bytes=16, scu=4, **changes) -> HardwareConfig:
    """A configuration with the smallest memory, and with this line size and width of the unit."""
    return preset("tiny").replace(**{
        "threads": line_bytes // 4, "memory_bytes": 1 << 16, "l1_bytes": 4096, "scu": scu,
        **changes})
