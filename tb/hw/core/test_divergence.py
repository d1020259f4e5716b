"""Thread masks and divergence stacks against a model.

====================  ==========================================================
nesting               structured: random nests of if, every lane's path checked
any operation         wild: random operations and operands
overflow, underflow   wild; directed
masks partition       structured; wild: the sides of a SPLIT
the Weaver's masks    wild: set_mask
launch                wild: at any time
shapes                1 to 32 lanes, 1 to 8 warps
====================  ==========================================================
"""

import collections
import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.config import HardwareConfig
from hw.core.divergence import Divergence, stack_depth
from hw.operations import WarpOp
from tb import runner
from tb.clocking import integer, start, tick


Entry = collections.namedtuple("Entry", "whole behind resume turned")
Done = collections.namedtuple("Done", "pointer mask jump overflow underflow")


class Model:
    """One warp's mask and stack, as the architecture and the simulator define them."""
    def __init__(self, threads):
        self.full, self.depth = (1 << threads) - 1, max(1, threads - 1)
        self.mask, self.stack = self.full, []

    def perform(self, op, pc, passing, scalar_1, scalar_2):
        """Perform an operation; an operation that fails changes nothing."""
        pointer, jump, overflow, underflow = len(self.stack), None, False, False
        passing &= self.mask
        if op is WarpOp.TMC:
            self.mask = scalar_1 & self.full
        elif op is WarpOp.PRED:
            self.mask = passing or scalar_2 & self.full
        elif op is WarpOp.SPLIT and 0 != passing != self.mask:
            overflow = pointer == self.depth
            if not overflow:
                self.stack.append(Entry(self.mask, self.mask & ~passing, pc + 4, False))
                self.mask = passing
        elif op is WarpOp.JOIN and scalar_1 != pointer:
            underflow = not self.stack
            if not underflow:
                entry = self.stack.pop()
                if entry.turned:
                    self.mask = entry.whole
                else:
                    self.stack.append(entry._replace(turned=True))
                    self.mask, jump = entry.behind, entry.resume
        return Done(pointer, self.mask, jump, overflow, underflow)


class Bench:
    """Performs operations, one a cycle, and compares."""
    def __init__(self, dut):
        self.dut = dut
        self.config = HardwareConfig(**runner.parameters())
        self.warps, self.threads = self.config.warps, self.config.threads
        self.full = (1 << self.threads) - 1
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.selected = None
        self.launched()

    def launched(self):
        self.models = [Model(self.threads) for _ in range(self.warps)]

    async def cycle(self, operation=None, select=None, *, launch=False, set_mask=None):
        """One cycle.

        Parameters
        ----------
        operation : (op, pc, passing, scalar_1, scalar_2), optional
            Performed by the warp that was selected in the cycle before.
        select : int, optional
            The warp of the next cycle's operation.
        set_mask : (warp, lanes), optional
            The Weaver's answer, which sets a warp's mask.

        Returns
        -------
        Done or None
        """
        dut, done = self.dut, None
        asked = self.rng.randrange(self.warps)
        dut.mask_of.value = asked
        mask_before = self.models[asked].mask
        active = sum(1 << warp for warp, model in enumerate(self.models) if model.mask)
        dut.select.value = select or 0
        dut.launch.value, dut.perform.value = int(launch), int(operation is not None)
        dut.set_mask.value = int(set_mask is not None)
        if set_mask is not None:
            dut.set_warp.value, dut.set_lanes.value = set_mask
        if operation is not None:
            op, pc, passing, scalar_1, scalar_2 = operation
            model = self.models[self.selected]
            dut.op.value, dut.warp.value, dut.pc.value = op.value, self.selected, pc
            dut.lanes.value, dut.passing.value = model.mask, passing
            dut.scalar_1.value, dut.scalar_2.value = scalar_1, scalar_2
            dut.returned.value = min(scalar_1, stack_depth(self.config) + 1)
            done = model.perform(*operation)
        await ReadOnly()
        assert integer(dut.mask) == mask_before
        assert integer(dut.active) == active
        if done is not None:
            failed = done.overflow or done.underflow
            assert integer(dut.overflow) == int(done.overflow), operation
            assert integer(dut.underflow) == int(done.underflow), operation
            assert integer(dut.pointer) == done.pointer
            if not failed:
                assert integer(dut.jump) == int(done.jump is not None), operation
                assert integer(dut.ends) == int(done.mask == 0)
            if done.jump is not None:
                assert integer(dut.jump_pc) == done.jump
        await tick(dut)
        if set_mask is not None:
            self.models[set_mask[0]].mask = set_mask[1]
        if launch:
            self.launched()
        self.selected = select
        return done

    async def perform(self, warp, op, *, pc=0, passing=0, scalar_1=0, scalar_2=0):
        """Select a warp, perform one operation of the warp, and check its mask afterwards."""
        await self.cycle(select=warp)
        return await self.cycle((op, pc, passing, scalar_1, scalar_2))


async def begin(dut):
    """Returns the bench after a launch, and a random generator."""
    await start(dut)
    bench = Bench(dut)
    for model in bench.models:
        model.mask = 0                  # before the first launch there is no active warp
    await bench.cycle()
    await bench.cycle(launch=True)
    return bench, bench.rng


@cocotb.test()
async def directed(dut):
    """The deepest possible nest; one SPLIT more; one JOIN too many."""
    bench, _ = await begin(dut)
    depth = stack_depth(bench.config)
    warp = bench.warps - 1
    if bench.threads > 1:
        mask = bench.full
        for level in range(depth):
            mask &= ~(1 << level)
            done = await bench.perform(warp, WarpOp.SPLIT, pc=8 * level, passing=mask)
            assert done == Done(level, mask, None, False, False)
        # The last lane cannot be split. With a wider mask it can, and then the stack is full.
        assert not (await bench.perform(warp, WarpOp.SPLIT, passing=0)).overflow
        await bench.perform(warp, WarpOp.TMC, scalar_1=bench.full)
        done = await bench.perform(warp, WarpOp.SPLIT, passing=1)
        assert done.overflow and bench.models[warp].mask == bench.full
        for level in reversed(range(depth)):
            behind = await bench.perform(warp, WarpOp.JOIN, scalar_1=level)
            assert behind.mask == 1 << level and behind.jump == 8 * level + 4
            whole = await bench.perform(warp, WarpOp.JOIN, scalar_1=level)
            assert whole.mask == bench.full & ~((1 << level) - 1) and whole.jump is None
    assert not (await bench.perform(warp, WarpOp.JOIN, scalar_1=0)).underflow
    assert (await bench.perform(warp, WarpOp.JOIN, scalar_1=1)).underflow
    assert (await bench.perform(warp, WarpOp.JOIN, scalar_1=1 << 31)).underflow
    await bench.perform(warp, WarpOp.PRED, passing=0, scalar_2=0)
    await bench.cycle()
    await bench.cycle(launch=True)
    await bench.cycle()


class _Walk:
    """A random nest of ifs that one warp walks, kept as a stack of steps still to do.

    Each lane remembers the branches it took. Lanes that are active together must have taken the
    same branches, and every lane must come through every nest once.
    """
    def __init__(self, bench, warp, rng):
        self.bench, self.warp, self.rng = bench, warp, rng
        self.paths = [()] * bench.threads
        self.depth = 0
        self.steps = self._body(0)
        self.next = next(self.steps)        # operation to perform

    def _body(self, level):
        """Generator of operations, which receives the effect of each operation."""
        model = self.bench.models[self.warp]
        for index in range(self.rng.randrange(1, 3)):
            entered = model.mask
            mode = self.rng.random()
            passing = (self.rng.getrandbits(self.bench.threads) if mode < 0.7
                       else entered if mode < 0.85 else 0)
            pc = 4 * self.rng.randrange(1 << 7)
            done = yield WarpOp.SPLIT, pc, passing, 0, 0
            pointer = done.pointer
            parts = [entered & passing, entered & ~passing]
            sides = [part for part in parts if part]
            assert done.mask == sides[0] and sum(sides) == entered
            if level < 4 and self.rng.random() < 0.7:
                yield from self._body(level + 1)
            assert model.mask == sides[0]
            done = yield WarpOp.JOIN, 0, 0, pointer, 0
            if len(sides) == 2:
                assert done.mask == sides[1] and done.jump == pc + 4
                if level < 4 and self.rng.random() < 0.7:
                    yield from self._body(level + 1)
                done = yield WarpOp.JOIN, 0, 0, pointer, 0
            assert done.mask == entered and done.jump is None

    def advance(self, done):
        """Take the next step. Returns False at the end."""
        try:
            self.next = self.steps.send(done)
            return True
        except StopIteration:
            return False


@cocotb.test()
async def structured(dut):
    """Random nests in all warps at once."""
    bench, rng = await begin(dut)
    walks = {warp: _Walk(bench, warp, rng) for warp in range(bench.warps)}
    nests, performing = 0, None
    for _ in range(2000):
        # The warp of an operation is selected again two cycles later at the earliest.
        select = rng.choice([warp for warp in walks if warp != performing] or [None])
        operation = None if performing is None else walks[performing].next
        done = await bench.cycle(operation, select)
        if done is not None and not walks[performing].advance(done):
            nests += 1
            assert not bench.models[performing].stack
            assert bench.models[performing].mask == bench.full
            walks[performing] = _Walk(bench, performing, rng)
        performing = select
    assert nests > 20


def _operand(rng, bench, model):
    return rng.choice([len(model.stack), len(model.stack) - 1, 0, rng.getrandbits(32),
                       rng.getrandbits(bench.threads)]) & 0xFFFF_FFFF


@cocotb.test()
async def wild(dut):
    """Any operation with any operands, launches and the Weaver's answers between them."""
    bench, rng = await begin(dut)
    failures = collections.Counter()
    performing = None
    for _ in range(4000):
        if rng.random() < 0.01:
            await bench.cycle(launch=True)
            performing = None
            continue
        alive = [warp for warp, model in enumerate(bench.models) if model.mask]
        if not alive:
            await bench.cycle(launch=True)
            performing = None
            continue
        select = rng.choice([warp for warp in alive if warp != performing] or [None])
        operation = None
        if performing is not None:
            model = bench.models[performing]
            op = rng.choice([WarpOp.SPLIT, WarpOp.SPLIT, WarpOp.SPLIT, WarpOp.JOIN, WarpOp.JOIN,
                             WarpOp.PRED, WarpOp.TMC])
            operation = (op, 4 * rng.randrange(255), rng.getrandbits(bench.threads),
                         _operand(rng, bench, model), _operand(rng, bench, model))
            if op is WarpOp.TMC and rng.random() < 0.8:
                operation = op, 0, 0, bench.full, 0
        others = [warp for warp in alive if warp not in (performing, select)]
        set_mask = None
        if others and rng.random() < 0.1:
            set_mask = rng.choice(others), rng.randrange(1, bench.full + 1)
        done = await bench.cycle(operation, select, set_mask=set_mask)
        if done is not None:
            failures["overflow"] += done.overflow
            failures["underflow"] += done.underflow
        performing = select if select is None or bench.models[select].mask else None
    assert failures["underflow"]
    assert failures["overflow"] or bench.threads == 1 or bench.threads > 8


@pytest.mark.parametrize("warps, threads", [(1, 1), (1, 2), (4, 4), (2, 32)])
@pytest.mark.sample(2)
def test_divergence(simulator, warps, threads):
    parameters = {"warps": warps, "threads": threads, "imem_bytes": 1 << 10}
    runner.run_bench(Divergence(HardwareConfig(**parameters)), "divergence", __name__,
                     simulator=simulator, parameters=parameters)
