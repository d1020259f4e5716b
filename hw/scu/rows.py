"""The Row Lookup: from the vertices of a frontier to their rows, for STREAM.

Without it, cores look up the rows of a frontier before an operation, and leave an index, a count
and a cost for each input.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.bits import and_or, lowest
from hw.config import HardwareConfig

from .checks import fault_layout, mapped
from .fetch import DataFetch
from .fork import Fork
from .interface import line_response_layout, read_layout
from .registers import ScuError


__all__ = ["RowLookup"]


#: Beats of words under way. They cover the latency of a read of the memory.
_BEATS = 96

#: Beats of rows that wait for the Address Generator.
_AHEAD = 4


class RowLookup(wiring.Component):
    """Looks up the first word, the number of words, and the cost of each input.

    An input is a key, an address. The word at ``key + to_row`` is the number of the row's first
    word, the word behind it the number of the word behind the row. The word at ``key + to_cost`` is
    the input's cost. The two lowest bits of the sums do not count.

    The first input with an address outside the memory ends the inputs: it and all later inputs have
    a count of 0.

    Throughput: a beat of inputs in two cycles, or in three if costs are looked up, under the
    conditions of :class:`~hw.scu.fetch.DataFetch`. Latency: rows are on offer six cycles after the
    line of their words has arrived, or seven if costs are looked up.

    Parameters
    ----------
    config : HardwareConfig
    width : int
        Inputs of a beat.
    fetch : wiring.Component, optional
        A block with the ports of a :class:`~hw.scu.fetch.DataFetch`, in its place.

    Members
    -------
    start : In(1)
        Begin with the first of ``length`` inputs. The other inputs hold from now until the last
        beat is taken.
    length : In(32)
        Number of inputs.
    looks : In(1)
        Whether costs are looked up.
    to_row, to_cost : In(32)
        Distances in bytes from a key to its row and to its cost.
    keys : In(stream(ArrayLayout(32, width)))
        The inputs, in beats. The words of the last beat behind the last input do not count.
    indexes, counts, given : Out(stream(ArrayLayout(32, width)))
        First word, number of words, and cost of each input, in the same beats. ``given`` only if
        costs are looked up. The three may be taken in different cycles.
    read : Out(stream(read_layout))
        Requests of lines.
    response : In(stream(line_response_layout))
        Answers to ``read``, in any order. Always ready.
    fault : Out(fault_layout)
        UNMAPPED if an address was outside the memory.
    """
    def __init__(self, config: HardwareConfig, width, *, fetch=None):
        self._config, self._width = config, width
        self._fetch = fetch or DataFetch(config, width, beats=_BEATS)
        words = stream.Signature(data.ArrayLayout(32, width))
        super().__init__({
            "start": In(1), "length": In(32), "looks": In(1), "to_row": In(32), "to_cost": In(32),
            "keys": In(words), "indexes": Out(words), "counts": Out(words), "given": Out(words),
            "read": Out(stream.Signature(read_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
            "fault": Out(fault_layout()),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.fetch = fetch = self._fetch
        connect(m, fetch.read, flipped(self.read))
        connect(m, flipped(self.response), fetch.response)
        self._ask(m, fetch.i)
        self._collect(m, fetch.o)
        return m

    def _ask(self, m, asked):
        """Each beat of keys asks for its words one after the other: first words, the words behind
        them, costs."""
        config, width = self._config, self._width
        left = Signal(32)
        ended = Signal()
        turn = Signal(2)
        lacking = Signal(width)
        faults = []
        words = []
        for k in range(width):
            key = self.keys.payload[k]
            fault = Signal(fault_layout(), name=f"fault_{k}")
            numbers = [Signal(30, name=f"{name}_{k}") for name in ("first", "behind", "cost")]
            m.d.comb += [
                numbers[0].eq((key + self.to_row)[2:32]), numbers[1].eq(numbers[0] + 1),
                numbers[2].eq((key + self.to_cost)[2:32]),
            ]
            wrong = [~mapped(config, number) for number in numbers]
            wrong[2] &= self.looks
            m.d.comb += lacking[k].eq((left > k) & Cat(wrong).any())
            for is_wrong, number in reversed(list(zip(wrong, numbers))):
                with m.If(is_wrong):
                    m.d.comb += [fault.error.eq(ScuError.UNMAPPED),
                                 fault.address.eq(Cat(Const(0, 2), number))]
            faults.append(fault.as_value())
            words.append(numbers)
        first = lowest(m, lacking, name="first_lacking")
        last_turn = Mux(self.looks, 2, 1)
        moves = Signal()
        m.d.comb += [
            asked.valid.eq(self.keys.valid & (left != 0)),
            moves.eq(asked.valid & asked.ready),
            self.keys.ready.eq(moves & (turn == last_turn)),
        ]
        for k in range(width):
            m.d.comb += [
                asked.payload.elements[k].eq(
                    Mux(turn == 0, words[k][0], Mux(turn == 1, words[k][1], words[k][2]))),
                asked.payload.valid[k].eq((left > k) & ~ended & ~lacking[:k + 1].any()),
            ]
        with m.If(moves):
            m.d.sync += turn.eq(turn + 1)
            with m.If(turn == last_turn):
                m.d.sync += [turn.eq(0), left.eq(Mux(left > width, left - width, 0))]
                with m.If(lacking.any() & ~ended):
                    m.d.sync += [ended.eq(1), self.fault.eq(and_or(first, faults))]
        with m.If(self.start):
            m.d.sync += [left.eq(self.length), ended.eq(0), turn.eq(0), self.fault.eq(0)]

    def _collect(self, m, found):
        """Makes rows of the words, and offers them three times."""
        width = self._width
        row = data.StructLayout({name: data.ArrayLayout(32, width)
                                 for name in ("index", "count", "given")})
        m.submodules.ahead = ahead = SyncFIFOBuffered(width=row.size, depth=_AHEAD)
        m.submodules.fork = fork = Fork(row, 3)
        held = Signal(row)
        made = Signal(row)
        turn = Signal(2)
        last_turn = Mux(self.looks, 2, 1)
        is_last = turn == last_turn
        m.d.comb += [
            made.eq(held), ahead.w_data.eq(made),
            ahead.w_en.eq(found.valid & is_last), found.ready.eq(ahead.w_rdy | ~is_last),
            fork.i.valid.eq(ahead.r_rdy), ahead.r_en.eq(fork.i.ready & ahead.r_rdy),
            fork.i.payload.eq(data.View(row, ahead.r_data)), fork.enable.eq(Cat(1, 1, self.looks)),
        ]
        for k in range(width):
            word, is_there = found.payload.elements[k], found.payload.valid[k]
            with m.If(turn == 0):
                m.d.comb += made.index[k].eq(word)
            with m.If(turn == 1):
                m.d.comb += made.count[k].eq(Mux(is_there, word - held.index[k], 0))
            with m.If(turn == 2):
                m.d.comb += made.given[k].eq(word)
        with m.If(found.valid & found.ready):
            m.d.sync += [held.eq(made), turn.eq(Mux(is_last, 0, turn + 1))]
        with m.If(self.start):
            m.d.sync += turn.eq(0)
        for branch, (sink, field) in zip(fork.o, ((self.indexes, "index"), (self.counts, "count"),
                                                  (self.given, "given"))):
            m.d.comb += [sink.valid.eq(branch.valid), branch.ready.eq(sink.ready),
                         sink.payload.eq(branch.payload[field])]
