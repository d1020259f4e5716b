"""Tests of the control processor, with cores that the bench plays.

============================  ====================================================================
donor and receiver            the_largest_gives_to_the_smallest, equal_cores,
                              cores_that_cannot_receive
threshold, interval           a_difference_at_the_threshold, one_entry_in_an_interval
answers                       nothing_to_give
the end                       all_cores_are_told, an_entry_on_its_way
launch                        a_launch_forgets
random cores                  no_edge_is_lost
============================  ====================================================================
"""

import itertools
import random

import cocotb
import pytest

from hw.config import ConfigError, HardwareConfig
from hw.exchange import ControlProcessor, event_layout
from hw.gather.interface import BalancingControl, BalancingState, entry_layout
from tb import runner
from tb.clocking import Beat, Pins, integer, start, tick
from tb.streams import pack, unpack


IDLE, ED, ERS, ER = BalancingControl


class _FakeCore:
    """The registers of one core, as the bench sets them."""

    def __init__(self, refs=0):
        self.refs, self.open, self.dry, self.room = refs, 1, 0, 1
        self.rbs, self.rbw = BalancingState.IDLE, {"vertex": 0, "sindex": 0, "eindex": 0}


class _Cores:
    """Drives the registers of all cores, and keeps the commands of each cycle.

    Attributes
    ----------
    cores : list of _FakeCore
    commands : list
        For each cycle, RBC of each core.
    over : list of bool
        For each cycle, whether the exchange is over.
    received : list of dict
        Entries that came with ER.
    events : dict
        Sums of all events.
    react
        Called with the cycle's commands, if any: sets the registers of the next cycle.
    """

    def __init__(self, dut):
        config = HardwareConfig(**runner.parameters()["config"])
        self.dut, self.config = dut, config
        self.cores = [_FakeCore() for _ in range(config.cores)]
        self.commands, self.over, self.received, self.react = [], [], [], None
        self.events = dict.fromkeys(event_layout().members, 0)
        self._pins = Pins()
        Beat.of(dut).add(self)

    def _signal(self, core, name):
        return getattr(self.dut, f"core__{core}__{name}")

    def drive(self):
        """At a falling edge."""
        for number, core in enumerate(self.cores):
            for name, value in (("refs", core.refs), ("open", core.open),
                                ("dry", core.dry), ("room", core.room),
                                ("rbs", core.rbs.value),
                                ("rbw", pack(entry_layout(), core.rbw))):
                self._pins.put(self._signal(number, name), value)

    def sample(self):
        """When inputs have settled."""
        if integer(self.dut.rst) == 1:
            return
        numbers = range(len(self.cores))
        commands = [BalancingControl(integer(self._signal(c, "rbc"))) for c in numbers]
        over = {integer(self._signal(c, "over")) for c in numbers}
        assert len(over) == 1, "the exchange is over for some cores only"
        self.commands.append(commands)
        self.over.append(bool(over.pop()))
        for c in numbers:
            if commands[c] is ER:
                entry = unpack(entry_layout(), integer(self._signal(c, "received")))
                self.received.append({name: int(entry[name])
                                      for name in ("vertex", "sindex", "eindex")})
        assert [commands.count(one) for one in (ED, ERS, ER)] in (
            [0, 0, 0], [1, 1, 0], [0, 0, 1]), commands
        events = unpack(event_layout(), integer(self.dut.events))
        for name in self.events:
            self.events[name] += int(events[name])
        if self.react is not None:
            self.react(commands, self.over[-1])

    async def until(self, command, cycles=400):
        """Wait until a core has a command. Returns the number of the core."""
        for _ in range(cycles):
            if self.commands and command in self.commands[-1]:
                return self.commands[-1].index(command)
            await tick(self.dut)
        raise AssertionError(f"no {command.name} in {cycles} cycles")

    async def give(self, core, entry):
        """The core answers ED with an entry, or that it has nothing to give."""
        self.cores[core].rbs = BalancingState.GIVES if entry else BalancingState.NOTHING
        self.cores[core].rbw = entry or self.cores[core].rbw
        await tick(self.dut, 2)
        self.cores[core].rbs = BalancingState.IDLE


async def _start(dut):
    await start(dut)
    return _Cores(dut)


ENTRY = {"vertex": 0x1234_5678, "sindex": 100, "eindex": 340}


@cocotb.test()
async def the_largest_gives_to_the_smallest(dut):
    """The entry goes from the core with the most edges to the core with the fewest."""
    cores = await _start(dut)
    for core, refs in zip(cores.cores, (300, 900, 5, 60)):
        core.refs = refs
    assert (await cores.until(ED), await cores.until(ERS)) == (1, 2)
    await tick(dut, 30)
    assert cores.commands[-1] == [IDLE, ED, ERS, IDLE] and integer(dut.busy) == 1
    await cores.give(1, ENTRY)
    await tick(dut, 2)
    assert cores.received == [ENTRY]
    told = [commands for commands in cores.commands if ER in commands]
    assert told == [[IDLE, IDLE, ER, IDLE]]
    assert cores.commands[-1] == [IDLE] * 4 and integer(dut.busy) == 0
    assert cores.events == {"exchange_looks": 1, "exchange_difference": 895,
                            "exchange_entries": 1, "exchange_edges": 240}


@cocotb.test()
async def equal_cores(dut):
    """Among equal cores the lowest gives, and the lowest receives."""
    cores = await _start(dut)
    for core, refs in zip(cores.cores, (7, 900, 900, 7)):
        core.refs = refs
    assert (await cores.until(ED), await cores.until(ERS)) == (1, 0)


@cocotb.test()
async def cores_that_cannot_receive(dut):
    """A core that is not open neither gives nor receives. A core without room does not receive."""
    cores = await _start(dut)
    for core, refs in zip(cores.cores, (900, 700, 8, 3)):
        core.refs = refs
    cores.cores[0].open, cores.cores[3].room = 0, 0
    assert (await cores.until(ED), await cores.until(ERS)) == (1, 2)
    await cores.give(1, None)
    for core in cores.cores:
        core.room = 0
    await tick(dut, 300)
    assert cores.commands[-150:] == [[IDLE] * 4] * 150


@cocotb.test()
async def a_difference_at_the_threshold(dut):
    """A difference of as many edges as the threshold says starts no exchange, one more does."""
    cores = await _start(dut)
    most = cores.config.exchange_threshold
    for core in cores.cores[1:]:
        core.refs = most
    await tick(dut, 300)
    assert all(commands == [IDLE] * 4 for commands in cores.commands)
    assert cores.events["exchange_looks"] in (4, 5)
    assert cores.events["exchange_difference"] == most * cores.events["exchange_looks"]
    cores.cores[2].refs = most + 1
    assert (await cores.until(ED), await cores.until(ERS)) == (2, 0)


@cocotb.test()
async def one_entry_in_an_interval(dut):
    cores = await _start(dut)
    cores.cores[0].refs = 900
    times = []
    for _ in range(5):
        await cores.until(ED)
        times.append(len(cores.commands))
        await cores.give(0, ENTRY)
        await tick(dut, 3)
    interval = cores.config.exchange_interval
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == [interval] * 4


@cocotb.test()
async def nothing_to_give(dut):
    cores = await _start(dut)
    cores.cores[3].refs = 900
    assert await cores.until(ED) == 3
    await cores.give(3, None)
    await tick(dut, 3)
    assert cores.commands[-1] == [IDLE] * 4 and not cores.received
    assert cores.events["exchange_entries"] == cores.events["exchange_edges"] == 0


@cocotb.test()
async def all_cores_are_told(dut):
    """The exchange is over when every core is dry, for a cycle. Cores without a warp do not count.
    Without an open core nothing is told."""
    cores = await _start(dut)
    for core in cores.cores[:3]:
        core.dry = 1
    await tick(dut, 10)
    assert not any(cores.over)
    cores.cores[3].dry = 1
    await tick(dut)
    assert not any(cores.over)
    cores.react = _close_all(cores)
    await tick(dut, 10)
    assert sum(cores.over) == 1
    cores.react = None
    await tick(dut, 10)
    assert sum(cores.over) == 1           # dry, but closed
    cores.cores[2].open = 1
    await tick(dut, 3)
    assert sum(cores.over) > 1


def _close_all(cores):
    """Cores close when the exchange is over."""
    def react(commands, over):
        if over:
            for core in cores.cores:
                core.open = 0
    return react


@cocotb.test()
async def an_entry_on_its_way(dut):
    """From ED on, until the entry has been received, the exchange is not over."""
    cores = await _start(dut)
    cores.cores[1].refs = 900
    await cores.until(ED)
    for core in cores.cores:
        core.dry = 1
    await tick(dut, 20)
    assert not any(cores.over)
    await cores.give(1, ENTRY)
    for core in cores.cores:
        core.dry = 0
    await tick(dut, 5)
    assert cores.received == [ENTRY] and not any(cores.over)


@cocotb.test()
async def a_launch_forgets(dut):
    cores = await _start(dut)
    cores.cores[1].refs = 900
    await cores.until(ED)
    dut.launch.value = 1
    await tick(dut)
    dut.launch.value = 0
    cores.cores[1].refs = 0
    await tick(dut, 100)
    assert cores.commands[-90:] == [[IDLE] * 4] * 90 and not cores.received
    assert integer(dut.busy) == 0


class _Working:
    """Cores that work on edges, give and receive, at random paces."""

    def __init__(self, cores, rng):
        self.cores, self.rng, self.left = cores, rng, [0] * len(cores.cores)
        self.waits = [0] * len(self.left)
        self.rate, self.told, self.done = rng.choice([1, 3, 10]), False, 0

    def begin(self, edges):
        self.left = list(edges)
        for core in self.cores.cores:
            core.open, core.rbs = 1, BalancingState.IDLE
        self.told = False
        self.show()

    def show(self):
        for core, left in zip(self.cores.cores, self.left):
            core.refs, core.dry = left, int(core.open and not left)

    def react(self, commands, over):
        rng = self.rng
        if over:
            assert not any(self.left), f"the exchange is over, and {self.left} edges are left"
            self.told = True
            for core in self.cores.cores:
                core.open = 0
        for c, core in enumerate(self.cores.cores):
            if commands[c] is ER:
                entry = self.cores.received[-1]
                self.left[c] += entry["eindex"] - entry["sindex"]
            if commands[c] is ED and core.rbs is BalancingState.IDLE and rng.random() < 0.1:
                given = rng.randrange(self.left[c] // 2 + 1)
                self.left[c] -= given
                first = rng.randrange(1 << 20)
                core.rbw = {"vertex": c, "sindex": first, "eindex": first + given}
                core.rbs = BalancingState.GIVES if given else BalancingState.NOTHING
            elif commands[c] is IDLE:
                core.rbs = BalancingState.IDLE
            if rng.random() < 0.5:
                done = min(self.left[c], rng.randrange(self.rate + 1))
                self.left[c] -= done
                self.done += done
        self.show()




@cocotb.test()
async def no_edge_is_lost(dut):
    """Cores that give and receive at random do all edges of all cores. Then the exchange is over.
    """
    cores = await _start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    for core in cores.cores:
        core.open = 0
    entries = 0
    for _ in range(runner.turns(runner.parameters()["rounds"])):
        working = _Working(cores, rng)
        edges = [rng.choice([0, 1, 50, 1000, 3000]) for _ in cores.cores]
        cores.received.clear()
        working.begin(edges)
        cores.react = working.react
        while not working.told:
            await tick(dut)
        entries += len(cores.received)
        assert working.done == sum(edges)
        await tick(dut, rng.randrange(1, 100))
    assert entries > 3


def _run(simulator, names, **fields):
    fields = {"gather": "graphpeg", "cores": 4, "exchange_interval": 64,
              "exchange_threshold": 128, **fields}
    runner.run_bench(ControlProcessor(HardwareConfig(**fields)), "control_processor", __name__,
                     simulator=simulator, parameters={"config": fields, "rounds": 15},
                     tests=names)


_DIRECTED = ["the_largest_gives_to_the_smallest", "equal_cores", "cores_that_cannot_receive",
             "a_difference_at_the_threshold", "one_entry_in_an_interval", "nothing_to_give",
             "all_cores_are_told", "an_entry_on_its_way", "a_launch_forgets"]


@pytest.mark.sample(1)
def test_directed(simulator):
    _run(simulator, _DIRECTED)


@pytest.mark.parametrize("cores", [2, 3, 6, 8])
@pytest.mark.sample(2)
def test_random(simulator, cores):
    _run(simulator, ["no_edge_is_lost"], cores=cores)


def test_one_core():
    with pytest.raises(ConfigError, match="exchange_interval = 64: must be 0 with one core"):
        HardwareConfig(gather="graphpeg", exchange_interval=64)
