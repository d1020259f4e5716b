"""Bits of structures, faster than :func:`tb.streams.pack`, for benches with many lines."""

import enum

from amaranth.hdl import Shape
from amaranth.lib import data


__all__ = ["packed", "sectors_with", "spread"]


def sectors_with(config, mask):
    """All bytes of the sectors that have a byte in ``mask``; of a line that is not divided, all."""
    if config.sectors == 1:
        return (1 << config.line_bytes) - 1
    sector = (1 << config.sector_bytes) - 1
    return sum(sector << at for at in range(0, config.line_bytes, config.sector_bytes)
               if mask >> at & sector)


def spread(mask):
    """A byte mask as a mask of bits."""
    return int.from_bytes(bytes(0xFF * (mask >> place & 1) for place in range(mask.bit_length())),
                          "little")


def packed(layout, fields):
    """The bits of a structure.

    Parameters
    ----------
    layout : data.StructLayout
    fields : dict
        Values by name. Omitted fields are 0. A value is the field's bits as a number, or a member
        of an enumeration. The value of a structure may be a dict, and that of an array a list.
    """
    bits = 0
    for name, value in fields.items():
        field = layout[name]
        if isinstance(value, enum.Enum):
            value = value.value
        elif isinstance(value, dict):
            value = packed(field.shape, value)
        elif isinstance(value, list):
            width = Shape.cast(field.shape.elem_shape).width
            value = sum(item << width * index for index, item in enumerate(value))
        elif isinstance(value, data.Const):
            value = value.as_bits()
        if value >> field.width:
            raise ValueError(f"{name} = {value:#x} does not fit in {field.width} bits")
        bits |= value << field.offset
    return bits
