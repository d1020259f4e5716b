# amaranth: UnusedElaboratable=no
"""Tests of the MSHRs against a model of lists."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly

from hw.memory.miss import ROOM, MissTable
from tb import runner
from tb.clocking import integer, reset, start


LINE_BITS, PAYLOAD_BITS = 6, 20
SHAPES = [{"mshrs": 2, "entries": 2}, {"mshrs": 4, "entries": 8}, {"mshrs": 16, "entries": 16},
          {"mshrs": 2, "entries": 4, "ahead": True}, {"mshrs": 8, "entries": 16, "ahead": True}]


class Model:
    """Model of the table: for each MSHR a line, a list of payloads, and whether it is stale."""

    def __init__(self, mshrs, entries):
        self.mshrs, self.entries = mshrs, entries
        self.taken = {}                      # index -> [line, payloads, stale]
        self.replaying = None                # index whose list is being replayed
        self.first = True

    def match(self, line):
        """The MSHR of a line, or None."""
        found = [index for index, (of, _, stale) in self.taken.items()
                 if of == line and not stale]
        assert len(found) <= 1
        return found[0] if found else None

    def free_index(self):
        return min(set(range(self.mshrs)) - set(self.taken), default=None)

    def room(self, count=1):
        """Whether there is room for ``count`` insertions."""
        waiting = sum(len(payloads) for _, payloads, _ in self.taken.values())
        return len(self.taken) + count <= self.mshrs and waiting + count <= self.entries


class Bench:
    """Random insertions and replays as the protocol allows them.

    Attributes
    ----------
    lines : int
        Number of different lines.
    rates : dict
        Probability of ``insert``, ``replay``, ``stale`` and ``stale_all`` in a cycle.
    """

    def __init__(self, dut):
        self.dut = dut
        settings = runner.parameters()
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.model = Model(settings["mshrs"], settings["entries"])
        self.lines = 8
        self.rates = {"insert": 0.5, "replay": 0.5, "stale": 0.1, "stale_all": 0.02}
        self.inserted = self.replayed = 0
        self._owed = None                    # payload of the entry replayed in the cycle before
        self._ahead = settings.get("ahead", False)
        self._line = 0                       # with ``ahead``, the line of the cycle before

    def _wants(self, name):
        return self.rng.random() < self.rates[name]

    async def cycle(self):
        """Drive one cycle, compare all outputs, and update the model."""
        dut, model, rng = self.dut, self.model, self.rng
        await FallingEdge(dut.clk)
        given, payload = rng.randrange(self.lines), rng.getrandbits(PAYLOAD_BITS)
        line, self._line = self._line if self._ahead else given, given
        asked = rng.choice(list(model.taken)) if model.taken else 0
        if model.replaying is None and model.taken and self._wants("replay"):
            model.replaying, model.first = rng.choice(list(model.taken)), True
        replay = model.replaying is not None and rng.random() < 0.8
        index = rng.randrange(model.mshrs) if model.replaying is None else model.replaying
        last = replay and len(model.taken[index][1]) == 1
        match = model.match(line)
        insert = model.room() and self._wants("insert") and not (last and match == index)
        stale, stale_all = self._wants("stale"), self._wants("stale_all")
        dut.line.value, dut.payload.value, dut.insert.value = given, payload, int(insert)
        dut.asked_index.value = asked
        dut.stale.value, dut.stale_all.value = int(stale), int(stale_all)
        dut.replay_index.value, dut.replay.value = index, int(replay)
        await ReadOnly()

        assert integer(dut.match) == (match is not None)
        place = model.free_index() if match is None else match
        if place is not None:
            assert integer(dut.index) == place
        assert integer(dut.room) == sum(
            model.room(1 + count) << count for count in range(ROOM))
        assert integer(dut.empty) == (not model.taken)
        if model.taken:
            assert integer(dut.asked_line) == model.taken[asked][0]
        if self._owed is not None:
            assert integer(dut.replay_payload) == self._owed, "the wrong access is replayed"
        if model.replaying is not None:
            _, payloads, is_stale = model.taken[index]
            assert integer(dut.replay_stale) == is_stale
            assert integer(dut.replay_first) == model.first
            assert integer(dut.replay_last) == (len(payloads) == 1)

        self._owed = None
        if match is not None and stale:
            model.taken[match][2] = True
        if stale_all:
            for one in model.taken.values():
                one[2] = True
        if insert:
            self.inserted += 1
            if match is None:
                model.taken[place] = [line, [], False]
            model.taken[place][1].append(payload)
        if replay:
            self.replayed += 1
            self._owed = model.taken[index][1].pop(0)
            model.first = False
            if not model.taken[index][1]:
                del model.taken[index]
                model.replaying = None

    async def reset(self):
        """Reset in the middle of traffic."""
        await FallingEdge(self.dut.clk)
        self.dut.insert.value = self.dut.replay.value = 0
        await reset(self.dut, 1)
        self.model = Model(self.model.mshrs, self.model.entries)
        self._owed = None


@cocotb.test()
async def against_model(dut):
    """Insertions, replays and stale lines at all rates, with resets in between."""
    await start(dut)
    bench = Bench(dut)
    for lines in (1, 4, 32):
        bench.lines = lines
        for insert, replay, stale in ((0.9, 0.1, 0.0), (0.9, 0.9, 0.3), (0.5, 0.5, 0.1),
                                      (0.1, 0.9, 0.1)):
            bench.rates.update(insert=insert, replay=replay, stale=stale)
            for _ in range(120):
                await bench.cycle()
        await bench.reset()
    assert bench.inserted > 150 and bench.replayed > 100


@cocotb.test()
async def a_cycle_each(dut):
    """An insertion and a replay in each cycle. A look-up sees an insertion in the next cycle."""
    await start(dut)
    bench = Bench(dut)
    bench.lines = 2
    bench.rates = {"insert": 1.0, "replay": 0.0, "stale": 0.0, "stale_all": 0.0}
    while bench.model.room():
        await bench.cycle()
    count = bench.inserted
    bench.rates.update(insert=0.0, replay=1.0)
    while bench.model.taken:
        await bench.cycle()
    assert bench.replayed == count
    await bench.cycle()


TESTS = ["against_model", "a_cycle_each"]


def _table(fields):
    return MissTable(line_bits=LINE_BITS, payload=PAYLOAD_BITS, **fields)


@pytest.mark.parametrize("fields", SHAPES, ids=lambda fields: "x".join(map(str, fields.values())))
@pytest.mark.sample(3)
def test_miss_table(simulator, fields):
    runner.run_bench(_table(fields), "misses", __name__, simulator=simulator, parameters=fields,
                     tests=TESTS)


def test_every_bench_is_run():
    benches = {name for name, value in globals().items() if isinstance(value, type(a_cycle_each))}
    assert benches == set(TESTS)


def test_init():
    table = _table({"mshrs": 4, "entries": 8})
    assert (len(table.index), len(table.line), len(table.replay_payload)) \
        == (2, LINE_BITS, PAYLOAD_BITS)
    assert len(_table({"mshrs": 1, "entries": 2}).index) == 1


def test_init_wrong_parameter():
    with pytest.raises(TypeError, match="entries"):
        MissTable(mshrs=4, line_bits=LINE_BITS, payload=PAYLOAD_BITS)
