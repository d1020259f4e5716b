"""Random tests of the Weavers with rounds in many shapes, against their golden models and against
their promise."""

import cocotb
import pytest

from hw.config import HardwareConfig
from hw.gather.variants import component
from hw.operations import GatherOp
from tb import runner
from tb.clocking import reset, tick
from tb.hw.gather.driver import Core, NONE
from tb.hw.gather.warps import SHAPES, random_degree, random_distance, random_rates


DEC_ID, DEC_LOC, DEC = GatherOp.DEC_ID, GatherOp.DEC_LOC, GatherOp.DEC

#: The units with rounds.
ROUNDS = ("fsm", "scan")


def _register(core, rng):
    """Queue registrations of random warps and lanes, some of them twice."""
    for _ in range(rng.randrange(2 * core.warps + 1)):
        few = rng.random() < 0.2
        entries = [(rng.randrange(8) if few else rng.getrandbits(32), rng.getrandbits(32),
                    random_degree(rng, core.threads)) for _ in range(core.threads)]
        core.reg(rng.randrange(core.warps), entries,
                 core.all_lanes if rng.random() < 0.5 else rng.getrandbits(core.threads),
                 random_distance(rng, core.model.rows))


@cocotb.test()
async def against_golden(dut):
    """Rounds of registration and distribution; every response is compared with the model."""
    core = await Core.start(dut)
    rng = core.rng
    for _ in range(runner.turns(runner.parameters()["rounds"])):
        random_rates(core, rng)
        _register(core, rng)
        seen, empty = set(), 0
        until = rng.choice([1, core.warps, rng.randrange(8)])
        while empty < until:
            idle = core.idle_warps()
            for warp in rng.sample(idle, rng.randrange(len(idle) + 1)):
                if warp in core.last_mask and rng.random() < 0.5:
                    core.dec_loc(warp, rng.getrandbits(core.threads))
                else:
                    rng.choice((core.dec_id, core.dec))(warp)
            if core.expected:
                warp, op, mask, data = await core.response()
                if op is not DEC_LOC:
                    vids = data[:core.threads]
                    core.last_mask[warp] = mask
                    empty += vids[0] == NONE
                    seen |= {vid for vid in vids if vid != NONE}
            if not core.pending(DEC_ID) and seen and rng.random() < 0.3:
                core.skip(rng.randrange(core.warps),
                          [rng.choice(list(seen)) for _ in range(core.threads)],
                          rng.getrandbits(core.threads))
            if not core.pending(DEC_ID) and rng.random() < 0.05:
                _register(core, rng)
        await core.settle()
    await tick(dut, 3)
    assert core.skipped == core.model.skipped


class _Ledger:
    """Every edge that was registered, and every edge that was handed out.

    A registration's number is its VID and the upper part of its EIDs. So each edge tells its
    registration.
    """

    def __init__(self, rows):
        self._rows = rows
        self._degrees = []               # by registration
        self._given = []                 # by registration: (number of the decode, edge)
        self._newest = {}                # (warp, lane) -> its newest registration
        self._replaced, self.skipped = set(), set()

    def register(self, warp, lane, degree):
        """Make a new registration, as (vid, loc, degree)."""
        vid = len(self._degrees)
        self._degrees.append(degree if warp < self._rows else 0)
        self._given.append([])
        self._replaced.add(self._newest.get((warp, lane)))
        self._newest[warp, lane] = vid
        return vid, vid << 12, degree

    def give(self, decode, vid, eid):
        """Record an edge handed out; ``decode`` rises from answer to answer."""
        assert eid >> 12 == vid, f"EID {eid:#x} with VID {vid}"
        self._given[vid].append((decode, eid & 0xFFF))

    def check(self):
        """Check that no edge comes twice or out of order. Only edges of registrations that were
        replaced or skipped may be missing. Returns the number of edges that were cut off."""
        missing = 0
        for vid, (degree, given) in enumerate(zip(self._degrees, self._given)):
            edges = [edge for _, edge in sorted(given)]
            assert edges == list(range(len(edges))), f"VID {vid}: edges {edges}"
            complete = len(edges) == degree
            lost = not edges and vid in self._replaced
            cut = 0 < len(edges) <= degree and vid in self.skipped
            assert complete or lost or cut, f"VID {vid}: {len(edges)} of {degree} edges"
            missing += degree - len(edges) if cut else 0
        return missing


@cocotb.test()
async def promise_under_races(dut):
    """Registrations and skips at any time: each edge once, in order, none lost."""
    core = await Core.start(dut, golden=False)
    rng = core.rng
    ledger = _Ledger(core.model.rows)
    decodes = {}                         # warp -> (number, VIDs) whose EIDs are not known yet
    barred = {}                          # warp -> VIDs skipped before its DEC_ID
    steps, step, ended = runner.turns(runner.parameters()["steps"]), 0, False
    while not ended:
        step += 1
        if step % 50 == 0:
            random_rates(core, rng)
        if step < steps and rng.random() < 0.2:
            warp, mask = rng.randrange(core.warps), rng.getrandbits(core.threads)
            core.reg(warp, [ledger.register(warp, lane, random_degree(rng, core.threads))
                            if mask >> lane & 1 else (0, 0, 0)
                            for lane in range(core.threads)], mask)
        for warp in core.idle_warps():
            if warp in decodes:
                core.dec_loc(warp)
            elif (rng.random() < 0.5 and step < steps) or not core.expected:
                barred[warp] = set(ledger.skipped)
                rng.choice((core.dec_id, core.dec))(warp)
        if not core.expected:
            continue
        warp, op, mask, values = await core.response()
        if op is DEC_LOC:
            number, vids = decodes.pop(warp)
            for vid, eid in zip(vids, values):
                ledger.give(number, vid, eid)
            continue
        values, places = values[:core.threads], values[core.threads:]
        vids = [vid for vid in values if vid != NONE]
        assert vids == values[:len(vids)]
        assert (op is DEC) == bool(places)
        assert mask == (1 << len(vids)) - 1 if vids else core.all_lanes
        assert not barred[warp] & set(vids)
        if op is DEC:
            assert places[len(vids):] == [NONE] * (core.threads - len(vids))
            for vid, place in zip(vids, places):
                assert place % 4 == 0
                ledger.give(core.numbers[warp], vid, place // 4)
        elif vids:
            decodes[warp] = (core.numbers[warp], vids)
        if vids and step < steps and rng.random() < 0.2:
            ledger.skipped.add(vids[-1])
            core.skip(warp, [vids[-1]] * core.threads)
        ended = step > steps and not vids and not core.expected and not decodes
    # Each edge that was registered was handed out, replaced or skipped.
    assert core.skipped == ledger.check()


@cocotb.test()
async def launches_and_resets_in_flight(dut):
    """After a launch or reset at any time, the Weaver behaves like new."""
    core = await Core.start(dut)
    rng = core.rng
    for _ in range(runner.turns(runner.parameters()["resets"])):
        random_rates(core, rng)
        _register(core, rng)
        for _ in range(rng.randrange(4)):
            for warp in core.idle_warps():
                rng.choice((core.dec_id, core.dec))(warp)
            for _ in range(rng.randrange(len(core.expected) + 1)):
                await core.response()
        await tick(dut, rng.randrange(1, 12))
        if rng.random() < 0.5:
            await core.launch()
        else:
            core.source.clear()
            core.forget()
            await reset(dut, 1)
            core.forget()
        mask, vids = await core.ask(DEC_ID, rng.randrange(core.warps))
        assert mask == core.all_lanes and set(vids) == {NONE}


def _run(simulator, unit, fields, seed, **amounts):
    fields = {"gather": unit, **fields}
    runner.run_bench(component(HardwareConfig(**fields)), unit, __name__,
                     simulator=simulator, parameters={"config": fields, **amounts}, seed=seed)


@pytest.mark.parametrize("unit", ROUNDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_weaver(simulator, shape, unit):
    _run(simulator, unit, SHAPES[shape], 1, rounds=30, steps=1000, resets=40)


@pytest.mark.parametrize("unit", ROUNDS)
@pytest.mark.parametrize("latency", [10, 40])
@pytest.mark.parametrize("shape", ["tiny", "one", "fpga", "one_row"])
@pytest.mark.sample(1)
def test_late_tables(simulator, shape, latency, unit):
    _run(simulator, unit, SHAPES[shape] | {"table_latency": latency}, 1, rounds=15, steps=400,
         resets=15)


@pytest.mark.parametrize("unit", ROUNDS)
@pytest.mark.full
def test_weaver_at_full_size(unit):
    """On the fast simulator only; Icarus Verilog has the other shapes."""
    _run("verilator", unit, {"warps": 32, "threads": 32}, 1, rounds=1, steps=60, resets=2)


@pytest.mark.parametrize("unit", ROUNDS)
@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.sample(1)
def test_seeds(simulator, seed, unit):
    _run(simulator, unit, SHAPES["tiny"], seed, rounds=60, steps=2000, resets=100)
