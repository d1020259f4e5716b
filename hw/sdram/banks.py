"""The open rows of an SDRAM, and the time from which each bank may close its row."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.sdram.timing import BANKS, BURST, ROWS, SdramCycles


__all__ = ["Banks"]


class Banks(wiring.Component):
    """The open rows.

    A bank rests after a command until its row may be closed. The rest after an ACTIVATE covers both
    the least time that a row is open and the least time from one ACTIVATE to the next. The rest
    after a READ covers the READ's burst. The rest after a WRITE lasts until the data have been
    written. The rest of a column command never ends before the rest of its ACTIVATE, so one counter
    a bank is enough.

    Parameters
    ----------
    cycles : SdramCycles

    Members
    -------
    bank, row : In(2), In(13)
        The bank and row to look up.
    matches, closed : Out(1)
        This row was open in the cycle before; no row of the bank was open.
    rested : Out(1)
        The row of ``bank`` may be closed in this cycle.
    all_rested : Out(1)
        The rows of all banks may be closed in this cycle.
    open, close : In(1)
        The row is opened, or the bank is closed, in this cycle.
    close_all : In(1)
        All banks are closed.
    read, write : In(1)
        A column command to ``column_bank`` in this cycle.
    column_bank : In(2)
    """
    def __init__(self, cycles: SdramCycles):
        self._after_open = max(cycles.ras, cycles.rc - cycles.rp)
        self._after_read = BURST
        self._after_write = BURST - 1 + cycles.wr
        if self._after_open > cycles.rcd + self._after_read:
            raise ValueError(f"a row must stay open for {self._after_open} cycles, but rcd and a "
                             f"burst are only {cycles.rcd + self._after_read}")
        super().__init__({
            "bank": In(range(BANKS)), "row": In(range(ROWS)),
            "matches": Out(1), "closed": Out(1), "rested": Out(1), "all_rested": Out(1),
            "open": In(1), "close": In(1), "close_all": In(1),
            "read": In(1), "write": In(1), "column_bank": In(range(BANKS)),
        })

    def elaborate(self, platform):
        m = Module()
        is_open = Signal(BANKS)
        rows = Array(Signal(range(ROWS), name=f"row_{bank}", reset_less=True)
                     for bank in range(BANKS))
        rested = Signal(BANKS)
        m.d.sync += [
            self.matches.eq(is_open.bit_select(self.bank, 1) & (rows[self.bank] == self.row)),
            self.closed.eq(~is_open.bit_select(self.bank, 1)),
        ]
        m.d.comb += [
            self.rested.eq(rested.bit_select(self.bank, 1)),
            self.all_rested.eq(rested.all()),
        ]
        for bank in range(BANKS):
            rests = Signal(range(max(self._after_write, self._after_open)), name=f"rests_{bank}")
            chosen = Signal(name=f"chosen_{bank}")
            column = Signal(name=f"column_{bank}")
            m.d.comb += [
                chosen.eq(self.bank == bank), column.eq(self.column_bank == bank),
                rested[bank].eq(rests == 0),
            ]
            with m.If(self.open & chosen):
                m.d.sync += [rows[bank].eq(self.row), is_open[bank].eq(1),
                             rests.eq(self._after_open - 1)]
            with m.Elif(self.read & column):
                m.d.sync += rests.eq(self._after_read - 1)
            with m.Elif(self.write & column):
                m.d.sync += rests.eq(self._after_write - 1)
            with m.Elif(rests != 0):
                m.d.sync += rests.eq(rests - 1)
            with m.If(self.close & chosen | self.close_all):
                m.d.sync += is_open[bank].eq(0)
        return m
