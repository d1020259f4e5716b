"""What the load/store unit's stages hand to each other."""

from amaranth.hdl import Mux
from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from hw.config import HardwareConfig
from hw.isa import MemoryMap
from hw.operations import AmoOp, MemOp
from hw.memory.port import line_layout
from hw.util import index_bits


__all__ = ["AccessOp", "check_address", "instruction_layout", "operation_layout", "pass_layout",
           "loaded_layout", "mapped_bits", "misaligned", "row_bits"]


class AccessOp(enum.Enum, shape=3):
    """What one pass of an instruction does."""
    LOAD        = 0
    STORE       = 1
    AMO         = 2
    FENCE       = 3
    LOCAL_LOAD  = 4
    LOCAL_STORE = 5
    LOCAL_AMO   = 6


def mapped_bits(config: HardwareConfig):
    """Bits of a line's address in global memory as far as it is mapped; those above are fixed."""
    return ceil_log2(config.memory_bytes) - config.line_bits


def row_bits(config: HardwareConfig):
    """Bits of a row address of local memory; a row has a word in each bank."""
    return ceil_log2(config.local_bytes // config.line_bytes)


def instruction_layout(config: HardwareConfig):
    """A memory instruction with its addresses, as the execute stage issues it.

    ``compare`` is what CAS compares with.
    """
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({
        "op": MemOp, "amo": AmoOp, "size": 2, "signed": 1, "writes": 1,
        "warp": index_bits(config.warps), "rd": 5, "pc": 32, "mask": config.threads,
        "address": lanes, "data": lanes, "compare": lanes,
    })


def operation_layout(config: HardwareConfig):
    """A memory instruction whose addresses are checked: ``local`` and ``failing`` are what
    :func:`check_address` says of those of the lanes in ``mask``."""
    return data.StructLayout({
        **instruction_layout(config).members,
        "local": config.threads, "failing": config.threads,
    })


def misaligned(size, address):
    """Whether an access of ``1 << size`` bytes may not be at an address."""
    return Mux(size == 2, address[:2].any(), (size == 1) & address[0])


def check_address(config: HardwareConfig, op, size, address):
    """Whether a lane's address is in local memory, and whether it is misaligned or not mapped; for
    a FENCE, which has no address, neither."""
    local_bits, memory_bits = ceil_log2(config.local_bytes), ceil_log2(config.memory_bytes)
    local = address[local_bits:] == MemoryMap.LOCAL >> local_bits
    mapped = local | (address[memory_bits:] == MemoryMap.GLOBAL >> memory_bits)
    has_address = op != MemOp.FENCE
    return has_address & local, has_address & (misaligned(size, address) | ~mapped)


def pass_layout(config: HardwareConfig):
    """One pass: lanes of an instruction whose accesses fall in one line, or in distinct banks.

    ``data`` holds words at their places in the line (in their banks) for stores and for atomics of
    local memory, and each lane's operand, in lane order, for atomics of global memory. ``compare``
    is what CAS, a pass a lane, compares with. ``slot`` is the load's slot in the load queue.
    ``line`` counts from the start of global memory.
    """
    return data.StructLayout({
        "op": AccessOp, "amo": AmoOp, "wanted": 1,
        "slot": index_bits(config.load_queue), "lanes": config.threads,
        "line": mapped_bits(config), "word": index_bits(config.line_words),
        "data": line_layout(config), "mask": config.line_bytes, "compare": 32,
        "rows": data.ArrayLayout(row_bits(config), config.line_words),
    })


def loaded_layout(config: HardwareConfig):
    """A line, or a word of each bank, with the lanes of a load that take their words from it."""
    return data.StructLayout({
        "slot": index_bits(config.load_queue), "lanes": config.threads,
        "line": line_layout(config),
    })
