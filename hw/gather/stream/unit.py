"""A Weaver without rounds, variant ``stream``: warps register rows while others get work."""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, ResetInserter, ResetSignal, Signal
from amaranth.lib import data, memory

from hw.bits import RoundRobin, and_or, encode, lowest
from hw.gather.delay import DelayedRows, delayed_look_ups
from hw.gather.interface import warp_shape
from hw.gather.table import RowStore
from hw.gather.unit import GatheringUnit
from hw.operations import NONE, REGISTER, GatherOp
from hw.streams import check_stream


__all__ = ["StreamWeaver"]


class StreamWeaver(GatheringUnit):
    """Hands out the edges of registered vertices, one a lane, to whichever warp asks next.

    A warp keeps its next rows of vertices registered. The unit says when rows are needed, so no
    barrier separates registration and distribution. Rows are taken in turn; the edges of a row are
    handed out by lane, then by rising position. Every registered edge is handed out exactly once,
    unless its vertex is skipped or its registration replaced.

    Instructions
        REG writes the row *warp + rd*, as in :class:`hw.gather.table.RowStore`, and *opens* the
        warp: more rows of the warp may follow. The row is the warp's from then on. So a warp can
        have several rows; two warps must not use the same row. A row that was taken is not changed
        by a later REG. REG has no response. A REG of a row beyond the table is ignored.

        SKIP ends the entry that was handed out last if a lane in the mask names the entry's VID. A
        DEC_ID accepted after the SKIP gets no edge of the entry; a DEC_ID that already waited may.
        A SKIP *closes* its warp if a lane in the mask names NONE: no row of the warp follows. SKIP
        has no response.

        DEC_ID has one of three answers:

        - *Work*: a VID for each lane. Works are full, whatever rows their edges come from. Only the
          last work before the end may leave the highest lanes without an edge. These lanes read
          NONE and are not in the response's mask.
        - REGISTER in all lanes: the warp is open and all its rows were taken. The warp has to
          register its next rows, or to close.
        - NONE in all lanes: no warp is open, and no edge is left.

        If there is no such answer, the warp waits. An open warp must not wait for other warps
        before it asks or closes. A warp must have its answer before its next request.

        DEC_LOC is answered with the EIDs that belong to the last DEC_ID of the warp. Lanes without
        work read all ones.

        DEC is answered like a DEC_ID and a DEC_LOC behind it, with the EIDs times 4. The VIDs are
        written in all lanes. The EIDs set the mask; they are all ones in lanes without work. The
        edges count as handed out once the VIDs were taken. A DEC counts as a DEC_ID wherever one is
        named below.

    The row taken last lies in the output registers of the :class:`~hw.gather.table.RowStore`. Its
    entries become the *current entry* one after the other; empty entries are left out. In a cycle
    the current entry fills as many lanes of the output (OD) as it has edges. So an entry of high
    degree fills the OD in one cycle, and entries of low degree fill the OD with one cycle each. The
    OD is filled while the warps work on the edges they have.

    A SKIP also removes edges from an OD that is not on offer yet. They are the OD's lowest lanes.
    If other edges follow, the OD is shifted by one lane a cycle.

    Timing
        A request is accepted at once, except in the cycle after a DEC_LOC was accepted (longer if
        its answer has to wait), and in the cycle in which a row is taken. No request waits behind a
        DEC_ID that has no answer yet.

        A DEC_ID that finds a full OD is answered 2 cycles after the request, as is one with the
        answer REGISTER; the answer NONE takes 3. A row's first edges are on offer to a warp that
        waits 4 cycles after the row's REG, if the row before has been handed out and the row's
        first entry fills the OD; each further entry takes one cycle more. The
        response to a DEC_LOC is offered in the cycle after the request, unless the response to a
        DEC_ID is on offer. The EIDs of a DEC are offered in the cycle after its VIDs were taken.

        While DEC_IDs wait, a work takes a cycle for each of its entries, and one more for each row
        that ends. A DEC takes two cycles at least: the next work is filled from the cycle in which
        its VIDs are taken.

    Table latency
        With ``table_latency`` = L, a row's entries are there L cycles after the row was read. Reads
        are pipelined: rows are read ahead, one a cycle, up to L of them, so warps are asked for
        their next rows earlier. The answer to a DEC_LOC, and the EIDs of a DEC, come L cycles
        later. These reads are pipelined, too: other answers come between the VIDs and the EIDs of a
        DEC.

    Warps whose rows were taken are answered first. Else waiting warps are answered in turn.

    Parameters and errors are those of :class:`hw.gather.unit.GatheringUnit`.

    Members
    -------
    request, response, reset, events
        As in :func:`hw.gather.interface.unit_signature`. Answers to different warps can overtake
        each other.
    """
    variant = "stream"

    def elaborate(self, platform):
        m = Module()
        config = self._config
        threads, warps = config.threads, config.warps
        request, response = self.request.payload, self.response.payload
        lanes = data.ArrayLayout(32, threads)
        count = range(threads + 1)
        everyone = Const((1 << threads) - 1, threads)
        running = ~ResetSignal()

        # Requests.

        latency = config.table_latency
        take = Signal()                    # a row of the table is being taken
        loc_valid = Signal()               # the dense table's output answers a DEC_LOC
        accepted = Signal()
        store = (DelayedRows if latency else RowStore)(config)
        found, none = store.registered.any(), ~store.registered.any()
        reads, blocks = take, loc_valid
        if latency:
            found, none, reads = store.arrived, store.empty, store.read
            fused = Signal()               # the VIDs of a DEC are on offer
            blocks = fused & (request.op == GatherOp.DEC_LOC)
            m.d.comb += store.read.eq(store.registered.any() & store.room)
        m.d.comb += [
            self.request.ready.eq(~reads & ~blocks & ~self.reset),
            accepted.eq(self.request.valid & self.request.ready),
        ]

        def is_accepted(*ops):
            return accepted & Cat(request.op == op for op in ops).any()

        asks = is_accepted(GatherOp.DEC_ID, GatherOp.DEC)
        asks_loc = is_accepted(GatherOp.DEC_LOC)
        from_warp = Signal(warps)          # one-hot
        m.d.comb += from_warp.eq(1 << request.warp)

        # The table of rows, and the warps that may register more.

        m.submodules.store = store
        m.submodules.rows = rows = RoundRobin(len(store.registered))
        taken = Signal(threads)            # entries of the taken row that are not loaded yet
        m.d.comb += [
            store.write.eq(is_accepted(GatherOp.REG)),
            store.into.eq(request.warp + request.rd),
            store.mask.eq(request.mask), store.vid.eq(request.vid),
            store.loc.eq(request.loc), store.degree.eq(request.degree),
            take.eq(found & ~taken.any()),
            rows.requests.eq(store.registered), rows.advance.eq(reads),
            store.take.eq(take), store.row.eq(rows.grant),
        ]
        owners = Signal(data.ArrayLayout(warp_shape(config), len(store.registered)))
        for row, owner in enumerate(owners):
            with m.If(store.write & (store.into == row)):
                m.d.sync += owner.eq(request.warp)
        has_row = Signal(warps)            # a row of the warp is registered
        m.d.comb += has_row.eq(Cat(
            Cat(store.registered[row] & (owner == warp) for row, owner in enumerate(owners)).any()
            for warp in range(warps)))
        opens = store.write & (store.into < len(store.registered))
        opened = Signal(warps)
        closes = is_accepted(GatherOp.SKIP) & (request.mask & Cat(
            name == NONE for name in request.vid)).any()
        m.d.sync += opened.eq((opened | Mux(opens, from_warp, 0))
                              & ~Mux(closes, from_warp, 0))

        # The current entry: its next edges. The row's other entries follow, lowest lane first.

        vid, loc = (Signal(32, reset_less=True, name=name) for name in ("vid", "loc"))
        degree = Signal(32, reset_less=True)      # number of edges left
        present = Signal()
        load = Signal()                    # the next entry becomes the current one
        pick = lowest(m, taken, name="pick")

        # The output (OD). Each lane stores the EID that lane 0 would have, and adds its number when
        # the EID is read.

        od_vid, od_eid = (
            Signal(lanes, reset_less=True, name=name) for name in ("od_vid", "od_eid"))
        filled = Signal(count)             # lanes of the OD with an edge: the lowest
        shifted = Signal(range(threads))   # lanes by which the OD was shifted since it was empty
        sealed = Signal()                  # the OD can be handed out, and gets no more edges
        leaves = Signal()                  # the OD is handed out
        dropping = Signal(range(threads))  # lowest lanes to be removed

        # The entry handed out last, and where edges of it are left.

        last_vid = Signal(32, reset_less=True)
        divided = Signal()                 # the OD has first edges of the current entry
        od_goes_on = Signal(count)         # number of its edges in the OD: the lowest lanes
        entry_goes_on = Signal()           # it is the current entry
        skipped = Signal()                 # a SKIP named it in the cycle before
        named = Cat(name == last_vid for name in request.vid)
        m.d.sync += skipped.eq(is_accepted(GatherOp.SKIP) & (request.mask & named).any()
                               & (~leaves | (od_goes_on == threads)))

        # Filling. The current entry gives as many edges as there is room for.

        start = Signal(count)              # first lane to be filled
        room = Signal(count)
        fill = Signal()
        low, big = degree[:len(room)], degree[len(room):].any()
        more = Signal()                    # the entry has more edges than there is room for
        full = Signal()                    # it has enough
        end = Signal(count)                # number of lanes that have an edge then
        m.d.comb += [
            start.eq(Mux(sealed, 0, filled)),
            room.eq(threads - start),
            more.eq(big | (low > room)),
            full.eq(big | (low >= room)),
            end.eq(Mux(full, threads, start + low)),
            fill.eq(present & ~skipped & ~dropping.any() & (~sealed | leaves)),
            load.eq(taken.any() & (~present | (fill & ~more))),
        ]
        m.d.sync += taken.eq(Mux(take, store.valid, taken & ~Mux(load, pick, 0)))
        with m.If(load):
            m.d.sync += [
                vid.eq(and_or(pick, [entry.vid for entry in store.entries])),
                loc.eq(and_or(pick, [entry.loc for entry in store.entries])),
                degree.eq(and_or(pick, [entry.degree for entry in store.entries])),
                present.eq(1),
            ]
        with m.Elif(fill):
            m.d.sync += [loc.eq(loc + room), degree.eq(degree - room), present.eq(more)]
        with m.Elif(skipped & entry_goes_on):
            m.d.sync += present.eq(0)
        lane_0 = Signal(32)                # EID that lane 0 would have
        m.d.comb += lane_0.eq(loc - Mux(sealed, 0, filled + shifted))
        for lane in range(threads):
            with m.If(dropping.any()):
                if lane + 1 < threads:
                    m.d.sync += [od_vid[lane].eq(od_vid[lane + 1]),
                                 od_eid[lane].eq(od_eid[lane + 1])]
            with m.Elif(fill & (start <= lane)):
                m.d.sync += [od_vid[lane].eq(vid), od_eid[lane].eq(lane_0)]

        # The end: nothing is left, and nothing can follow.

        dry = Signal()
        m.d.comb += dry.eq(~opened.any() & none & ~taken.any() & ~present
                           & ~dropping.any() & ~skipped)

        # Contents of the OD. ``goes_on`` is the current entry's mark once the OD has left.

        chosen = Signal()                  # a warp is chosen to be answered
        works = Signal()                   # ... with the OD
        offered = Signal()                 # the OD is on offer
        goes_on = Signal()
        m.d.comb += goes_on.eq(Mux(leaves, divided, entry_goes_on))
        with m.If(leaves):
            m.d.sync += [filled.eq(0), shifted.eq(0), sealed.eq(0), divided.eq(0),
                         od_goes_on.eq(0), last_vid.eq(od_vid[threads - 1]),
                         entry_goes_on.eq(divided)]
        with m.If(fill):
            m.d.sync += [filled.eq(end), sealed.eq(full), divided.eq(more),
                         entry_goes_on.eq(goes_on & more)]
            with m.If(goes_on):
                m.d.sync += od_goes_on.eq(end)
        with m.Elif(dropping.any()):
            # Nothing of the entry handed out last is left, so another SKIP finds nothing.
            m.d.sync += [dropping.eq(dropping - 1), filled.eq(filled - 1),
                         shifted.eq(shifted + 1)]
        with m.Elif(skipped):
            # If the OD leaves just now, the mark has to be that of the OD's last entry.
            m.d.sync += entry_goes_on.eq(leaves & divided & ~entry_goes_on)
            with m.If(entry_goes_on):
                m.d.sync += divided.eq(0)
            m.d.comb += self.events.skipped.eq(Mux(entry_goes_on, degree, 0)
                                               + Mux(offered, 0, od_goes_on))
            with m.If(~offered & od_goes_on.any()):
                m.d.sync += [sealed.eq(0), od_goes_on.eq(0)]
                with m.If(od_goes_on == filled):
                    m.d.sync += [filled.eq(0), shifted.eq(0), divided.eq(0)]
                with m.Else():
                    m.d.sync += dropping.eq(od_goes_on)
        with m.Elif(dry & filled.any() & chosen & works & ~leaves):
            m.d.sync += sealed.eq(1)

        # Warps that wait. One of them is chosen, and gets the OD once the OD is sealed. Until then
        # it gives way to a warp whose rows were taken.

        waiting, others, free = (Signal(warps, name=name) for name in ("waiting", "others", "free"))
        m.submodules.turns = turns = RoundRobin(warps)
        m.submodules.asked = asked = memory.Memory(
            shape=data.StructLayout({"rd": 5, "rd2": 5, "fused": 1}), depth=max(2, warps), init=[],
            attrs={"no_rw_check": 1})
        asked_write, asked_read = asked.write_port(), asked.read_port()
        warp = Signal(warp_shape(config))
        ended = Signal()                   # the answer is the end
        is_ready = Signal()                # the chosen warp can be answered
        choose = Signal()
        shown = Signal()                   # the answer to a DEC_ID is shown, not a DEC_LOC's
        second = Signal()                  # the VIDs of a DEC were taken
        held = Signal()                    # the answer to a DEC_LOC was offered and not taken
        places = Signal(data.StructLayout(  # the EIDs of the work whose VIDs were taken
            {"eid": lanes, "shifted": shifted.shape(), "mask": threads}), reset_less=True)
        # the first and the last part is taken
        decoded, answered = (
            Signal(name=name) for name in ("decoded", "answered"))
        m.d.comb += [
            is_ready.eq(chosen & (~works | sealed | second)),
            offered.eq(chosen & works & sealed & ~second),
            shown.eq(is_ready & ~held),
            decoded.eq(shown & self.response.ready & ~second),
            answered.eq(shown & self.response.ready
                        & (1 if latency else second | ~asked_read.data.fused)),
            leaves.eq(decoded & works),
            others.eq(waiting & ~Mux(is_ready, (1 << warp)[:warps], 0)),
            free.eq(others & opened & ~has_row),
            choose.eq(~chosen | answered | (~is_ready & free.any())),
            turns.requests.eq(Mux(free.any(), free, others)),
            turns.advance.eq(choose),
            asked_write.en.eq(asks), asked_write.addr.eq(request.warp),
            asked_write.data.rd.eq(request.rd), asked_write.data.rd2.eq(request.rd2),
            asked_write.data.fused.eq(request.op == GatherOp.DEC),
            asked_read.en.eq(choose), asked_read.addr.eq(encode(turns.grant)),
            self.events.decoded.eq(decoded), self.events.waiting.eq(waiting.any()),
        ]
        m.d.sync += waiting.eq((waiting & ~Mux(decoded, (1 << warp)[:warps], 0))
                               | Mux(asks, from_warp, 0))
        with m.If(choose):
            m.d.sync += [chosen.eq(turns.grant.any()), warp.eq(encode(turns.grant)),
                         works.eq(~free.any()), ended.eq(0), second.eq(0)]
        with m.Elif(~is_ready & dry & ~filled.any()):
            m.d.sync += [works.eq(0), ended.eq(1)]
        if not latency:
            with m.Elif(decoded):
                m.d.sync += second.eq(1)

        # The dense table has the EIDs of each warp's last DEC_ID, and the lanes that have one.

        filled_mask = Signal(threads)
        m.d.comb += filled_mask.eq(everyone >> (threads - filled)[:len(filled)])
        m.submodules.dense = dense = memory.Memory(
            shape=places.shape(),
            depth=max(2, warps), init=[], attrs={"no_rw_check": 1})
        dense_write, dense_read = dense.write_port(), dense.read_port()
        m.d.comb += [
            dense_write.en.eq(decoded), dense_write.addr.eq(warp),
            dense_write.data.eid.eq(od_eid), dense_write.data.shifted.eq(shifted),
            dense_write.data.mask.eq(Mux(works, filled_mask, 0)),
        ]
        with m.If(decoded):
            m.d.sync += places.eq(dense_write.data)
        locator = Signal(data.StructLayout({"warp": warp_shape(config), "rd": 5, "mask": threads}),
                         reset_less=True)
        located, addresses = request, second
        if latency:
            look_ups = delayed_look_ups(m, config, request, asks_loc,
                                        decoded & asked_read.data.fused, warp=warp,
                                        rd=asked_read.data.rd2, mask=everyone)
            asks_loc, located = look_ups.r_en, look_ups.r_data
            addresses = Signal()           # the EIDs that are read are a DEC's
            m.d.comb += [asks_loc.eq(look_ups.r_rdy
                                     & (~loc_valid | (self.response.ready & ~shown))),
                         fused.eq(is_ready & asked_read.data.fused)]
            with m.If(asks_loc):
                m.d.sync += addresses.eq(located.fused)
        m.d.comb += [dense_read.en.eq(asks_loc), dense_read.addr.eq(located.warp)]
        with m.If(asks_loc):
            m.d.sync += [locator.warp.eq(located.warp), locator.rd.eq(located.rd),
                         locator.mask.eq(located.mask), loc_valid.eq(1)]
        with m.Elif(self.response.ready & ~shown):
            m.d.sync += loc_valid.eq(0)
        m.d.sync += held.eq(loc_valid & ~shown & ~self.response.ready)

        # Responses. An answer to a DEC_ID goes first, so that DEC_LOCs cannot delay it. It does not
        # replace an answer that is already on offer. Without a latency of the tables, nothing comes
        # between the parts of a DEC.

        has_work = Signal(threads)
        source = Signal(places.shape())    # of the EIDs that are shown
        other = Signal(32)                 # what lanes without work read
        m.d.comb += [
            source.eq(Mux(shown, places, dense_read.data)),
            has_work.eq(Mux(shown & ~second, Mux(works, filled_mask, 0), source.mask)),
            other.eq(Mux(shown & ~second & ~works & ~ended, REGISTER, NONE)),
            self.response.valid.eq(is_ready | loc_valid),
            response.warp.eq(Mux(shown, warp, locator.warp)),
            response.rd.eq(Mux(shown, Mux(second, asked_read.data.rd2, asked_read.data.rd),
                               locator.rd)),
        ]
        if latency:
            m.d.comb += [
                response.set_mask.eq(Mux(shown, ~asked_read.data.fused, addresses)),
                response.mask.eq(Mux(response.set_mask & has_work.any(), has_work,
                                     Mux(shown, everyone, locator.mask))),
            ]
        else:
            m.d.comb += [
                response.set_mask.eq(shown & (second | ~asked_read.data.fused)),
                response.mask.eq(Mux(shown, Mux(response.set_mask & works, has_work, everyone),
                                     locator.mask)),
            ]
        for lane in range(threads):
            eid = (source.eid[lane] + (source.shifted + lane))[:32]
            address = (eid << 2)[:32]
            place = (Mux(shown, od_vid[lane], Mux(addresses, address, eid)) if latency else
                     Mux(shown, Mux(second, address, od_vid[lane]), eid))
            m.d.comb += response.data[lane].eq(Mux(has_work[lane], place, other))

        m.d.sync += [
            Assert(~(running & asks & (waiting & from_warp).any())),
            Assert(~(running & asks & choose & turns.grant.any()
                     & (asked_write.addr == asked_read.addr))),
            Assert(~(running & decoded & asks_loc & (dense_write.addr == dense_read.addr))),
            Assert(~(running & (sealed | (fill & ~leaves)) & dropping.any())),
            Assert(~(running & fill & goes_on & start.any())),
        ]
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")

        return ResetInserter(self.reset)(m)

