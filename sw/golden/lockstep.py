"""Lockstep: the instruction-set simulator executes the RTL's instructions in their order of issue,
and every instruction is compared.

The RTL issues one instruction a cycle. Its load/store unit keeps the order of the memory
instructions of all warps. So on one core the simulator comes to the same values in the order of
issue, whatever the warps share. These are compared:

- for every instruction: warp, PC, mask, phase, destination, the lanes that are written, and their
  values as they reached the register file;
- for loads, stores and atomics: the address of each lane;
- for stores and atomics: the data of each lane.

In the first launch registers begin as 0, as in a simulation of the RTL. In later launches they
begin as the launch before left them.

Results that depend on the time are taken from the RTL, after these checks:

===================  ============================================================================
CYCLE and INSTRET    The value is the same in all lanes. At each read of a launch it has the same
                     distance from the instruction's cycle, or from the instruction's number.
other unknown CSRs   The value is the same in all lanes.
unit that hands out  The model is asked in the order of issue and must agree. Once a registration
edges                or SKIP overtakes a decode under way, the RTL's lanes and values are taken,
                     if work fills the lanes from the lowest on. With a unit that has a follower
                     (:mod:`sw.golden.gather.variants`) this is so from the beginning. If the unit
                     reads memory, the follower then compares the answer with the edges and
                     vertices that are left, and stores what the unit stores.
===================  ============================================================================
"""

import collections
from typing import Any

import numpy as np

from hw.isa import FLOAT_CSRS, PHASES, Csr
from hw.operations import NONE, AluOp, Unit, GatherOp
from hw.registers import NO_CHECKS, Checks
from sim.trace import access_of, written_by
from sw.golden.semantics import Trap
from sw.golden.simulator import Simulator
from sw.golden.gather import variants
from hw.disassembler import REGISTER_NAMES, disassemble, operands


__all__ = ["Difference", "Lockstep"]


#: CSRs whose value follows from the order of issue alone.
_EXACT = {*FLOAT_CSRS, Csr.MSCRATCH, Csr.PHASE, Csr.THREAD_ID, Csr.WARP_ID, Csr.CORE_ID,
          Csr.ACTIVE_WARPS, Csr.ACTIVE_MASK, Csr.NUM_THREADS, Csr.NUM_WARPS, Csr.NUM_CORES}

#: Number of a warp's instructions that are shown before the instruction that differs.
_HISTORY = 8


class Difference(Exception):
    """The RTL and the simulator differ. The message has several lines: the difference, and both
    states."""


class _Instruction:
    """The facts about the instruction at one PC that the comparison needs."""

    __slots__ = ("rd", "rd2", "rs1", "rs2", "offset", "accesses", "sends", "csr", "gather",
                 "sets_mask")

    def __init__(self, word):
        fields = operands(word)
        self.rd = self.rd2 = self.rs1 = self.rs2 = 0
        self.accesses = self.sends = False
        self.csr = self.gather = None
        self.sets_mask = False
        if fields is None:
            return
        row = fields.row
        self.rd, self.rd2 = fields.destinations
        self.rs1, self.rs2 = fields.rs1, fields.rs2
        self.offset = np.uint32(fields.imm & 0xFFFF_FFFF)
        # A fence has no address.
        self.accesses = row.unit is Unit.LSU and "1" in row.reads
        self.sends = "2" in row.reads
        if row.unit is Unit.ALU and row.op in (AluOp.CSRRW, AluOp.CSRRS, AluOp.CSRRC):
            self.csr = None if fields.csr in _EXACT else fields.csr
        if row.unit is Unit.GATHER:
            self.gather, self.sets_mask = row.op, row.sets_mask


class _Matched:
    """Instructions in the order of issue, each with its write-back."""

    def __init__(self, issues, accesses, writes, all_):
        """Take the issues before the first one whose result is missing; with ``all_``, take all."""
        match = written_by(issues, writes)
        self.lacks = (np.stack([issues["rd"], issues["rd2"]], axis=1) != 0) & (match < 0)
        missing = np.flatnonzero(self.lacks.any(axis=1))
        #: Number of instructions before the first one whose result is missing.
        self.complete = int(missing[0]) if len(missing) else len(issues)
        count = len(issues) if all_ else self.complete
        self.count, self.issues, self.match = count, issues[:count], match[:count]
        surplus = np.setdiff1d(np.arange(len(writes)), match)
        self.surplus = int(surplus[0]) if len(surplus) else None
        self.later = np.setdiff1d(np.arange(len(writes)), self.match)
        # An instruction without a write-back gets any record, which is not used.
        self.writes, self.seconds = (
            writes[self.match[:, column]] if len(writes) else np.zeros(count, writes.dtype)
            for column in (0, 1))
        self.access = access_of(self.issues, accesses)
        self.accesses = int((self.access >= 0).sum())


class Lockstep:
    """Compares the trace of one core with a simulator, launch by launch.

    Parameters
    ----------
    simulator : Simulator
        The simulator, with the configuration, the program and the memory of the RTL. Its state is
        always the state after the last instruction compared.

    Attributes
    ----------
    instructions, taken : int
        Number of instructions compared, and number of their results that were taken from the RTL
        without a prediction.
    """

    def __init__(self, simulator: Simulator):
        self.simulator = simulator
        config = simulator.config
        follower = variants.follower(config)
        self._predicts = follower is None
        if follower is not None:
            simulator.gather = follower
            if config.gather_reads:
                follower.memory = simulator
        self.instructions = self.taken = 0
        self._registers = np.zeros_like(simulator.registers)
        self._program, self._at = None, {}      # the program's instructions, by PC
        self._issues: Any = None                # records that have not been compared yet
        self._accesses: Any = None
        self._writes: Any = None

    def begin(self, entry: int, argument: int = 0, checks: Checks = NO_CHECKS) -> None:
        """Begin a launch."""
        core = self.simulator
        core.start(entry, argument, checks)
        core.registers[:] = self._registers
        self._issues = self._accesses = self._writes = None
        if self._program is not core.program:
            self._program, self._at = core.program, {}
        self._count = 0                 # instructions of this launch
        self._bases = {}                # CSR: distance from the cycle or the instruction's number
        self._decodes_until = -1        # last cycle in which a decode of the Weaver was under way
        self._raced = not self._predicts
        self._history = collections.defaultdict(lambda: collections.deque(maxlen=_HISTORY))
        self.error = None

    def feed(self, chunk) -> None:
        """Compare the records that a :class:`sim.trace.Tracer` hands on, as far as complete.

        Raises Difference at the first instruction that differs.
        """
        for name, kept in (("issue", "_issues"), ("access", "_accesses"), ("write", "_writes")):
            before = getattr(self, kept)
            setattr(self, kept, chunk[name] if before is None or not len(before)
                    else np.concatenate([before, chunk[name]]))
        self._compare()

    def finish(self, failure=None) -> None:
        """End a launch that has ended on the RTL. ``failure`` is the launch's (cause, warp, pc,
        address), if any.

        Raises Difference if the simulator has not ended, or not in the same way.
        """
        core = self.simulator
        if self._issues is not None:
            # After an error some instructions under way have no result. Otherwise all must have.
            self._compare(last=True, failed=failure is not None)
        if self.error is not None or failure is not None:
            error = self.error
            mine = None if error is None else (error.cause, error.warp, error.pc, error.address)
            if mine != failure:
                raise Difference(f"errors differ:\n  simulator: {error or 'none'}\n"
                                 f"  RTL: {self._failure(failure)}")
            return
        alive = [warp for warp in core.warps if warp.mask]
        if alive:
            raise Difference("the RTL has ended, the simulator has not:\n" + "\n".join(
                f"  warp {warp.number} at PC {warp.pc:#x}, mask {warp.mask:#x}: "
                f"{self._text(warp.pc)}" for warp in alive))
        self._registers[:] = core.registers

    @staticmethod
    def _failure(failure):
        if failure is None:
            return "none"
        cause, warp, pc, address = failure
        return f"{cause.name}, warp {warp}, PC {pc:#010x}, address {address:#010x}"

    # The comparison

    def _compare(self, last=False, failed=False):
        if self.error is not None:
            return
        matched = _Matched(self._issues, self._accesses, self._writes, last)
        self._execute(matched, failed)
        if matched.surplus is not None and self.error is None:
            write = self._writes[matched.surplus]
            raise Difference(
                f"a write-back without an instruction: {self._where(write)}: "
                f"{REGISTER_NAMES[write['rd']]} = {self._lanes(write['value'], write['mask'])}")
        self._issues = self._issues[matched.count:]
        self._accesses = self._accesses[matched.accesses:]
        self._writes = self._writes[matched.later]

    def _instruction(self, pc):
        found = self._at.get(pc)
        if found is None:
            try:
                word = self.simulator.fetch(pc)
            except Trap:
                word = 0
            found = self._at[pc] = _Instruction(word)
        return found

    def _execute(self, matched, failed):
        """Execute and compare the instructions of a batch; if ``failed``, some have no result."""
        core, warps = self.simulator, self.simulator.warps
        threads, full = core.threads, core.full
        issues, writes, accesses = matched.issues, matched.writes, self._accesses
        addresses, sent = accesses["address"], accesses["data"]
        values = np.ascontiguousarray(writes["value"])
        data, stride = values.tobytes(), 4 * threads
        columns = (issues[name].tolist() for name in ("warp", "pc", "mask", "rd", "rd2", "phase"))
        write_masks, access = writes["mask"].tolist(), matched.access.tolist()
        unwritten = set(np.flatnonzero(matched.lacks.any(axis=1)).tolist())
        for i, (number, pc, mask, rd, rd2, phase) in enumerate(zip(*columns)):
            if number >= len(warps):
                self._differ(matched, i, "there is no such warp")
            warp = warps[number]
            if pc != warp.pc or mask != warp.mask or not warp.ready or phase != warp.phase:
                self._differ(matched, i, self._position(warp, pc, mask, phase))
            info = self._instruction(pc)
            registers, select = warp.registers, warp.select
            if info.accesses or access[i] >= 0:
                self._check_access(matched, i, info, registers, select, addresses, sent)
            self._history[number].append((pc, mask, int(issues["cycle"][i])))
            core.instructions += 1
            core.lanes += warp.active
            try:
                warp.pc = warp.code[pc]()
            except Trap as trap:
                self.error = core._error(trap, warp)
                return
            self._count += 1
            self.instructions += 1
            for mine, theirs in ((info.rd, rd), (info.rd2, rd2)):
                if mine != theirs:
                    self._differ(matched, i, f"writes {REGISTER_NAMES[mine]} on the simulator, "
                                 f"{REGISTER_NAMES[theirs]} on the RTL")
            if i in unwritten:
                if not failed:
                    self._differ(matched, i, "no write-back")
                continue
            if info.gather is not None:
                self._take_work(matched, i, info, warp)
                if info.sets_mask:
                    mask, select = full, slice(None)
            if rd:
                if info.csr is not None:
                    self._take_csr(matched, i, info, registers, select)
                if write_masks[i] != mask:
                    self._differ(matched, i, f"{REGISTER_NAMES[rd]} is written in lanes "
                                 f"{mask:#x} on the simulator, {write_masks[i]:#x} on the RTL")
                row = registers[rd]
                if mask == full:
                    same = row.tobytes() == data[i * stride:(i + 1) * stride]
                else:
                    same = row[select].tobytes() == values[i][select].tobytes()
                if not same:
                    self._differ(matched, i, self._result(rd, row, values[i], mask))
            if rd2:
                self._check_second(matched, i, registers[rd2], rd2, mask)

    def _check_second(self, matched, i, row, rd2, mask):
        """Compare the second result of an instruction, which is written in all lanes."""
        write = matched.seconds[i]
        if write["mask"] != mask:
            self._differ(matched, i, f"{REGISTER_NAMES[rd2]} is written in lanes {mask:#x} on the "
                         f"simulator, {int(write['mask']):#x} on the RTL")
        if (row != write["value"]).any():
            self._differ(matched, i, self._result(rd2, row, write["value"], mask))

    def _check_access(self, matched, i, info, registers, select, addresses, sent):
        place = matched.access[i]
        if place < 0:
            self._differ(matched, i, "has not reached the load/store unit of the RTL")
        if not info.accesses:
            return                       # a fence
        mask = int(matched.issues["mask"][i])
        expected, got = registers[info.rs1] + info.offset, addresses[place]
        if (expected[select] != got[select]).any():
            self._differ(matched, i, "addresses differ:" + self._lines(expected, got, mask))
        if info.sends:
            expected, got = registers[info.rs2], sent[place]
            if (expected[select] != got[select]).any():
                self._differ(matched, i, "data to store differ:" + self._lines(expected, got, mask))

    def _take_csr(self, matched, i, info, registers, select):
        """Take a CSR's value that depends on the time, after the checks that are possible."""
        lanes = matched.writes["value"][i][select]
        if (lanes != lanes[0]).any():
            self._differ(matched, i, "lanes of a CSR differ on the RTL: " + self._lanes(
                matched.writes["value"][i], int(matched.issues["mask"][i])))
        value = int(lanes[0])
        now = {Csr.CYCLE: int(matched.issues["cycle"][i]), Csr.INSTRET: self._count}.get(info.csr)
        if now is not None:
            base = value - now & 0xFFFF_FFFF
            if self._bases.setdefault(info.csr, base) != base:
                self._differ(matched, i, f"reads {value} on the RTL, must be "
                             f"{self._bases[info.csr] + now & 0xFFFF_FFFF}")
        registers[info.rd][select] = value
        self.taken += 1

    def _take_work(self, matched, i, info, warp):
        """Take the Weaver's answer from the RTL, once the answer may depend on the time."""
        cycle = int(matched.issues["cycle"][i])
        if info.gather in (GatherOp.REG, GatherOp.SKIP, GatherOp.SET):
            self._raced |= cycle <= self._decodes_until
            return
        results = [(warp.registers[register], write) for register, write in
                   ((info.rd, matched.writes[i]), (info.rd2, matched.seconds[i])) if register]
        if not results:
            return
        if info.sets_mask:
            self._decodes_until = max(self._decodes_until,
                                      *(int(write["cycle"]) for _, write in results))
        if not self._raced:
            return
        if info.sets_mask:
            values = results[0][1]["value"]
            works = values != NONE
            filled = int(works.sum())
            if not works[:filled].all():
                self._differ(matched, i, "work is not in the lowest lanes: "
                             + self._lanes(values, self.simulator.full))
            if any((row != write["value"]).any() for row, write in results):
                self.simulator.set_mask(warp, (1 << filled) - 1 or self.simulator.full)
                for row, write in results:
                    row[:] = write["value"]
                self.taken += 1
            if self.simulator.config.gather_reads:
                gather = self.simulator.gather
                take = gather.take_vertices if info.gather is GatherOp.POP_VERT else gather.take
                surplus = take(warp.number, values)
                if surplus:
                    self._differ(matched, i, "work of vertices without edges left: "
                                 + " ".join(f"{vertex:08x}" for vertex in surplus))
                if info.gather is GatherOp.DEC and info.rd2:
                    self._take_part(matched, i, warp, "neighbor", matched.seconds[i]["value"],
                                    range(filled))
                if gather.fills and filled < len(values) and gather.left:
                    self._differ(matched, i,
                                 f"lanes without an edge, though {gather.left} are left")
        else:
            if info.gather in (GatherOp.NEIGHBOR, GatherOp.WEIGHT):
                self._take_part(matched, i, warp, info.gather.name.lower(), results[0][1]["value"],
                                warp.lanes)
            for row, write in results:
                row[warp.select] = write["value"][warp.select]
            self.taken += 1

    def _take_part(self, matched, i, warp, part, words, lanes):
        """Compare neighbours or weights, one a lane, with the edges that the unit has left."""
        wrong = self.simulator.gather.take_part(warp.number, part, words, lanes)
        if wrong:
            self._differ(matched, i, "no such edge of the vertex is left in lanes "
                         + " ".join(map(str, wrong)))

    # The text of a difference

    def _text(self, pc):
        try:
            return disassemble(self.simulator.fetch(pc), pc)
        except Trap:
            return "no instruction"

    @staticmethod
    def _where(record):
        return f"cycle {record['cycle']}, warp {record['warp']}"

    def _position(self, warp, pc, mask, phase):
        state = ("has ended" if not warp.mask else
                 f"waits at barrier {warp.waits_at}" if not warp.ready else
                 f"is at PC {warp.pc:#x}, mask {warp.mask:#x}, phase {warp.phase}: "
                 + self._text(warp.pc))
        return (f"the RTL issues an instruction that the simulator does not\n"
                f"  simulator: warp {warp.number} {state}\n"
                f"  RTL:       warp {warp.number} is at PC {pc:#x}, mask {mask:#x}, phase {phase}: "
                + self._text(pc))

    def _result(self, rd, expected, got, mask):
        return f"{REGISTER_NAMES[rd]} differs:" + self._lines(expected, got, mask)

    def _lines(self, expected, got, mask):
        different = sum(1 << lane for lane in np.flatnonzero(expected != got).tolist()) & mask
        return (f"\n  simulator: {self._lanes(expected, mask)}\n"
                f"  RTL:       {self._lanes(got, mask)}\n"
                f"  in lanes   {different:#x}")

    @staticmethod
    def _lanes(values, mask):
        return " ".join(f"{value:08x}" if int(mask) >> lane & 1 else "-"
                        for lane, value in enumerate(values.tolist()))

    def _recent(self, warp):
        lines = [f"  cycle {cycle:8}  {pc:#06x}  mask {mask:#x}  {self._text(pc)}"
                 for pc, mask, cycle in self._history[warp]]
        return f"last instructions of warp {warp}:\n" + "\n".join(lines)

    def _differ(self, matched, i, what):
        issue = matched.issues[i]
        warp, pc = int(issue["warp"]), int(issue["pc"])
        lines = [f"{self._where(issue)}, PC {pc:#x}, mask {int(issue['mask']):#x}, phase "
                 f"{self._phase(int(issue['phase']))}, instruction {self._count} of the launch: "
                 f"{self._text(pc)}: {what}"]
        if warp < len(self.simulator.warps):
            state = self.simulator.warps[warp]
            lines.append(f"simulator's warp {warp} now: PC {state.pc:#x}, mask {state.mask:#x}, "
                         f"{len(state.stack)} entries on its stack")
            lines.append(self._recent(warp))
        raise Difference("\n".join(lines))

    @staticmethod
    def _phase(number):
        names = dict(enumerate(PHASES))
        return f"{number} ({names[number]})" if number in names else str(number)
