"""The host register map: how the outside starts the GPU and reads what it did.

One table, used by the control port (:mod:`hw.control`), by the host runtime and by the generated
documentation. Registers are 32 bits wide, at byte addresses of :data:`ADDRESS_BITS` bits. The lower
half of the addresses has the registers, those of the SCU among them (:mod:`hw.scu.registers`); the
upper half is the instruction memory.
"""

import enum


__all__ = ["Register", "Control", "Status", "CORE_COUNTERS", "SHARED_COUNTERS", "COUNTERS",
           "SHARED_BASE", "CORE_BASE", "CORE_STRIDE", "BLOCK_BITS", "WARP_OFFSET", "WARP_COUNTS",
           "IMEM_BASE", "ADDRESS_BITS", "REGISTER_DOCS", "counter_address"]


class Register(enum.IntEnum):
    CONTROL       = 0x0000
    STATUS        = 0x0004
    ENTRY         = 0x0008
    ARGUMENT      = 0x000C
    ERROR_CAUSE   = 0x0010
    ERROR_PC      = 0x0014
    ERROR_ADDRESS = 0x0018
    ERROR_WARP    = 0x001C


class Control(enum.IntFlag):
    """Bits of CONTROL. A command that is written while the GPU is busy is ignored, except FLUSH
    during a launch."""
    LAUNCH     = 1     # start every warp at ENTRY; clears errors, counters keep counting
    FLUSH      = 2     # write the shared level's dirty lines back to memory, once it is quiet
    INVALIDATE = 4     # with FLUSH: also forget every line
    CLEAR      = 8     # zero the counters


class Status(enum.IntFlag):
    BUSY  = 1
    ERROR = 2


REGISTER_DOCS = {
    Register.CONTROL: ("w", "commands: launch, flush, invalidate, clear counters"),
    Register.STATUS: ("r", "busy; stopped with an error"),
    Register.ENTRY: ("rw", "PC at which a launch starts every warp"),
    Register.ARGUMENT: ("rw", "the kernel argument pointer that mscratch reads"),
    Register.ERROR_CAUSE: ("r", "cause of the first error since the launch (hw.isa.Cause)"),
    Register.ERROR_PC: ("r", "PC of the instruction that failed"),
    Register.ERROR_ADDRESS: ("r", "memory address, PC, barrier or instruction word that failed"),
    Register.ERROR_WARP: ("r", "core in bits 31:16; of a load, store or atomic that failed, the "
                          "lane in bits 15:8; warp in bits 7:0"),
}

#: Counters of each core in their order in the register space (64 bits each, low half first).
CORE_COUNTERS = {
    "cycles": "cycles from launch to the last write done",
    "instructions": "warp instructions issued",
    "lanes": "active lanes, summed over issued instructions",
    "stall_memory": "no instruction issued: waiting for global memory",
    "stall_local": "no instruction issued: waiting for local memory",
    "stall_execute": "no instruction issued: waiting for an execution unit or its result",
    "stall_weaver": "no instruction issued: waiting for the Weaver",
    "stall_barrier": "no instruction issued: waiting at a barrier, others at most for instructions",
    "stall_fetch": "no instruction issued: waiting for instructions, nobody at a barrier",
    "stall_idle": "no instruction issued: no warp left, memory draining",
    "memory_instructions": "loads, stores and atomics on global memory",
    "l1_accesses": "line accesses of global memory instructions",
    "l1_loads": "line accesses by loads",
    "l1_load_hits": "line accesses by loads that hit in L1",
    "local_accesses": "local memory passes",
    "local_conflicts": "local memory passes beyond the first of an instruction: bank conflicts",
    "atomics": "atomic operations sent to the shared level",
    "atomic_lanes": "lanes whose atomics those operations performed",
    "weaver_decodes": "WEAVER_DEC_ID instructions answered",
    "weaver_waits": "cycles in which at least one WEAVER_DEC_ID waited",
}

#: Counters of what the cores share. Those of the SCU are 0 where there is none.
SHARED_COUNTERS = {
    "l2_accesses": "line requests at the shared level",
    "l2_hits": "line requests that hit at the shared level",
    "dram_reads": "lines read at the memory port",
    "dram_writes": "lines, whole or in part, written at the memory port",
    "scu_cycles": "cycles in which an operation of the SCU was under way",
    "scu_operations": "operations of the SCU that began",
    "scu_elements": "elements that reached the output of the SCU",
    "scu_reads": "lines that the SCU asked the shared level for",
    "scu_writes": "lines, whole or in part, that the SCU wrote at the shared level",
    "scu_lookups": "elements that the SCU looked up in its hash table",
    "scu_hits": "elements that were in the SCU's hash table",
    "scu_fetches": "lines of the hash table among those that the SCU asked for",
}

#: All counters.
COUNTERS = {**CORE_COUNTERS, **SHARED_COUNTERS}

#: Where the shared counters are, and the block of registers of each core: its counters, and from
#: ``WARP_OFFSET`` on ``WARP_COUNTS`` counters a warp, one for each phase.
SHARED_BASE = 0x0100
CORE_BASE = 0x0800
CORE_STRIDE = 0x0800
BLOCK_BITS = 11              # of an address within a block of that size
WARP_OFFSET = 0x0100
WARP_COUNTS = 7

#: Bits of an address; where instruction memory begins: it may fill the upper half.
ADDRESS_BITS = 21
IMEM_BASE = 1 << ADDRESS_BITS - 1


def counter_address(name, core=0) -> int:
    """Byte address of the low half of a counter; ``core`` is whose, if it is not shared."""
    if name in SHARED_COUNTERS:
        return SHARED_BASE + 8 * list(SHARED_COUNTERS).index(name)
    return CORE_BASE + CORE_STRIDE * core + 8 * list(CORE_COUNTERS).index(name)
