"""The Weaver of SparseWeaver, variant ``fsm``: the state machine of the paper."""

import contextlib

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
        threads, latency = self._config.threads, self._config.table_latency
        request = self.request.payload
        response = self.response.payload
        lanes = data.ArrayLayout(32, threads)
        running = ~ResetSignal()

        def all_lanes_but(count):
            """Mask of all lanes but the ``count`` highest."""
            return Const((1 << threads) - 1, threads) >> count

        # Requests.

        take = Signal()                    # a row of the sparse table is being read
        loc_valid = Signal()               # the dense table's output answers a DEC_LOC or DEC
        locates = Signal()                 # the OD on offer is for a DEC: its EIDs are read next
        accepted = Signal()
        m.d.comb += [
            self.request.ready.eq(~take & (1 if latency else ~loc_valid) & ~self.reset
                                  & ~(locates & (request.op == GatherOp.DEC_LOC))),
            accepted.eq(self.request.valid & self.request.ready),
        ]

        def is_accepted(op):
            return accepted & (request.op == op)

        m.submodules.table = table = SparseTable(self._config)
        m.d.comb += [
            table.write.eq(is_accepted(GatherOp.REG)),
            table.into.eq(request.warp + request.rd),
            table.mask.eq(request.mask),
            table.vid.eq(request.vid),
            table.loc.eq(request.loc),
            table.degree.eq(request.degree),
            table.take.eq(take),
        ]

        # Warps whose DEC_ID waits. The first warp is being served, and leaves the queue when it is
        # answered.

        head, pending = waiting_warps(m, self._config, request, accepted, self.events.decoded)
        m.d.comb += self.events.waiting.eq(pending.r_rdy)

        # Current entry data (CED): the rest of the entry being handed out.

        ced_vid = Signal(32, reset_less=True)
        ced_loc = Signal(32, reset_less=True)
        ced_degree = Signal(32)
        # A SKIP is compared with the entry in one cycle and ends it in the next, or in the cycle
        # behind it if the entry fills the OD of a DEC_ID that waited. An entry loaded in these
        # cycles is a different entry, and is not ended.
        skipped = Signal()
        decodes = Signal()                 # the entry fills the OD
        named = Cat(vid == ced_vid for vid in request.vid)
        m.d.sync += skipped.eq((is_accepted(GatherOp.SKIP) & (request.mask & named).any()
                                & ~table.load) | (skipped & decodes))
        with m.If(skipped & ~decodes):
            m.d.sync += ced_degree.eq(0)
            m.d.comb += self.events.skipped.eq(ced_degree)

        # Output data (OD) and dense table (DT). The VIDs of the OD are registers that feed the
        # response. The EIDs need no second copy: they are written straight into the dense table's
        # row of the warp being served. No warp reads this row before the answer. Every lane stores
        # the EID that lane 0 would have, so one word goes to all lanes. Each lane adds its number
        # when the row is read. The mask of lanes that hold an EID is written with the answer.

        filled = Signal(range(threads + 1))          # number of OD lanes with work: the lowest
        filled_mask = Signal(threads)
        od_vid = Signal(lanes, reset_less=True)
        fill = Signal(threads)                       # lanes being filled
        od_offered = Signal()
        od_taken = Signal()
        room = Signal(range(threads + 1))            # number of lanes without work so far
        m.d.comb += [
            room.eq(threads - filled),
            filled_mask.eq(all_lanes_but(room)),
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
            m.d.sync += Assert(~(running & write.en.any() & read.en
                                 & (write.addr == read.addr)))
            return write, read

        asks_loc = is_accepted(GatherOp.DEC_LOC)
        reads = [asks_loc | (locates & od_taken), Mux(locates, head.warp, request.warp)]
        reads_mask = [asks_loc, request.warp]
        if latency:
            look_ups = delayed_look_ups(
                m, self._config, request, asks_loc, locates & od_taken, warp=head.warp,
                rd=head.rd2, mask=filled_mask)
            reads = reads_mask = [look_ups.r_en, look_ups.r_data.warp]
        eid_write, eid_read = dense_table("dt_eid", lanes, *reads, granularity=1)
        mask_write, mask_read = dense_table("dt_mask", unsigned(threads), *reads_mask)
        first_eid = Signal(32)             # EID that lane 0 would have
        m.d.comb += [
            first_eid.eq(ced_loc - filled),
            eid_write.en.eq(fill),
            mask_write.en.eq(od_taken),
            mask_write.data.eq(filled_mask),
        ]
        for lane in range(threads):
            m.d.comb += eid_write.data[lane].eq(first_eid)

        # The state machine. In the states S1 to S5 and S7 a DEC_ID always waits.

        surplus = Signal(33)               # edges of the entry minus lanes without work
        c0 = Signal()
        m.d.comb += [
            surplus.eq(ced_degree - room),
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
                        ced_vid.eq(table.entry_vid),
                        ced_loc.eq(table.entry_loc),
                        ced_degree.eq(table.entry_degree),
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
                m.d.comb += decodes.eq(1)
                m.d.comb += fill.eq(~filled_mask & (
                    c0.replicate(threads) | all_lanes_but((-surplus)[:len(room)])))
                for lane in range(threads):
                    with m.If(fill[lane]):
                        m.d.sync += od_vid[lane].eq(ced_vid)
                with m.If(c0):
                    m.d.sync += [
                        filled.eq(threads),
                        ced_loc.eq(first_eid + threads),
                        ced_degree.eq(surplus),
                    ]
                    m.next = "S5_OUTPUT"
                with m.Else():
                    m.d.sync += [
                        filled.eq(filled + ced_degree[:len(filled)]),
                        ced_degree.eq(0),
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
                m.d.comb += od_offered.eq(1)
                with m.If(od_taken):
                    m.next = "S6_WAIT"
                    with m.If(pending.level > 1):
                        m.next = "S2_DECODE"

            with m.State("S6_WAIT"):
                with m.If(self.events.waiting):
                    m.next = "S2_DECODE"

            with m.State("S7_DRAIN"):
                m.d.comb += od_offered.eq(1)
                with m.If(od_taken):
                    m.next = "S8_END"

            with m.State("S8_END"):
                with m.If(table.some):
                    m.next = "S0_INIT"
                with m.Elif(self.events.waiting):
                    m.next = "S7_DRAIN"
        if self._config.trace:
            state_text(m, fsm, name="fsm_state_text")

        with m.If(od_taken):
            m.d.sync += filled.eq(0)

        # Responses. The OD goes first, so that DEC_LOCs cannot delay the OD. The OD does not
        # replace an answer that is already on offer. The OD of a DEC needs the dense table's output
        # next, so it waits for the one DEC_LOC that may have been accepted before.

        dec_loc = Signal(look_up_layout(self._config), reset_less=True)
        loc_held = Signal()                # the answer to a DEC_LOC was offered and not taken
        od_selected = Signal()
        loc_shown = Signal()               # a signal of its own: it selects a wide response
        if not latency:
            with m.If(accepted):
                m.d.sync += [
                    dec_loc.warp.eq(request.warp),
                    dec_loc.rd.eq(request.rd),
                    dec_loc.mask.eq(request.mask),
                    dec_loc.fused.eq(0),
                ]
        with m.If(self.response.ready & ~od_selected):
            m.d.sync += loc_valid.eq(0)
        if latency:
            m.d.comb += look_ups.r_en.eq(look_ups.r_rdy & (
                ~loc_valid | (self.response.ready & ~od_selected)))
            with m.If(look_ups.r_en):
                m.d.sync += [dec_loc.eq(look_ups.r_data), loc_valid.eq(1)]
        else:
            with m.If(asks_loc):
                m.d.sync += loc_valid.eq(1)
            with m.If(locates & od_taken):
                m.d.sync += [
                    dec_loc.warp.eq(head.warp), dec_loc.rd.eq(head.rd2),
                    dec_loc.mask.eq(filled_mask), dec_loc.fused.eq(1), loc_valid.eq(1),
                ]
        m.d.sync += loc_held.eq(loc_valid & ~od_selected & ~self.response.ready)

        # Lanes with work. The mask kept for a DEC_LOC has the lanes that ask, for a DEC those with
        # work.
        has_work = Signal(threads)
        sets_mask = Signal()
        eids = [(eid_read.data[lane] + lane)[:32] for lane in range(threads)]
        m.d.comb += [
            locates.eq(od_offered & head.fused),
            od_selected.eq(od_offered & ~loc_held
                           & (1 if latency else ~(head.fused & loc_valid))),
            loc_shown.eq(loc_valid & ~od_selected),
            od_taken.eq(od_selected & self.response.ready),
            self.events.decoded.eq(od_taken),
            has_work.eq(Mux(loc_shown, Mux(dec_loc.fused, dec_loc.mask, mask_read.data),
                            filled_mask)),
            sets_mask.eq(Mux(loc_shown, dec_loc.fused, ~head.fused)),
            self.response.valid.eq(od_offered | loc_valid),
            response.warp.eq(Mux(loc_shown, dec_loc.warp, head.warp)),
            response.rd.eq(Mux(loc_shown, dec_loc.rd, head.rd)),
            response.set_mask.eq(sets_mask),
            response.mask.eq(Mux(sets_mask & has_work.any(), has_work,
                                 Mux(loc_shown & ~dec_loc.fused, dec_loc.mask,
                                     (1 << threads) - 1))),
        ]
        for lane in range(threads):
            place = Mux(dec_loc.fused, eids[lane] << 2, eids[lane])[:32]
            m.d.comb += response.data[lane].eq(
                Mux(has_work[lane], Mux(loc_shown, place, od_vid[lane]), 0xFFFF_FFFF))

        m.d.sync += [
            Assert(~(running & od_offered & ~self.events.waiting)),
            Assert(~(running & take & (ced_degree != 0))),
            Assert(~(running & fill.any() & (filled == threads))),
        ]
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")

        return ResetInserter(self.reset)(m)
