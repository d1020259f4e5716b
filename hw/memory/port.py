"""Layouts of the requests and answers at the L2 and at the memory port."""

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.operations import AmoOp


__all__ = ["LineOp", "line_layout", "core_tag_layout", "core_request_layout",
           "core_response_layout", "memory_tag_bits", "memory_request_layout",
           "memory_response_layout"]


#: Bits of the tag's ``mshr`` that the SCU uses.
SCU_TAG_BITS = 10


class LineOp(enum.Enum, shape=2):
    """Operation on a line at the L2."""
    READ   = 0     # the answer is the line
    WRITE  = 1     # writes the bytes of the mask; no answer
    ATOMIC = 2     # the words of the mask; the answer, if wanted, is the line before the operation


def line_layout(config: HardwareConfig):
    """A line as an array of 32-bit words."""
    return data.ArrayLayout(32, config.line_words)


def core_tag_layout(config: HardwareConfig):
    """Tag of a request, which leads the answer back to the requester.

    ``core`` is filled in on the way to the L2. In a core, ``bank`` names the bank of the L1.
    There, ``mshr`` names the miss, or ``slot`` and ``lane`` name the load slot and the lane of an
    atomic. The SCU has the number after the last core's and uses ``mshr`` freely.
    """
    mshr = index_bits(config.l1_mshrs // config.l1_banks)
    return data.StructLayout({
        "core": ceil_log2(config.requesters),
        "bank": ceil_log2(config.l1_banks),
        "atomic": 1,
        "mshr": max(mshr, SCU_TAG_BITS) if config.scu else mshr,
        "slot": index_bits(config.load_queue),
        "lane": index_bits(config.threads),
    })


def core_request_layout(config: HardwareConfig):
    """A core's request.

    ``data`` is a line. For ATOMIC, it holds an operand at the place of each word, and ``mask`` has
    the bytes of the words: of one word, unless the configuration has atomics of whole lines. CAS
    always has one word. The word beside it, whose number differs in the lowest bit, is the value to
    compare with. ``once``, only with an SCU, says that the line is not wanted again soon.
    """
    return data.StructLayout({
        "op": LineOp,
        "amo": AmoOp,
        "wanted": 1,
        **({"once": 1} if config.scu else {}),
        "line": 32 - config.line_bits,
        "data": line_layout(config),
        "mask": config.line_bytes,
        "tag": core_tag_layout(config),
    })


def core_response_layout(config: HardwareConfig):
    """The L2's answer to a READ or to a wanted ATOMIC, in any order."""
    return data.StructLayout({
        "tag": core_tag_layout(config),
        "data": line_layout(config),
    })


def memory_tag_bits(config: HardwareConfig):
    """Bits of a tag at the memory port: bank and MSHR."""
    return ceil_log2(config.l2_mshrs) + ceil_log2(config.l2_banks)


def memory_request_layout(config: HardwareConfig, tag_bits=None):
    """A request at the GPU's memory port; ``line`` is the byte address / line size.

    ``tag_bits`` is the width of the tag at a port that the GPU shares with other requesters.
    """
    return data.StructLayout({
        "write": 1,
        "line": 32 - config.line_bits,
        "data": line_layout(config),
        "mask": config.line_bytes,
        "tag": memory_tag_bits(config) if tag_bits is None else tag_bits,
    })


def memory_response_layout(config: HardwareConfig, tag_bits=None):
    """The memory's answer to a read, in any order; ``tag_bits`` as for the request."""
    return data.StructLayout({
        "tag": memory_tag_bits(config) if tag_bits is None else tag_bits,
        "data": line_layout(config),
    })
