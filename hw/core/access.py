"""Layouts that the stages of the load/store unit share, and the check of addresses."""

from amaranth.hdl import Mux
from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from hw.bits import index_bits
from hw.config import HardwareConfig
from hw.isa import MemoryMap
from hw.memory.port import line_layout
from hw.operations import AmoOp, MemOp


__all__ = ["LOCAL", "AccessOp", "bank_bits", "check_address", "instruction_layout",
           "operation_layout", "pass_layout", "loaded_layout", "mapped_bits", "misaligned",
           "row_bits"]


class AccessOp(enum.Enum, shape=3):
    """Operation of one pass."""
    LOAD        = 0
    STORE       = 1
    AMO         = 2
    FENCE       = 3
    LOCAL_LOAD  = 4
    LOCAL_STORE = 5
    LOCAL_AMO   = 6


#: Operations on local memory. Their passes go to the first bank of the L1.
LOCAL = (AccessOp.LOCAL_LOAD, AccessOp.LOCAL_STORE, AccessOp.LOCAL_AMO)


def bank_bits(config: HardwareConfig):
    """Width of the number of a bank of the L1. A line's address has this number in its lowest
    bits."""
    return ceil_log2(config.l1_banks)


def mapped_bits(config: HardwareConfig):
    """Width of the number that a line of the mapped part of global memory has in its bank of the
    L1: the bits of its address above those of the bank."""
    return ceil_log2(config.memory_bytes) - config.line_bits - bank_bits(config)


def row_bits(config: HardwareConfig):
    """Width of a row address of local memory. A row has one word in each bank."""
    return ceil_log2(config.local_bytes // config.line_bytes)


def instruction_layout(config: HardwareConfig):
    """A memory instruction with its addresses, as the execute stage issues it.

    Members
    -------
    of_unit : unsigned(1)
        Whether it is an access of the unit that hands out edges, if there is a unit that reads
        memory; ``rd`` is its tag then.
    once : unsigned(1)
        Whether it is a load whose line is not wanted again soon; only with ``load_hints``.
    op, amo : MemOp, AmoOp
        What is done; of an atomic, the operation.
    size : unsigned(2)
        log2 of the bytes of an access.
    signed : unsigned(1)
        Whether a loaded value is sign-extended.
    writes : unsigned(1)
        Whether ``rd`` is written.
    warp, rd : unsigned
        The warp, and its register that gets the words.
    pc : unsigned(32)
        PC of the instruction, for errors.
    mask : unsigned(threads)
        Lanes that take part.
    address, data : ArrayLayout(32, threads)
        Byte addresses; words of a store, operands of an atomic.
    compare : ArrayLayout(32, threads)
        The values that CAS compares with memory.
    """
    lanes = data.ArrayLayout(32, config.threads)
    return data.StructLayout({
        **({"of_unit": 1} if config.gather_reads else {}),
        **({"once": 1} if config.load_hints else {}),
        "op": MemOp, "amo": AmoOp, "size": 2, "signed": 1, "writes": 1,
        "warp": index_bits(config.warps), "rd": 5, "pc": 32, "mask": config.threads,
        "address": lanes, "data": lanes, "compare": lanes,
    })


def operation_layout(config: HardwareConfig):
    """A memory instruction with checked addresses.

    Members
    -------
    of_unit, once, op, amo, size, signed, writes, warp, rd, pc, mask, address, data, compare
        As in :func:`instruction_layout`.
    local, failing : unsigned(threads)
        The results of :func:`check_address` for each lane; they count for the lanes in ``mask``.
    """
    return data.StructLayout({
        **instruction_layout(config).members,
        "local": config.threads, "failing": config.threads,
    })


def misaligned(size, address):
    """Whether an address is misaligned for an access of ``1 << size`` bytes."""
    return Mux(size == 2, address[:2].any(), (size == 1) & address[0])


def check_address(config: HardwareConfig, op, size, address):
    """Whether a lane's address is in local memory, and whether the address is misaligned or not
    mapped. Both are 0 for a FENCE, which has no address."""
    local_bits, memory_bits = ceil_log2(config.local_bytes), ceil_log2(config.memory_bytes)
    local = address[local_bits:] == MemoryMap.LOCAL >> local_bits
    mapped = local | (address[memory_bits:] == MemoryMap.GLOBAL >> memory_bits)
    has_address = op != MemOp.FENCE
    return has_address & local, has_address & (misaligned(size, address) | ~mapped)


def pass_layout(config: HardwareConfig):
    """One pass: lanes of an instruction that access one line, or one row of each bank.

    The operands of an atomic's lanes that access one word are combined. A pass of CAS has one lane,
    and the value to compare with is in the word beside the lane's: the word whose number differs in
    the lowest bit.

    Members
    -------
    op, amo : AccessOp, AmoOp
        What is done; of an atomic, the operation.
    wanted : unsigned(1)
        Whether the old value of an atomic is wanted.
    once : unsigned(1)
        As in :func:`instruction_layout`; only with ``load_hints``.
    slot : unsigned
        The load's slot in the load queue.
    lanes : unsigned(threads)
        The lanes that the pass serves.
    line : unsigned
        The line, counted among the bank's lines from the start of global memory.
    data : line_layout
        Of stores and atomics: words at their places in the line or in their banks.
    mask : unsigned(line_bytes)
        The bytes of these words. For a load, if lines have sectors, a byte of each word.
    rows : ArrayLayout(row_bits, line_words)
        The row of each bank of local memory.
    """
    return data.StructLayout({
        "op": AccessOp, "amo": AmoOp, "wanted": 1,
        **({"once": 1} if config.load_hints else {}),
        "slot": index_bits(config.load_queue), "lanes": config.threads,
        "line": mapped_bits(config),
        "data": line_layout(config), "mask": config.line_bytes,
        "rows": data.ArrayLayout(row_bits(config), config.line_words),
    })


def loaded_layout(config: HardwareConfig):
    """A line, or a word of each bank, with the lanes of a load that take their words from it.

    Members
    -------
    slot : unsigned
        The load's slot in the load queue.
    lanes : unsigned(threads)
        Its lanes that take their words from the line.
    line : line_layout
        The line.
    """
    return data.StructLayout({
        "slot": index_bits(config.load_queue), "lanes": config.threads,
        "line": line_layout(config),
    })
