"""Quick elaboration (``hw.elaboration``).

====================  ============================================================
results               test_elaboration: the same text, and checks and collection afterwards
errors                test_rows_are_refused
shared values         test_values_stay_one
collection            test_netlists_end_without_collection
cycles                test_cycles, test_no_cycles
====================  ============================================================
"""

import gc
import weakref

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Fragment, Module, Mux, ResetSignal, Signal
from amaranth.hdl._ir import PortDirection, build_netlist
from amaranth.hdl._nir import CombinationalCycle, Operator, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.config import preset
from hw.elaboration import elaborating
from hw.gather.fsm.unit import Weaver
from tb.hw.test_emit import Memories


class Shared(wiring.Component):
    """A sum in two statements, and the reset in two others."""
    a: In(8)
    o: Out(8)
    p: Out(8)
    q: Out(1)

    def elaborate(self, platform):
        m = Module()
        total, off = self.a + 3, ~ResetSignal()
        m.d.comb += [self.o.eq(total), self.q.eq(off & self.a[0])]
        m.d.sync += self.p.eq(Mux(off, total, 0))
        return m


PORTS = {"a": PortDirection.Input, "o": PortDirection.Output, "p": PortDirection.Output,
         "q": PortDirection.Output}


def netlist(design, **directions):
    """Amaranth's netlist of a design, given the directions of its ports."""
    ports = {name: (getattr(design, name), direction) for name, direction in directions.items()}
    return build_netlist(Fragment.get(design, None), ports=ports)


def test_elaboration():
    def text():
        return [rtlil.convert(component, name="top")
                for component in (Memories(), Shared(), Weaver(preset("tiny")))]
    usual, shape = text(), Signal.shape
    with elaborating():
        with elaborating():
            assert text() == usual
        assert Signal.shape is not shape
        assert Value([1]) == (1,) and not gc.isenabled()        # a number is no net
    assert gc.isenabled() and Signal.shape is shape
    with pytest.raises(AssertionError):
        Value([1])


def test_rows_are_refused():
    """A row of a memory's contents is for simulations. A statement that reads it is an error."""
    m = Module()
    m.submodules.memory = memory = Memory(shape=8, depth=4, init=[])
    with elaborating():
        with pytest.raises(ValueError, match="simulator processes"):
            m.d.comb += Signal(8).eq(memory.data[2] + 1)
        assert not Fragment.get(m, None).statements


def test_values_stay_one():
    """A value in two statements has one cell. Values with the reset of a domain are transformed."""
    def operators():
        return [cell.operator for cell in netlist(Shared(), **PORTS).cells
                if isinstance(cell, Operator)]
    with elaborating():
        assert operators().count("+") == 2
        with elaborating(share=True):
            assert operators().count("+") == 1 and operators().count("~") == 2
        assert operators().count("+") == 2


def test_netlists_end_without_collection():
    """Nothing holds a netlist that is not used any more: its bits are millions."""
    with elaborating():
        ended = weakref.ref(netlist(Shared(), **PORTS))
        assert not gc.isenabled() and ended() is None


class Ring(wiring.Component):
    """A function of the input and of the output drives the output."""
    a: In(4)
    o: Out(4)

    def __init__(self, following):
        super().__init__()
        self._following = following

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(self._following(self.a, self.o))
        return m


RING = {"a": PortDirection.Input, "o": PortDirection.Output}


@pytest.mark.parametrize("following", [
    lambda a, o: a + o, lambda a, o: a ^ o, lambda a, o: Cat(a[0], a[1:3] & o[:2], o[3]),
    lambda a, o: Mux(o == 3, a, 0), lambda a, o: a.bit_select(o[:2], 2), lambda a, o: o,
    lambda a, o: Mux(o.matches("1--1"), a, 0), lambda a, o: (a + 1) & ~o])
def test_cycles(following):
    """A combinational cycle has the error that it has without the context."""
    with pytest.raises(CombinationalCycle) as usual:
        netlist(Ring(following), **RING)
    with elaborating(), pytest.raises(CombinationalCycle) as quick:
        netlist(Ring(following), **RING)
    assert str(quick.value) == str(usual.value) and "Combinational cycle" in str(quick.value)


@pytest.mark.parametrize("following", [
    lambda a, o: Cat(a[0], a[1:] & o[:3]), lambda a, o: Cat(a[0] + 1, ~o[0], o[:2] ^ a[:2]),
    lambda a, o: Cat(a[:2], o[:2] + a[:2])])
def test_no_cycles(following):
    """Bits of one signal may depend on each other in a line."""
    with elaborating():
        assert netlist(Ring(following), **RING).cells
