"""The instruction-set simulator: the results of one core's warps, instruction by instruction.

The simulator defines the meaning of the ISA: kernels are developed on the simulator, and the RTL
core is compared with it commit by commit. The simulator knows nothing of time, caches or the
pipeline. An instruction is executed as a whole, all active lanes at once, before the next
instruction of any warp.

Warps take turns, one instruction each, in the order of their numbers. With a seed, warps run in
bursts of random length, since no result of a kernel may depend on the order. CYCLE and INSTRET both
give the number of instructions executed before in this launch. At a launch registers hold arbitrary
numbers, different at each launch. This exposes a kernel that relies on a register it has not
written.
"""

import dataclasses
import random
from typing import Any

import numpy as np

from base.errors import LimitError, RunError
from hw.config import HardwareConfig
from hw.isa import CAUSE_DOCS, Cause, Csr, MemoryMap, csrs
from hw.registers import NO_CHECKS, Checks
from sw.golden.gather import variants
from sw.golden.semantics import Trap, bind
from hw.disassembler import REGISTER_NAMES, disassemble, operands


__all__ = ["Commit", "CoreError", "InstructionLimit", "Simulator"]


class CoreError(RunError):
    """A core stopped with an error.

    Attributes
    ----------
    cause : Cause
        Cause of the error.
    core, warp, lane, pc, address : int
        Place of the error. ``lane`` is the lane of a load, store, atomic or stack, else 0.
        ``address`` is the memory address of a load, store or atomic, the PC of a failed fetch,
        the barrier number for barrier errors, the bit mask of the lanes that break a rule of a
        check, and otherwise the instruction word.
    """

    def __init__(self, cause, *, core, warp, pc, address, lane=0, text="", counters=None):
        instruction = f" ({text})" if text else ""
        super().__init__(f"core {core}, warp {warp}, PC {pc:#010x}{instruction}: "
                         f"{CAUSE_DOCS[cause]} (cause {int(cause)}, address {address:#010x})",
                         counters)
        self.cause, self.core, self.warp, self.pc = cause, core, warp, pc
        self.lane, self.address = lane, address


class InstructionLimit(LimitError):
    """The launch was stopped because it executed too many instructions."""


@dataclasses.dataclass(frozen=True)
class Commit:
    """The effect of one executed instruction."""
    warp: int
    pc: int
    word: int  #: The instruction word.
    #: Lanes that executed the instruction: the lanes active before it (all for an instruction whose
    #: answer sets the mask).
    mask: int
    rd: int | None  #: The register written; ``None`` if the instruction writes none, or x0.
    #: The register's contents afterwards, of every lane. Only lanes in ``mask`` were written.
    values: tuple[int, ...]
    #: The same of the second register that the instruction writes.
    rd2: int | None
    values2: tuple[int, ...]  #: See `rd2`.
    #: (lane, address, size, value) of what a store or atomic left in memory, ascending by lane. If
    #: lanes have the same address, the last value stands.
    effects: tuple
    next_pc: int  #: The PC and the lanes with which the warp goes on; mask 0 if the warp has ended.
    next_mask: int  #: See `next_pc`.

    def __str__(self):
        parts = [f"w{self.warp} {self.mask:#x} {self.pc:#06x} {disassemble(self.word, self.pc)}"]
        for register, values in ((self.rd, self.values), (self.rd2, self.values2)):
            if register is not None:
                parts.append(f"{REGISTER_NAMES[register]} = " + " ".join(
                    f"{value:x}" if self.mask >> lane & 1 else "-"
                    for lane, value in enumerate(values)))
        parts += [f"[{address:#x}] = {value:x}" for _, address, _, value in self.effects]
        if self.next_mask != self.mask:
            parts.append(f"mask {self.next_mask:#x}")
        return "; ".join(parts)


class _Code(dict):
    """The instructions of one warp by PC, bound when first executed."""

    def __init__(self, core, warp):
        super().__init__()
        self.core, self.warp = core, warp

    def __missing__(self, pc):
        function = self[pc] = bind(self.core, self.warp, pc, self.core.fetch(pc))
        return function


class Warp:
    """The state of one warp. ``where``, ``select``, ``lowest``, ``lanes`` and ``active`` follow
    from ``mask``, in the form that the closures of :mod:`sw.golden.semantics` need."""

    __slots__ = ("number", "registers", "code", "pc", "mask", "where", "select", "lowest", "lanes",
                 "active", "stack", "phase", "fcsr", "ready", "waits_at", "waits_pc", "asks")


class Simulator:
    """One core and its memories, as the instructions see them.

    Parameters
    ----------
    config : HardwareConfig
        Sizes.
    core : int
        The core's number.
    memory : numpy array of uint8, optional
        Global memory, ``config.memory_bytes`` long; made if not given. It may be read and written
        whenever no instruction is being executed.
    seed : int, optional
        Interleave warps at random.

    Attributes
    ----------
    memory, local : numpy arrays of uint8
        Global and local memory.
    registers : numpy array of uint32, (warps, 32, threads)
        Every lane's registers. Row 0 stays 0.
    instructions, lanes : int
        Warp instructions executed, and the sum of their active lanes, since the counters were last
        zeroed. An instruction that fails is counted.
    """

    def __init__(self, config: HardwareConfig, *, core=0, memory=None, seed=None):
        self.config, self.core, self.seed = config, core, seed
        self.threads, self.barriers = config.threads, config.barriers
        self.full = (1 << config.threads) - 1
        self.stack_entries = max(config.threads - 1, 1)
        if memory is None:
            memory = np.zeros(config.memory_bytes, np.uint8)
        if memory.dtype != np.uint8 or memory.shape != (config.memory_bytes,):
            raise ValueError(f"memory is {memory.dtype} of shape {memory.shape}, not uint8 of "
                             f"shape ({config.memory_bytes},)")
        self.memory, self.local = memory, np.zeros(config.local_bytes, np.uint8)
        self.words = memory.view(np.uint32).data
        self.gather: Any = variants.model(config)
        if config.gather_reads:
            self.gather.memory = self
        self.argument, self.checks = 0, NO_CHECKS
        self.program = []
        self.instructions = self.lanes = self._launches = self._start = self._ready = 0
        #: The list to which stores and atomics append their effects during a step.
        self.effects = None
        self._selections = {}
        self._rows = np.zeros((config.warps, 33, config.threads), np.uint32)
        self.registers = self._rows[:, :32]
        self.warps = [self._make_warp(number) for number in range(config.warps)]

    def _make_warp(self, number):
        warp = Warp()
        warp.number, warp.registers = number, self._rows[number]
        warp.code, warp.stack, warp.phase, warp.fcsr = _Code(self, warp), [], 0, 0
        warp.pc, warp.mask, warp.ready = 0, 0, False
        warp.waits_at = warp.waits_pc = None
        warp.asks = False
        return warp

    def load_program(self, words) -> None:
        """Put instruction words at address 0; the rest of instruction memory is zeroed."""
        words = [int(word) for word in words]
        if 4 * len(words) > self.config.imem_bytes:
            raise ValueError(f"a program of {len(words)} words does not fit in "
                             f"{self.config.imem_bytes} bytes of instruction memory")
        self.program = words
        for warp in self.warps:
            warp.code.clear()

    def start(self, entry: int, argument: int = 0, checks: Checks = NO_CHECKS) -> None:
        """Start every warp at ``entry`` with all lanes; nothing is executed yet."""
        self.argument = argument & 0xFFFF_FFFF
        if checks != self.checks:
            self.checks = checks
            for warp in self.warps:
                warp.code.clear()
        self._start = self.instructions
        self._launches += 1
        generator = np.random.default_rng((self._launches, self.core))
        self.registers[:, 1:] = generator.integers(1 << 32, size=self.registers[:, 1:].shape)
        if self.gather is not None:
            self.gather.reset()
        for warp in self.warps:
            warp.stack.clear()
            warp.pc, warp.phase, warp.ready, warp.waits_at = entry, 0, True, None
            warp.fcsr = 0
            warp.asks = False
            self.set_mask(warp, self.full)
        self._ready = len(self.warps)
        self._turns = self._in_order() if self.seed is None else self._at_random()

    def run(self, *, limit=None, progress=None, trace=None) -> None:
        """Execute the started launch to its end.

        Parameters
        ----------
        limit : int, optional
            Instructions after which to give up. Less than a turn of every warp is executed beyond
            the limit.
        progress : callable, optional
            Called from time to time with the number of instructions executed in this launch.
        trace : callable, optional
            Called with the :class:`Commit` of every instruction. Slow.

        Raises
        ------
        CoreError
            An instruction failed; the first one to fail stops the core.
        InstructionLimit
            The limit was reached.
        """
        last = None if limit is None else self._start + limit
        report = self.instructions
        while self.running:
            if last is not None and self.instructions >= last:
                raise InstructionLimit(
                    f"core {self.core}: not finished after {limit} instructions; warp PCs: " +
                    ", ".join(f"{warp.number}: {warp.pc:#x}" for warp in self.warps if warp.mask),
                    self.counters())
            if progress is not None and self.instructions >= report:
                progress(self.instructions - self._start)
                report = self.instructions + (1 << 16)
            self.take_turn(trace)

    def take_turn(self, trace=None) -> None:
        """Execute one instruction of every warp, or with a seed some instructions of one warp.

        ``trace`` and errors are as in :meth:`run`, which repeats this until no warp is left.
        """
        turn = next(self._turns)
        if trace is not None:
            for warp in turn:
                if warp.ready:
                    trace(self.step(warp.number))
            return
        try:
            for warp in turn:
                if warp.ready:
                    self.instructions += 1
                    self.lanes += warp.active
                    warp.pc = warp.code[warp.pc]()
        except Trap as trap:
            raise self._error(trap, warp) from None

    def step(self, warp: int) -> Commit:
        """Execute one instruction of a warp.

        Raises ValueError if the warp has ended or waits at a barrier, and CoreError as ``run``.
        """
        state = self.warps[warp]
        if not state.ready:
            raise ValueError(f"warp {warp} " + ("has ended" if not state.mask else
                                                f"waits at barrier {state.waits_at}"))
        self.effects = []
        pc, mask = state.pc, state.mask
        self.instructions += 1
        self.lanes += state.active
        try:
            state.pc = state.code[pc]()
            effects = tuple(self.effects)
        except Trap as trap:
            raise self._error(trap, state) from None
        finally:
            self.effects = None
        word = self.fetch(pc)
        fields = operands(word)
        assert fields is not None           # it has been executed
        if fields.row.sets_mask:
            mask = self.full
        first, second = fields.destinations

        def contents(register):
            return (register, tuple(state.registers[register].tolist())) if register else (None, ())
        return Commit(warp, pc, word, mask, *contents(first), *contents(second), effects, state.pc,
                      state.mask)

    @property
    def running(self) -> bool:
        """Whether a warp is left that can execute an instruction."""
        return self._ready > 0

    def counters(self) -> dict[str, int]:
        """Instructions and active lanes, by their names in :data:`hw.registers.COUNTERS`."""
        return {"instructions": self.instructions, "lanes": self.lanes}

    def clear_counters(self) -> None:
        """Zero the counters. INSTRET goes on counting from the launch."""
        self._start -= self.instructions
        self.instructions = self.lanes = 0

    # Methods that the closures of instructions use.

    def fetches(self, pc):
        """Whether instruction memory has a word at ``pc``."""
        return not pc & 3 and 0 <= pc < self.config.imem_bytes

    def fetch(self, pc):
        """The instruction word at ``pc``. Raises Trap if there is none."""
        if not self.fetches(pc):
            raise Trap(Cause.FETCH_ACCESS, pc)
        return self.program[pc >> 2] if pc >> 2 < len(self.program) else 0

    def load_word(self, address, lane):
        """The word at an address of global or local memory. Raises Trap if there is none."""
        words, index = self._locate(address, lane, Cause.LOAD_MISALIGNED, Cause.LOAD_ACCESS)
        return words[index]

    def store_word(self, address, word, lane):
        """Store a word, as :meth:`load_word` loads one."""
        words, index = self._locate(address, lane, Cause.STORE_MISALIGNED, Cause.STORE_ACCESS)
        words[index] = word

    def _locate(self, address, lane, misaligned, unmapped):
        if address & 3:
            raise Trap(misaligned, address, lane=lane)
        for base, words in ((MemoryMap.GLOBAL, self.words),
                            (MemoryMap.LOCAL, self.local.view(np.uint32).data)):
            if 0 <= address - base < 4 * len(words):
                return words, address - base >> 2
        raise Trap(unmapped, address, lane=lane)

    def set_mask(self, warp, mask):
        """Change the active lanes of a warp. A warp without active lanes ends."""
        warp.mask = mask
        if not mask:
            self._end(warp)
            return
        try:
            selection = self._selections[mask]
        except KeyError:
            selection = self._select(mask)
        warp.where, warp.select, warp.lowest, warp.lanes, warp.active = selection

    def _select(self, mask):
        lanes = tuple(lane for lane in range(self.threads) if mask >> lane & 1)
        if mask == self.full:
            selection = True, slice(None), 0, lanes, self.threads
        else:
            where = np.array([bool(mask >> lane & 1) for lane in range(self.threads)])
            selection = where, np.array(lanes, np.intp), lanes[0], lanes, len(lanes)
        if len(self._selections) >= 1 << 14:
            self._selections.clear()
        self._selections[mask] = selection
        return selection

    def _end(self, warp):
        warp.ready = False
        warp.stack.clear()
        self._ready -= 1
        self._check_deadlock()

    def arrive(self, warp, barrier, count, pc):
        """A warp arrives at a barrier, and waits until ``count`` warps have arrived. The ``count``
        of the last warp decides."""
        waiting = [other for other in self.warps if other.waits_at == barrier]
        if len(waiting) + 1 >= count:
            for other in waiting:
                other.waits_at, other.ready = None, True
            self._ready += len(waiting)
            return
        warp.waits_at, warp.waits_pc, warp.ready = barrier, pc, False
        self._ready -= 1
        self._check_deadlock()

    def wait(self, warp, pc):
        """A warp has to wait for the unit that hands out edges. It executes its instruction again
        once another warp has told the unit something. Returns the instruction's PC."""
        self.instructions -= 1
        self.lanes -= warp.active
        warp.asks, warp.ready = True, False
        self._ready -= 1
        self._check_deadlock()
        return pc

    def wake(self):
        """The unit that hands out edges was told something: warps that wait for it ask again."""
        for warp in self.warps:
            if warp.asks:
                warp.asks, warp.ready = False, True
                self._ready += 1

    def _check_deadlock(self):
        if self.running:
            return
        if any(warp.asks for warp in self.warps):
            raise InstructionLimit(f"core {self.core}: warps wait for work, and no warp is left to "
                                   "register any", self.counters())
        for warp in self.warps:
            if warp.waits_at is not None:
                raise Trap(Cause.BARRIER_DEADLOCK, warp.waits_at, warp=warp, pc=warp.waits_pc)

    def csr_reader(self, warp, number):
        """A function that reads a CSR for a warp as an integer or an array by lane, or None."""
        threads, low = self.threads, 0xFFFF_FFFF
        lane_numbers = np.arange(threads, dtype=np.uint32)
        if number not in csrs(self.config):
            return None
        return {
            Csr.FFLAGS: lambda: warp.fcsr & 0x1F,
            Csr.FRM: lambda: warp.fcsr >> 5,
            Csr.FCSR: lambda: warp.fcsr,
            Csr.MSCRATCH: lambda: self.argument,
            Csr.PHASE: lambda: warp.phase,
            Csr.CYCLE: lambda: self._elapsed() & low,
            Csr.INSTRET: lambda: self._elapsed() & low,
            Csr.CYCLEH: lambda: self._elapsed() >> 32,
            Csr.INSTRETH: lambda: self._elapsed() >> 32,
            Csr.THREAD_ID: lambda: lane_numbers,
            Csr.WARP_ID: lambda: warp.number,
            Csr.CORE_ID: lambda: self.core,
            Csr.ACTIVE_WARPS: lambda: sum(1 << other.number for other in self.warps[:32]
                                           if other.mask),
            Csr.ACTIVE_MASK: lambda: warp.mask,
            Csr.NUM_THREADS: lambda: threads,
            Csr.NUM_WARPS: lambda: self.config.warps,
            Csr.NUM_CORES: lambda: self.config.cores,
        }.get(number)

    def _elapsed(self):
        return self.instructions - 1 - self._start

    def _error(self, trap, warp):
        """The error for the caller, and the end of the launch."""
        if trap.warp is not None:
            warp = trap.warp
        pc = warp.pc if trap.pc is None else trap.pc
        text = ""
        if trap.cause is not Cause.FETCH_ACCESS:
            text = disassemble(self.fetch(pc), pc)
        for other in self.warps:
            other.ready = False
        self._ready = 0
        return CoreError(trap.cause, core=self.core, warp=warp.number, pc=pc,
                         address=trap.address, lane=trap.lane, text=text, counters=self.counters())

    def _in_order(self):
        while True:
            yield self.warps

    def _at_random(self):
        generator = random.Random(self.seed)
        while True:
            ready = [warp for warp in self.warps if warp.ready]
            yield [generator.choice(ready)] * (1 << generator.randrange(6))
