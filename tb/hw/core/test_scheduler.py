"""The scheduler against a model of its scoreboard.

The bench plays fetch, the execution units and write-back, each with random delays. For every cycle
the model gives the warp and the instruction that must issue. So a hazard, a lost or repeated
instruction, an idle cycle while a warp is ready, and an unfair choice are all failures.

=====================  =========================================================
hazards                against_model: no instruction issues while a register of it waits
order, completeness    against_model: each warp's instructions once, in order
fairness               against_model: the next ready warp after the last one issued
unit_ready, barred     against_model
halt                   against_model
control flow           against_model: a warp fetches nothing more until it is resumed
attribution            against_model: every cause; one of issue and blocked
latency                directed: the cycle after fetch, the cycle after the result; in the long
                       pipeline a cycle later, and a warp is not picked twice in a row
launch                 against_model: at any time
=====================  =========================================================
"""

import collections
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.config import HardwareConfig
from hw.core.decode import decoded_layout
from hw.core.scheduler import Scheduler, issued_layout
from hw.operations import AluOp, CrossOp, DivOp, GatherOp, MemOp, MulOp, Unit, WarpOp
from hw.stalls import STALLS
from tb import runner
from tb.clocking import integer, start, tick
from tb.streams import pack, unpack


#: The scheduler's view of an instruction. Each instruction has its own ``number``. ``rd2`` is a
#: second destination, or 0.
Instruction = collections.namedtuple("Instruction", "unit op needs rd rd2 changes number")

#: Cycles of the random test.
CYCLES = 10000

_OPS = {Unit.ALU: AluOp.ADD, Unit.BRANCH: AluOp.LINK, Unit.MUL: MulOp.MULH, Unit.LSU: MemOp.LOAD,
        Unit.WARP: WarpOp.SPLIT, Unit.GATHER: GatherOp.DEC_LOC, Unit.DIV: DivOp.REM,
        Unit.CROSS: CrossOp.IDX}

#: Every unit takes an instruction.
ALL_READY = (1 << len(_OPS)) - 1


class Warp:
    """The scheduler's state of a warp."""
    def __init__(self):
        self.buffer = collections.deque()
        self.busy = {}                  # register -> unit of its result, "local" for local memory
        self.unresolved = None          # the instruction that keeps the warp from fetching
        self.issuing = None             # the instruction picked a cycle ago (long pipeline)
        self.fresh = False              # the first one came a cycle ago, alone (long pipeline)
        self.fits = False               # whether there was room a cycle ago (long pipeline)

    def waits(self, takes):
        """The causes that keep the first instruction from issuing; empty if it is ready. ``takes``
        are the units that take an instruction."""
        first = self.buffer[0]
        names = {Unit.LSU: "memory", Unit.GATHER: "weaver", "local": "local"}
        pending = [self.busy[register] for register in first.needs if register in self.busy]
        causes = {names.get(source, "execute") for source in pending}
        if not pending and self.fresh:
            causes = {"execute"}
        elif not pending and not takes >> first.unit.value & 1:
            causes = {"execute" if self.issuing else names.get(first.unit, "execute")}
        # The pipeline's own delays are named only if the warp waits for no slower unit.
        return causes - {"execute"} or causes


class Model:
    """The scheduler's whole state at the beginning of a cycle."""
    def __init__(self, warps):
        self.warps = [Warp() for _ in range(warps)]
        self.last = warps - 1           # the warp that issued last

    def launch(self):
        """Forget all, except the turn and whether there was room."""
        fits = [warp.fits for warp in self.warps]
        self.warps = [Warp() for _ in self.warps]
        for warp, fitted in zip(self.warps, fits):
            warp.fits = fitted

    def choose(self, takes, halt):
        """The warp that issues, or None."""
        ready = [warp for warp, state in enumerate(self.warps)
                 if state.buffer and not state.waits(takes) and not halt
                 and not state.issuing]
        count = len(self.warps)
        return min(ready, key=lambda warp: (warp - self.last - 1) % count, default=None)

    def blocked(self, takes, active, at_barrier):
        """All causes for a cycle without issue."""
        causes = set()
        for warp, state in enumerate(self.warps):
            if state.buffer:
                causes |= state.waits(takes) or {"execute"}
            elif active >> warp & 1:
                first = state.unresolved
                if first and first.unit is Unit.GATHER:
                    causes.add("weaver")
                elif at_barrier >> warp & 1:
                    causes.add("barrier")
                else:
                    causes.add("fetch")
        return causes


class Bench:
    """Drives a scheduler, a cycle at a time."""
    def __init__(self, dut, rng):
        self.dut, self.rng = dut, rng
        self.config = HardwareConfig(**runner.parameters())
        self.count = self.config.warps
        self.model = Model(self.count)
        self.active = (1 << self.count) - 1
        self.results = []               # (warp, register, Instruction): to be written
        self.number = self.cycle_number = 0
        self.issuing = None             # (warp, Instruction) that was picked a cycle ago
        self.unit_ready = ALL_READY     # a cycle ago
        self.blocked = [set()]          # the causes of each cycle
        self.issues = collections.Counter()
        self.causes = collections.Counter()

    def instruction(self, unit=None, *, needs=None, rd=None, changes=None):
        """A random instruction, or a given one."""
        rng = self.rng
        unit = unit or rng.choice([Unit.ALU, Unit.ALU, *self.config.units])
        if rd is None:
            rd = rng.choice([0, rng.randrange(32), rng.randrange(6)])
        if needs is None:
            needs = {rng.choice([rng.randrange(32), rng.randrange(6)])
                     for _ in range(rng.randrange(3))} - {0}
        if changes is None:
            changes = rng.random() < (0.5 if unit is Unit.GATHER else 0.2)
        self.number += 1
        rd2, op = 0, _OPS[unit]
        if unit is Unit.GATHER and changes:
            rd2, op = rng.randrange(32), GatherOp.DEC
        return Instruction(unit, op.value, frozenset((needs | {rd, rd2}) - {0}), rd,
                           rd2 if rd2 != rd else 0, changes, self.number)

    def _decoded(self, instruction):
        needs = sum(1 << register for register in instruction.needs)
        return {"unit": instruction.unit, "op": instruction.op, "rd": instruction.rd,
                "writes": int(instruction.rd != 0), "changes": int(instruction.changes),
                "rs2": instruction.rd2, "needs": needs, "imm": instruction.number}

    async def cycle(self, *, fetch=None, unit_ready=ALL_READY, barred=0, write=None, local=None,
                    resume=(), at_barrier=0, halt=False, launch=False):
        """One cycle, compared with the model.

        Parameters
        ----------
        fetch : (warp, Instruction), optional
            The instruction enters the warp's buffer.
        write : (warp, register), optional
            A result is written.
        local : (warp, register), optional
            A load turns out to access local memory.

        Returns
        -------
        (warp, Instruction) or None
            The warp that was picked, and its instruction.
        """
        dut, model = self.dut, self.model
        self.cycle_number += 1
        dut.launch.value, dut.halt.value, dut.active.value = int(launch), int(halt), self.active
        dut.unit_ready.value, dut.barred.value = unit_ready, barred
        dut.at_barrier.value = at_barrier
        dut.resume.value = sum(1 << warp for warp in resume)
        dut.fetched.value = int(fetch is not None)
        if fetch is not None:
            dut.fetched_warp.value, dut.fetched_pc.value = fetch[0], 4 * (fetch[1].number % 200)
            dut.decoded.value = pack(decoded_layout(self.config), self._decoded(fetch[1]))
        for name, event in (("written", write), ("local", local)):
            getattr(dut, name if name == "written" else "local_wait").value = int(event is not None)
            if event is not None:
                getattr(dut, f"{name}_warp").value = event[0]
                getattr(dut, f"{name}_rd").value = event[1]
        takes = (self.unit_ready if self.config.long else unit_ready) & ~barred
        self.unit_ready = unit_ready
        chosen = model.choose(takes, halt)
        await ReadOnly()
        await self._compare(chosen, fetch, takes, at_barrier)
        picked = None
        empty = [not state.buffer for state in model.warps]
        if chosen is not None:
            picked = chosen, model.warps[chosen].buffer.popleft()
            model.last = chosen
            self.issues[chosen] += 1
        issued = self.issuing if self.config.long else picked
        self._compare_issued(issued)
        self._update(issued, fetch, write, local, resume)
        if self.config.long:
            self.issuing = picked
            for warp, state in enumerate(model.warps):
                state.issuing = picked is not None and picked[0] == warp
                state.fresh = fetch is not None and fetch[0] == warp and empty[warp]
        if launch:
            model.launch()
            self.results.clear()
            self.issuing = None
        await tick(dut)
        return picked

    async def _compare(self, chosen, fetch, unit_takes, at_barrier):
        dut, model = self.dut, self.model
        may_fetch = 0
        for warp, state in enumerate(model.warps):
            takes = fetch is not None and fetch[0] == warp
            fits = state.fits if self.config.long else len(state.buffer) < 2
            state.fits = len(state.buffer) + takes < 2
            if self.active >> warp & 1 and state.unresolved is None and fits and not takes:
                may_fetch |= 1 << warp
        assert integer(dut.may_fetch) == may_fetch
        assert integer(dut.picked) == (0 if chosen is None else 1 << chosen), \
            f"cycle {self.cycle_number}: warp {chosen} should be picked"
        blocked = {name for bit, name in enumerate(STALLS)
                   if integer(dut.blocked) >> bit & 1}
        expected = set()
        if chosen is None:
            expected = model.blocked(unit_takes, self.active, at_barrier)
            assert expected or not self.active
        # In the long pipeline ``blocked`` comes a cycle later.
        self.blocked.append(expected)
        assert blocked == self.blocked[-2 if self.config.long else -1]
        self.causes.update(blocked)

    def _compare_issued(self, issued):
        dut = self.dut
        assert integer(dut.issue) == int(issued is not None), \
            f"cycle {self.cycle_number}: {issued} should issue"
        if issued is None:
            return
        warp, first = issued
        got = unpack(issued_layout(self.config), integer(dut.issued))
        assert (got.warp, got.decoded.imm) == (warp, first.number), \
            f"cycle {self.cycle_number}: {got} issues instead of {first} of warp {warp}"
        assert got.pc == 4 * (first.number % 200)
        assert got.decoded.as_bits() == pack(decoded_layout(self.config), self._decoded(first))
        assert integer(dut.issued_units) == 1 << first.unit.value

    def _update(self, issued, fetch, write, local, resume):
        warps = self.model.warps
        if write is not None:
            del warps[write[0]].busy[write[1]]
            self.results = [result for result in self.results if result[:2] != write]
        if local is not None:
            warps[local[0]].busy[local[1]] = "local"
        if issued is not None:
            warp, instruction = issued
            for register in {instruction.rd, instruction.rd2} - {0}:
                warps[warp].busy[register] = instruction.unit
                self.results.append((warp, register, instruction))
        for warp in resume:
            warps[warp].unresolved = None
        if fetch is not None:
            warps[fetch[0]].buffer.append(fetch[1])
            if fetch[1].changes:
                warps[fetch[0]].unresolved = fetch[1]

    def fetchable(self):
        """Warps that may be given an instruction in this cycle."""
        return [warp for warp, state in enumerate(self.model.warps)
                if self.active >> warp & 1 and state.unresolved is None and len(state.buffer) < 2]

    def resolvable(self):
        """Warps whose unresolved instruction has been issued."""
        return [warp for warp, state in enumerate(self.model.warps)
                if state.unresolved is not None and not state.buffer]


@cocotb.test()
async def directed(dut):
    await start(dut)
    bench = Bench(dut, random.Random(cocotb.RANDOM_SEED))
    await bench.cycle(launch=True)
    # An instruction is picked in the cycle after its fetch.
    first = bench.instruction(Unit.ALU, needs=set(), rd=5, changes=False)
    second = bench.instruction(Unit.ALU, needs={5}, rd=5, changes=False)
    third = bench.instruction(Unit.ALU, needs=set(), rd=5, changes=False)
    assert await bench.cycle(fetch=(0, first)) is None
    if bench.config.long:
        assert await bench.cycle() is None
    assert await bench.cycle(fetch=(0, second)) == (0, first)
    if bench.config.long:
        assert await bench.cycle() is None
    # An instruction is picked in the cycle after the write of the result that it waits for. A
    # second writer waits, too.
    assert await bench.cycle(fetch=(0, third)) is None
    assert await bench.cycle(write=(0, 5)) is None
    assert await bench.cycle() == (0, second)
    assert await bench.cycle() is None
    assert await bench.cycle(write=(0, 5)) is None
    assert await bench.cycle() == (0, third)
    # One instruction is picked a cycle, from the warps in turn.
    await bench.cycle(launch=True)
    for warp in range(bench.count):
        for _ in range(2):
            await bench.cycle(fetch=(warp, bench.instruction(Unit.ALU, needs=set(), rd=0,
                                                             changes=False)), halt=True)
    if bench.config.long and bench.count == 1:
        for turn in range(4):
            assert (await bench.cycle() is None) == bool(turn % 2)
        return
    order = [(await bench.cycle())[0] for _ in range(2 * bench.count)]
    assert sorted(order) == sorted([*range(bench.count)] * 2)
    assert all(order[i] != order[i + 1] for i in range(len(order) - 1)) or bench.count == 1


@cocotb.test()
async def against_model(dut):
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    bench = Bench(dut, rng)
    await bench.cycle(launch=True)
    eager = rng.random()
    launches = 0
    for _ in range(runner.turns(CYCLES)):
        if rng.random() < 0.01:
            eager = rng.choice([0.1, 0.5, 0.9, 1.0])
        if rng.random() < 0.005:
            launches += 1
            bench.active = (1 << bench.count) - 1
            await bench.cycle(launch=True)
            continue
        fetch = write = local = None
        fetchable = bench.fetchable()
        if fetchable and rng.random() < eager:
            fetch = rng.choice(fetchable), bench.instruction()
        if bench.results and rng.random() < 0.4:
            write = rng.choice(bench.results)[:2]
        loads = [(warp, rd) for warp, rd, instruction in bench.results
                 if instruction.unit is Unit.LSU and (warp, rd) != write]
        if loads and rng.random() < 0.3:
            local = rng.choice(loads)
        resolvable = bench.resolvable()
        resume = rng.sample(resolvable, rng.randrange(len(resolvable) + 1)) \
            if rng.random() < 0.3 else []
        unit_ready = ALL_READY if rng.random() < 0.7 else rng.getrandbits(len(_OPS))
        barred = 0 if rng.random() < 0.7 else rng.getrandbits(len(_OPS))
        # A warp may end, or wait at a barrier, after an instruction that changes the mask.
        at_barrier = sum(1 << warp for warp in resolvable if rng.random() < 0.5
                         and bench.model.warps[warp].unresolved.unit is Unit.WARP)
        if resolvable and rng.random() < 0.01:
            bench.active &= ~(1 << rng.choice(resolvable))
        await bench.cycle(fetch=fetch, unit_ready=unit_ready, barred=barred, write=write,
                          local=local, resume=resume, at_barrier=at_barrier,
                          halt=rng.random() < 0.02)
    assert launches and set(bench.causes) == set(STALLS), bench.causes
    assert len(bench.issues) == bench.count


@pytest.mark.parametrize("warps, pipeline", [(1, "short"), (2, "short"), (8, "short"),
                                             (1, "long"), (8, "long")])
@pytest.mark.sample(2)
def test_scheduler(simulator, warps, pipeline):
    parameters = {"warps": warps, "threads": 1, "imem_bytes": 1 << 10, "pipeline": pipeline}
    runner.run_bench(Scheduler(HardwareConfig(**parameters)), "scheduler", __name__,
                     simulator=simulator, parameters=parameters)
