"""Random tests of the Weaver without rounds: against the golden model, and against its promise."""

import cocotb
import pytest

from hw.config import HardwareConfig
from hw.gather.stream.unit import StreamWeaver
from hw.operations import GatherOp
from tb import runner
from tb.clocking import reset, tick
from tb.hw.gather.stream_driver import Core, NONE, REGISTER
from tb.hw.gather.warps import SHAPES, random_degree, random_distance, random_rates


DEC_ID, DEC_LOC, DEC = GatherOp.DEC_ID, GatherOp.DEC_LOC, GatherOp.DEC


@cocotb.test()
async def against_golden(dut):
    """One request after the other, each at rest: every answer is the model's."""
    core = await Core.start(dut)
    rng = core.rng
    seen = set()                         # warps whose dense table is defined
    rest = 3 * core.rows + 2 * core.threads + 8 + core.config.table_latency
    for _ in range(runner.turns(runner.parameters()["steps"])):
        if rng.random() < 0.05:
            random_rates(core, rng)
        warp, kind = rng.randrange(core.warps), rng.random()
        if kind < 0.2:
            if core.model.dry and core.model.edges_left:
                continue                 # the last edges may be on offer, so no row may follow
            entries = [(rng.randrange(6), rng.getrandbits(32), random_degree(rng, core.threads))
                       for _ in range(core.threads)]
            core.reg(warp, entries, rng.choice((core.all_lanes, rng.getrandbits(core.threads))),
                     random_distance(rng, core.rows))
        elif kind < 0.3:
            core.close(warp)
        elif kind < 0.5:
            core.skip(warp, [rng.randrange(6) for _ in range(core.threads)],
                      rng.getrandbits(core.threads))
        elif kind < 0.6:
            mask, eids = await core.answer(DEC_LOC, warp)
            if warp in seen:
                assert eids == core.model.decode_loc(warp).tolist()
        else:
            op = rng.choice((DEC_ID, DEC))
            expected = core.model.decode(warp)
            if expected is None:
                continue
            lanes, vids, places = expected
            seen.add(warp)
            mask, values = await core.answer(op, warp)
            assert mask == sum(1 << lane for lane in range(core.threads) if lanes[lane])
            assert values == vids.tolist() + (places.tolist() if op is DEC else [])
        await core.source.drain()
        await tick(dut, rest)
    assert core.skipped == core.model.skipped


class _Ledger:
    """Every edge that was registered, and every edge that was handed out. A registration's number
    is its VID and the upper part of its EIDs."""

    def __init__(self):
        self.degrees, self.given, self.skipped = [], [], set()

    def register(self, degree):
        vid = len(self.degrees)
        self.degrees.append(degree)
        self.given.append([])
        return vid, vid << 12, degree

    def give(self, vid, eid):
        assert eid >> 12 == vid, f"EID {eid:#x} with VID {vid}"
        self.given[vid].append(eid & 0xFFF)

    def check(self):
        """Check every registration. Returns the number of edges that were cut off."""
        for vid, (degree, given) in enumerate(zip(self.degrees, self.given)):
            assert sorted(given) == list(range(len(given))), f"VID {vid}: edges {given}"
            assert len(given) == degree or (vid in self.skipped and 0 < len(given) <= degree), \
                f"VID {vid}: {len(given)} of {degree} edges"
        return sum(self.degrees) - sum(map(len, self.given))


@cocotb.test()
async def promise(dut):
    """All warps at once, as in a kernel: the first warps register rows when told to, one or more at
    once, and all work until the end. Each edge comes once, in order, and not after its vertex was
    skipped. Works are full. The end comes when nothing is left, and it comes."""
    core = await Core.start(dut)
    rng, threads = core.rng, core.threads
    for _ in range(runner.turns(runner.parameters()["rounds"])):
        ledger = _Ledger()
        many = rng.randrange(1, core.rows + 1)           # rows of a warp in the table
        registrars = core.rows // many
        rows = {warp: rng.randrange(runner.parameters()["rows"]) for warp in range(registrars)}
        opened = set()
        skips = rng.random() < 0.6
        barred, located, ended, lacking = {}, {}, set(), None
        for warp in rows:
            core.reg(warp, [(0, 0, 0)] * threads)
            opened.add(warp)
        await core.source.drain()

        def asks(warp):
            barred[warp] = set(ledger.skipped)
            core.ask(rng.choice((DEC_ID, DEC)), warp)
        for warp in range(core.warps):
            asks(warp)
        while len(ended) < core.warps:
            if rng.random() < 0.05:
                random_rates(core, rng)
            if not core.asked:
                warp = rng.choice([warp for warp in range(core.warps) if warp not in ended])
                asks(warp)
            warp, op, mask, values, places = await core.response()
            if op is DEC_LOC:
                vids = located.pop(warp)
                for vid, eid in zip(vids, values):
                    ledger.give(vid, eid)
                assert values[len(vids):] == [NONE] * (threads - len(vids))
                asks(warp)
            elif values[0] == REGISTER:
                assert set(values) == {REGISTER} and mask == core.all_lanes
                assert places is None or set(places) == {NONE}
                assert warp in opened
                await tick(dut, rng.choice((0, 0, 3, 30)))
                rows[warp] -= 1
                if rows[warp] >= 0:
                    for index in rng.sample(range(many), rng.randint(1, many)):
                        core.reg(warp, [ledger.register(random_degree(rng, threads))
                                        for _ in range(threads)], distance=index * registrars)
                if rows[warp] <= 0:
                    core.close(warp)
                    opened.discard(warp)
                asks(warp)
            elif values[0] == NONE:
                assert set(values) == {NONE} and mask == core.all_lanes
                assert not opened, "the end while a warp is open"
                ended.add(warp)
            else:
                vids = [vid for vid in values if vid != NONE]
                assert vids == values[:len(vids)] and mask == (1 << len(vids)) - 1
                number = core.numbers[warp]
                assert not lacking or number < lacking, "work after a work that was not full"
                if len(vids) < threads:
                    lacking = number
                    assert not opened, "a work is not full while a warp is open"
                assert not barred[warp] & set(vids), "work of a skipped vertex"
                if op is DEC:
                    assert places[len(vids):] == [NONE] * (threads - len(vids))
                    for vid, place in zip(vids, places):
                        ledger.give(vid, place // 4)
                if skips and rng.random() < 0.4:
                    vid = rng.choice((vids[-1], vids[-1], rng.choice(vids)))
                    core.skip(warp, [vid] * threads, rng.getrandbits(threads) | 1)
                    ledger.skipped.add(vid)
                if op is DEC_ID:
                    located[warp] = vids
                    core.ask(DEC_LOC, warp)
                else:
                    asks(warp)
        await core.source.drain()
        await tick(dut, 3)
        assert core.skipped == ledger.check()
        core.skipped = 0
        core.model.reset()


@cocotb.test()
async def resets_in_flight(dut):
    """After a launch or reset at any time, the unit behaves like new."""
    core = await Core.start(dut)
    rng = core.rng
    for _ in range(runner.turns(runner.parameters()["resets"])):
        random_rates(core, rng)
        for warp in range(core.warps):
            core.reg(warp, [(lane, 7 * lane, random_degree(rng, core.threads))
                            for lane in range(core.threads)])
            core.ask(rng.choice((DEC_ID, DEC)), warp)
            if rng.random() < 0.3:
                core.skip(warp, [0] * core.threads)
        await tick(dut, rng.randrange(1, 30))
        if rng.random() < 0.5:
            await core.launch()
        else:
            core.forget()
            await reset(dut, 1)
            core.forget()
        mask, vids = await core.answer(DEC_ID, rng.randrange(core.warps))
        assert mask == core.all_lanes and set(vids) == {NONE}


def _run(simulator, fields, seed, **amounts):
    config = {"gather": "stream", **fields}
    runner.run_bench(StreamWeaver(HardwareConfig(**config)), "stream_weaver", __name__,
                     simulator=simulator, parameters={"config": config, **amounts}, seed=seed)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sample(2)
def test_stream(simulator, shape):
    _run(simulator, SHAPES[shape], 1, rounds=12, rows=6, steps=250, resets=20)


@pytest.mark.parametrize("latency", [10, 40])
@pytest.mark.parametrize("shape", ["tiny", "one", "fpga", "one_row"])
@pytest.mark.sample(2)
def test_late_tables(simulator, shape, latency):
    _run(simulator, SHAPES[shape] | {"table_latency": latency}, 1, rounds=8, rows=6, steps=150,
         resets=15)


def test_stream_at_full_size():
    """On the fast simulator only; Icarus Verilog has the other shapes."""
    _run("verilator", {"warps": 32, "threads": 32}, 1, rounds=1, rows=2, steps=4, resets=2)


@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.sample(1)
def test_seeds(simulator, seed):
    _run(simulator, SHAPES["tiny"], seed, rounds=60, rows=8, steps=600, resets=60)
