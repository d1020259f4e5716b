"""The column commands of a line, and the data of a line that is written."""

from amaranth.hdl import Assert, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.sdram.timing import BANKS, BURST, COLUMNS


__all__ = ["Transfer", "transfer_layout"]


def transfer_layout(line_bytes):
    """A line to transfer in an open row; ``column`` is the column of the line's first beat."""
    return data.StructLayout({
        "write": 1,
        "bank": range(BANKS),
        "column": range(COLUMNS),
        "data": 8 * line_bytes,
        "mask": line_bytes,
    })


class Transfer(wiring.Component):
    """Issues the column commands of one line after the other.

    A line takes a burst for each 16 bytes. Commands of one direction follow each other without a
    gap, within a line and from line to line. After a read, a WRITE waits until the data pins have
    been free for a cycle. After a write, a READ need not wait.

    Latency: a line's first command is issued in the cycle after ``start``, if the pins are free.
    Throughput: a line in ``line_bytes / 2`` cycles.

    Parameters
    ----------
    line_bytes : int
        A multiple of 16.
    cas_latency : int
        Cycles from READ to the READ's first beat, at the chip.

    Members
    -------
    free : Out(1)
        A line may be started.
    start : In(1)
        Start ``line``. In the next cycle the line's row must have been open long enough. Allowed
        only with ``free``.
    line : In(transfer_layout)
    issue : Out(1)
        Issue a column command in this cycle, to ``bank`` and ``column``: a WRITE if ``write``, else
        a READ.
    write, bank, column : Out(1), Out(2), Out(9)
        Direction, bank and next column of the transferred line.
    busy : Out(1)
        Commands of the line are left to be issued.
    reads : Out(1)
        High in each cycle of a burst that is read, from the cycle of the command on.
    dq_o, dqm, dq_oe : Out(16), Out(2), Out(1)
        For the pins; registers, a cycle after ``issue``.
    """
    def __init__(self, line_bytes, cas_latency):
        if line_bytes % (2 * BURST):
            raise ValueError(f"line_bytes is {line_bytes!r}, must be a multiple of {2 * BURST}")
        self._line_bytes = line_bytes
        # Cycles from a READ to a WRITE: the READ's beats, and a cycle without a driver of the pins.
        self._turn = BURST + cas_latency + 1
        super().__init__({
            "free": Out(1), "start": In(1), "line": In(transfer_layout(line_bytes)),
            "issue": Out(1), "write": Out(1), "bank": Out(range(BANKS)),
            "column": Out(range(COLUMNS)), "busy": Out(1), "reads": Out(1),
            "dq_o": Out(16), "dqm": Out(2, init=3), "dq_oe": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        bursts = self._line_bytes // (2 * BURST)
        left = Signal(range(bursts + 1))        # commands not issued yet
        gap = Signal(range(BURST))              # cycles until the next command
        turn = Signal(range(self._turn))        # cycles until the next WRITE
        words = Signal(8 * self._line_bytes, reset_less=True)
        masked = Signal(self._line_bytes, reset_less=True)
        beat = Signal()                         # a beat of the burst belongs to this cycle
        unused = Signal(init=1)                 # since power-up

        m.d.comb += [
            self.busy.eq(left != 0),
            self.issue.eq(self.busy & (gap == 0) & (~self.write | (turn == 0))),
            beat.eq(self.issue | (gap != 0)),
            self.reads.eq(beat & ~self.write),
            # The last beat leaves the shift register as the next line enters it.
            self.free.eq((left == 0) & (gap <= 1)),
        ]
        with m.If(gap != 0):
            m.d.sync += gap.eq(gap - 1)
        with m.If(turn != 0):
            m.d.sync += turn.eq(turn - 1)
        with m.If(self.issue):
            m.d.sync += [gap.eq(BURST - 1), left.eq(left - 1),
                         self.column.eq(self.column + BURST)]
            with m.If(~self.write):
                m.d.sync += turn.eq(self._turn - 1)

        m.d.sync += [
            self.dq_o.eq(words[:16]), self.dq_oe.eq(beat & self.write),
            # High during power-up, as some data sheets require, and for a burst cut off by a reset.
            self.dqm.eq(Mux(beat & self.write, masked[:2], unused.replicate(2))),
        ]
        with m.If(beat):
            m.d.sync += [words.eq(words >> 16), masked.eq(masked >> 2)]
        with m.If(self.start):
            line = self.line
            m.d.sync += [
                unused.eq(0), left.eq(bursts), words.eq(line.data), masked.eq(~line.mask),
                self.write.eq(line.write), self.bank.eq(line.bank), self.column.eq(line.column),
            ]
        with m.If(~ResetSignal()):
            m.d.sync += Assert(~self.start | self.free, "a line is started over another one")
        return m
