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


#: The registers that a warp asks to be written, and whether by a DEC.
_NAMES = data.StructLayout({"rd": 5, "rd2": 5, "fused": 1})


class _Asked:
    """The request that is accepted in this cycle.

    Attributes
    ----------
    works, edges, registers, skips : Value
        It is a DEC_ID or DEC; a DEC_LOC; a REG; a SKIP.
    from_warp : Signal(warps)
        One-hot: the warp whose request is on offer.
    """
    def __init__(self, config, op, accepted):
        def is_one_of(*ops):
            return accepted & Cat(op == each for each in ops).any()
        self.works = is_one_of(GatherOp.DEC_ID, GatherOp.DEC)
        self.edges = is_one_of(GatherOp.DEC_LOC)
        self.registers, self.skips = is_one_of(GatherOp.REG), is_one_of(GatherOp.SKIP)
        self.from_warp = Signal(config.warps, name="from_warp")


class _Rows:
    """The table of rows, the row taken, and the warps that may register more.

    Attributes
    ----------
    store : RowStore or DelayedRows
    take : Signal(1)
        A row is being taken: there is one, and the row taken before has been loaded.
    found, none, reads : Value
        A row can be taken; no row is left; a row is being read.
    taken : Signal(threads)
        Entries of the row taken that are not loaded yet.
    has_row, opened : Signal(warps)
        A row of the warp is registered; more rows of the warp may follow.
    """
    def __init__(self, config):
        self.store = store = (DelayedRows if config.table_latency else RowStore)(config)
        self.take = Signal(name="take")
        self.found, self.none = store.registered.any(), ~store.registered.any()
        self.reads = self.take
        if config.table_latency:
            self.found, self.none, self.reads = store.arrived, store.empty, store.read
        self.taken = Signal(config.threads, name="taken")
        self.has_row = Signal(config.warps, name="has_row")
        self.opened = Signal(config.warps, name="opened")


class _Entry:
    """The current entry.

    Attributes
    ----------
    vid, loc, degree : Signal(32)
        The vertex, its next edge, and the number of edges left.
    present, load : Signal(1)
        There is one; the next entry becomes the current one.
    """
    def __init__(self, config):
        self.vid, self.loc, self.degree = (Signal(32, reset_less=True, name=name)
                                           for name in ("vid", "loc", "degree"))
        self.present, self.load = (Signal(name=name) for name in ("present", "load"))


class _Output:
    """The output (OD), and where edges of the entry handed out last are left.

    Attributes
    ----------
    vid, eid : Signal(ArrayLayout(32, threads))
        Each lane stores the EID that lane 0 would have, and adds its number when the EID is read.
    filled, mask : Signal
        Number of lanes with an edge, the lowest; and these lanes.
    shifted : Signal
        Lanes by which the OD was shifted since it was empty.
    sealed, leaves : Signal(1)
        The OD can be handed out, and gets no more edges; it is handed out.
    dropping : Signal
        Number of lowest lanes to be removed.
    fill, start, end : Signal
        The current entry fills the lanes from ``start`` on; ``end`` lanes have an edge then.
    more, full : Signal(1)
        The entry has more edges than there is room for; it has enough.
    last_vid : Signal(32)
        The VID of the entry handed out last.
    divided, goes_on, entry_goes_on : Signal
        The OD has first edges of the current entry; number of edges of the entry handed out last in
        the OD, the lowest lanes; this entry is the current entry.
    skipped : Signal(1)
        A SKIP named the entry handed out last in the cycle before.
    """
    def __init__(self, config):
        threads, count = config.threads, range(config.threads + 1)
        lanes = data.ArrayLayout(32, threads)
        self.vid, self.eid = (Signal(lanes, reset_less=True, name=name)
                              for name in ("od_vid", "od_eid"))
        self.filled, self.start, self.end = (Signal(count, name=name)
                                             for name in ("filled", "start", "end"))
        self.goes_on = Signal(count, name="od_goes_on")
        self.mask = Signal(threads, name="filled_mask")
        self.shifted, self.dropping = (Signal(range(threads), name=name)
                                       for name in ("shifted", "dropping"))
        self.sealed, self.leaves, self.fill, self.more, self.full = (
            Signal(name=name) for name in ("sealed", "leaves", "fill", "more", "full"))
        self.last_vid = Signal(32, reset_less=True, name="last_vid")
        self.divided, self.entry_goes_on, self.skipped = (
            Signal(name=name) for name in ("divided", "entry_goes_on", "skipped"))


class _Answer:
    """The warp that is answered next, and the answers on their way.

    Attributes
    ----------
    chosen, works, ended : Signal(1)
        A warp is chosen; it gets the OD; it gets the answer of the end.
    warp : Signal
    names : View(_NAMES)
        What it asks for.
    is_ready, offered : Signal(1)
        It can be answered; the OD is on offer.
    shown, held : Signal(1)
        Its answer is shown, not a DEC_LOC's; a DEC_LOC's was offered and not taken.
    decoded, second : Signal(1)
        The first part of its answer is taken; the VIDs of a DEC were taken.
    places : Signal
        The EIDs of the work whose VIDs were taken.
    loc_valid : Signal(1)
        The dense table's output answers a DEC_LOC.
    fused, addresses : Signal(1)
        With a latency of the tables: the VIDs of a DEC are on offer; the EIDs that are read are a
        DEC's. Without, ``addresses`` is ``second``.
    """
    def __init__(self, config):
        lanes, threads = data.ArrayLayout(32, config.threads), config.threads
        self.chosen, self.works, self.ended, self.is_ready, self.offered = (
            Signal(name=name) for name in ("chosen", "works", "ended", "is_ready", "offered"))
        self.shown, self.held, self.decoded, self.second, self.loc_valid, self.fused = (
            Signal(name=name)
            for name in ("shown", "held", "decoded", "second", "loc_valid", "fused"))
        self.warp = Signal(warp_shape(config), name="warp")
        self.places = Signal(data.StructLayout(
            {"eid": lanes, "shifted": range(threads), "mask": threads}), reset_less=True,
            name="places")
        self.addresses = Signal(name="addresses") if config.table_latency else self.second


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
        rows, entry, od, answer = (part(self._config) for part in (_Rows, _Entry, _Output, _Answer))
        asked = self._accept(m, rows, answer)
        self._register(m, rows, asked)
        pick = lowest(m, rows.taken, name="pick")
        self._skip(m, od, asked)
        self._fill(m, rows, entry, od, pick)
        dry = Signal()                     # nothing is left, and nothing can follow
        m.d.comb += dry.eq(~rows.opened.any() & rows.none & ~rows.taken.any() & ~entry.present
                           & ~od.dropping.any() & ~od.skipped)
        self._keep(m, entry, od, answer, dry)
        self._choose(m, rows, od, answer, asked, dry)
        dense, locator = self._locate(m, od, answer, asked)
        self._answer(m, od, answer, dense, locator)
        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")
        return ResetInserter(self.reset)(m)

    def _accept(self, m, rows, answer):
        """Take a request. Returns what it is."""
        request, accepted = self.request.payload, Signal(name="accepted")
        asked = _Asked(self._config, request.op, accepted)
        blocks = answer.loc_valid
        if self._config.table_latency:
            blocks = answer.fused & (request.op == GatherOp.DEC_LOC)
            m.d.comb += rows.store.read.eq(rows.store.registered.any() & rows.store.room)
        m.d.comb += [
            self.request.ready.eq(~rows.reads & ~blocks & ~self.reset),
            accepted.eq(self.request.valid & self.request.ready),
        ]
        m.d.comb += asked.from_warp.eq(1 << request.warp)
        return asked

    def _register(self, m, rows, asked):
        """The table of rows, and the warps that may register more."""
        request, store = self.request.payload, rows.store
        m.submodules.store = store
        m.submodules.rows = turns = RoundRobin(len(store.registered))
        m.d.comb += [
            store.write.eq(asked.registers),
            store.into.eq(request.warp + request.rd),
            store.mask.eq(request.mask), store.vid.eq(request.vid),
            store.loc.eq(request.loc), store.degree.eq(request.degree),
            rows.take.eq(rows.found & ~rows.taken.any()),
            turns.requests.eq(store.registered), turns.advance.eq(rows.reads),
            store.take.eq(rows.take), store.row.eq(turns.grant),
        ]
        owners = Signal(data.ArrayLayout(warp_shape(self._config), len(store.registered)))
        for row, owner in enumerate(owners):
            with m.If(store.write & (store.into == row)):
                m.d.sync += owner.eq(request.warp)
        m.d.comb += rows.has_row.eq(Cat(
            Cat(store.registered[row] & (owner == warp) for row, owner in enumerate(owners)).any()
            for warp in range(self._config.warps)))
        opens = store.write & (store.into < len(store.registered))
        closes = asked.skips & (request.mask & Cat(
            name == NONE for name in request.vid)).any()
        m.d.sync += rows.opened.eq((rows.opened | Mux(opens, asked.from_warp, 0))
                                   & ~Mux(closes, asked.from_warp, 0))

    def _skip(self, m, od, asked):
        """Compare a SKIP with the entry that was handed out last."""
        request = self.request.payload
        named = Cat(name == od.last_vid for name in request.vid)
        m.d.sync += od.skipped.eq(asked.skips & (request.mask & named).any()
                                  & (~od.leaves | (od.goes_on == self._config.threads)))

    def _fill(self, m, rows, entry, od, pick):
        """Fill the output. The current entry gives as many edges as there is room for; the row's
        entries follow one another, lowest lane first."""
        threads, store, degree = self._config.threads, rows.store, entry.degree
        room = Signal(range(threads + 1))
        low, big = degree[:len(room)], degree[len(room):].any()
        full = od.full
        m.d.comb += [
            od.start.eq(Mux(od.sealed, 0, od.filled)),
            room.eq(threads - od.start),
            od.more.eq(big | (low > room)),
            full.eq(big | (low >= room)),
            od.end.eq(Mux(full, threads, od.start + low)),
            od.fill.eq(entry.present & ~od.skipped & ~od.dropping.any() & (~od.sealed | od.leaves)),
            entry.load.eq(rows.taken.any() & (~entry.present | (od.fill & ~od.more))),
        ]
        m.d.sync += rows.taken.eq(Mux(rows.take, store.valid,
                                      rows.taken & ~Mux(entry.load, pick, 0)))
        with m.If(entry.load):
            m.d.sync += [
                entry.vid.eq(and_or(pick, [each.vid for each in store.entries])),
                entry.loc.eq(and_or(pick, [each.loc for each in store.entries])),
                degree.eq(and_or(pick, [each.degree for each in store.entries])),
                entry.present.eq(1),
            ]
        with m.Elif(od.fill):
            m.d.sync += [entry.loc.eq(entry.loc + room), degree.eq(degree - room),
                         entry.present.eq(od.more)]
        with m.Elif(od.skipped & od.entry_goes_on):
            m.d.sync += entry.present.eq(0)
        lane_0 = Signal(32)                # EID that lane 0 would have
        m.d.comb += lane_0.eq(entry.loc - Mux(od.sealed, 0, od.filled + od.shifted))
        for lane in range(threads):
            with m.If(od.dropping.any()):
                if lane + 1 < threads:
                    m.d.sync += [od.vid[lane].eq(od.vid[lane + 1]),
                                 od.eid[lane].eq(od.eid[lane + 1])]
            with m.Elif(od.fill & (od.start <= lane)):
                m.d.sync += [od.vid[lane].eq(entry.vid), od.eid[lane].eq(lane_0)]

    def _keep(self, m, entry, od, answer, dry):
        """What the output holds, and where edges of the entry handed out last are left."""
        goes_on = Signal()                 # the current entry's mark once the OD has left
        m.d.comb += goes_on.eq(Mux(od.leaves, od.divided, od.entry_goes_on))
        with m.If(od.leaves):
            m.d.sync += [od.filled.eq(0), od.shifted.eq(0), od.sealed.eq(0), od.divided.eq(0),
                         od.goes_on.eq(0), od.last_vid.eq(od.vid[self._config.threads - 1]),
                         od.entry_goes_on.eq(od.divided)]
        with m.If(od.fill):
            m.d.sync += [od.filled.eq(od.end), od.sealed.eq(od.full), od.divided.eq(od.more),
                         od.entry_goes_on.eq(goes_on & od.more)]
            with m.If(goes_on):
                m.d.sync += od.goes_on.eq(od.end)
        with m.Elif(od.dropping.any()):
            # Nothing of the entry handed out last is left, so another SKIP finds nothing.
            m.d.sync += [od.dropping.eq(od.dropping - 1), od.filled.eq(od.filled - 1),
                         od.shifted.eq(od.shifted + 1)]
        with m.Elif(od.skipped):
            # If the OD leaves just now, the mark has to be that of the OD's last entry.
            m.d.sync += od.entry_goes_on.eq(od.leaves & od.divided & ~od.entry_goes_on)
            with m.If(od.entry_goes_on):
                m.d.sync += od.divided.eq(0)
            m.d.comb += self.events.skipped.eq(Mux(od.entry_goes_on, entry.degree, 0)
                                               + Mux(answer.offered, 0, od.goes_on))
            with m.If(~answer.offered & od.goes_on.any()):
                m.d.sync += [od.sealed.eq(0), od.goes_on.eq(0)]
                with m.If(od.goes_on == od.filled):
                    m.d.sync += [od.filled.eq(0), od.shifted.eq(0), od.divided.eq(0)]
                with m.Else():
                    m.d.sync += od.dropping.eq(od.goes_on)
        with m.Elif(dry & od.filled.any() & answer.chosen & answer.works & ~od.leaves):
            m.d.sync += od.sealed.eq(1)
        running = ~ResetSignal()
        m.d.sync += [
            Assert(~(running & (od.sealed | (od.fill & ~od.leaves)) & od.dropping.any())),
            Assert(~(running & od.fill & goes_on & od.start.any())),
        ]

    def _choose(self, m, rows, od, answer, asked, dry):
        """Choose one of the warps that wait. It gets the OD once the OD is sealed. Until then it
        gives way to a warp whose rows were taken."""
        config, request, warps = self._config, self.request.payload, self._config.warps
        waiting, others, free = (Signal(warps, name=name) for name in ("waiting", "others", "free"))
        m.submodules.turns = turns = RoundRobin(warps)
        m.submodules.asked = names = memory.Memory(
            shape=_NAMES, depth=max(2, warps), init=[], attrs={"no_rw_check": 1})
        asked_write, asked_read = names.write_port(), names.read_port()
        choose = Signal()
        works, warp, second = answer.works, answer.warp, answer.second
        taken = Signal(name="answered")    # the last part is taken
        answer.names = asked_read.data
        m.d.comb += [
            answer.is_ready.eq(answer.chosen & (~works | od.sealed | second)),
            answer.offered.eq(answer.chosen & works & od.sealed & ~second),
            answer.shown.eq(answer.is_ready & ~answer.held),
            answer.decoded.eq(answer.shown & self.response.ready & ~second),
            taken.eq(answer.shown & self.response.ready
                     & (1 if config.table_latency else second | ~asked_read.data.fused)),
            od.leaves.eq(answer.decoded & works),
            others.eq(waiting & ~Mux(answer.is_ready, (1 << warp)[:warps], 0)),
            free.eq(others & rows.opened & ~rows.has_row),
            choose.eq(~answer.chosen | taken | (~answer.is_ready & free.any())),
            turns.requests.eq(Mux(free.any(), free, others)),
            turns.advance.eq(choose),
            asked_write.en.eq(asked.works), asked_write.addr.eq(request.warp),
            asked_write.data.rd.eq(request.rd), asked_write.data.rd2.eq(request.rd2),
            asked_write.data.fused.eq(request.op == GatherOp.DEC),
            asked_read.en.eq(choose), asked_read.addr.eq(encode(turns.grant)),
            self.events.decoded.eq(answer.decoded), self.events.waiting.eq(waiting.any()),
        ]
        m.d.sync += waiting.eq((waiting & ~Mux(answer.decoded, (1 << warp)[:warps], 0))
                               | Mux(asked.works, asked.from_warp, 0))
        with m.If(choose):
            m.d.sync += [answer.chosen.eq(turns.grant.any()), warp.eq(encode(turns.grant)),
                         works.eq(~free.any()), answer.ended.eq(0), second.eq(0)]
        with m.Elif(~answer.is_ready & dry & ~od.filled.any()):
            m.d.sync += [works.eq(0), answer.ended.eq(1)]
        if not config.table_latency:
            with m.Elif(answer.decoded):
                m.d.sync += second.eq(1)
        running = ~ResetSignal()
        m.d.sync += [
            Assert(~(running & asked.works & (waiting & asked.from_warp).any())),
            Assert(~(running & asked.works & choose & turns.grant.any()
                     & (asked_write.addr == asked_read.addr))),
        ]

    def _locate(self, m, od, answer, asked):
        """The dense table: the EIDs of each warp's last DEC_ID, and the lanes that have one.

        Returns the words that were read, and where they go: the answer to a DEC_LOC, or with a
        latency also the EIDs of a DEC.
        """
        config, request = self._config, self.request.payload
        threads, loc_valid, shown = config.threads, answer.loc_valid, answer.shown
        everyone = Const((1 << threads) - 1, threads)
        m.d.comb += od.mask.eq(everyone >> (threads - od.filled)[:len(od.filled)])
        m.submodules.dense = dense = memory.Memory(
            shape=answer.places.shape(), depth=max(2, config.warps), init=[],
            attrs={"no_rw_check": 1})
        dense_write, dense_read = dense.write_port(), dense.read_port()
        m.d.comb += [
            dense_write.en.eq(answer.decoded), dense_write.addr.eq(answer.warp),
            dense_write.data.eid.eq(od.eid), dense_write.data.shifted.eq(od.shifted),
            dense_write.data.mask.eq(Mux(answer.works, od.mask, 0)),
        ]
        with m.If(answer.decoded):
            m.d.sync += answer.places.eq(dense_write.data)
        locator = Signal(data.StructLayout({"warp": warp_shape(config), "rd": 5, "mask": threads}),
                         reset_less=True)
        asks, located = asked.edges, request
        if config.table_latency:
            look_ups = delayed_look_ups(m, config, request, asked.edges,
                                        answer.decoded & answer.names.fused, warp=answer.warp,
                                        rd=answer.names.rd2, mask=everyone)
            asks, located = look_ups.r_en, look_ups.r_data
            m.d.comb += [asks.eq(look_ups.r_rdy & (~loc_valid | (self.response.ready & ~shown))),
                         answer.fused.eq(answer.is_ready & answer.names.fused)]
            with m.If(asks):
                m.d.sync += answer.addresses.eq(located.fused)
        m.d.comb += [dense_read.en.eq(asks), dense_read.addr.eq(located.warp)]
        with m.If(asks):
            m.d.sync += [locator.warp.eq(located.warp), locator.rd.eq(located.rd),
                         locator.mask.eq(located.mask), loc_valid.eq(1)]
        with m.Elif(self.response.ready & ~shown):
            m.d.sync += loc_valid.eq(0)
        m.d.sync += [
            answer.held.eq(loc_valid & ~shown & ~self.response.ready),
            Assert(~(~ResetSignal() & answer.decoded & asks
                     & (dense_write.addr == dense_read.addr))),
        ]
        return dense_read.data, locator

    def _answer(self, m, od, answer, dense, locator):
        """Offer the answers. An answer to a DEC_ID goes first, so that DEC_LOCs cannot delay it. It
        does not replace an answer that is already on offer. Without a latency of the tables,
        nothing comes between the parts of a DEC."""
        threads, response, latency = (self._config.threads, self.response.payload,
                                      self._config.table_latency)
        shown, second, works, names = answer.shown, answer.second, answer.works, answer.names
        everyone = Const((1 << threads) - 1, threads)
        has_work = Signal(threads)
        source = Signal(answer.places.shape())    # of the EIDs that are shown
        other = Signal(32)                        # what lanes without work read
        m.d.comb += [
            source.eq(Mux(shown, answer.places, dense)),
            has_work.eq(Mux(shown & ~second, Mux(works, od.mask, 0), source.mask)),
            other.eq(Mux(shown & ~second & ~works & ~answer.ended, REGISTER, NONE)),
            self.response.valid.eq(answer.is_ready | answer.loc_valid),
            response.warp.eq(Mux(shown, answer.warp, locator.warp)),
            response.rd.eq(Mux(shown, Mux(second, names.rd2, names.rd), locator.rd)),
        ]
        if latency:
            m.d.comb += [
                response.set_mask.eq(Mux(shown, ~names.fused, answer.addresses)),
                response.mask.eq(Mux(response.set_mask & has_work.any(), has_work,
                                     Mux(shown, everyone, locator.mask))),
            ]
        else:
            m.d.comb += [
                response.set_mask.eq(shown & (second | ~names.fused)),
                response.mask.eq(Mux(shown, Mux(response.set_mask & works, has_work, everyone),
                                     locator.mask)),
            ]
        for lane in range(threads):
            eid = (source.eid[lane] + (source.shifted + lane))[:32]
            address = (eid << 2)[:32]
            place = (Mux(shown, od.vid[lane], Mux(answer.addresses, address, eid)) if latency else
                     Mux(shown, Mux(second, address, od.vid[lane]), eid))
            m.d.comb += response.data[lane].eq(Mux(has_work[lane], place, other))
