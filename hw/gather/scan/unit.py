"""The Weaver with rounds that scans a row a step, variant ``scan``."""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, ResetInserter, ResetSignal, Signal
from amaranth.lib import data, memory

from hw.bits import and_or, at_most, lowest
from hw.gather.delay import DelayedRows, delayed_look_ups
from hw.gather.interface import warp_shape
from hw.gather.table import RowStore, entry_layout
from hw.gather.unit import GatheringUnit, waiting_warps
from hw.operations import GatherOp
from hw.streams import check_stream


__all__ = ["ScanWeaver"]


class ScanWeaver(GatheringUnit):
    """Hands out the edges of registered vertices, one a lane, to whichever warp asks next.

    It stands between the Weaver of the paper, :class:`hw.gather.fsm.unit.Weaver`, whose rounds and
    instructions it has, and the Weaver without rounds. Where the state machine loads one entry in
    three cycles, this unit looks at two rows of entries in each cycle.

    Instructions
        As those of :class:`hw.gather.fsm.unit.Weaver`, with two differences. A row that was taken
        is not changed by a later REG: the row is taken again. Rows are taken ahead, so a REG that
        comes behind the first DEC_ID of a round may come too late for its place in the order.

        A SKIP ends the entry whose edges were handed out last. The DEC_ID or DEC that is served may
        still get edges of the entry, any other gets none.

    The window has the entries of two rows: the row *ahead*, which lies in the output registers of
    the :class:`~hw.gather.table.RowStore`, and the *current* row, a copy. In a cycle in which a
    DEC_ID waits, the entries of the window fill the lanes of the output (OD) that are empty. Each
    entry gets as many lanes as it has edges, and begins where the entry before it ends. If the
    window has too few edges, the OD is filled from the next rows in the cycles that follow.

    Rows are taken, lowest first, from the first DEC_ID of a round until no edge is left.

    Timing
        A request is accepted at once, with two exceptions: a REG in a cycle in which a row is
        taken, and a DEC_LOC before the answer to the one before was taken.

        A DEC_ID is answered 2 cycles after the request if no other waits and the window has enough
        edges. The first DEC_ID of a round takes a cycle more. The EIDs of a DEC are on offer in
        the cycle after its VIDs were taken. The response to a DEC_LOC is offered in the cycle after
        the request, unless another response is on offer.

        While DEC_IDs wait and responses are taken at once, there is an answer each cycle if each
        lane of each row registers an edge at least, whatever the degrees. A DEC has two responses,
        and takes two cycles.

    Table latency
        With ``table_latency`` = L, a row comes into the window L cycles after it was read. Reads
        are pipelined: from the first DEC_ID of a round on, rows are read ahead, one a cycle, up to
        L of them. The answer to a DEC_LOC, and the EIDs of a DEC, come L cycles later. These reads
        are pipelined, too: other answers come between the VIDs and the EIDs of a DEC.

    Parameters and errors are those of :class:`hw.gather.unit.GatheringUnit`.

    Members
    -------
    request, response, reset, events
        As in :func:`hw.gather.interface.unit_signature`. The answers to DEC_ID and to DEC_LOC can
        overtake each other.
    """
    variant = "scan"

    def elaborate(self, platform):
        m = Module()
        threads = self._config.threads
        request = self.request.payload
        self._lanes = data.ArrayLayout(32, threads)
        self._count = range(threads + 1)

        latency = self._config.table_latency
        take = Signal()                    # a row of the table is being taken
        loc_valid = Signal()               # the dense table's output answers a DEC_LOC
        accepted = Signal()
        store = (DelayedRows if latency else RowStore)(self._config)
        sealed = Signal()                  # the OD is on offer
        fused = Signal()                   # ... for a DEC: its EIDs are looked up next
        m.d.comb += [
            self.request.ready.eq(
                ~self.reset & ~((store.read if latency else take) & (request.op == GatherOp.REG))
                & ~((fused if latency else loc_valid) & (request.op == GatherOp.DEC_LOC))),
            accepted.eq(self.request.valid & self.request.ready),
        ]
        m.submodules.store = store
        m.d.comb += [
            store.write.eq(accepted & (request.op == GatherOp.REG)),
            store.into.eq(request.warp + request.rd), store.mask.eq(request.mask),
            store.vid.eq(request.vid), store.loc.eq(request.loc), store.degree.eq(request.degree),
            store.take.eq(take), store.row.eq(lowest(m, store.registered, name="first_row")),
        ]

        # Warps whose DEC_ID waits. The first warp is being served, and leaves the queue when it is
        # answered.

        head, pending = waiting_warps(m, self._config, request, accepted, self.events.decoded)
        m.d.comb += self.events.waiting.eq(pending.r_rdy)

        od = Signal(data.StructLayout({"vid": self._lanes, "loc": self._lanes, "step":
                                       data.ArrayLayout(range(threads), threads)}), reset_less=True)
        filled = Signal(self._count)       # lanes of the OD with an edge: the lowest
        fill = Signal()                    # it is filled from the window
        m.d.comb += fill.eq(Mux(sealed, self.events.decoded & (pending.level > 1), pending.r_rdy))
        # Nothing keeps a SKIP from being accepted. With ``accepted`` it would depend on itself.
        skips = self.request.valid & (request.op == GatherOp.SKIP)
        self._fill(m, store, take, skips, od, filled, sealed, fill)
        asks_loc = accepted & (request.op == GatherOp.DEC_LOC)
        if latency:
            m.d.comb += fused.eq(sealed & head.fused)
        self._answer(m, head, asks_loc, loc_valid, od, filled, sealed)

        check_stream(m, self.request, name="request")
        check_stream(m, self.response, name="response")
        return ResetInserter(self.reset)(m)

    def _fill(self, m, store, take, skips, od, filled, sealed, fill):
        """Take rows, and fill the OD from the window."""
        threads, request = self._config.threads, self.request.payload
        current = Signal(data.ArrayLayout(entry_layout(), threads), reset_less=True)
        left = Signal(2 * threads)         # entries of the window that have edges left
        partial = Signal()                 # edges of the first of them were handed out
        rest = Signal(data.StructLayout({"loc": 32, "degree": 32}), reset_less=True)
        first, is_rest = (Signal(2 * threads, name=name) for name in ("first", "is_rest"))
        m.d.comb += [first.eq(lowest(m, left[:threads], name="first_left")),
                     is_rest.eq(Mux(partial, first, 0))]

        # Each entry gets the lanes from the end of the entry before it. Numbers of lanes end at the
        # number of all.

        start = Signal(self._count)        # first lane to be filled
        m.d.comb += start.eq(Mux(sealed, 0, filled))
        entries = [*current, *store.entries]
        wants, locs, degrees = [], [], []
        for number, entry in enumerate(entries):
            loc, degree, want = (Signal(shape, name=f"{name}_{number}") for name, shape in (
                ("loc", 32), ("degree", 32), ("want", self._count)))
            with m.If(fill & left[number]):
                m.d.comb += [
                    loc.eq(Mux(is_rest[number], rest.loc, entry.loc)),
                    degree.eq(Mux(is_rest[number], rest.degree, entry.degree)),
                    want.eq(at_most(degree, threads)),
                ]
            wants.append(want)
            locs.append(loc)
            degrees.append(degree)
        ends = self._sums(m, [at_most(start + wants[0], threads), *wants[1:]])
        begins = [start, *ends[:-1]]
        took = Signal(data.ArrayLayout(self._count, 2 * threads))
        done, divided = (Signal(2 * threads, name=name) for name in ("done", "divided"))
        for number, (begin, end, degree) in enumerate(zip(begins, ends, degrees)):
            m.d.comb += [
                took[number].eq(end - begin),
                done[number].eq(fill & left[number] & (degree == took[number])),
                divided[number].eq(took[number].any() & ~done[number]),
            ]
        for lane in range(threads):
            owner = Signal(2 * threads, name=f"owner_{lane}")
            m.d.comb += owner.eq(Cat((begin <= lane) & (lane < end)
                                     for begin, end in zip(begins, ends)))
            with m.If(owner.any()):
                m.d.sync += [
                    od.vid[lane].eq(and_or(owner, [entry.vid for entry in entries])),
                    od.loc[lane].eq(and_or(owner, locs)),
                    od.step[lane].eq(lane - and_or(owner, begins)),
                ]

        # The OD is on offer once it is full, or if no row is left that could fill it.

        full, dry = (Signal(name=name) for name in ("full", "dry"))
        m.d.comb += full.eq(fill & (ends[-1] == threads))
        with m.If(self.events.decoded):
            m.d.sync += [sealed.eq(0), filled.eq(0)]
        with m.If(fill):
            m.d.sync += [filled.eq(ends[-1]), sealed.eq(full | dry)]

        # The entries that stay in the window. A SKIP names the entry that was divided.

        skipped = Signal()
        stays = Signal(2 * threads)
        vid = and_or(first, [entry.vid for entry in current])
        m.d.comb += [
            skipped.eq(skips & partial & (request.mask & Cat(
                name == vid for name in request.vid)).any()),
            stays.eq(left & ~done & ~Mux(skipped, first, 0)),
        ]
        with m.If(divided.any()):
            m.d.sync += [
                rest.loc.eq(and_or(divided, locs) + and_or(divided, took)),
                rest.degree.eq(and_or(divided, degrees) - and_or(divided, took)),
            ]
        # Edges that a SKIP cut off: the rest, in the next cycle, unless they were given out.
        cut = Signal()
        m.d.sync += cut.eq(skipped & ~(first & done).any())
        with m.If(cut):
            m.d.comb += self.events.skipped.eq(rest.degree)
        m.d.sync += partial.eq((divided & stays).any() | (partial & (is_rest & stays).any()))

        # Rows move on: the row ahead becomes the current row, and the next is taken.

        started, moves = (Signal(name=name) for name in ("started", "moves"))
        found, none = store.registered.any(), ~store.registered.any()
        if self._config.table_latency:
            found, none = store.arrived, store.empty
            m.d.comb += store.read.eq((started | fill) & store.registered.any() & store.room)
        m.d.comb += [
            moves.eq(~stays[:threads].any()),
            take.eq((started | fill) & found & (moves | ~left[threads:].any())),
            dry.eq(none & ~stays.any()),
        ]
        m.d.sync += [
            started.eq((started | fill) & ~dry),
            left.eq(Cat(Mux(moves, stays[threads:], stays[:threads]),
                        Mux(take, store.valid, Mux(moves, 0, stays[threads:])))),
        ]
        with m.If(moves):
            m.d.sync += current.eq(store.entries)

        running = ~ResetSignal()
        m.d.sync += [
            Assert(~(running & fill & ~full & stays.any())),
            Assert(~(running & partial & ~left[:threads].any())),
            Assert(~(running & (divided & (divided - 1)).any())),
        ]

    def _sums(self, m, values):
        """The sums of the first value, of the first two, and so on, each at most the lanes, as the
        values are."""
        sums, distance = values, 1
        while distance < len(sums):
            longer = list(sums)
            for number in range(distance, len(sums)):
                longer[number] = Signal(self._count, name=f"sum_{distance}_{number}")
                m.d.comb += longer[number].eq(
                    at_most(sums[number] + sums[number - distance], self._config.threads))
            sums, distance = longer, 2 * distance
        return sums

    def _answer(self, m, head, asks_loc, loc_valid, od, filled, sealed):
        """The responses. A DEC's EIDs go first, then a DEC_LOC's that were already on offer, then
        the OD."""
        threads, latency = self._config.threads, self._config.table_latency
        request, response = self.request.payload, self.response.payload
        everyone = Const((1 << threads) - 1, threads)
        places_layout = data.StructLayout({"loc": self._lanes, "step": od.step.shape(),
                                           "mask": threads})
        m.submodules.dense = dense = memory.Memory(
            shape=places_layout, depth=max(2, self._config.warps), init=[],
            attrs={"no_rw_check": 1})
        write, read = dense.write_port(), dense.read_port()
        named = data.StructLayout({"warp": warp_shape(self._config), "rd": 5, "mask": threads})
        second = Signal()                  # the VIDs of a DEC were taken
        places = Signal(places_layout, reset_less=True)    # ... and its EIDs
        to_second, to_loc = (
            Signal(named, reset_less=True, name=name) for name in ("to_second", "to_loc"))
        od_shown, loc_shown, held, decoded = (
            Signal(name=name) for name in ("od_shown", "loc_shown", "held", "decoded"))
        m.d.comb += [
            od_shown.eq(sealed & ~second & ~held), loc_shown.eq(loc_valid & ~second & ~od_shown),
            decoded.eq(od_shown & self.response.ready), self.events.decoded.eq(decoded),
            write.en.eq(decoded), write.addr.eq(head.warp),
            write.data.loc.eq(od.loc), write.data.step.eq(od.step),
            write.data.mask.eq(everyone >> (threads - filled)[:len(filled)]),
        ]
        m.d.sync += held.eq(loc_shown & ~self.response.ready)
        if latency:
            look_ups = delayed_look_ups(m, self._config, request, asks_loc, decoded & head.fused,
                                        warp=head.warp, rd=head.rd2, mask=everyone)
            asks_loc, located = look_ups.r_en, look_ups.r_data
            addresses = Signal()           # the EIDs that are read are a DEC's
            m.d.comb += asks_loc.eq(look_ups.r_rdy
                                    & (~loc_valid | (loc_shown & self.response.ready)))
            with m.If(asks_loc):
                m.d.sync += addresses.eq(located.fused)
        else:
            located, addresses = request, second
            with m.If(decoded):
                m.d.sync += [places.eq(write.data), to_second.warp.eq(head.warp),
                             to_second.rd.eq(head.rd2), second.eq(head.fused)]
            with m.Elif(self.response.ready):
                m.d.sync += second.eq(0)
        m.d.comb += [read.en.eq(asks_loc), read.addr.eq(located.warp)]
        with m.If(asks_loc):
            m.d.sync += [loc_valid.eq(1), to_loc.warp.eq(located.warp), to_loc.rd.eq(located.rd),
                         to_loc.mask.eq(located.mask)]
        with m.Elif(loc_shown & self.response.ready):
            m.d.sync += loc_valid.eq(0)

        source = Signal(places_layout)
        to = Signal(named)
        m.d.comb += [
            source.eq(Mux(second, places, read.data)), to.eq(Mux(second, to_second, to_loc)),
            self.response.valid.eq(second | sealed | loc_valid),
            response.warp.eq(Mux(od_shown, head.warp, to.warp)),
            response.rd.eq(Mux(od_shown, head.rd, to.rd)),
            response.set_mask.eq(Mux(od_shown, ~head.fused, addresses)),
        ]
        has_work = Signal(threads)
        m.d.comb += [
            has_work.eq(Mux(od_shown, write.data.mask, source.mask)),
            response.mask.eq(Mux(response.set_mask & has_work.any(), has_work,
                                 Mux(loc_shown, to.mask, everyone))),
        ]
        for lane in range(threads):
            eid = (source.loc[lane] + source.step[lane])[:32]
            place = Mux(addresses, (eid << 2)[:32], eid)
            m.d.comb += response.data[lane].eq(
                Mux(has_work[lane], Mux(od_shown, od.vid[lane], place), 0xFFFF_FFFF))
        m.d.sync += Assert(~(~ResetSignal() & write.en & read.en & (write.addr == read.addr)))
