"""The tables of registrations: the store of rows, and the Weaver's sparse table with its scan."""

from amaranth.hdl import Assert, Cat, Module, Mux, ResetSignal, Signal, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.bits import and_or, encode, lowest
from hw.gather.interface import row_shape
from hw.timing import Timing


__all__ = ["RowStore", "SparseTable", "entry_layout", "write_members"]


def write_members(config):
    """The ports by which a row is written."""
    lanes = data.ArrayLayout(32, config.threads)
    return {"write": In(1), "into": In(row_shape(config)), "mask": In(config.threads),
            "vid": In(lanes), "loc": In(lanes), "degree": In(lanes)}


def entry_layout():
    """A registration.

    Members
    -------
    vid, loc, degree : unsigned(32)
        The vertex, the position of its first edge, and the number of its edges.
    """
    return data.StructLayout({"vid": 32, "loc": 32, "degree": 32})


class RowStore(wiring.Component):
    """Stores registrations by (row, lane), and reads them by rows.

    A row has one entry a lane. An instruction of a warp therefore writes a whole row at once. One
    flip-flop a row says whether the row holds a registration. The valid bits of single entries are
    in a memory. Nothing ever has to be cleared: the first write to a row whose flip-flop is 0 marks
    the entries of the other lanes as empty.

    A row is *taken*: it is read into the output registers of the memory, and its flip-flop goes to
    0. A write and a take need one cycle each, and exclude each other.

    Parameters
    ----------
    config : HardwareConfig
        Gives the shape.

    Members
    -------
    write : In(1)
        Write the entries of the lanes in ``mask``; other lanes keep their entries. An entry whose
        ``degree`` is 0 becomes empty. Not in the same cycle as ``take``.
    into : In(row_shape(config))
        The number of the row to write. A row beyond the table is ignored.
    mask : In(threads)
        Lanes to write.
    vid, loc, degree : In(ArrayLayout(32, threads))
        The new entries.
    registered : Out(rows)
        Rows that hold a registration.
    take : In(1)
        Take the row in ``row``.
    row : In(rows)
        One-hot: a row of ``registered``; zero if there is none.
    number : Out
        The row's number.
    valid : Out(threads)
        Entries of ``row`` that are not empty, in the cycle of ``take``.
    entries : Out(ArrayLayout(entry_layout(), threads))
        The row that was taken last, from the next cycle on.
    """
    def __init__(self, config):
        self._threads = config.threads
        self._rows = rows = config.weaver_table_entries // config.threads
        super().__init__({
            **write_members(config),
            "registered": Out(rows),
            "take": In(1),
            "row": In(rows),
            "number": Out(max(1, ceil_log2(rows))),
            "valid": Out(config.threads),
            "entries": Out(data.ArrayLayout(entry_layout(), config.threads)),
        })

    def elaborate(self, platform):
        m = Module()

        nonzero = Signal(self._threads)          # lanes that register at least one edge
        select = Signal(self._rows)              # one-hot: the row that is written
        kept = (self.registered & select).any()
        write_lanes = Signal(self._threads)
        m.d.comb += [
            nonzero.eq(self.mask & Cat(degree.any() for degree in self.degree)),
            select.eq(Cat(self.into == row for row in range(self._rows))),
            self.number.eq(encode(self.row)),
        ]
        with m.If(self.write & select.any()):
            m.d.comb += write_lanes.eq(Mux(kept, self.mask, (1 << self._threads) - 1))

        def table(name, shape, domain):
            """Make a memory of the table. Return its write data and the data of the row taken.

            The row comes in the cycle of ``take`` (comb) or in the next cycle (sync).
            """
            # The depth is at least 2: Verilog has no address of zero bits.
            m.submodules[name] = table = memory.Memory(shape=shape, depth=max(2, self._rows),
                                                       init=[], attrs={"no_rw_check": 1})
            write, read = table.write_port(granularity=1), table.read_port(domain=domain)
            m.d.comb += [
                write.en.eq(write_lanes),
                write.addr.eq(self.into),
                read.addr.eq(self.number),
            ]
            if domain == "sync":
                m.d.comb += read.en.eq(self.take)
            return write.data, read.data

        entries_in, entries = table("st_entries", data.ArrayLayout(entry_layout(), self._threads),
                                    "sync")
        valid_in, valid = table("st_valid", unsigned(self._threads), "comb")
        m.d.comb += [valid_in.eq(nonzero), self.valid.eq(valid), self.entries.eq(entries)]
        for lane in range(self._threads):
            m.d.comb += [entries_in[lane].vid.eq(self.vid[lane]),
                         entries_in[lane].loc.eq(self.loc[lane]),
                         entries_in[lane].degree.eq(self.degree[lane])]

        m.d.sync += [
            self.registered.eq((self.registered & ~Mux(self.take, self.row, 0))
                               | Mux(self.write & nonzero.any(), select, 0)),
            Assert(~(~ResetSignal() & self.take & self.write)),
        ]
        return m


class SparseTable(wiring.Component):
    """Stores registrations in any order and reads them in the order of (row, lane).

    The scan takes the lowest row of the :class:`RowStore` that holds a registration. Entries are
    then loaded from this copy, lowest lane first; empty entries are left out. A row that is written
    after it was taken is taken again later. The lanes written are dropped from the copy if they
    were not loaded yet. So an entry holds at most one registration, the newest.

    The first entry can be loaded in the cycle after ``take``. Throughput: an entry a cycle.

    Parameters
    ----------
    config : HardwareConfig
        Gives the shape.

    Members
    -------
    write, into, mask, vid, loc, degree
        As of :class:`RowStore`.
    some : Out(1)
        At least one row can be taken: its flip-flop is 1.
    take : In(1)
        Take the lowest such row. Only when ``some``, and only when the row taken before is used
        up (``found`` is low).
    found : Out(1)
        The row taken has an entry left to load.
    load : In(1)
        Load this entry and go on to the next. Only when ``found``.
    entry_vid, entry_loc, entry_degree : Out(32)
        The entry, in the cycle of its ``load``.
    """
    def __init__(self, config):
        self._config = config
        super().__init__({
            **write_members(config),
            "some": Out(1),
            "take": In(1),
            "found": Out(1),
            "load": In(1),
            "entry_vid": Out(32),
            "entry_loc": Out(32),
            "entry_degree": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.store = store = RowStore(self._config)
        current = Signal.like(store.number)      # the row taken last
        left = Signal(self._config.threads)      # entries of the taken row not loaded yet

        m.d.comb += [getattr(store, name).eq(getattr(self, name))
                     for name in (*write_members(self._config), "take")]
        m.d.comb += store.row.eq(lowest(m, store.registered, name="first"))

        pick = lowest(m, left, name="pick")
        m.d.comb += [
            self.some.eq(store.registered.any()),
            self.found.eq(left.any()),
        ]
        with m.If(Timing(self._config).needed(self.load)):
            m.d.comb += [
                self.entry_vid.eq(and_or(pick, [entry.vid for entry in store.entries])),
                self.entry_loc.eq(and_or(pick, [entry.loc for entry in store.entries])),
                self.entry_degree.eq(and_or(pick, [entry.degree for entry in store.entries])),
            ]

        used = Mux(self.load, pick, 0)
        written = Mux(self.write & (self.into == current), self.mask, 0)
        m.d.sync += left.eq(Mux(self.take, store.valid, left & ~used & ~written))
        with m.If(self.take):
            m.d.sync += current.eq(store.number)

        running = ~ResetSignal()
        m.d.sync += [
            Assert(~(running & self.take & (~self.some | self.found))),
            Assert(~(running & self.load & ~self.found)),
        ]

        return m
