"""What travels between a core, or the SCU, and the shared level, and at the memory port."""

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.operations import AmoOp
from hw.util import index_bits


__all__ = ["LineOp", "line_layout", "core_tag_layout", "core_request_layout",
           "core_response_layout", "memory_tag_bits", "memory_request_layout",
           "memory_response_layout"]


#: Bits of the tag's ``mshr`` that the SCU has for itself.
SCU_TAG_BITS = 10


class LineOp(enum.Enum, shape=2):
    """What is done with a line at the shared level."""
    READ   = 0     # answered with the line
    WRITE  = 1     # bytes of the mask; no answer
    ATOMIC = 2     # one word; answered with the line as it was, if wanted


def line_layout(config: HardwareConfig):
    """A line as an array of 32-bit words."""
    return data.ArrayLayout(32, config.line_words)


def core_tag_layout(config: HardwareConfig):
    """How an answer finds its way: to a core, whose number is filled in on the way to the shared
    level, and there to a miss by its MSHR, or to an atomic by load slot and lane.

    The SCU has the number after the last core's, and in ``mshr`` whatever it needs.
    """
    mshr = index_bits(config.l1_mshrs)
    return data.StructLayout({
        "core": ceil_log2(config.requesters),
        "atomic": 1,
        "mshr": max(mshr, SCU_TAG_BITS) if config.scu else mshr,
        "slot": index_bits(config.load_queue),
        "lane": index_bits(config.threads),
    })


def core_request_layout(config: HardwareConfig):
    """A core's request.

    ``data`` is a line for WRITE; for ATOMIC its word 0 is the operand, and word 1 what CAS
    compares with.
    """
    return data.StructLayout({
        "op": LineOp,
        "amo": AmoOp,
        "wanted": 1,
        "line": 32 - config.line_bits,
        "word": index_bits(config.line_words),
        "data": line_layout(config),
        "mask": config.line_bytes,
        "tag": core_tag_layout(config),
    })


def core_response_layout(config: HardwareConfig):
    """The shared level's answer to a READ or a wanted ATOMIC; in any order."""
    return data.StructLayout({
        "tag": core_tag_layout(config),
        "data": line_layout(config),
    })


def memory_tag_bits(config: HardwareConfig):
    """Bits of a tag at the memory port: bank and MSHR."""
    return ceil_log2(config.l2_mshrs) + ceil_log2(config.l2_banks)


def memory_request_layout(config: HardwareConfig, tag_bits=None):
    """A request at the GPU's memory port; ``line`` is the byte address / line size.

    ``tag_bits`` are those of a port that others than the GPU use too.
    """
    return data.StructLayout({
        "write": 1,
        "line": 32 - config.line_bits,
        "data": line_layout(config),
        "mask": config.line_bytes,
        "tag": memory_tag_bits(config) if tag_bits is None else tag_bits,
    })


def memory_response_layout(config: HardwareConfig, tag_bits=None):
    """The memory's answer to a read, in any order; ``tag_bits`` as of the request."""
    return data.StructLayout({
        "tag": memory_tag_bits(config) if tag_bits is None else tag_bits,
        "data": line_layout(config),
    })
