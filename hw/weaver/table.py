"""The Weaver's sparse table (ST) and the scan over it."""

from amaranth.hdl import Assert, Cat, Module, Mux, ResetSignal, Signal, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.util import and_or, encode, lowest
from hw.weaver.interface import warp_shape


__all__ = ["SparseTable"]


class SparseTable(wiring.Component):
    """Registrations by (warp, lane), read in that order whatever the order they came in.

    A row of the table belongs to a warp and has one entry a lane, so that an instruction of a warp
    writes its whole row at once. Beside the memories there is one bit a row in flip-flops, which
    says that something is registered in it; the bits that say it of a single entry are a memory
    themselves. Nothing ever has to be cleared: the first write to a row whose bit is 0 writes the
    entries of the other lanes as empty.

    The scan *takes* the lowest row that has something: the row is read into registers, its row bit
    goes to 0, and from then on the scan's copy is what counts. Lane by lane, lowest first and empty
    ones left out, the copy is then loaded from. A row that is written after it was taken is simply
    taken again later; the lanes written are dropped from the copy if they were not loaded yet. So
    an entry holds at most one registration, the newest.

    Writing or taking needs one cycle, and they exclude each other. An entry can be loaded in the
    cycle after ``take``, and is on ``entry_vid``, ``entry_loc`` and ``entry_degree`` in that cycle.

    Parameters
    ----------
    config : HardwareConfig
        Gives the shape.

    Members
    -------
    write : In(1)
        Write the entries of the lanes in ``mask``; the others keep theirs. An entry whose
        ``degree`` is 0 becomes empty. Not in the same cycle as ``take``.
    warp, mask, vid, loc, degree : In
        What is written. A ``warp`` beyond the table is ignored.
    some : Out(1)
        There is a row to take.
    take : In(1)
        Take it. Only when ``some``, and only when the row taken before is used up.
    found : Out(1)
        There is an entry of the row taken to load.
    load : In(1)
        Load it: go on to the next. Only when ``found``.
    entry_vid, entry_loc, entry_degree : Out(32)
        The next entry of the row taken.
    """
    def __init__(self, config):
        self._threads = config.threads
        self._rows = config.weaver_table_entries // config.threads
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "write": In(1),
            "warp": In(warp_shape(config)),
            "mask": In(config.threads),
            "vid": In(lanes),
            "loc": In(lanes),
            "degree": In(lanes),
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

        registered = Signal(self._rows)          # rows with something in them
        row = Signal(max(1, ceil_log2(self._rows)))
        left = Signal(self._threads)             # entries of the taken row not loaded yet

        nonzero = Signal(self._threads)          # lanes that register something
        select = Signal(self._rows)              # the row of the warp that writes, one bit a row
        kept = (registered & select).any()
        write_lanes = Signal(self._threads)
        m.d.comb += [
            nonzero.eq(self.mask & Cat(degree.any() for degree in self.degree)),
            select.eq(1 << self.warp),
        ]
        with m.If(self.write & select.any()):
            m.d.comb += write_lanes.eq(Mux(kept, self.mask, (1 << self._threads) - 1))

        first = lowest(m, registered, name="first")
        next_row = Signal.like(row)
        m.d.comb += next_row.eq(encode(first))

        def table(name, shape, domain):
            """A memory of the table; returns what is written into it and the row taken: in the
            same cycle (comb) or in the next (sync)."""
            # A depth of at least 2, as an address without bits is not Verilog.
            m.submodules[name] = table = memory.Memory(shape=shape, depth=max(2, self._rows),
                                                       init=[], attrs={"no_rw_check": 1})
            write, read = table.write_port(granularity=1), table.read_port(domain=domain)
            m.d.comb += [
                write.en.eq(write_lanes),
                write.addr.eq(self.warp),
                read.addr.eq(next_row),
            ]
            if domain == "sync":
                m.d.comb += read.en.eq(self.take)
            return write.data, read.data

        entries_in, entries = table("st_entries", data.ArrayLayout(data.ArrayLayout(32, 3),
                                                                   self._threads), "sync")
        valid_in, valid = table("st_valid", unsigned(self._threads), "comb")
        columns = [(self.vid, self.entry_vid), (self.loc, self.entry_loc),
                   (self.degree, self.entry_degree)]
        m.d.comb += valid_in.eq(nonzero)
        for lane in range(self._threads):
            m.d.comb += entries_in[lane].eq(Cat(source[lane] for source, _ in columns))

        pick = lowest(m, left, name="pick")
        m.d.comb += [
            self.some.eq(registered.any()),
            self.found.eq(left.any()),
        ]
        with m.If(self.load):
            m.d.comb += [target.eq(and_or(pick, [entry[column] for entry in entries]))
                         for column, (_, target) in enumerate(columns)]

        used = Mux(self.load, pick, 0)
        written = Mux(self.write & (self.warp == row), self.mask, 0)
        m.d.sync += [
            left.eq(Mux(self.take, valid, left & ~used & ~written)),
            registered.eq((registered & ~Mux(self.take, first, 0))
                          | Mux(self.write & nonzero.any(), select, 0)),
        ]
        with m.If(self.take):
            m.d.sync += row.eq(next_row)

        running = ~ResetSignal()
        m.d.sync += [
            Assert(~(running & self.take & self.write)),
            Assert(~(running & self.take & (~self.some | self.found))),
            Assert(~(running & self.load & ~self.found)),
        ]

        return m
