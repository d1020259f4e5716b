"""The unit that generates edges in hardware, variant ``eghw`` (SparseWeaver, 4.6.8)."""

from amaranth.hdl import Assert, Module, ResetInserter, ResetSignal, Signal
from amaranth.lib import data, stream
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import connect, flipped

from hw.gather.eghw.records import Records
from hw.gather.eghw.topology import Topology
from hw.gather.eghw.works import Works
from hw.gather.eghw import AccessTag
from hw.gather.interface import access_layout
from hw.gather.unit import GatheringUnit, waiting_warps
from hw.operations import GatherOp, GatherSetting
from hw.streams import StreamRegister, check_stream


__all__ = ["EdgeGenerator"]


class EdgeGenerator(GatheringUnit):
    """Reads vertex IDs, offsets and edges itself, and writes the records of edges to local memory.

    A warp writes the IDs of its vertices to a row of local memory, and registers the row. The unit
    reads the row and the offsets of its vertices (:class:`~hw.gather.eghw.topology.Topology`). Each
    DEC_ID asks for as many edges as there are lanes (:class:`~hw.gather.eghw.works.Works`). The
    unit loads them, and stores their records in the warp's rows of local memory. Then the unit
    answers, and the warp loads its records (:class:`~hw.gather.eghw.records.Records`).

    Edges are taken row by row, in the order of the lanes, then by rising position. Every edge of a
    registered vertex gets one record, unless the vertex is skipped.

    An ID is a word whose distance from the address of its offset is the same for all vertices. Two
    offsets that follow each other are the numbers of the words at which the edges of a vertex begin
    and end: the neighbour of edge e is the word at address 4 e.

    Instructions
        SET stores lane 0's rs1 as the setting whose number is in the instruction
        (:class:`~hw.operations.GatherSetting`), if lane 0 is in the mask. Settings are 0 after a
        launch. They change while the unit is idle. The value that a setting has may be stored again
        at any time.

        REG registers row *warp + rd* for the lanes in its mask. The row's IDs are read later, at
        the latest for the DEC_ID that needs them. A store of the same warp that came before is
        seen. A REG of a row that was not taken yet replaces the earlier REG. A row beyond the table
        (``weaver_entries``) is ignored.

        SKIP ends the entry being handed out if a lane in the mask names the entry's ID. A DEC_ID
        accepted after the SKIP gets no edge of the entry; a DEC_ID that already waited may.

        DEC_ID is answered with the IDs of the lanes' edges. Lanes without work read all ones and
        are not in the response's mask. If no lane has work, all lanes are in the mask. Records lie
        in rows of a word a lane, from the setting RECORDS on. Without weights the neighbours are in
        row *warp*. With weights the neighbours are in row 2 *warp*, and the weights in the next.

        The unit has no DEC_LOC and no DEC.

    Timing
        A request is accepted at once. The first edges of a row come after three accesses, one
        behind the other but for the last two. An entry takes a cycle, and so does a work. A work
        takes a load and a store, with weights two of each. As many loads are under way as the
        configuration has ``eghw_requests``; a load is under way until its data have left for local
        memory. Answers may overtake each other.

    Parameters and errors are those of :class:`hw.gather.unit.GatheringUnit`.

    Members
    -------
    request, response, reset, events, access, fetched, busy
        As in :func:`hw.gather.interface.unit_signature`.
    """
    variant = "eghw"

    def elaborate(self, platform):
        m = Module()
        config, request = self._config, self.request.payload
        accepted = Signal()
        m.d.comb += [self.request.ready.eq(~self.reset),
                     accepted.eq(self.request.valid & self.request.ready)]

        def is_accepted(op):
            return accepted & (request.op == op)

        settings = {setting: Signal(32, name=setting.name.lower()) for setting in GatherSetting}
        for setting, value in settings.items():
            with m.If(is_accepted(GatherOp.SET) & request.mask[0] & (request.rd == setting.value)):
                m.d.sync += value.eq(request.vid[0])

        # Registered rows, their vertices, works for the warps that wait, and records.
        m.submodules.topology = topology = Topology(config)
        m.submodules.works = works = Works(config)
        m.submodules.records = records = Records(config)
        served = Signal()
        head, pending = waiting_warps(m, config, request, accepted, served)
        connect(m, topology.entry, works.entry)
        connect(m, works.work, records.work)
        m.d.comb += [
            topology.register.eq(is_accepted(GatherOp.REG)),
            topology.row.eq(request.warp + request.rd), topology.mask.eq(request.mask),
            topology.warp.eq(request.warp),
            topology.ids.eq(settings[GatherSetting.IDS]),
            topology.offsets.eq(settings[GatherSetting.OFFSETS]),
            works.more.eq(~topology.idle), works.wanted.eq(pending.r_rdy),
            works.skip.eq(is_accepted(GatherOp.SKIP)), works.named.eq(request.vid),
            works.mask.eq(request.mask),
            records.warp.eq(head.warp), records.rd.eq(head.rd),
            records.weights.eq(settings[GatherSetting.WEIGHTS]),
            records.records.eq(settings[GatherSetting.RECORDS]),
            served.eq(works.work.valid & works.work.ready),
        ]
        connect(m, records.answer, flipped(self.response))

        # Accesses: stores go first, then loads of edges, then loads of the topology.
        m.submodules.out = out = StreamRegister(access_layout(config))
        connect(m, out.o, flipped(self.access))
        fetched, may_load = self._arrivals(m, out.i, records.store.valid)

        def offer(port):
            m.d.comb += [out.i.valid.eq(1), out.i.payload.eq(port.payload),
                         port.ready.eq(out.i.ready)]
        with m.If(records.store.valid):
            offer(records.store)
        with m.Elif(records.load.valid & may_load):
            offer(records.load)
        with m.Elif(topology.access.valid & may_load):
            offer(topology.access)
        of_edges = Signal()
        tag = fetched.payload.tag
        m.d.comb += [
            of_edges.eq((tag == AccessTag.NEIGHBORS) | (tag == AccessTag.WEIGHTS)),
            records.fetched.payload.eq(fetched.payload),
            records.fetched.valid.eq(fetched.valid & of_edges),
            topology.fetched.eq(fetched.payload), topology.arrives.eq(fetched.valid & ~of_edges),
            fetched.ready.eq(~of_edges | records.fetched.ready),
            self.busy.eq(out.i.valid | out.o.valid | fetched.valid | records.busy),
        ]

        # Warps whose DEC_ID has no answer.
        asking = Signal(range(config.warps + 1))
        m.d.comb += [
            self.events.decoded.eq(self.response.valid & self.response.ready),
            self.events.waiting.eq(asking.any()), self.events.skipped.eq(works.cut),
        ]
        m.d.sync += asking.eq(asking + is_accepted(GatherOp.DEC_ID) - self.events.decoded)
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")
        check_stream(m, self.access, name="access")
        return ResetInserter(self.reset)(m)

    def _arrivals(self, m, access, stores):
        """The data of loads that have come.

        A load is asked for only while there is a place for its data, so data never wait at the load
        queue.

        Parameters
        ----------
        m : Module
        access : stream(access_layout)
            The unit's accesses.
        stores : Value
            The access is a store.

        Returns
        -------
        fetched : stream(fetched_layout)
        may_load : Signal(1)
            A load may be asked for.
        """
        requests, shape = self._config.eghw_requests, self.fetched.payload.shape()
        m.submodules.arrived = arrived = SyncFIFO(width=shape.size, depth=requests)
        fetched = stream.Signature(shape).create(path=("arrived",))
        under_way = Signal(range(requests + 1))
        may_load = Signal()
        m.d.comb += [
            arrived.w_en.eq(self.fetched.valid), arrived.w_data.eq(self.fetched.payload),
            self.fetched.ready.eq(1),
            fetched.valid.eq(arrived.r_rdy), arrived.r_en.eq(fetched.ready),
            fetched.payload.eq(data.View(shape, arrived.r_data)),
            may_load.eq(under_way != requests),
        ]
        m.d.sync += [
            under_way.eq(under_way + (access.valid & access.ready & ~stores)
                         - (fetched.valid & fetched.ready)),
            Assert(~(~ResetSignal() & self.fetched.valid & ~arrived.w_rdy),
                   "data of a load without a place"),
        ]
        return fetched, may_load
