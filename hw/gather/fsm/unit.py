"""The Weaver of SparseWeaver, variant ``fsm``: the state machine of the paper."""

import contextlib
from typing import Any, NamedTuple

from amaranth.hdl import (Assert, Cat, Const, Module, Mux, ResetInserter, ResetSignal, Signal,
                          unsigned)
from amaranth.lib import data, memory

from hw.gather.delay import delayed_look_ups, look_up_layout
from hw.gather.table import SparseTable
from hw.gather.unit import GatheringUnit, waiting_warps
from hw.operations import GatherOp
from hw.state_text import state_text
from hw.streams import check_stream


__all__ = ["Weaver"]


class _Asked:
    """The request that is accepted in this cycle.

    Attributes
    ----------
    accepted : Signal(1)
    registers, skips, edges : Value
        It is a REG; a SKIP; a DEC_LOC.
    """
    def __init__(self, op):
        self.accepted = accepted = Signal(name="accepted")
        self.registers, self.skips, self.edges = (accepted & (op == each) for each in (
            GatherOp.REG, GatherOp.SKIP, GatherOp.DEC_LOC))


class _Entry:
    """Current entry data (CED): the rest of the entry being handed out.

    Attributes
    ----------
    vid, loc, degree : Signal(32)
        The vertex, its next edge, and the number of edges left.
    """
    def __init__(self):
        self.vid, self.loc = (Signal(32, reset_less=True, name=name)
                              for name in ("ced_vid", "ced_loc"))
        self.degree = Signal(32, name="ced_degree")


class _Output:
    """Output data (OD).

    Attributes
    ----------
    vid : Signal(ArrayLayout(32, threads))
    filled, mask, room : Signal
        Number of lanes with work, the lowest; these lanes; number of lanes without work so far.
    decodes, fill : Signal
        The entry fills the OD; the lanes being filled.
    first_eid : Signal(32)
        The EID that lane 0 would have.
    offered, taken : Signal(1)
        The OD is on offer; it is taken.
    """
    def __init__(self, config):
        threads = config.threads
        self.vid = Signal(data.ArrayLayout(32, threads), reset_less=True, name="od_vid")
        self.filled, self.room = (Signal(range(threads + 1), name=name)
                                  for name in ("filled", "room"))
        self.mask, self.fill = (Signal(threads, name=name) for name in ("filled_mask", "fill"))
        self.first_eid = Signal(32, name="first_eid")
        self.decodes, self.offered, self.taken = (
            Signal(name=name) for name in ("decodes", "od_offered", "od_taken"))


class _Located:
    """The answer to a DEC_LOC, or the EIDs of a DEC.

    Attributes
    ----------
    valid : Signal(1)
        The dense table's output answers a DEC_LOC or DEC.
    locates : Signal(1)
        The OD on offer is for a DEC: its EIDs are read next.
    to : View(look_up_layout)
        Where the answer goes. The mask of a DEC_LOC has the lanes that ask, that of a DEC those
        with work.
    """
    def __init__(self, config):
        self.valid, self.locates = Signal(name="loc_valid"), Signal(name="locates")
        self.to = Signal(look_up_layout(config), reset_less=True, name="dec_loc")


class _DenseTable(NamedTuple):
    """The dense table (DT), as it is read: for each lane the EID that lane 0 would have; the lanes
    that hold an EID; and with a latency of the tables, the look-ups under way."""
    eids: Any
    mask: Any
    look_ups: Any


class Weaver(GatheringUnit):
    """Hands out the edges of registered vertices, one a lane, to whichever warp asks next.

    Each lane of a warp registers a vertex (VID), the position of its first edge (loc) and the
    number of its edges (degree). Registrations may come in any order. Each DEC_ID or DEC asks for
    the next edges, one a lane. Edges are handed out by (row, lane) of their registration, then by
    rising position. The answer to the DEC_ID holds the VIDs. The answer to the DEC_LOC that
    follows holds the positions of the edges (EIDs). A DEC gets both. Every registered edge is
    handed out exactly once, unless its vertex is skipped or its registration replaced.

    Instructions
        REG writes the entries of the lanes in its mask, in row *warp + rd*, and has no response. A
        degree of 0 makes the entry empty. A registration replaces an earlier one of the same row
        and lane if the earlier entry was not loaded yet. A REG of a row beyond the table
        (``weaver_entries``) is ignored.

        SKIP ends the entry being handed out if a lane in the mask names the entry's VID. SKIP has
        no response and does not search entries that are not loaded yet. A warp can only have
        learnt a VID from work handed out, so the entry of the VID has been loaded by then. A
        DEC_ID accepted after the SKIP gets no edge of the entry; a DEC_ID that already waited may.

        DEC_ID is answered with VIDs, in the order of the requests. Lanes without work read all
        ones and are not in the response's mask. If no lane has work, all lanes are in the mask. A
        warp must have its answer before its next request.

        DEC_LOC is answered with the EIDs that belong to the last DEC_ID of the warp. Lanes without
        work read all ones. (The answer is undefined before the first DEC_ID.)

        DEC is answered like a DEC_ID and a DEC_LOC behind it, with the EIDs times 4, which are
        byte addresses. The VIDs are written in all lanes. The EIDs set the mask. A DEC counts as a
        DEC_ID wherever one is named below.

    The paper's state machine fills an output buffer (OD) from the current entry (CED), for one
    waiting DEC_ID at a time. Condition C0 says that the entry has enough edges to fill the buffer.

    Timing
        A request is accepted at once, with three exceptions. One is the cycle after a DEC_LOC was
        accepted, or after the VIDs of a DEC were taken (longer if the EIDs have to wait). The
        second is one cycle for each table row taken. The third is a DEC_LOC while the VIDs of a DEC
        are on offer. In particular no request waits behind a DEC_ID that has no answer yet.

        The response to a DEC_LOC is offered in the cycle after the request, unless a response to a
        DEC_ID is on offer. The EIDs of a DEC are offered in the cycle after its VIDs were taken. A
        DEC_ID that finds no other DEC_ID waiting is answered 3 cycles after the request if the
        current entry has enough edges for all lanes. Each entry that has to be loaded adds 3
        cycles. Finding that no entry is left adds 1 cycle. The first DEC_ID of a distribution
        (after a launch, or after no entry was left) takes 2 cycles less.

        While DEC_IDs wait and responses are taken at once, one large entry answers a DEC_ID every
        2 cycles. If n entries have to be loaded for each answer, the period is 2 + 3 n cycles. If
        no work is left, the period is 2 cycles. (A row whose entries were all replaced by empty
        ones adds 2 cycles.)

    Table latency
        With ``table_latency`` = L, the state machine waits L cycles more for each row that it
        takes. The row's entries then follow each other as without a latency. The answer to a
        DEC_LOC, and the EIDs of a DEC, come L cycles later. These reads are pipelined: a read can
        begin in each cycle, so DEC_LOCs are accepted without a pause, and other answers come
        between the VIDs and the EIDs of a DEC.

    Parameters and errors are those of :class:`hw.gather.unit.GatheringUnit`.

    Members
    -------
    request, response, reset, events
        As in :func:`hw.gather.interface.unit_signature`. The answers to DEC_ID and to DEC_LOC can
        overtake each other.
    """
    variant = "fsm"

    def elaborate(self, platform):
        m = Module()
        entry, od, located = _Entry(), _Output(self._config), _Located(self._config)
        take = Signal()                    # a row of the sparse table is being read
        asked = self._accept(m, take, located)
        table = self._register(m, asked, take)
        # Warps whose DEC_ID waits. The first warp is being served, and leaves the queue when it is
        # answered.
        head, pending = waiting_warps(m, self._config, self.request.payload, asked.accepted,
                                      self.events.decoded)
        m.d.comb += self.events.waiting.eq(pending.r_rdy)
        self._skip(m, asked, table, entry, od)
        dense = self._store(m, asked, head, entry, od, located)
        self._distribute(m, table, take, pending, entry, od)
        selected = self._select(m, asked, head, od, located, dense)
        self._answer(m, head, od, located, dense, selected)
        running = ~ResetSignal()
        m.d.sync += [
            Assert(~(running & od.offered & ~self.events.waiting)),
            Assert(~(running & take & (entry.degree != 0))),
            Assert(~(running & od.fill.any() & (od.filled == self._config.threads))),
        ]
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")
        return ResetInserter(self.reset)(m)

    def _all_lanes_but(self, count):
        """Mask of all lanes but the ``count`` highest."""
        threads = self._config.threads
        return Const((1 << threads) - 1, threads) >> count

    def _accept(self, m, take, located):
        """Take a request. Returns what it is."""
        request = self.request.payload
        asked = _Asked(request.op)
        m.d.comb += [
            self.request.ready.eq(
                ~take & (1 if self._config.table_latency else ~located.valid) & ~self.reset
                & ~(located.locates & (request.op == GatherOp.DEC_LOC))),
            asked.accepted.eq(self.request.valid & self.request.ready),
        ]
        return asked

    def _register(self, m, asked, take):
        """The sparse table. Returns the table."""
        request = self.request.payload
        m.submodules.table = table = SparseTable(self._config)
        m.d.comb += [
            table.write.eq(asked.registers),
            table.into.eq(request.warp + request.rd),
            table.mask.eq(request.mask),
            table.vid.eq(request.vid),
            table.loc.eq(request.loc),
            table.degree.eq(request.degree),
            table.take.eq(take),
        ]
        return table

    def _skip(self, m, asked, table, entry, od):
        """End the current entry by a SKIP.

        A SKIP is compared with the entry in one cycle and ends it in the next, or in the cycle
        behind it if the entry fills the OD of a DEC_ID that waited. An entry loaded in these cycles
        is a different entry, and is not ended.
        """
        request = self.request.payload
        skipped = Signal()
        named = Cat(vid == entry.vid for vid in request.vid)
        m.d.sync += skipped.eq((asked.skips & (request.mask & named).any()
                                & ~table.load) | (skipped & od.decodes))
        with m.If(skipped & ~od.decodes):
            m.d.sync += entry.degree.eq(0)
            m.d.comb += self.events.skipped.eq(entry.degree)

    def _store(self, m, asked, head, entry, od, located):
        """Fill the dense table. Returns the table.

        The VIDs of the OD are registers that feed the response. The EIDs need no second copy: they
        are written straight into the dense table's row of the warp being served. No warp reads this
        row before the answer. Every lane stores the EID that lane 0 would have, so one word goes to
        all lanes. Each lane adds its number when the row is read. The mask of lanes that hold an
        EID is written with the answer.
        """
        threads, request = self._config.threads, self.request.payload
        m.d.comb += [
            od.room.eq(threads - od.filled),
            od.mask.eq(self._all_lanes_but(od.room)),
        ]

        def dense_table(name, shape, reads, reader, **kwargs):
            # The depth is at least 2: Verilog has no address of zero bits.
            m.submodules[name] = table = memory.Memory(
                shape=shape, depth=max(2, self._config.warps), init=[],
                attrs={"no_rw_check": 1})
            write, read = table.write_port(**kwargs), table.read_port()
            m.d.comb += [
                write.addr.eq(head.warp),
                read.addr.eq(reader),
                read.en.eq(reads),
            ]
            m.d.sync += Assert(~(~ResetSignal() & write.en.any() & read.en
                                 & (write.addr == read.addr)))
            return write, read

        reads = [asked.edges | (located.locates & od.taken),
                 Mux(located.locates, head.warp, request.warp)]
        reads_mask, look_ups = [asked.edges, request.warp], None
        if self._config.table_latency:
            look_ups = delayed_look_ups(
                m, self._config, request, asked.edges, located.locates & od.taken, warp=head.warp,
                rd=head.rd2, mask=od.mask)
            reads = reads_mask = [look_ups.r_en, look_ups.r_data.warp]
        eid_write, eid_read = dense_table("dt_eid", data.ArrayLayout(32, threads), *reads,
                                          granularity=1)
        mask_write, mask_read = dense_table("dt_mask", unsigned(threads), *reads_mask)
        m.d.comb += [
            od.first_eid.eq(entry.loc - od.filled),
            eid_write.en.eq(od.fill),
            mask_write.en.eq(od.taken),
            mask_write.data.eq(od.mask),
        ]
        for lane in range(threads):
            m.d.comb += eid_write.data[lane].eq(od.first_eid)
        return _DenseTable(eid_read, mask_read, look_ups)

    def _distribute(self, m, table, take, pending, entry, od):
        """The state machine. In the states S1 to S5 and S7 a DEC_ID always waits."""
        threads, latency = self._config.threads, self._config.table_latency
        surplus = Signal(33)               # edges of the entry minus lanes without work
        c0 = Signal()
        m.d.comb += [
            surplus.eq(entry.degree - od.room),
            c0.eq(~surplus[32]),
        ]
        late = Signal(range(latency + 1))  # cycles until the row that was taken arrives
        if latency:
            m.d.sync += late.eq(Mux(take, latency, late - late.any()))

        def load_entry(otherwise):
            with m.If(~late.any()) if latency else contextlib.nullcontext():
                with m.If(table.found):
                    m.d.comb += table.load.eq(1)
                    m.d.sync += [
                        entry.vid.eq(table.entry_vid),
                        entry.loc.eq(table.entry_loc),
                        entry.degree.eq(table.entry_degree),
                    ]
                    m.next = "S2_DECODE"
                with m.Else():
                    m.next = otherwise

        with m.FSM() as fsm:
            with m.State("S0_INIT"):
                with m.If(self.events.waiting):
                    with m.If(table.some):
                        m.d.comb += take.eq(1)
                        m.next = "S1_LOAD_FIRST"
                    with m.Else():
                        m.next = "S7_DRAIN"

            with m.State("S1_LOAD_FIRST"):
                load_entry(otherwise="S3_FETCH")

            with m.State("S2_DECODE"):
                m.d.comb += od.decodes.eq(1)
                m.d.comb += od.fill.eq(~od.mask & (
                    c0.replicate(threads) | self._all_lanes_but((-surplus)[:len(od.room)])))
                for lane in range(threads):
                    with m.If(od.fill[lane]):
                        m.d.sync += od.vid[lane].eq(entry.vid)
                with m.If(c0):
                    m.d.sync += [
                        od.filled.eq(threads),
                        entry.loc.eq(od.first_eid + threads),
                        entry.degree.eq(surplus),
                    ]
                    m.next = "S5_OUTPUT"
                with m.Else():
                    m.d.sync += [
                        od.filled.eq(od.filled + entry.degree[:len(od.filled)]),
                        entry.degree.eq(0),
                    ]
                    m.next = "S3_FETCH"

            with m.State("S3_FETCH"):
                with m.If(table.found):
                    m.next = "S4_UPDATE"
                with m.Elif(table.some):
                    m.d.comb += take.eq(1)
                    m.next = "S4_UPDATE"
                with m.Else():
                    m.next = "S7_DRAIN"

            with m.State("S4_UPDATE"):
                load_entry(otherwise="S3_FETCH")

            with m.State("S5_OUTPUT"):
                m.d.comb += od.offered.eq(1)
                with m.If(od.taken):
                    m.next = "S6_WAIT"
                    with m.If(pending.level > 1):
                        m.next = "S2_DECODE"

            with m.State("S6_WAIT"):
                with m.If(self.events.waiting):
                    m.next = "S2_DECODE"

            with m.State("S7_DRAIN"):
                m.d.comb += od.offered.eq(1)
                with m.If(od.taken):
                    m.next = "S8_END"

            with m.State("S8_END"):
                with m.If(table.some):
                    m.next = "S0_INIT"
                with m.Elif(self.events.waiting):
                    m.next = "S7_DRAIN"
        if self._config.trace:
            state_text(m, fsm, name="fsm_state_text")
        with m.If(od.taken):
            m.d.sync += od.filled.eq(0)

    def _select(self, m, asked, head, od, located, dense):
        """Choose the answer that is shown. The OD goes first, so that DEC_LOCs cannot delay the OD.
        The OD does not replace an answer that is already on offer. The OD of a DEC needs the dense
        table's output next, so it waits for the one DEC_LOC that may have been accepted before.

        Returns
        -------
        Signal(1)
            The answer to a DEC_LOC, or the EIDs of a DEC, are shown. A signal of its own: it
            selects a wide response.
        """
        request, latency, to = self.request.payload, self._config.table_latency, located.to
        loc_held = Signal()                # the answer to a DEC_LOC was offered and not taken
        od_selected = Signal()
        loc_shown = Signal()
        if not latency:
            with m.If(asked.accepted):
                m.d.sync += [
                    to.warp.eq(request.warp),
                    to.rd.eq(request.rd),
                    to.mask.eq(request.mask),
                    to.fused.eq(0),
                ]
        with m.If(self.response.ready & ~od_selected):
            m.d.sync += located.valid.eq(0)
        if latency:
            look_ups = dense.look_ups
            m.d.comb += look_ups.r_en.eq(look_ups.r_rdy & (
                ~located.valid | (self.response.ready & ~od_selected)))
            with m.If(look_ups.r_en):
                m.d.sync += [to.eq(look_ups.r_data), located.valid.eq(1)]
        else:
            with m.If(asked.edges):
                m.d.sync += located.valid.eq(1)
            with m.If(located.locates & od.taken):
                m.d.sync += [
                    to.warp.eq(head.warp), to.rd.eq(head.rd2),
                    to.mask.eq(od.mask), to.fused.eq(1), located.valid.eq(1),
                ]
        m.d.sync += loc_held.eq(located.valid & ~od_selected & ~self.response.ready)
        m.d.comb += [
            located.locates.eq(od.offered & head.fused),
            od_selected.eq(od.offered & ~loc_held
                           & (1 if latency else ~(head.fused & located.valid))),
            loc_shown.eq(located.valid & ~od_selected),
            od.taken.eq(od_selected & self.response.ready),
            self.events.decoded.eq(od.taken),
        ]
        return loc_shown

    def _answer(self, m, head, od, located, dense, loc_shown):
        """Offer the answer that is shown."""
        threads, response, to = self._config.threads, self.response.payload, located.to
        has_work = Signal(threads)         # lanes with work
        sets_mask = Signal()
        eids = [(dense.eids.data[lane] + lane)[:32] for lane in range(threads)]
        m.d.comb += [
            has_work.eq(Mux(loc_shown, Mux(to.fused, to.mask, dense.mask.data), od.mask)),
            sets_mask.eq(Mux(loc_shown, to.fused, ~head.fused)),
            self.response.valid.eq(od.offered | located.valid),
            response.warp.eq(Mux(loc_shown, to.warp, head.warp)),
            response.rd.eq(Mux(loc_shown, to.rd, head.rd)),
            response.set_mask.eq(sets_mask),
            response.mask.eq(Mux(sets_mask & has_work.any(), has_work,
                                 Mux(loc_shown & ~to.fused, to.mask, (1 << threads) - 1))),
        ]
        for lane in range(threads):
            place = Mux(to.fused, eids[lane] << 2, eids[lane])[:32]
            m.d.comb += response.data[lane].eq(
                Mux(has_work[lane], Mux(loc_shown, place, od.vid[lane]), 0xFFFF_FFFF))
