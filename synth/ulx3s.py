# pyright: reportAttributeAccessIssue=false
# Amaranth makes the ports of a component when the component is constructed.
# amaranth: UnusedElaboratable=no
"""The ULX3S with an ECP5-85F: the FPGA's top, its constraints, and the way to a bitstream.

The top has the parts that are particular to the FPGA and the board: clocks, reset, registers at the
pins. The system (:class:`hw.board_system.BoardSystem`) is a black box in the top, so the platform
converts the top alone. The RTLIL of both is joined afterwards. Names and attributes of pins come
from amaranth-boards.
"""

import dataclasses
import os
import pathlib
import tempfile

from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Instance, Module, ResetSignal, \
    Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer
from amaranth_boards.ulx3s import ULX3S_85F_Platform

from hw.board_system import BoardSystem
from hw.config import HardwareConfig
from hw.link.frames import BAUD
from hw.sdram.timing import SLOWEST
from sim.toolchain import ToolError
from synth import place, rtlil, tools
from synth.devices import find_device
from synth.logic import Logic, synthesize
from synth.pll import Pll, dividers
from synth.sdram_clock import sdram_clock


__all__ = ["DEVICE", "FREQUENCY", "Bitstream", "Ulx3s", "build"]


DEVICE = "ecp5-85k"

#: Default frequency of the system clock, in MHz.
FREQUENCY = 50.0

#: Module names of the top and of the system.
_TOP, _SYSTEM = "graphloom_board", "graphloom_system"

#: The LED of the line stays lit for 2 ** 22 cycles after an edge on the line.
_LIT_BITS = 22


class Ulx3s(Elaboratable):
    """The FPGA.

    The 25 MHz oscillator feeds a PLL. Its first output is the system clock, and its second output
    is the SDRAM's clock. The reset is held while the PLL has not locked or button F1 is pressed.

    Pins of the SDRAM have a register in their I/O cell, both ways. LEDs: 0 busy, 1 error, 2 a byte
    on the line, 3 a host has opened the link, 7 out of reset.

    Parameters
    ----------
    config : HardwareConfig
    frequency : float
        Frequency of the system clock, in MHz.
    baud : int
        Bits a second on the serial line.
    memory : str
        ``"sdram"`` or ``"bram"``.

    Attributes
    ----------
    frequency : float
        The requested frequency, in MHz.
    system : BoardSystem
    clock : SdramClock or None
        How the SDRAM's clock is made, if there is an SDRAM.

    Raises
    ------
    ConfigError, UserError
        If the board cannot be built with these parameters.
    """
    def __init__(self, config: HardwareConfig, *, frequency=FREQUENCY, baud=BAUD, memory="sdram"):
        self.frequency = frequency
        self._dividers = dividers(frequency)
        self.clock = sdram_clock(self._dividers, SLOWEST) if memory == "sdram" else None
        # A register on the way out; the one on the way in is the cycle in which data arrive.
        io_delay = 0 if self.clock is None else 1 + self.clock.late
        self.system = BoardSystem(config, frequency=frequency, baud=baud, memory=memory,
                                  io_delay=io_delay)

    @property
    def sdram_delay(self) -> float:
        """The delay of the SDRAM's clock after the system clock, in ns."""
        assert self.clock is not None
        return self.clock.delay * self._dividers.step

    def elaborate(self, platform):
        m = Module()
        self._clocks(m, platform)
        system, ports = self.system, {}
        for path, member, value in system.signature.flatten(system):
            direction = "i" if member.flow.name == "In" else "o"
            ports[f"{direction}_{'__'.join(map(str, path))}"] = value
        m.submodules.system = Instance(_SYSTEM, i_clk=ClockSignal(), i_rst=ResetSignal(), **ports)

        uart = platform.request("uart", dir="-")
        m.submodules.rx = rx = io.Buffer("i", uart.rx)
        m.submodules.tx = tx = io.Buffer("o", uart.tx)
        m.d.comb += [system.rx.eq(rx.i), tx.o.eq(system.tx)]
        self._leds(m, platform, rx.i)
        # While the pin is low, the ESP32's factory program may load the FPGA anew.
        m.submodules.esp32 = esp32 = io.Buffer("o", platform.request("esp32", dir="-").gpio0)
        m.d.comb += esp32.o.eq(1)
        if self.clock is not None:
            self._sdram(m, platform)
        return m

    def _clocks(self, m, platform):
        m.submodules.oscillator = oscillator = io.Buffer("i", platform.request("clk25", dir="-"))
        m.submodules.button = button = io.Buffer("i", platform.request("button_fire", 0, dir="-"))
        m.submodules.pll = pll = Pll(self._dividers, self.clock.delay if self.clock else 0)
        m.domains.sync = ClockDomain("sync")
        m.domains.sdram = ClockDomain("sdram", reset_less=True)
        m.d.comb += [pll.i.eq(oscillator.i), ClockSignal().eq(pll.o),
                     ClockSignal("sdram").eq(pll.delayed)]
        m.submodules.reset = ResetSynchronizer(~pll.locked | button.i)

    def _leds(self, m, platform, rx):
        system = self.system
        before, lit = Signal(2), Signal(_LIT_BITS)
        m.d.sync += before.eq(before << 1 | (rx & system.tx))
        with m.If(~before.all()):
            m.d.sync += lit.eq(~0)
        with m.Elif(lit != 0):
            m.d.sync += lit.eq(lit - 1)
        for number, value in {0: system.busy, 1: system.error, 2: lit != 0, 3: system.opened,
                              7: ~ResetSignal()}.items():
            led = Signal(name=f"led_{number}")
            m.d.sync += led.eq(value)
            m.submodules[f"led_{number}"] = buffer = io.Buffer(
                "o", platform.request("led", number, dir="-"))
            m.d.comb += buffer.o.eq(led)

    def _sdram(self, m, platform):
        """The pins of the SDRAM. The clock also comes from a register, so that it has the same
        delay as the other pins."""
        pins, ports = self.system.pins, platform.request("sdram", dir="-")
        for name in ("clk_en", "cs", "ras", "cas", "we", "ba", "a", "dqm"):
            m.submodules[name] = buffer = io.FFBuffer("o", getattr(ports, name))
            m.d.comb += buffer.o.eq(getattr(pins, name))
        m.submodules.dq = dq = io.FFBuffer("io", ports.dq)
        m.d.comb += [dq.o.eq(pins.dq_o), dq.oe.eq(pins.dq_oe), pins.dq_i.eq(dq.i)]
        m.submodules.sdram_clk = clk = io.DDRBuffer("o", ports.clk, o_domain="sdram")
        m.d.comb += [clk.o[0].eq(1), clk.o[1].eq(0)]

    def convert(self) -> tuple[str, str]:
        """The RTLIL of the top with the system in it, and the constraints (LPF)."""
        plan = ULX3S_85F_Platform().prepare(self, _TOP, emit_src=False)
        return (f"{plan.files[f'{_TOP}.il']}\n{rtlil.convert(self.system, _SYSTEM)}",
                plan.files[f"{_TOP}.lpf"])


@dataclasses.dataclass(frozen=True)
class Bitstream:
    """The results of a build."""
    logic: Logic  #: The netlist.
    placement: place.Placement  #: The placement of the bitstream.
    placements: tuple[place.Placement, ...]  #: All placements that were made.
    data: bytes  #: The bitstream.


def build(board, *, seeds=(1, 2, 3), every=False, jobs=1,
          heard=lambda what, text: None) -> Bitstream:
    """Build the bitstream of a board. Earlier syntheses and placements are reused.

    Parameters
    ----------
    board : Ulx3s
    seeds : iterable of int
        Seeds of nextpnr, tried one after the other until the board is fast enough.
    every : bool
        Whether to place the board with all seeds and take the fastest.
    jobs : int
        Placements at a time; only with ``every``.
    heard : callable
        Called with what is under way and what is being done with it.

    Raises
    ------
    ToolError
        If a tool is missing or fails, or the timing is not met with any seed.
    """
    device = find_device(DEVICE)
    text, constraints = board.convert()
    logic = synthesize(text, device, top=_TOP, heard=lambda doing: heard("board", doing))
    placed = []
    for batch in [seeds] if every else [[seed] for seed in seeds]:
        placed += place.place_all(
            logic.netlist, _TOP, device, seeds=batch, folder=logic.placements,
            frequency=board.frequency, constraints=constraints, jobs=jobs,
            heard=lambda seed, doing: heard(f"board, seed {seed}", doing))
        best = max(placed, key=lambda placement: placement.frequency)
        if best.frequency >= board.frequency:
            return Bitstream(logic, best, tuple(placed), _pack(best, heard))
    reached = ", ".join(f"{placement.frequency:g} MHz with seed {placement.seed}"
                        for placement in placed)
    raise ToolError(f"the board does not reach {board.frequency:g} MHz: {reached}; try other "
                    f"seeds or a lower frequency (the paths are in {placed[-1].folder})")


def _pack(placement, heard):
    heard(f"board, seed {placement.seed}", "packing the bitstream")
    folder = placement.folder
    log = folder / f"ecppack-{placement.seed}.log"
    with tempfile.TemporaryDirectory(dir=folder, prefix=".work-") as work:
        work = pathlib.Path(work)
        code = tools.run("ecppack", ["--compress", "--input", f"../{placement.configuration.name}",
                                     "--bit", "board.bit"], work, work / "log")
        os.replace(work / "log", log)
        if code:
            raise ToolError(f"ecppack could not make a bitstream; its output is in {log}")
        return (work / "board.bit").read_bytes()
