# amaranth: UnusedElaboratable=no
"""A component with a plain port for each field: names, and that all bits go through."""

import pytest

from amaranth.hdl import Module, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.sim import Simulator

from hw.flat_ports import FlatPorts


class Kind(enum.Enum, shape=2):
    A = 0
    B = 2


LAYOUT = data.StructLayout({
    "kind": Kind, "none": 0, "words": data.ArrayLayout(8, 3),
    "inner": data.StructLayout({"x": 3, "y": 1}),
    "rows": data.ArrayLayout(data.StructLayout({"a": 2, "b": 5}), 2)})


class Through(wiring.Component):
    """Gives back what comes in."""
    def __init__(self):
        super().__init__({
            "give": Out(stream.Signature(LAYOUT)), "take": In(stream.Signature(LAYOUT)),
            "bus": Out(wiring.Signature({"to": Out(4), "fro": In(4)})),
            "many": In(2).array(2), "first": Out(2), "start": Out(3, init=5)})

    def elaborate(self, platform):
        m = Module()
        connect(m, flipped(self.take), flipped(self.give))
        m.d.comb += [self.bus.to.eq(self.bus.fro), self.first.eq(self.many[1])]
        return m


FIELDS = {"kind": 2, "words": 24, "inner_x": 3, "inner_y": 1, "rows_0_a": 2, "rows_0_b": 5,
          "rows_1_a": 2, "rows_1_b": 5}


def test_names():
    flat = FlatPorts(Through())
    ports = {port.name: (port.flow, port.width) for port in flat.ports}
    assert ports == {
        **{f"give_{name}": (Out, width) for name, width in FIELDS.items()},
        "give_valid": (Out, 1), "give_ready": (In, 1),
        **{f"take_{name}": (In, width) for name, width in FIELDS.items()},
        "take_valid": (In, 1), "take_ready": (Out, 1),
        "bus_to": (Out, 4), "bus_fro": (In, 4), "many_0": (In, 2), "many_1": (In, 2),
        "first": (Out, 2), "start": (Out, 3)}
    of = {port.name: port for port in flat.ports}
    assert of["give_kind"].values is Kind and of["give_words"].element == 8
    assert of["take_rows_1_b"].fields == ("rows", "1", "b") and of["take_rows_1_b"].member == "take"
    assert [of[name].stream for name in ("take_valid", "take_ready", "take_kind", "first")] == [
        "valid", "ready", "payload", None]


@pytest.mark.parametrize("value", [0, 1, 2, 5, (1 << 31) - 1])
def test_bits(value):
    flat = FlatPorts(Through())

    async def bench(context):
        pairs = [*((f"take_{name}", f"give_{name}") for name in (*FIELDS, "valid")),
                 ("give_ready", "take_ready"), ("bus_fro", "bus_to"), ("many_1", "first")]
        for source, _ in pairs:
            port = Value.cast(getattr(flat, source))
            context.set(port, value & (1 << len(port)) - 1)
        await context.delay(1e-9)
        for source, sink in pairs:
            assert context.get(Value.cast(getattr(flat, sink))) == context.get(
                Value.cast(getattr(flat, source))), sink
        assert context.get(flat.start) == 5

    simulator = Simulator(flat)
    simulator.add_testbench(bench)
    simulator.run()


class Twice(wiring.Component):
    def __init__(self):
        super().__init__({"a_b": Out(1), "a": Out(data.StructLayout({"b": 1}))})


def test_twice():
    with pytest.raises(AssertionError, match="two ports have the name a_b"):
        FlatPorts(Twice())
