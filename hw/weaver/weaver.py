"""The Weaver of SparseWeaver, variant ``fsm``: the state machine of the paper."""

from amaranth.hdl import (Assert, Cat, Const, Module, Mux, ResetInserter, ResetSignal, Signal,
                          unsigned)
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.config import ConfigError
from hw.operations import WeaverOp
from hw.util import check_stream, state_text
from hw.weaver.interface import request_layout, response_layout, warp_shape
from hw.weaver.table import SparseTable


__all__ = ["Weaver"]


class Weaver(wiring.Component):
    """Hands out the edges of registered vertices, one a lane, to whichever warp asks next.

    Each lane of a warp registers a vertex (VID), the position of its first edge (loc) and the
    number of its edges (degree). Registrations may come in any order. Each DEC_ID asks for the
    next edges, one a lane. Edges are handed out by (warp, lane) of their registration, then by
    rising position. The answer to the DEC_ID holds the VIDs. The answer to the DEC_LOC that
    follows holds the positions of the edges (EIDs). Every registered edge is handed out exactly
    once, unless its vertex is skipped or its registration replaced.

    Instructions
        REG writes the entries of the lanes in its mask and has no response. A degree of 0 makes
        the entry empty. A registration replaces an earlier registration of the same warp and lane
        if the earlier entry was not loaded yet. A REG of a warp beyond the table
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

    The paper's state machine fills an output buffer (OD) from the current entry (CED), for one
    waiting DEC_ID at a time. Condition C0 says that the entry has enough edges to fill the buffer.

    Timing
        A request is accepted at once, with two exceptions. One is the cycle after a DEC_LOC was
        accepted (longer if its response has to wait). The other is one cycle for each table row
        taken. In particular no request waits behind a DEC_ID that has no answer yet.

        The response to a DEC_LOC is offered in the cycle after the request, unless a response to a
        DEC_ID is on offer. A DEC_ID that finds no other DEC_ID waiting is answered 3 cycles after
        the request if the current entry has enough edges for all lanes. Each entry that has to be
        loaded adds 3 cycles. Finding that no entry is left adds 1 cycle. The first DEC_ID of a
        distribution (after a launch, or after no entry was left) takes 2 cycles less.

        While DEC_IDs wait and responses are taken at once, one large entry answers a DEC_ID every
        2 cycles. If n entries have to be loaded for each answer, the period is 2 + 3 n cycles. If
        no work is left, the period is 2 cycles. (A row whose entries were all replaced by empty
        ones adds 2 cycles.)

    Parameters
    ----------
    config : HardwareConfig
        Shape; ``weaver`` must be ``"fsm"``.

    Members
    -------
    request : In(stream.Signature(request_layout(config)))
        Weaver instructions.
    response : Out(stream.Signature(response_layout(config)))
        Answers to DEC_ID and DEC_LOC. The two kinds can overtake each other.
    reset_table : In(1)
        Forget everything, responses on offer included. No request is accepted in the same cycle.
    decoded : Out(1)
        High for one cycle for each DEC_ID answered.
    waiting : Out(1)
        High while at least one DEC_ID waits for its answer.

    Raises
    ------
    ConfigError
        If the configuration has no Weaver of this kind.
    """
    def __init__(self, config):
        if config.weaver != "fsm":
            raise ConfigError(f"HardwareConfig: weaver = {config.weaver!r}: must be 'fsm' to build "
                              f"this Weaver")
        self._config = config
        super().__init__({
            "request": In(stream.Signature(request_layout(config))),
            "response": Out(stream.Signature(response_layout(config))),
            "reset_table": In(1),
            "decoded": Out(1),
            "waiting": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        threads = self._config.threads
        request = self.request.payload
        response = self.response.payload
        lanes = data.ArrayLayout(32, threads)
        running = ~ResetSignal()

        def all_lanes_but(count):
            """Mask of all lanes but the ``count`` highest."""
            return Const((1 << threads) - 1, threads) >> count

        # Requests.

        take = Signal()                    # a row of the sparse table is being read
        loc_valid = Signal()               # the dense table's output answers a DEC_LOC
        accepted = Signal()
        m.d.comb += [
            self.request.ready.eq(~take & ~loc_valid & ~self.reset_table),
            accepted.eq(self.request.valid & self.request.ready),
        ]

        def is_accepted(op):
            return accepted & (request.op == op)

        m.submodules.table = table = SparseTable(self._config)
        m.d.comb += [
            table.write.eq(is_accepted(WeaverOp.REG)),
            table.warp.eq(request.warp),
            table.mask.eq(request.mask),
            table.vid.eq(request.vid),
            table.loc.eq(request.loc),
            table.degree.eq(request.degree),
            table.take.eq(take),
        ]

        # Warps whose DEC_ID waits. The first warp is being served, and leaves the queue when it is
        # answered.

        head = Signal(data.StructLayout({"warp": warp_shape(self._config), "rd": 5}))
        m.submodules.pending = pending = SyncFIFO(width=len(head.as_value()),
                                                  depth=self._config.warps)
        m.d.comb += [
            pending.w_en.eq(is_accepted(WeaverOp.DEC_ID)),
            pending.w_data.eq(Cat(request.warp, request.rd)),
            head.eq(pending.r_data),
            pending.r_en.eq(self.decoded),
            self.waiting.eq(pending.r_rdy),
        ]
        m.d.sync += Assert(~(running & pending.w_en & ~pending.w_rdy))

        # Current entry data (CED): the rest of the entry being handed out.

        ced_vid = Signal(32, reset_less=True)
        ced_loc = Signal(32, reset_less=True)
        ced_degree = Signal(32)
        # A SKIP is compared with the entry in one cycle and ends it in the next. An entry loaded
        # in either cycle is a different entry, and is not ended.
        skipped = Signal()
        named = Cat(vid == ced_vid for vid in request.vid)
        m.d.sync += skipped.eq(is_accepted(WeaverOp.SKIP) & (request.mask & named).any()
                               & ~table.load)
        with m.If(skipped):
            m.d.sync += ced_degree.eq(0)

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

        def dense_table(name, shape, **kwargs):
            # The depth is at least 2: Verilog has no address of zero bits.
            m.submodules[name] = table = memory.Memory(
                shape=shape, depth=max(2, self._config.warps), init=[],
                attrs={"no_rw_check": 1})
            write, read = table.write_port(**kwargs), table.read_port()
            m.d.comb += [
                write.addr.eq(head.warp),
                read.addr.eq(request.warp),
                read.en.eq(is_accepted(WeaverOp.DEC_LOC)),
            ]
            m.d.sync += Assert(~(running & write.en.any() & read.en
                                 & (write.addr == read.addr)))
            return write, read

        eid_write, eid_read = dense_table("dt_eid", lanes, granularity=1)
        mask_write, mask_read = dense_table("dt_mask", unsigned(threads))
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

        def load_entry(otherwise):
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
                with m.If(self.waiting):
                    with m.If(table.some):
                        m.d.comb += take.eq(1)
                        m.next = "S1_LOAD_FIRST"
                    with m.Else():
                        m.next = "S7_DRAIN"

            with m.State("S1_LOAD_FIRST"):
                load_entry(otherwise="S3_FETCH")

            with m.State("S2_DECODE"):
                m.d.comb += fill.eq(~filled_mask & (
                    c0.replicate(threads) | all_lanes_but((-surplus)[:len(room)])))
                for lane in range(threads):
                    with m.If(fill[lane]):
                        m.d.sync += od_vid[lane].eq(ced_vid)
                with m.If(c0):
                    m.d.sync += [
                        filled.eq(threads),
                        ced_loc.eq(first_eid + threads),
                        ced_degree.eq(Mux(skipped, 0, surplus)),
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
                with m.If(self.waiting):
                    m.next = "S2_DECODE"

            with m.State("S7_DRAIN"):
                m.d.comb += od_offered.eq(1)
                with m.If(od_taken):
                    m.next = "S8_END"

            with m.State("S8_END"):
                with m.If(table.some):
                    m.next = "S0_INIT"
                with m.Elif(self.waiting):
                    m.next = "S7_DRAIN"
        if self._config.trace:
            state_text(m, fsm, name="fsm_state_text")

        with m.If(od_taken):
            m.d.sync += filled.eq(0)

        # Responses. The OD goes first, so that DEC_LOCs cannot delay the OD. The OD does not
        # replace an answer that is already on offer.

        dec_loc = Signal(data.StructLayout({"warp": warp_shape(self._config), "rd": 5,
                                            "mask": threads}), reset_less=True)
        loc_held = Signal()                # the answer to a DEC_LOC was offered and not taken
        od_selected = Signal()
        loc_shown = Signal()               # a signal of its own: it selects a wide response
        with m.If(accepted):
            m.d.sync += [
                dec_loc.warp.eq(request.warp),
                dec_loc.rd.eq(request.rd),
                dec_loc.mask.eq(request.mask),
            ]
        with m.If(self.response.ready & ~od_selected):
            m.d.sync += loc_valid.eq(0)
        with m.If(is_accepted(WeaverOp.DEC_LOC)):
            m.d.sync += loc_valid.eq(1)
        m.d.sync += loc_held.eq(loc_valid & ~od_selected & ~self.response.ready)

        has_work = Signal(threads)
        eids = [(eid_read.data[lane] + lane)[:32] for lane in range(threads)]
        m.d.comb += [
            od_selected.eq(od_offered & ~loc_held),
            loc_shown.eq(loc_valid & (loc_held | ~od_offered)),
            od_taken.eq(od_selected & self.response.ready),
            self.decoded.eq(od_taken),
            has_work.eq(Mux(loc_shown, mask_read.data, filled_mask)),
            self.response.valid.eq(od_offered | loc_valid),
            response.warp.eq(Mux(loc_shown, dec_loc.warp, head.warp)),
            response.rd.eq(Mux(loc_shown, dec_loc.rd, head.rd)),
            response.set_mask.eq(~loc_shown),
            response.mask.eq(Mux(loc_shown, dec_loc.mask,
                                 Mux(filled == 0, (1 << threads) - 1, filled_mask))),
        ]
        for lane in range(threads):
            m.d.comb += response.data[lane].eq(
                Mux(has_work[lane], Mux(loc_shown, eids[lane], od_vid[lane]),
                    0xFFFF_FFFF))

        m.d.sync += [
            Assert(~(running & od_offered & ~self.waiting)),
            Assert(~(running & take & (ced_degree != 0))),
            Assert(~(running & fill.any() & (filled == threads))),
        ]
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")

        return ResetInserter(self.reset_table)(m)
