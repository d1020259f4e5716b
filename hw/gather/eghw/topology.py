"""Vertex IDs become entries: the unit reads the IDs of a row, then the offsets of their edges."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import encode, lowest
from hw.gather.eghw import AccessTag
from hw.gather.interface import access_layout, fetched_layout, row_shape, warp_shape
from hw.gather.table import entry_layout
from hw.operations import NONE


__all__ = ["Topology", "row_addresses"]


def row_addresses(config, first, number):
    """The addresses of a row in local memory, one word a lane.

    Parameters
    ----------
    config : HardwareConfig
    first : Value
        The address of row 0; its bits of places within a row are ignored.
    number : Value
        The number of the row.
    """
    low = 2 + ceil_log2(config.threads)
    row = (first[low:] + number)[:32 - low]
    return [Cat(Const(4 * lane, low), row) for lane in range(config.threads)]


class Topology(wiring.Component):
    """Reads the topology of registered rows.

    A row has a vertex ID for each lane, in local memory; :data:`~hw.operations.NONE` stands for no
    vertex. The lowest row that is registered comes first. Three accesses read it, each for all
    lanes: the IDs, the offsets of the vertices, and the words behind these. While the entries of a
    row are given out, the next row is read.

    Throughput: a lane of a row a cycle, whether or not the lane has a vertex.

    Parameters
    ----------
    config : HardwareConfig

    Members
    -------
    register : In(1)
        Register row ``row`` for the lanes in ``mask``. A row that is registered and was not taken
        is registered anew. A row beyond the table is ignored.
    row, mask : In
    warp : In(warp_shape(config))
        The warp that a failing access reports.
    ids : In(32)
        Address of row 0 in local memory.
    offsets : In(32)
        Distance from a vertex ID to the address of its offset.
    access : Out(stream(access_layout))
        Loads, one after the other but for the two of offsets, which are under way together.
    fetched : In(fetched_layout)
    arrives : In(1)
        ``fetched`` has the data of one of these loads.
    entry : Out(stream(entry_layout))
        Vertices, row by row, in the order of their lanes.
    idle : Out(1)
        No entry is left, and none is on its way.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            "register": In(1), "row": In(row_shape(config)), "mask": In(config.threads),
            "warp": In(warp_shape(config)),
            "ids": In(32), "offsets": In(32),
            "access": Out(stream.Signature(access_layout(config))),
            "fetched": In(fetched_layout(config)), "arrives": In(1),
            "entry": Out(stream.Signature(entry_layout())),
            "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config, threads = self._config, self._config.threads
        lanes = data.ArrayLayout(32, threads)
        rows = config.weaver_table_entries // threads

        # Registered rows.
        registered = Signal(rows)
        taken = Signal(rows)                     # one-hot: the row that is taken
        first = lowest(m, registered, name="first")
        number = Signal(range(max(2, rows)))
        asked = data.StructLayout({"mask": threads, "warp": warp_shape(config)})
        # The depth is at least 2: Verilog has no address of zero bits.
        m.submodules.rows = store = memory.Memory(shape=asked, depth=max(2, rows), init=[],
                                                  attrs={"no_rw_check": 1})
        write, read = store.write_port(), store.read_port(domain="comb")
        chosen = Signal(rows)
        m.d.comb += [
            chosen.eq(Cat(self.row == row for row in range(rows))),
            write.en.eq(self.register & chosen.any()), write.addr.eq(self.row),
            write.data.mask.eq(self.mask), write.data.warp.eq(self.warp),
            number.eq(encode(first)), read.addr.eq(number),
        ]
        m.d.sync += registered.eq((registered & ~taken) | Mux(self.register, chosen, 0))

        # The row that is being read.
        row = Signal.like(number)
        asks = Signal(asked)
        ids, begins, ends = (Signal(lanes, name=name, reset_less=True)
                             for name in ("ids_read", "begins", "ends"))
        has_begins, has_ends = (Signal(name=name) for name in ("has_begins", "has_ends"))
        moves = Signal()
        access, fetched = self.access.payload, self.fetched
        present = Signal(threads)
        is_end = Signal()
        distance = Signal(32)
        m.d.comb += [
            access.warp.eq(asks.warp), access.mask.eq(asks.mask),
            present.eq(asks.mask & Cat(word != NONE for word in fetched.data)),
            distance.eq(self.offsets + Mux(is_end, 4, 0)),
        ]

        def ask(tag, addresses, then):
            m.d.comb += [self.access.valid.eq(1), access.tag.eq(tag),
                         *(access.address[lane].eq(address)
                           for lane, address in enumerate(addresses))]
            with m.If(self.access.ready):
                m.next = then

        with m.FSM() as fsm:
            with m.State("REST"):
                with m.If(registered.any()):
                    m.d.comb += taken.eq(first)
                    m.d.sync += [row.eq(number), asks.eq(read.data)]
                    m.next = "ASK_IDS"
            with m.State("ASK_IDS"):
                ask(AccessTag.IDS, row_addresses(config, self.ids, row), "IDS")
            with m.State("IDS"):
                with m.If(self.arrives):
                    m.d.sync += [ids.eq(fetched.data), asks.mask.eq(present),
                                 has_begins.eq(0), has_ends.eq(0)]
                    m.next = "REST"
                    with m.If(present.any()):
                        m.next = "ASK_BEGINS"
            with m.State("ASK_BEGINS"):
                ask(AccessTag.BEGINS, [word + distance for word in ids], "ASK_ENDS")
            with m.State("ASK_ENDS"):
                m.d.comb += is_end.eq(1)
                ask(AccessTag.ENDS, [word + distance for word in ids], "OFFSETS")
            with m.State("OFFSETS"):
                with m.If(moves):
                    m.next = "REST"
        with m.If(self.arrives & (fetched.tag == AccessTag.BEGINS)):
            m.d.sync += [begins.eq(fetched.data), has_begins.eq(1)]
        with m.If(self.arrives & (fetched.tag == AccessTag.ENDS)):
            m.d.sync += [ends.eq(fetched.data), has_ends.eq(1)]

        # The row whose entries are given out: lane 0 is next, the others move down.
        left = Signal(threads)
        steps = Signal()
        entry = self.entry.payload
        m.d.comb += [
            moves.eq(fsm.ongoing("OFFSETS") & has_begins & has_ends & ~left.any()),
            self.entry.valid.eq(left[0]),
            steps.eq(~left[0] | self.entry.ready),
            self.idle.eq(~registered.any() & fsm.ongoing("REST") & ~left.any()),
        ]
        with m.If(moves):
            m.d.sync += left.eq(asks.mask)
        with m.Elif(steps):
            m.d.sync += left.eq(left >> 1)
        degree_end = Signal(32)
        for name, source in (("vid", ids), ("loc", begins), ("end", ends)):
            moved = Signal(lanes, name=f"serving_{name}", reset_less=True)
            with m.If(moves):
                m.d.sync += moved.eq(source)
            with m.Elif(steps):
                m.d.sync += Cat(moved[lane] for lane in range(threads - 1)).eq(
                    Cat(moved[lane] for lane in range(1, threads)))
            m.d.comb += (degree_end if name == "end" else entry[name]).eq(moved[0])
        m.d.comb += entry.degree.eq(degree_end - entry.loc)
        return m
