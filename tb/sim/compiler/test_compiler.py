# amaranth: UnusedElaboratable=no
"""Tests of the compiler: random designs against Amaranth's own simulator."""

import random
import shutil
from collections import Counter

import pytest
from amaranth.hdl import (Assert, Cat, ClockDomain, ClockSignal, Const, Cover, Instance, Module,
                          Mux, Print, ResetSignal, Signal)
from amaranth.hdl._nir import CombinationalCycle
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from sim import compiler
from sim.compiler import optimize, partition

from .designs import INPUTS, LaneDesign, RandomDesign, RowDesign
from .model import Model


CYCLES = 200


def _inputs(rng, before):
    """Values of the inputs in a cycle. Most do not change, so that most of a design is idle."""
    values = dict(before)
    for name, width in INPUTS.items():
        if rng.random() < 0.3:
            values[name] = rng.choice((0, (1 << width) - 1, rng.getrandbits(width),
                                       rng.getrandbits(width) & rng.getrandbits(width)))
    return values


def _stimulus(rng):
    """The inputs of each cycle."""
    stimulus = [_inputs(rng, dict.fromkeys(INPUTS, 0))]
    for _ in range(CYCLES):
        stimulus.append(_inputs(rng, stimulus[-1]))
    return stimulus


def _simulated(design, stimulus):
    """The outputs in each cycle, by Amaranth's simulator."""
    result = []

    async def bench(ctx):
        for values in stimulus:
            await ctx.tick()
            for name, value in values.items():
                ctx.set(getattr(design, name), value)
            await ctx.delay(0)
            result.append({name: ctx.get(getattr(design, name))
                           for name in design.signature.members if name not in INPUTS})

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return result


def _check(make, rng, folder):
    """Compares a compiled design with Amaranth's simulator."""
    stimulus = _stimulus(rng)
    expected = _simulated(make(), stimulus)
    model = Model(make(), folder)
    for cycle, (values, outputs) in enumerate(zip(stimulus, expected, strict=True)):
        for name, value in values.items():
            model.set(name, value)
        assert not model.edge()
        assert {name: model.get(name) for name in outputs} == outputs, f"cycle {cycle}"
    return model


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.sample(5)
def test_random_designs(seed, tmp_path):
    _check(lambda: RandomDesign(random.Random(seed)), random.Random(seed), tmp_path)


#: Counts and widths of lists: types of all sizes, counts of no power of two and above 64.
LISTS = [(8, 3), (9, 40), (16, 8), (31, 22), (64, 12), (70, 5)]


@pytest.mark.parametrize("count, width", LISTS)
def test_operations_on_lists(count, width, tmp_path):
    model = _check(lambda: LaneDesign(count, width), random.Random(count), tmp_path)
    found = Counter(node.kind for node in model.design.netlist.nodes.values())
    # One array for all comparisons and choices by masks. A mask has 64 bits, so of a longer list
    # only the comparisons with the first 64 values are on the array. Indexes have arrays of up to
    # 32 values, and of 8.
    assert found["array"] == len({count, min(32, 1 << count.bit_length() - 1), 8})
    assert found["element"] == 2
    # A lane is not compared with itself, so of 8 lanes there are 7 comparisons, too few.
    assert found["equals"] == (3 if count == 8 else count + 3)
    assert found["selected"] == (2 if count <= 64 else 0)
    if 8 < count <= 64:
        assert found["=="] == count                 # of ``turn``


@pytest.mark.parametrize("count, width", LISTS[:2])
def test_operations_on_lists_with_another_compiler(count, width, tmp_path, monkeypatch):
    """GCC has no vectors of bits."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not on PATH")
    monkeypatch.setenv("CXX", "g++")
    _check(lambda: LaneDesign(count, width), random.Random(count), tmp_path)


#: Counts and widths of lanes: registers of a word and of many words, of more bits than one register
#: may have, and lanes that are too few or of a width that is not joined.
ROWS = [(16, 1), (4, 4), (9, 8), (40, 16), (16, 32), (3, 8), (8, 22)]


@pytest.mark.parametrize("count, width", ROWS)
def test_operations_on_neighbours(count, width, tmp_path):
    model = _check(lambda: RowDesign(count, width), random.Random(count), tmp_path)
    nodes = model.design.netlist.nodes.values()
    registers = Counter(node.width for node in nodes if node.kind == "register")
    choices = Counter(node.width for node in nodes if node.kind in ("m", "choose"))
    if count < 4:
        assert registers == {width: 2 * count, 1: count}
    elif width == 22:
        assert registers == {width: 2 * count, count: 1}
    elif width == 1:
        # The bits of the registers that keep their values come from different sources.
        assert registers == {count: 3} and choices == {count: 5, 1: count}
    else:
        rows = [lanes * width for lanes in (min(count, 512 // width), count - 512 // width)
                if lanes > 0]
        assert registers == Counter([*rows, *rows, count])
        # A choice of each flag by its bit of a mask has become operators on the mask. A value of
        # several bits is not chosen so.
        assert choices == Counter([*rows * 5, count, *[width] * count])


@pytest.mark.parametrize("seed", range(4))
def test_direct_inputs(seed, tmp_path):
    """Inputs that the current cycle sees, after the rest of the cycle has been evaluated."""
    rng = random.Random(100 + seed)
    direct = ("bit", "half", "line")
    stimulus = _stimulus(rng)
    expected = _simulated(RandomDesign(random.Random(seed)), stimulus)
    model = Model(RandomDesign(random.Random(seed)), tmp_path, direct=direct)
    for cycle, (values, outputs) in enumerate(zip(stimulus, expected, strict=True)):
        for name in values.keys() - set(direct):
            model.set(name, values[name])
        assert not model.edge()
        for _ in range(rng.randrange(3)):               # values that do not stay
            model.set("half", rng.getrandbits(32))
            model.evaluate()
        for name in direct:
            model.set(name, values[name])
        model.evaluate()
        assert {name: model.get(name) for name in outputs} == outputs, f"cycle {cycle}"


class _Counter(wiring.Component):
    """Counts to a limit, with an assertion that the limit is not passed."""
    go: In(1)
    count: Out(4)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.go):
            m.d.sync += self.count.eq(self.count + 1)
        m.d.sync += Assert(self.count != 5, "the count is five")
        return m


def test_an_assertion_fails_at_the_edge_after_its_cycle(tmp_path):
    model = Model(_Counter(), tmp_path)
    model.set("go", 1)
    seen = []
    while not model.edge():
        seen.append(model.get("count"))
    assert seen == [0, 1, 2, 3, 4, 5]


class _Guard(wiring.Component):
    """An assertion on an input while another input is 1, without any register."""
    ask: In(1)
    bad: In(1)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.ask):
            m.d.sync += Assert(~self.bad)
        return m


def test_an_assertion_without_registers_fails(tmp_path):
    model = Model(_Guard(), tmp_path)
    failures = []
    for ask, bad in ((1, 0), (0, 1), (1, 1), (0, 0)):
        model.set("ask", ask)
        model.set("bad", bad)
        failures.append(model.edge())
    assert failures == [False, False, False, True]


def test_an_idle_design_keeps_its_state(tmp_path):
    model = Model(_Counter(), tmp_path)
    for go, count in ((1, 0), (0, 1), (0, 1), (0, 1), (1, 1), (0, 2)):
        model.set("go", go)
        model.edge()
        assert model.get("count") == count


class _Around(wiring.Component):
    """A design that has the counter as an instance, with an inverter before and an adder behind."""
    stop: In(1)
    total: Out(5)

    def elaborate(self, platform):
        m = Module()
        count = Signal(4)
        m.submodules.inner = Instance(
            "counter", i_go=~self.stop, o_count=count,
            i_clk=ClockSignal(), i_rst=ResetSignal())
        m.d.comb += self.total.eq(count + 3)
        return m


def test_an_instance_is_put_in_its_place(tmp_path):
    model = Model(_Around(), tmp_path, instances={"counter": _Counter()})
    totals = []
    for stop in (0, 0, 1, 1, 0, 0):
        model.set("stop", stop)
        model.edge()
        totals.append(model.get("total"))
    assert totals == [4, 5, 6, 6, 6, 7]


def test_an_unknown_instance_is_refused():
    with pytest.raises(NotImplementedError, match="an instance of counter"):
        compiler.netlist(_Around())


class _Loop(wiring.Component):
    """A value that depends on itself."""
    add: In(4)
    out: Out(4)

    def elaborate(self, platform):
        m = Module()
        turn = Signal(4)
        m.d.comb += [turn.eq(self.out + self.add), self.out.eq(turn ^ self.add)]
        return m


def test_a_loop_is_refused():
    with pytest.raises(CombinationalCycle) as caught:
        compiler.optimized(compiler.netlist(_Loop()))
    first, *places = str(caught.value).splitlines()
    assert first == "a loop of combinational logic:" and len(places) == 2
    assert all(f"{__file__}:" in place for place in places)
    assert {place.rpartition(" ")[2] for place in places} == {"out", "turn"}


def _clocks(m, out, value):
    m.domains.other = ClockDomain()
    m.d.other += out.eq(value)


def _falling(m, out, value):
    m.domains.other = ClockDomain(clk_edge="neg")
    m.d.comb += ClockSignal("other").eq(ClockSignal())
    m.d.other += out.eq(value)


def _reset(m, out, value):
    m.domains.other = other = ClockDomain(async_reset=True)
    m.d.comb += [ClockSignal("other").eq(ClockSignal()), other.rst.eq(value[1])]
    m.d.other += out.eq(value)


def _printed(m, out, value):
    m.d.sync += Print(value)


def _covered(m, out, value):
    m.d.sync += Cover(value)


def _signed(m, out, value):
    m.d.comb += out.eq(value.as_signed().shift_right(1).bit_select(value[:2], 1))


@pytest.mark.parametrize("logic, message", [
    (_clocks, "a second clock"), (_falling, "a second clock"), (_reset, "an asynchronous reset"),
    (_printed, "of the kind SyncPrint"), (_covered, "of the kind SyncProperty"),
    (_signed, "a part of a signed value"),
])
def test_other_hardware_is_refused(logic, message):
    class Component(wiring.Component):
        value: In(4)
        out: Out(1)

        def elaborate(self, platform):
            m = Module()
            logic(m, self.out, self.value)
            return m

    with pytest.raises(NotImplementedError, match=message):
        compiler.emitted(compiler.optimized(compiler.netlist(Component())), "dut")


#: All pairs of small constants.
PAIRS = [(a, b) for a in range(4) for b in range(8)]


class _Constants(wiring.Component):
    """Operators on constants: for each pair of constants an output with all the results."""

    def __init__(self):
        super().__init__({f"of_{a}_{b}": Out(len(Cat(self._values(a, b)))) for a, b in PAIRS})

    @staticmethod
    def _values(a, b):
        a, b = Const(a, 2), Const(b, 3)
        return [~a, a & b, a | b, a ^ b, a + b, a * b, a == b, a != b, a < b, a <= b, a > b, a >= b,
                a.any(), a.bool(), a << b, a >> b, Mux(b[0], a, b), Mux(b.bool(), 1, 0)]

    def elaborate(self, platform):
        m = Module()
        for a, b in PAIRS:
            m.d.comb += getattr(self, f"of_{a}_{b}").eq(Cat(self._values(a, b)))
        return m


def test_operators_on_constants_are_constants():
    """The compiler finds the values that Amaranth's simulator finds."""
    component, expected = _Constants(), {}

    async def bench(ctx):
        await ctx.delay(0)
        expected.update((name, ctx.get(getattr(component, name)))
                        for name in component.signature.members)

    simulator = Simulator(component)
    simulator.add_testbench(bench)
    simulator.run()
    netlist = compiler.netlist(_Constants())
    assert {node.kind for node in netlist.nodes.values()} >= set(optimize._OPERATORS)
    outputs = compiler.optimized(netlist).netlist.outputs
    assert all(piece.node == -1 for value in outputs.values() for piece in value)
    assert {name: piece.low for name, (piece,) in outputs.items()} == expected


@pytest.mark.parametrize("size", [1, 5, 40])
def test_parts_are_small_and_in_order(size):
    """Each node is in one part, and behind the nodes that it reads. A part is at most twice as
    large as asked for."""
    design = compiler.optimized(compiler.netlist(RandomDesign(random.Random(1))))
    nodes, made = design.netlist.nodes, partition.parts(design, size)
    assert all(len(part.nodes) <= partition.LARGEST * size for part in made)
    place = {n: index for index, n in enumerate(n for part in made for n in part.nodes)}
    assert sum(len(part.nodes) for part in made) == len(place)
    assert set(place) == set(design.order)
    for n, index in place.items():
        assert all(place.get(piece.node, -1) < index for value in nodes[n].args for piece in value)
    sinks = Counter(n for part in made for n in part.sinks)
    assert sinks == Counter(n for n, node in nodes.items() if node.kind in ("register", "read"))
