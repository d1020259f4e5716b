"""The Weaver's sparse table (ST) and the scan over it."""

from amaranth.hdl import Assert, Cat, Module, Mux, ResetSignal, Signal, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.weaver.interface import warp_shape


__all__ = ["SparseTable", "entry_layout"]


#: One registration: a vertex, the position of its first edge and the number of its edges.
entry_layout = data.StructLayout({"vid": 32, "loc": 32, "degree": 32})


def lowest(bits):
    """The lowest set bit of ``bits``, alone."""
    return bits & (~bits + 1)[:len(bits)]


class SparseTable(wiring.Component):
    """Registrations by (warp, lane), read in that order whatever the order they came in.

    A row of the table belongs to a warp and has one entry a lane, so that an instruction of a warp
    writes its whole row at once. Beside the memories there is one bit a row in flip-flops, which
    says that something is registered in it; the bits that say it of a single entry are a memory
    themselves. Nothing ever has to be cleared: the first write to a row whose bit is 0 writes the
    entries of the other lanes as empty.

    The scan *takes* the lowest row that has something: the row is read into the output registers
    of the memories, its row bit goes to 0, and from then on the scan's copy is what counts. Lane
    by lane, lowest first and empty ones left out, the copy is then loaded from. A row that is
    written after it was taken is simply taken again later; the lanes written are dropped from the
    copy if they were not loaded yet. So an entry holds at most one registration, the newest.

    Writing or taking needs one cycle, they exclude each other; ``entry`` and ``found`` are valid
    from the cycle after ``take``.

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
    rest : Out(1)
        The row taken has further entries. Not valid in the cycle after ``take``.
    found : Out(1)
        ``entry`` is one; also valid in the cycle after ``take``.
    entry : Out(entry_layout)
        The next entry of the row taken.
    load : In(1)
        ``entry`` is used, go on to the next.
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
            "rest": Out(1),
            "found": Out(1),
            "entry": Out(entry_layout),
            "load": In(1),
        })

    def elaborate(self, platform):
        m = Module()

        registered = Signal(self._rows)          # rows with something in them
        row = Signal(max(1, ceil_log2(self._rows)))
        left = Signal(self._threads)             # entries of the taken row not loaded yet
        fresh = Signal()                         # ... which the memory is only now giving
        nonzero = Cat(self.degree[lane].any() for lane in range(self._threads))

        select = Signal(self._rows)              # the row of the warp that writes, one bit a row
        m.d.comb += select.eq(Cat(self.write & (self.warp == index)
                                  for index in range(self._rows)))
        kept = (registered & select).any()
        write_lanes = Mux(select.any(), Mux(kept, self.mask, ~0), 0)

        first = Signal(self._rows)
        next_row = Signal.like(row)
        m.d.comb += first.eq(lowest(registered))
        for bit in range(len(row)):
            m.d.comb += next_row[bit].eq(
                Cat(first[index] for index in range(self._rows) if index >> bit & 1).any())

        def table(name, shape, value):
            """A memory of the table; returns the row taken."""
            # A depth of at least 2, as an address without bits is not Verilog.
            m.submodules[name] = table = memory.Memory(shape=shape, depth=max(2, self._rows),
                                                       init=[], attrs={"no_rw_check": 1})
            write, read = table.write_port(granularity=1), table.read_port()
            m.d.comb += [
                write.en.eq(write_lanes),
                write.addr.eq(self.warp),
                write.data.eq(value),
                read.en.eq(self.take),
                read.addr.eq(next_row),
            ]
            return read.data

        lanes = data.ArrayLayout(32, self._threads)
        valid = table("st_valid", unsigned(self._threads), nonzero & self.mask)
        columns = {name: table(f"st_{name}", lanes, getattr(self, name))
                   for name in ("vid", "loc", "degree")}

        now = Signal(self._threads)
        pick = Signal(self._threads)
        m.d.comb += [
            self.some.eq(registered.any()),
            self.rest.eq(left.any()),
            now.eq(Mux(fresh, valid, left)),
            self.found.eq(now.any()),
            pick.eq(lowest(now)),
        ]
        for name, column in columns.items():
            word = 0
            for lane in range(self._threads):
                word |= column[lane] & pick[lane].replicate(32)
            m.d.comb += self.entry[name].eq(word)

        used = Mux(self.load, pick, 0)
        written = Mux(self.write & (self.warp == row), self.mask, 0)
        m.d.sync += [
            fresh.eq(self.take),
            left.eq(now & ~used & ~written),
            registered.eq((registered & ~Mux(self.take, first, 0))
                          | Mux((nonzero & self.mask).any(), select, 0)),
        ]
        with m.If(self.take):
            m.d.sync += row.eq(next_row)

        running = ~ResetSignal()
        m.d.sync += [
            Assert(~(running & self.take & self.write)),
            Assert(~(running & self.take & (~self.some | self.rest))),
            Assert(~(running & self.load & ~self.found)),
        ]

        return m
