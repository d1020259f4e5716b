"""The host register map: the host starts the GPU and reads results through these registers.

The control port (:mod:`hw.control`), the host runtime and the generated documentation use this one
table. Registers are 32 bits wide, at byte addresses of :data:`ADDRESS_BITS` bits. The lower half of
the addresses has the registers, with those of the SCU (:mod:`hw.scu.registers`). The upper half is
the instruction memory.
"""

import dataclasses
import enum

from hw.stalls import L1_STALLS, SCU_STALLS, STALLS


__all__ = ["NO_CHECKS", "Checks", "Register", "Control", "Status", "CORE_COUNTERS",
           "GPU_COUNTERS", "COUNTERS", "GPU_BASE", "CORE_BASE", "CORE_STRIDE", "BLOCK_BITS",
           "WARP_OFFSET", "WARP_COUNTS", "IMEM_BASE", "ADDRESS_BITS", "REGISTER_DOCS",
           "counter_address", "cycles_of", "memory_lines"]


class Register(enum.IntEnum):
    CONTROL       = 0x0000
    STATUS        = 0x0004
    ENTRY         = 0x0008
    ARGUMENT      = 0x000C
    ERROR_CAUSE   = 0x0010
    ERROR_PC      = 0x0014
    ERROR_ADDRESS = 0x0018
    ERROR_WARP    = 0x001C
    CHECKS        = 0x0020


class Control(enum.IntFlag):
    """Bits of CONTROL.

    A command that is written while the GPU is busy is ignored, except FLUSH during a launch.
    """
    LAUNCH     = 1     # start every warp at ENTRY; errors are cleared, counters go on
    FLUSH      = 2     # write dirty lines back to memory, once the L2 is quiet
    INVALIDATE = 4     # with FLUSH: also invalidate every line
    CLEAR      = 8     # zero the counters


@dataclasses.dataclass(frozen=True)
class Checks:
    """Checks of a launch, beside the errors that always stop it.

    Raises
    ------
    ValueError
        ``stack`` is no such size.
    """
    #: Where active lanes disagree at a branch, or have different rs1 at a JALR, the launch stops.
    #: Else the lowest active lane decides for all.
    lanes: bool = False
    #: Bytes of each lane's stack, a power of two from :data:`LEAST_STACK` to :data:`MOST_STACK`.
    #: Each stack begins at a multiple of its size. If an instruction of the ALU moves the stack
    #: pointer from one such block of memory to another, the launch stops. 0: no check. Loads,
    #: atomics, multiplications, jumps and the other units set the stack pointer freely.
    stack: int = 0

    LEAST_STACK, MOST_STACK = 1 << 8, 1 << 20

    def __post_init__(self):
        if self.stack and (self.stack & self.stack - 1
                           or not self.LEAST_STACK <= self.stack <= self.MOST_STACK):
            raise ValueError(f"a stack of {self.stack} bytes: must be 0, or a power of two from "
                             f"{self.LEAST_STACK} to {self.MOST_STACK}")

    @property
    def word(self) -> int:
        """The value of the register CHECKS."""
        return (-self.stack & 0xFFFF_FFFF) | self.lanes


#: The checks of a launch if nobody asks.
NO_CHECKS = Checks()


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
    Register.ERROR_ADDRESS: ("r", "memory address, PC, barrier, instruction word or lanes that "
                             "failed"),
    Register.ERROR_WARP: ("r", "core in bits 31:16; lane of a failed load, store, atomic or stack "
                          "in bits 15:8; warp in bits 7:0"),
    Register.CHECKS: ("rw", "what a launch checks: bit 0, that lanes agree at branches; bits 31:8, "
                      "the bits of a lane's stack pointer that must not change, 0 for no check"),
}

#: Counters of each core, in the order of the register space (64 bits each, low half first).
CORE_COUNTERS = {
    "cycles": "cycles from the launch until the last write is done",
    "instructions": "warp instructions issued",
    "lanes": "active lanes, summed over issued instructions",
    **{f"stall_{name}": f"no instruction issued: {stall.doc}" for name, stall in STALLS.items()},
    "stall_idle": "no instruction issued: no warp left, memory draining",
    "memory_instructions": "loads, stores and atomics on global memory",
    "coalescer_busy": "cycles in which the coalescer had lanes of an instruction to serve",
    "loads_under_way": "loads, and atomics whose old value is wanted, in the load queue, summed "
                       "over the cycles",
    "l1_accesses": "line accesses of global memory instructions",
    "l1_loads": "line accesses by loads",
    "l1_load_hits": "line accesses by loads that hit in L1",
    "load_words": "words of global memory that loads wanted, in each line access once",
    "l1_fetches": "sectors, or whole lines if these are not divided, that loads asked the L2 for",
    "l1_stall_bank": "cycles in which lanes waited for a pass to their bank, as others went first",
    **{f"l1_stall_{name}": f"cycles that passes waited in front of a bank: {doc}"
       for name, doc in L1_STALLS.items()},
    "local_accesses": "local memory passes",
    "local_conflicts": "local memory passes beyond the first of an instruction: bank conflicts",
    "atomics": "atomic operations sent to the L2",
    "atomic_lanes": "lanes whose atomics the operations at the L2 performed",
    "weaver_decodes": "WEAVER_DEC_ID and WEAVER_DEC instructions answered",
    "weaver_waits": "cycles in which at least one WEAVER_DEC_ID or WEAVER_DEC waited",
    "weaver_stalls": "no instruction issued: a warp waits for the Weaver, others for anything",
    "weaver_skipped": "edges that WEAVER_SKIP cut off: registered, and never handed out",
}

#: Counters of the whole GPU: L2, memory port, SCU and the exchange of edges. The SCU's counters are
#: 0 without an SCU, those of the exchange without an exchange.
GPU_COUNTERS = {
    "l2_accesses": "line requests at the L2",
    "l2_hits": "line requests that hit at the L2",
    "dram_reads": "lines read at the memory port",
    "dram_writes": "lines, whole or in part, written at the memory port",
    "scu_cycles": "cycles in which an operation of the SCU was under way",
    "scu_operations": "operations of the SCU that began",
    "scu_elements": "elements that reached the output of the SCU",
    "scu_reads": "lines that the SCU requested from the L2",
    "scu_writes": "lines, whole or in part, that the SCU wrote at the L2",
    "scu_lookups": "elements that the SCU looked up in its hash table",
    "scu_hits": "elements that the SCU found in its hash table",
    "scu_fetches": "lines of the hash table that the SCU requested; scu_reads includes them",
    **{f"scu_stall_{name}": f"cycles of an operation of the SCU in which {doc}"
       for name, doc in SCU_STALLS.items()},
    "scu_beside": "cycles of an operation of the SCU in which a launch was under way",
    "exchange_looks": "looks of the control processor at the edges that the cores have left",
    "exchange_difference": "edges that the core with the most had more than the core with the "
                           "fewest, summed over these looks",
    "exchange_entries": "entries that a core gave to another core",
    "exchange_edges": "edges of these entries",
}

#: All counters.
COUNTERS = {**CORE_COUNTERS, **GPU_COUNTERS}

#: Addresses of the GPU's counters and of each core's block of registers. The block has the core's
#: counters and, from ``WARP_OFFSET`` on, ``WARP_COUNTS`` counters a warp: one for each phase, and
#: one for all cycles of the warp.
GPU_BASE = 0x0100
CORE_BASE = 0x1000
CORE_STRIDE = 0x1000
BLOCK_BITS = 12              # bits of an address within a block
WARP_OFFSET = 0x0200
WARP_COUNTS = 7

#: Bits of an address, and the first address of instruction memory, which may fill the upper half.
ADDRESS_BITS = 21
IMEM_BASE = 1 << ADDRESS_BITS - 1


def cycles_of(counters) -> int:
    """All cycles that counters tell of: those of launches, and those in which the SCU works alone.
    Counters that a machine does not have count 0."""
    return (counters.get("cycles", 0) + counters.get("scu_cycles", 0)
            - counters.get("scu_beside", 0))


def memory_lines(counters, config) -> float:
    """Lines that the memory moved. With sectors, in which it moves parts of lines, their bytes over
    those of a line."""
    if config.sector_bytes and "dram_bytes_read" in counters:
        return (counters["dram_bytes_read"] + counters["dram_bytes_written"]) / config.line_bytes
    return counters.get("dram_reads", 0) + counters.get("dram_writes", 0)


def counter_address(name, core=0) -> int:
    """Byte address of the low half of a counter; ``core`` is the owner of a core's counter."""
    if name in GPU_COUNTERS:
        return GPU_BASE + 8 * list(GPU_COUNTERS).index(name)
    return CORE_BASE + CORE_STRIDE * core + 8 * list(CORE_COUNTERS).index(name)
