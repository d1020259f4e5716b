"""The SDRAM controller, between requests for lines and the SDRAM's pins.

Requests are performed in order, so a read sees the writes before the read. The transfer of a line
of 32 bytes takes 16 cycles of the data pins. During a transfer, the controller closes and opens the
row of the next line, in the cycles that the column commands leave free. Rows stay open until
another row of their bank is needed, or until a refresh. An address is {row, bank, column}. When a
stream of lines leaves the row of one bank, the controller opens the row of the next bank while the
stream still reads the first row.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.config import ConfigError, HardwareConfig
from hw.memory.port import memory_request_layout, memory_response_layout
from hw.sdram.answers import Answers
from hw.sdram.banks import Banks
from hw.sdram.pins import ALL_BANKS, Command, Pins
from hw.sdram.timing import BANKS, BURST, BYTES, COLUMNS, ROWS, SLOWEST, SdramCycles, SdramTiming
from hw.sdram.transfer import Transfer
from hw.state_text import state_text
from hw.streams import check_stream


__all__ = ["SdramController"]


#: REFRESH commands after power-up.
INITIAL_REFRESHES = 8


class SdramController(wiring.Component):
    """SDRAM controller.

    Latency of a read, from the cycle in which an idle controller accepts the read to the cycle in
    which the answer is valid:

    - ``line_bytes / 2 + cas_latency + io_delay + 6`` cycles if the row is open,
    - ``max(1, rcd - 1)`` cycles more if the bank is closed,
    - ``max(1, rcd - 1) + rp - 1`` cycles more if another row of the bank is open,
    - the time of a refresh more if a refresh is due.

    Throughput: a line in ``line_bytes / 2`` cycles. A change of row costs nothing if the line
    before is in another bank and its transfer takes at least 3 + rp + max(1, rcd - 1) cycles. In
    the same bank a change of row costs ``rp + max(1, rcd - 1) + 1`` cycles, and ``wr - 1`` more
    after a write. A write after a read costs ``cas_latency + 1`` cycles. A refresh costs some 15
    cycles. Refreshes come every 7.8 us, less the longest delay of a refresh.

    Parameters
    ----------
    config : HardwareConfig
        Configuration of the GPU, for the size of a line and of memory.
    frequency : float
        Frequency of the clock in MHz, 40 to 100.
    timing : SdramTiming
        Timing of the chip.
    cas_latency : int
        2 or 3.
    io_delay : int
        Registers on the way from these pins to the chip's pins and back, plus the cycle by which
        the answer is registered late. If a READ is on the pins in cycle c, its data are in
        ``dq_i`` in cycle ``c + cas_latency + io_delay``.
    tag_bits : int, optional
        Width of the requests' tag; by default the width of the GPU's tag.

    Members
    -------
    request : In(stream(memory_request_layout))
        Reads are answered by tag, in order; writes are not answered. A read sees the writes
        requested before the read. Address bits above the chip's size are ignored. The controller
        holds one request during the transfer of the line before.
    response : Out(stream(memory_response_layout))
        May wait for ever. Refreshes go on.
    pins : Out(Pins)
        All outputs are registers.

    Raises
    ------
    ConfigError
        The chip does not support a parameter.
    """
    def __init__(self, config: HardwareConfig, *, frequency, timing: SdramTiming = SLOWEST,
                 cas_latency=2, io_delay=0, tag_bits=None):
        if config.memory_bytes > BYTES:
            raise ConfigError(f"HardwareConfig: memory_bytes = {config.memory_bytes}: the SDRAM "
                              f"holds at most {BYTES}")
        if cas_latency not in (2, 3):
            raise ConfigError(f"SDRAM: cas_latency = {cas_latency!r}: must be 2 or 3")
        if io_delay not in range(4):
            raise ConfigError(f"SDRAM: io_delay = {io_delay!r}: must be 0 to 3")
        self._line_bytes = config.line_bytes
        self._cycles = SdramCycles(timing, frequency)
        self._cas_latency, self._io_delay = cas_latency, io_delay
        self._response = memory_response_layout(config, tag_bits)
        super().__init__({
            "request": In(stream.Signature(memory_request_layout(config, tag_bits))),
            "response": Out(stream.Signature(self._response)),
            "pins": Out(Pins),
        })

    @property
    def cycles(self) -> SdramCycles:
        """Timing of the chip in cycles."""
        return self._cycles

    @property
    def interval(self) -> int:
        """Cycles between the times at which refreshes become due.

        The interval is shorter than the chip's limit by the longest delay of a refresh, because
        one refresh may be on time and the next one late.
        """
        cycles = self._cycles
        transfer = self._line_bytes // 2 + BURST + self._cas_latency + 1
        rest = BURST + cycles.wr + cycles.ras
        return cycles.refresh - (transfer + rest + 2 * cycles.rp + cycles.rcd + 8)

    def elaborate(self, platform):
        m = Module()
        cycles = self._cycles
        m.submodules.banks = banks = Banks(cycles)
        m.submodules.transfer = transfer = Transfer(self._line_bytes, self._cas_latency)
        # A command is on the pins in the cycle after it is issued.
        m.submodules.answers = answers = Answers(
            self._response, 1 + self._cas_latency + self._io_delay)
        wiring.connect(m, answers.response, wiring.flipped(self.response))

        # The request that is being prepared, and the place of its line.
        held = Signal()
        request = Signal(self.request.p.shape(), reset_less=True)
        lines = COLUMNS * 2 // self._line_bytes             # lines in a row
        line = Signal(range(lines))
        bank = Signal(range(BANKS))
        row = Signal(range(ROWS))
        m.d.comb += [
            Cat(line, bank, row).eq(request.line),
            self.request.ready.eq(~held),
            banks.bank.eq(bank), banks.row.eq(row),
            banks.read.eq(transfer.issue & ~transfer.write),
            banks.write.eq(transfer.issue & transfer.write),
            banks.column_bank.eq(transfer.bank),
            transfer.line.write.eq(request.write), transfer.line.bank.eq(bank),
            transfer.line.column.eq(line << ceil_log2(self._line_bytes // 2)),
            transfer.line.data.eq(request.data.as_value()), transfer.line.mask.eq(request.mask),
            answers.tag.eq(request.tag), answers.reads.eq(transfer.reads),
            answers.dq_i.eq(self.pins.dq_i),
        ]
        with m.If(self.request.valid & ~held):
            m.d.sync += [held.eq(1), request.eq(self.request.p)]
        check_stream(m, self.request, name="request")

        command, place = self._sequence(m, banks, transfer, answers, held, request)

        pins = self.pins
        enabled = Signal(reset_less=True)
        m.d.sync += [
            enabled.eq(1), pins.cs.eq(1),
            Cat(pins.ras, pins.cas, pins.we).eq(command), pins.ba.eq(place.bank),
            pins.a.eq(place.address),
        ]
        m.d.comb += [pins.clk_en.eq(enabled), pins.dq_o.eq(transfer.dq_o),
                     pins.dqm.eq(transfer.dqm), pins.dq_oe.eq(transfer.dq_oe)]
        return m

    def _due(self, m):
        """Register: power-up is over, or a refresh is due. The caller clears the register."""
        left = Signal(range(max(self._cycles.power_up, self.interval)),
                      init=self._cycles.power_up - 1)
        due = Signal()
        m.d.sync += left.eq(left - 1)
        with m.If(left == 0):
            m.d.sync += [left.eq(self.interval - 1), due.eq(1)]
        return due

    def _sequence(self, m, banks, transfer, answers, held, request):
        """Adds the FSM that orders the commands. Column commands go first.

        Returns the command of this cycle, and its bank and address.
        """
        cycles = self._cycles
        command = Signal(Command)
        place = Signal(data.StructLayout({"bank": range(BANKS), "address": 13}))
        due = self._due(m)
        first = Signal(range(INITIAL_REFRESHES + 1), init=INITIAL_REFRESHES)
        # Cycles until the next command other than a column command, and until a line may pass.
        pause = Signal(range(max(cycles.rfc, cycles.mrd)))
        may = Signal()
        passes = Signal()
        resting = Signal()
        m.d.comb += [
            may.eq(~transfer.issue & (pause == 0)),
            passes.eq((pause == 0) & transfer.free & (request.write | answers.room)),
            resting.eq(~transfer.busy & banks.all_rested),
            answers.begin.eq(transfer.start & ~request.write), place.bank.eq(banks.bank),
        ]
        with m.If(pause != 0):
            m.d.sync += pause.eq(pause - 1)

        def issue(what, wait):
            """Issue a command, and wait before the next command."""
            m.d.comb += command.eq(what)
            m.d.sync += pause.eq(wait - 1)

        with m.FSM() as fsm:
            with m.State("POWER_UP"):
                with m.If(due):
                    m.next = "DRAIN"
            with m.State("WAIT"):
                with m.If(due):
                    m.next = "DRAIN"
                with m.Elif(held):
                    m.next = "LOOK"
            with m.State("LOOK"):
                with m.If(due):
                    m.next = "DRAIN"
                with m.Elif(banks.matches):
                    m.next = "PASS"
                with m.Elif(banks.closed):
                    m.next = "OPEN"
                # The row must not be closed while a transfer still uses this bank.
                with m.Elif(may & banks.rested
                            & ~(transfer.busy & (transfer.bank == banks.bank))):
                    issue(Command.PRECHARGE, cycles.rp)
                    m.d.comb += banks.close.eq(1)
                    m.next = "OPEN"
            with m.State("OPEN"):
                m.d.comb += place.address.eq(banks.row)
                with m.If(may):
                    # The first column command of a line comes in the cycle after the line passes.
                    issue(Command.ACTIVATE, max(1, cycles.rcd - 1))
                    m.d.comb += banks.open.eq(1)
                    m.next = "PASS"
            with m.State("PASS"):
                with m.If(passes):
                    m.d.comb += transfer.start.eq(1)
                    m.d.sync += held.eq(0)
                    m.next = "WAIT"
                with m.Elif(due):
                    m.next = "DRAIN"
            with m.State("DRAIN"):
                m.d.comb += place.address.eq(ALL_BANKS)
                with m.If(may & resting):
                    issue(Command.PRECHARGE, cycles.rp)
                    m.d.comb += banks.close_all.eq(1)
                    m.next = "REFRESH"
            with m.State("REFRESH"):
                with m.If(pause == 0):
                    issue(Command.REFRESH, cycles.rfc)
                    m.d.sync += due.eq(0)
                    with m.If(first > 1):
                        m.d.sync += first.eq(first - 1)
                    with m.Elif(first == 1):
                        m.d.sync += first.eq(0)
                        m.next = "MODE"
                    with m.Else():
                        m.next = "WAIT"
            with m.State("MODE"):
                # Bursts of 8, sequential.
                m.d.comb += [place.bank.eq(0),
                             place.address.eq(self._cas_latency << 4 | ceil_log2(BURST))]
                with m.If(pause == 0):
                    issue(Command.LOAD_MODE, cycles.mrd)
                    m.next = "WAIT"
        state_text(m, fsm, name="state_text")

        with m.If(transfer.issue):
            m.d.comb += [
                command.eq(Mux(transfer.write, Command.WRITE, Command.READ)),
                place.bank.eq(transfer.bank), place.address.eq(transfer.column),
            ]
        return command, place
