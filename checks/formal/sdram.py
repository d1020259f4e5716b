"""The promise of the SDRAM controller as assertions: no command breaks a rule of the chip.

The harness holds the state of the chip: the open row of each bank, the burst under way, and the age
of each kind of command in cycles. An age stops counting when no rule needs it any more. The harness
also holds the row of the line in transfer, from the time when the line was accepted. Requests, and
whether answers are taken, are free. The benches check that refreshes come in time.

The harness checks a command in the cycle of its issue. The pins have the command a cycle later.
"""

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2

from checks.formal.peek import Peek
from hw.config import HardwareConfig
from hw.sdram.controller import INITIAL_REFRESHES, SdramController
from hw.sdram.pins import ALL_BANKS, Command
from hw.sdram.timing import BANKS, BURST, BYTES, COLUMNS, ROWS, SLOWEST


__all__ = ["SdramPromise"]


#: Largest age.
_OLD = 31


class SdramPromise(wiring.Component):
    """A controller for lines of 16 bytes, and its promise.

    Parameters
    ----------
    frequency : float
        Frequency of the clock in MHz.
    cas_latency : int
    timing : SdramTiming
        Timing of the chip. The harness shortens power-up.
    """
    def __init__(self, frequency, cas_latency, timing=SLOWEST):
        self._dut = SdramController(
            HardwareConfig(threads=4, l2_bytes=0, memory_bytes=BYTES), frequency=frequency,
            cas_latency=cas_latency, timing=timing.replace(power_up=20), tag_bits=1)
        self._latency = cas_latency
        request = self._dut.request.payload.shape()
        super().__init__({"valid": In(1), "request": In(request), "ready": In(1)})

    def _age(self, m, name, event):
        """Cycles since an event. At reset the last event was long ago."""
        age = Signal(range(_OLD + 1), init=_OLD, name=f"{name}_age")
        with m.If(event):
            m.d.sync += age.eq(1)
        with m.Elif(age != _OLD):
            m.d.sync += age.eq(age + 1)
        return age

    def elaborate(self, platform):
        m = Module()
        dut, cycles = self._dut, self._dut.cycles
        peek = Peek(dut)
        m.submodules.dut = peek.fragment
        m.d.comb += [
            dut.request.valid.eq(self.valid), dut.request.payload.eq(self.request),
            dut.response.ready.eq(self.ready), Assume(~ResetSignal()),
        ]
        held = Signal(self.request.shape())
        waits = Signal()
        m.d.sync += [waits.eq(self.valid & ~dut.request.ready), held.eq(self.request)]
        m.d.comb += [
            Assume(~waits | (self.valid & (self.request.as_value() == held.as_value()))),
            Assert(peek.signal("request_held") == waits),
            Assert(~waits | (peek.signal("request_before") == held.as_value())),
        ]

        # The chip.

        command, place = peek.signal("command"), peek.signal("place")
        is_ = {each: Signal(name=f"is_{each.name.lower()}") for each in Command}
        m.d.comb += [signal.eq(command == each) for each, signal in is_.items()]
        bank, address, everything = place[:2], place[2:], Signal()
        column = is_[Command.READ] | is_[Command.WRITE]
        m.d.comb += everything.eq((address & ALL_BANKS) != 0)
        opened = Signal(BANKS)
        rows = [Signal(range(ROWS), name=f"open_row_{b}") for b in range(BANKS)]
        left, writes, bursting = Signal(range(BURST)), Signal(), Signal(range(BANKS))
        refreshes, loaded = Signal(range(INITIAL_REFRESHES + 1)), Signal()
        ages = {name: self._age(m, name, event) for name, event in {
            "any_activate": is_[Command.ACTIVATE], "refresh": is_[Command.REFRESH],
            "mode": is_[Command.LOAD_MODE], "read": is_[Command.READ]}.items()}
        activated, closed, written = [], [], []
        for b in range(BANKS):
            here, closes = Signal(name=f"here_{b}"), Signal(name=f"closes_{b}")
            m.d.comb += [here.eq(bank == b),
                         closes.eq(is_[Command.PRECHARGE] & (here | everything) & opened[b])]
            activated.append(self._age(m, f"activate_{b}", is_[Command.ACTIVATE] & here))
            closed.append(self._age(m, f"close_{b}", closes))
            written.append(self._age(m, f"write_{b}", Mux(
                left != 0, writes & (bursting == b), is_[Command.WRITE] & here)))
            with m.If(is_[Command.ACTIVATE] & here):
                m.d.sync += [opened[b].eq(1), rows[b].eq(address)]
            with m.Elif(closes):
                m.d.sync += opened[b].eq(0)
            m.d.comb += [
                Assert(~(is_[Command.ACTIVATE] & here)
                       | ~opened[b] & (closed[b] >= cycles.rp) & (activated[b] >= cycles.rc)),
                Assert(~(column & here) | opened[b] & (activated[b] >= cycles.rcd)),
                Assert(~closes | (activated[b] >= cycles.ras) & (written[b] >= cycles.wr)
                       & ((left == 0) | (bursting != b))),
                Assert(~(is_[Command.REFRESH] | is_[Command.LOAD_MODE])
                       | ~opened[b] & (closed[b] >= cycles.rp)),
            ]
        with m.If(column):
            m.d.sync += [left.eq(BURST - 1), writes.eq(is_[Command.WRITE]), bursting.eq(bank)]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.If(is_[Command.REFRESH] & (refreshes != INITIAL_REFRESHES)):
            m.d.sync += refreshes.eq(refreshes + 1)
        with m.If(is_[Command.LOAD_MODE]):
            m.d.sync += loaded.eq(1)
        m.d.comb += [
            Assert(~column | (left == 0)),
            Assert(~is_[Command.WRITE] | (ages["read"] >= BURST + self._latency + 1)),
            Assert(~is_[Command.ACTIVATE] | (ages["any_activate"] >= cycles.rrd)
                   & loaded & (refreshes == INITIAL_REFRESHES)),
            Assert(is_[Command.NOP]
                   | (ages["refresh"] >= cycles.rfc) & (ages["mode"] >= cycles.mrd)),
        ]

        # The row of the line in transfer, from the time when the line was accepted.
        request = data.View(self.request.shape(), peek.signal("request"))
        lines = ceil_log2(2 * COLUMNS // (len(request.data.as_value()) // 8))
        wanted_bank = request.line[lines:lines + 2]
        wanted = request.line[lines + 2:lines + 2 + ceil_log2(ROWS)]
        row = Signal(range(ROWS), name="row_in_transfer")
        with m.If(peek.signal("start")):
            m.d.sync += row.eq(wanted)
        m.d.comb += Assert(~column | (Array(rows)[bank] == row))

        m.d.comb += [
            Cover(is_[Command.READ], "a burst is read"),
            Cover(is_[Command.WRITE], "a burst is written"),
            Cover(loaded & is_[Command.PRECHARGE] & ~everything, "a row is closed for another"),
            Cover(loaded & is_[Command.ACTIVATE] & opened.any(), "two rows are open"),
        ]
        self._add_invariants(m, peek, locals())
        return m

    def _add_invariants(self, m, peek, model):
        """Assert the relations between the controller's registers and the chip's state."""
        cycles = self._dut.cycles
        pause, first = peek.signal("pause"), peek.signal("first")
        gap, turn, busy = (peek.signal("transfer", name) for name in ("gap", "turn", "busy"))
        transferred = peek.signal("transfer", "bank")
        register, numbers = peek.states()
        state = {name: Signal(name=f"in_{name.lower()}") for name in numbers}
        m.d.comb += [signal.eq(register == numbers[name]) for name, signal in state.items()]
        opened, rows, ages, left = (model[name] for name in ("opened", "rows", "ages", "left"))
        closed, activated, written = (model[name] for name in ("closed", "activated", "written"))
        wanted, wanted_bank = model["wanted"], model["wanted_bank"]
        least_open = max(cycles.ras, cycles.rc - cycles.rp)

        def implies(condition, consequence):
            return Assert(~condition | consequence)
        for b in range(BANKS):
            rests = peek.signal("banks", f"rests_{b}")
            bursts = Signal(name=f"bursts_{b}")
            m.d.comb += [
                bursts.eq((left != 0) & (model["bursting"] == b)),
                Assert(peek.signal("banks", "is_open")[b] == opened[b]),
                implies(opened[b], peek.signal("banks", f"row_{b}") == rows[b]),
                # The counter of a bank covers all times that the bank must wait.
                implies(opened[b], (activated[b] + rests >= least_open)
                        & (activated[b] + pause >= cycles.rcd - 1)),
                implies(bursts, opened[b]
                        & (rests == left + Mux(model["writes"], cycles.wr - 1, 0))),
                Assert(bursts & model["writes"] | (written[b] + rests >= cycles.wr)),
                implies(~opened[b], (closed[b] + pause >= cycles.rp)
                        & ((activated[b] == _OLD) | (activated[b] >= closed[b] + least_open))),
                # The transfer uses an open row that has been open for long enough.
                implies(busy & (transferred == b),
                        opened[b] & (rows[b] == model["row"]) & (activated[b] >= cycles.rcd)),
                # Before a row is opened, its bank is closed.
                implies(state["OPEN"] & (wanted_bank == b), ~opened[b]),
                implies(state["PASS"] & (wanted_bank == b), opened[b] & (rows[b] == wanted)),
                implies(state["LOOK"] & (wanted_bank == b),
                        (peek.signal("banks", "matches") == (opened[b] & (rows[b] == wanted)))
                        & (peek.signal("banks", "closed") == ~opened[b])),
            ]
        looks = state["LOOK"] | state["OPEN"] | state["PASS"]
        m.d.comb += [
            Assert(register < len(numbers)),
            implies(looks, peek.signal("held")),
            # Bursts, and the pins' way back.
            Assert(gap == left),
            implies(gap != 0, (peek.signal("transfer", "write") == model["writes"])
                    & (transferred == model["bursting"])),
            Assert(turn + ages["read"] >= BURST + self._latency + 1),
            # Commands of rows.
            Assert(pause + ages["refresh"] >= cycles.rfc),
            Assert(pause + ages["mode"] >= cycles.mrd),
            Assert(state["PASS"] | (ages["any_activate"] >= cycles.rrd)),
            Assert(ages["any_activate"] >= cycles.rrd - 1),
            implies(state["REFRESH"] | state["MODE"], (opened == 0) & ~busy & (left == 0)),
            implies(busy | (opened != 0),
                    (ages["refresh"] >= cycles.rfc) & (ages["mode"] >= cycles.mrd)),
            # The order of power-up.
            Assert(first + model["refreshes"] == INITIAL_REFRESHES),
            implies(looks | state["WAIT"] | busy | (opened != 0), model["loaded"]),
            implies(model["loaded"] | state["MODE"], first == 0),
            implies(first != 0, state["POWER_UP"] | state["DRAIN"] | state["REFRESH"]),
            implies(~model["loaded"] & (first == 0), state["MODE"]),
        ]
        self._add_answers(m, peek, busy, gap)

    def _add_answers(self, m, peek, busy, gap):
        """Assert that each beat of a read is on its way, collected or offered.

        So no beat is lost: a beat that arrived while two lines wait would belong to a third line.
        """
        names = ("outstanding", "whole", "beat", "on_the_way")
        outstanding, whole, beat, on_the_way = (peek.signal("answers", name) for name in names)
        reads = ~peek.signal("transfer", "write")
        coming = (sum(on_the_way[i] for i in range(len(on_the_way)))
                  + Mux(reads, gap + Mux(busy, BURST, 0), 0))
        m.d.comb += [
            Assert(outstanding <= 2),
            Assert(BURST * outstanding
                   == BURST * (self._dut.response.valid + whole) + beat + coming),
        ]
