"""My unit that hands out edges: record, component and reference model. This file is the unit.

It works as it is: a Weaver that takes an edge a cycle. Change it step by step, and run ``./check``
after each.
"""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data

from hw.gather.instructions import DEC, REG, SKIP
from hw.gather.interface import warp_shape
from hw.gather.shown import row_store
from hw.gather.table import SparseTable
from hw.gather.unit import GatheringUnit
from hw.gather.variant import GatherVariant
from hw.inside import Inside
from hw.operations import NONE, GatherOp
from hw.streams import check_stream


__all__ = ["VARIANT", "MyUnit", "model"]


#: All that others ask about the unit: the configuration and the instruction set, the core, the
#: simulators, the live page, syntheses and tables.
VARIANT = GatherVariant(
    name="my_unit", title="my_unit", component="MyUnit",
    doc="a Weaver that hands out an edge a cycle",
    instructions=(REG, SKIP, DEC), settings=("weaver_entries",),
    shown=(Inside("lanes filled", "", "filled", "number"), *row_store("table.store")))


class MyUnit(GatheringUnit):
    """Hands out the edges of registered vertices in order, as the Weaver of SparseWeaver does.

    Requests are served one at a time. The answer to a DEC is offered a cycle after its last edge
    was taken; each edge takes a cycle, each vertex and each row of vertices one more.
    """
    variant = "my_unit"

    def elaborate(self, platform):
        """The circuit. Its streams are ``request`` and ``response`` (hw/gather/interface.py)."""
        m = Module()
        threads, request, response = (self._config.threads, self.request.payload,
                                      self.response.payload)
        m.submodules.table = table = SparseTable(self._config)
        warp, rd, rd2 = Signal(warp_shape(self._config)), Signal(5), Signal(5)    # who asks
        vid, loc, degree = (Signal(32, name=name) for name in ("vid", "loc", "degree"))
        vids, eids = (Signal(data.ArrayLayout(32, threads), name=name) for name in ("vids", "eids"))
        filled = Signal(range(threads + 1))          # lanes with an edge: the lowest
        works = Cat(filled > lane for lane in range(threads))
        m.d.comb += [
            *(getattr(table, name).eq(getattr(request, name))
              for name in ("mask", "vid", "loc", "degree")),
            table.into.eq(request.warp + request.rd), response.warp.eq(warp),
        ]
        m.d.sync += self.events.skipped.eq(0)
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.request.ready.eq(~self.reset)
                with m.If(self.request.valid & self.request.ready):
                    m.d.sync += [warp.eq(request.warp), rd.eq(request.rd), rd2.eq(request.rd2)]
                    m.d.comb += table.write.eq(request.op == GatherOp.REG)
                    named = request.mask & Cat(vid == name for name in request.vid)
                    with m.If((request.op == GatherOp.SKIP) & named.any()):
                        m.d.sync += degree.eq(0)
                        m.d.sync += self.events.skipped.eq(degree)
                    with m.If(request.op == GatherOp.DEC):
                        m.next = "FILL"
            with m.State("FILL"):
                with m.If((filled == threads) | ~(degree.any() | table.found | table.some)):
                    m.next = "VERTICES"
                with m.Elif(degree.any()):
                    m.d.sync += [vids[filled].eq(vid), eids[filled].eq(loc), loc.eq(loc + 1),
                                 degree.eq(degree - 1), filled.eq(filled + 1)]
                with m.Elif(table.found):
                    m.d.comb += table.load.eq(1)
                    m.d.sync += [vid.eq(table.entry_vid), loc.eq(table.entry_loc),
                                 degree.eq(table.entry_degree)]
                with m.Else():
                    m.d.comb += table.take.eq(1)
            # The answer has two parts: the vertices, then the addresses of the edges.
            for state, register, words, after in (("VERTICES", rd, vids, "ADDRESSES"),
                                                  ("ADDRESSES", rd2, eids, "IDLE")):
                with m.State(state):
                    last = state == "ADDRESSES"
                    m.d.comb += [self.response.valid.eq(1), response.rd.eq(register),
                                 response.set_mask.eq(last),
                                 response.mask.eq(Mux(filled.any() & last, works, ~0))]
                    for lane in range(threads):
                        m.d.comb += response.data[lane].eq(
                            Mux(works[lane], words[lane] << 2 if last else words[lane], NONE))
                    with m.If(self.response.ready):
                        m.next = after
        with m.If(fsm.ongoing("IDLE")):
            m.d.sync += filled.eq(0)
        m.d.comb += [
            self.events.decoded.eq(fsm.ongoing("VERTICES") & self.response.ready),
            self.events.waiting.eq(fsm.ongoing("FILL") | fsm.ongoing("VERTICES")),
        ]
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")
        return ResetInserter(self.reset)(m)


def model(config):
    """The reference model, with a method for each instruction. The answers of this unit are those
    of the Weaver, whatever their time, so it has the Weaver's model."""
    from sw.golden.gather.fsm import model as weaver
    return weaver(config)
