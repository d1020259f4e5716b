"""Block diagrams hold only as long as the RTL is as they show it."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sw.show.figures.blocks import BLOCKS
from sw.show.figures.diagram import Diagram, OutOfDate
from sw.show.figures.module_graph import ModuleGraph


class Part(wiring.Component):
    """Passes a value on, a cycle later."""
    i: In(8)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i)
        return m


class Whole(wiring.Component):
    """``a`` leads to ``b`` through the register ``held``. Nothing leads back; ``c`` is alone."""
    i: In(8)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        for name in "abc":
            m.submodules[name] = Part()
        held = Signal(8)
        with m.If(self.i[0]):
            m.d.sync += held.eq(m.submodules.a.o)
        m.d.comb += [m.submodules.a.i.eq(self.i), m.submodules.b.i.eq(held),
                     self.o.eq(m.submodules.b.o)]
        return m


def test_ways_between_submodules():
    graph = ModuleGraph(Whole())
    assert graph.submodules == ("a", "b", "c")
    ways = {(one, other) for one in ("a", "b", "c", "port i", "port o", "held")
            for other in ("a", "b", "c", "port i", "port o", "held")
            if one != other and graph.leads(one, other, ("a", "b", "c", "held"))}
    assert ways == {("port i", "a"), ("a", "held"), ("held", "b"), ("b", "port o"),
                    ("port i", "held")}
    assert graph.leads("a", "b") and not graph.leads("b", "a")
    assert not graph.leads("a", "b", ("held",))


def _picture(boxes="abc", arrows=("ab",)):
    d = Diagram("the whole", 100, 100, {"whole": ModuleGraph(Whole())})
    for name in boxes:
        d.box(name, (0, 0, 10, 10), [name], of=(f"whole/{name}",))
    for one, other in arrows:
        d.arrow(one, other)
    return d.svg()


def test_a_picture_of_what_is_there():
    assert _picture().startswith("<svg ") and _picture() == _picture()


def test_a_unit_that_was_added():
    with pytest.raises(OutOfDate, match="no box stands for whole/c"):
        _picture("ab")


def test_a_unit_that_was_removed():
    with pytest.raises(OutOfDate, match="stands for whole/d, which the RTL lacks"):
        _picture("abcd")


def test_an_arrow_along_which_nothing_goes():
    with pytest.raises(OutOfDate, match="nothing leads from b to a"):
        _picture(arrows=("ba",))


def test_a_unit_that_the_gpu_gets(monkeypatch):
    """A new block of the core fails the picture of the core."""
    from hw.core.core import Core
    elaborate = Core.elaborate

    def with_another(self, platform):
        m = elaborate(self, platform)
        m.submodules.newcomer = Part()
        return m
    monkeypatch.setattr(Core, "elaborate", with_another)
    with pytest.raises(OutOfDate, match="no box stands for core/newcomer"):
        BLOCKS["core.svg"]()
