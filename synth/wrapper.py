# pyright: reportAttributeAccessIssue=false
# Amaranth makes the ports of a component when the component is constructed.
"""A wrapper that makes a unit with wide ports a design of four pins, so that it can be placed."""

from amaranth.hdl import Cat, ClockDomain, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


__all__ = ["UNIT", "Wrapper"]


#: The name of the unit in the wrapper.
UNIT = "unit"


class Wrapper(wiring.Component):
    """Registers at every port of a unit, so that its paths lead from register to register.

    A shift register feeds the inputs. The outputs are registered, and folded into another shift
    register, one bit at each place. So no part of the unit can be optimized away, and the added
    logic has no path of more than one LUT. The reset also comes from a register.

    Parameters
    ----------
    unit : wiring.Component
        The unit, in the domain ``sync``.

    Members
    -------
    clk, rst : In(1)
    i : In(1)
        Serial input of the shift register that drives the unit's inputs.
    o : Out(1)
        A bit that depends on every output of the unit.

    Attributes
    ----------
    black_boxes : dict
        The unit's black boxes.
    """
    def __init__(self, unit):
        self._unit = unit
        self.black_boxes = getattr(unit, "black_boxes", {})
        super().__init__({"clk": In(1), "rst": In(1), "i": In(1), "o": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = sync = ClockDomain()
        assert sync.rst is not None
        reset = Signal(reset_less=True)
        m.domains.pins = pins = ClockDomain(reset_less=True)
        m.d.comb += [sync.clk.eq(self.clk), pins.clk.eq(self.clk), sync.rst.eq(reset)]
        m.d.pins += reset.eq(self.rst)

        unit = m.submodules[UNIT] = self._unit
        inputs, outputs = [], []
        for _, member, value in unit.signature.flatten(unit):
            (inputs if member.flow == In else outputs).append(Value.cast(value))
        inputs, outputs = Cat(inputs), Cat(outputs)
        feed = Signal(len(inputs), reset_less=True)
        taken = Signal(len(outputs), reset_less=True)
        fold = Signal(len(outputs), reset_less=True)
        m.d.pins += [
            feed.eq(Cat(self.i, feed)[:len(feed)]),
            taken.eq(outputs),
            fold.eq(taken ^ Cat(Const(0, 1), fold)[:len(fold)]),
        ]
        m.d.comb += [inputs.eq(feed), self.o.eq(fold[-1])]
        return m
