"""The two rules of the stream contract, on components that break one rule."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from checks.formal.prove import Refuted, prove, unavailable
from checks.formal.registry import Proof
from checks.formal.streams import StreamPromise, waits_on_ready


class Stage(wiring.Component):
    """A stage that passes a payload on. ``fault`` names its fault."""
    i: In(stream.Signature(4))
    o: Out(stream.Signature(4))

    def __init__(self, fault=None):
        super().__init__()
        self._fault = fault

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = Memory(shape=4, depth=2, init=[3, 5])
        read = table.read_port(domain="comb")
        m.d.comb += [self.o.valid.eq(self.i.valid), self.o.payload.eq(self.i.payload),
                     self.i.ready.eq(self.o.ready)]
        count = Signal(2)
        m.d.sync += count.eq(count + 1)
        match self._fault:
            case "valid waits":
                m.d.comb += self.o.valid.eq(self.i.valid & self.o.ready)
            case "payload waits":
                m.d.comb += [read.addr.eq(self.o.ready),
                             self.o.payload.eq(self.i.payload ^ read.data)]
            case "valid falls":
                m.d.comb += self.o.valid.eq(self.i.valid & ~count[1])
            case "payload changes":
                m.d.comb += self.o.payload.eq(self.i.payload ^ count[1])
        return m


@pytest.mark.parametrize("fault, found", [
    (None, []), ("valid waits", ["o.valid"]), ("payload waits", ["o.payload"]),
    ("valid falls", [])])
def test_waits_on_ready(fault, found):
    assert waits_on_ready(Stage(fault)) == found


def test_refuted_by_structure(tmp_path):
    with pytest.raises(Refuted) as refuted:
        Proof("a stage", lambda: Stage("valid waits"), "structure").check(tmp_path)
    assert refuted.value.assertions == ["o.valid"] and refuted.value.trace is None


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize("fault", ["valid falls", "payload changes"])
def test_not_kept(tmp_path, fault):
    with pytest.raises(Refuted, match="failed assertion"):
        prove(StreamPromise(Stage(fault)), tmp_path, depth=4)
