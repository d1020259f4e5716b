"""The unit that generates edges in hardware: EGHW (SparseWeaver, 4.6.8)."""

from hw.gather.eghw.unit import EdgeGenerator


__all__ = ["EdgeGenerator"]
