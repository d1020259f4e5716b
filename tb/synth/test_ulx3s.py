# amaranth: UnusedElaboratable=no
"""The board: dividers, the SDRAM's clock, pins, the whole top in Yosys, and a real bitstream of a
top with a small system."""

import re
import subprocess

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth_boards.ulx3s import ULX3S_85F_Platform

import synth.ulx3s
import synth.place
from base.errors import UserError
from hw.board_system import BoardSystem, bit_cycles
from hw.config import ConfigError, preset
from hw.emit import verilog
from hw.sdram.controller import SdramController
from hw.sdram.pins import Pins
from hw.sdram.timing import CHIPS, SLOWEST
from sim import toolchain
from sim.toolchain import ToolError
from synth import tools
from synth.ulx3s import DEVICE, Ulx3s, build
from synth.devices import find_device
from synth.place import Placement
from synth.pll import Pll, _all, dividers
from synth.sdram_clock import sdram_clock


FREQUENCIES = range(40, 101, 5)

#: All settings of the PLL.
EVERY = tuple(_all(25))

#: Pins from the schematic of the ULX3S.
SITES = {"clk25_0__io": "G2", "button_fire_0__io": "R1", "uart_0__rx__io": "M1",
         "uart_0__tx__io": "L4", "led_0__io": "B2", "led_7__io": "H3", "sdram_0__clk__io": "F19",
         "sdram_0__cs__io": "P20", "sdram_0__dq__io[0]": "J16", "sdram_0__dq__io[15]": "J17",
         "sdram_0__a__io[12]": "G19", "sdram_0__dqm__io[1]": "E20"}

CONFIG = preset("tiny").replace(memory_bytes=1 << 16, gather="none", counters=False)


class SmallSystem(wiring.Component):
    """A small stand-in for :class:`hw.board_system.BoardSystem`: an echo on the line, and a
    controller that reads one line after the other."""

    black_boxes = {}

    def __init__(self, board):
        self._controller = SdramController(CONFIG, frequency=board.frequency,
                                           io_delay=1 + board.clock.late)
        super().__init__({
            "rx": In(1, init=1), "tx": Out(1, init=1),
            "busy": Out(1), "error": Out(1), "opened": Out(1), "pins": Out(Pins)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.controller = controller = self._controller
        connect(m, controller.pins, flipped(self.pins))
        line = Signal(20)
        m.d.sync += self.tx.eq(self.rx)
        m.d.comb += [
            controller.request.valid.eq(1), controller.request.p.line.eq(line),
            controller.response.ready.eq(1),
        ]
        with m.If(controller.request.ready):
            m.d.sync += line.eq(line + 1)
        with m.If(controller.response.valid):
            m.d.sync += self.busy.eq(controller.response.p.data.as_value().any())
        return m


def small_board(**options):
    """A board with a small system."""
    board = Ulx3s(CONFIG, **options)
    board.system = SmallSystem(board)
    return board


@pytest.mark.parametrize("frequency", [*FREQUENCIES, 12.5, 62.5, 133.3333333, 42.8571])
def test_dividers(frequency):
    found = dividers(frequency)
    assert found.frequency == pytest.approx(frequency, rel=1e-5)
    assert 400 <= found.oscillator <= 800
    assert 3.125 <= found.reference / found.input <= 400
    assert max(found.input, found.feedback, found.output) <= 128
    assert 8 * found.output * found.step == pytest.approx(1000 / frequency, rel=1e-5)
    # The reference is divided as little as possible, and the oscillator is near the middle.
    assert not [each for each in EVERY if each.input < found.input
                and each.frequency == pytest.approx(frequency, rel=1e-5)]
    assert abs(found.oscillator - 600) <= frequency / 2 + 0.01


def test_all_dividers():
    """All dividers of the PLL, up to the ends of their ranges and of the oscillator's."""
    assert ({each.input for each in EVERY}, {each.feedback for each in EVERY},
            {each.output for each in EVERY}) == (
        {*range(1, 9)}, {*range(1, 129)}, {*range(1, 65)})
    assert {each.oscillator for each in EVERY} >= {400, 800}
    assert all(400 <= each.oscillator <= 800 for each in EVERY)
    assert len(EVERY) == len({*EVERY}) == sum(
        400 <= 25 * feedback * output / input <= 800 for input in range(1, 9)
        for feedback in range(1, 129) for output in range(1, 65))
    assert dividers(50 * (1 + 9e-6)) == dividers(50)


@pytest.mark.parametrize("frequency, near", [
    (48, "46.875 and 50 MHz"), (50.001, "50 and 53.125 MHz"), (0.5, "frequencies are 6.25 MHz"),
    (900, "frequencies are 800 MHz")])
def test_no_dividers(frequency, near):
    with pytest.raises(UserError, match=f"a clock of {frequency} MHz cannot .*{near}"):
        dividers(frequency)


@pytest.mark.parametrize("frequency", [float("nan"), float("inf")])
def test_no_frequency(frequency):
    with pytest.raises(UserError, match=f"{frequency} MHz"):
        dividers(frequency)


@pytest.mark.parametrize("delay", [-1, 96])
def test_wrong_delay(delay):
    with pytest.raises(ValueError, match=f"{delay}.* 0 to 95"):
        Pll(dividers(50), delay)


@pytest.mark.parametrize("frequency", FREQUENCIES)
@pytest.mark.parametrize("timing", [SLOWEST, *CHIPS.values()], ids=lambda timing: timing.name)
def test_sdram_clock(frequency, timing):
    """Edges and windows are in time, whichever cycle the controller counts as that of the data."""
    found = sdram_clock(dividers(frequency), timing)
    period, delay = 1000 / frequency, found.delay * dividers(frequency).step
    assert found.late in (0, 1) and found.margin >= 0
    # A command leaves at 0. The chip's clock rises after the delay, before the next command.
    assert timing.setup <= delay <= period - timing.hold
    for latency in (2, 3):
        registered = (latency + found.late) * period
        arrives = delay + (latency - 1) * period + timing.access
        ends = delay + latency * period + timing.output_hold
        # The signals take time through the FPGA's pins, out and in.
        assert arrives + 5 + 2 <= registered <= ends + 1.5


def test_no_sdram_clock():
    with pytest.raises(UserError, match="at 100 MHz"):
        sdram_clock(dividers(100), SLOWEST.replace(access=8))


@pytest.mark.parametrize("frequency, baud, cycles", [
    (50, 1_000_000, 50), (50, 115_200, 434), (80, 3_000_000, 27), (50, 2_000_000, 25)])
def test_bit_cycles(frequency, baud, cycles):
    assert bit_cycles(frequency, baud) == cycles


@pytest.mark.parametrize("options, error, message", [
    ({"frequency": 48}, UserError, "a clock of 48 MHz"),
    ({"frequency": 25}, ConfigError, "SDRAM clock of 25 MHz"),
    ({"frequency": 45, "baud": 12_000_000}, ConfigError, "45 MHz cannot give 12000000 baud: 4"),
    ({"frequency": 100, "baud": 1200}, ConfigError, "100 MHz cannot give 1200 baud: divisor"),
    ({"frequency": 50, "baud": 25_000_000}, ConfigError, "divisor is 2, must be"),
    ({"memory": "flash"}, ConfigError, "memory is 'flash', must be 'sdram' or 'bram'"),
])
def test_wrong_board(options, error, message):
    with pytest.raises(error, match=message):
        Ulx3s(CONFIG, **options)


def test_wrong_block_memory():
    with pytest.raises(ConfigError, match="memory_bytes = 4194304: .* 262144"):
        Ulx3s(preset("tiny"), memory="bram")


def test_pins():
    """Each port of the top has the one place of the board, and the oscillator has its frequency."""
    text, constraints = Ulx3s(preset("fpga")).convert()
    sites = dict(re.findall(r'LOCATE COMP "(\S+)" SITE "(\S+)";', constraints))
    for port, site in SITES.items():
        assert sites[port] == site
    assert len(set(sites.values())) == len(sites) == 10 + 39
    top = text[text.index("module \\graphloom_board\n"):].partition("\nend\n")[0]
    ports = {name: int(width) for width, name in re.findall(
        r"(?m)^  wire width (\d+) (?:input|output|inout) \d+  \\(\S+)", top)}
    assert sum(ports.values()) == len(sites)
    assert 'FREQUENCY PORT "clk25_0__io" 25000000.0 HZ;' in constraints
    attributes = dict(re.findall(
        r'IOBUF PORT "(\S+)" (.*);', constraints))
    assert all("IO_TYPE=LVCMOS33" in value for value in attributes.values())


def test_pll_of_the_top():
    """The instance's parameters give the requested frequency and the SDRAM's delay."""
    board = Ulx3s(CONFIG, frequency=80)
    text, _ = board.convert()
    cell = text[text.index("cell \\EHXPLLL"):].partition("\n  end\n")[0]
    value = {name: int(number) for name, number in re.findall(
        r"parameter (?:signed )?\\(\w+) (?:\d+')?(\d+)\n", cell)}
    assert 25 * value["CLKFB_DIV"] / value["CLKI_DIV"] == 80
    assert value["CLKOP_DIV"] == value["CLKOS_DIV"]
    shift = 8 * (value["CLKOS_CPHASE"] - value["CLKOP_CPHASE"]) + value["CLKOS_FPHASE"]
    assert shift == board.clock.delay


@pytest.mark.parametrize("name, memory", [("tiny", "bram"), ("fpga", "sdram")])
@pytest.mark.sample(1)
def test_system_lints(tmp_path, name, memory):
    """Verilator finds nothing wrong with the system. (The top's cells are the FPGA's own.)"""
    config = preset(name).replace(memory_bytes=1 << 18) if memory == "bram" else preset(name)
    system = BoardSystem(config, frequency=50, baud=1_000_000, memory=memory)
    source = tmp_path / "system.v"
    source.write_text(verilog({"graphloom_system": system, **system.black_boxes}))
    verilator = toolchain.verilator()
    done = subprocess.run(
        [verilator.path, "--lint-only", "-Wno-fatal", "-Wno-WIDTH", "--top-module",
         "graphloom_system", source], env=verilator.environment,
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not re.search("%Error|%Warning-(PINMISSING|LATCH|MULTIDRIVEN|UNOPTFLAT|IMPLICIT)",
                         done.stderr), done.stderr


@pytest.mark.parametrize("memory", ["sdram", "bram"])
@pytest.mark.sample(1)
def test_top_in_yosys(tmp_path, memory):
    """Everything in the top is connected, and has one driver."""
    text, _ = Ulx3s(CONFIG, memory=memory).convert()
    (tmp_path / "board.il").write_text(text)
    (tmp_path / "check.ys").write_text("""\
read_verilog -lib -specify +/ecp5/cells_sim.v +/ecp5/cells_bb.v
read_rtlil board.il
hierarchy -check -top graphloom_board
proc
check -assert
""")
    log = tmp_path / "yosys.log"
    code = tools.run("yosys", ["-s", "check.ys"], tmp_path, log)
    assert code == 0, log.read_text()[-2000:]


def test_bitstream():
    """A bitstream from all tools, with pins that are registered in their I/O cells."""
    done = build(small_board(), seeds=[1])
    assert done.placement.frequency >= 50
    # 38 pins of the SDRAM have registers, and so has the pin of its clock.
    assert done.placement.used["IOLOGIC"] + done.placement.used.get("SIOLOGIC", 0) == 39
    assert done.placement.used["EHXPLLL"] == 1
    # The preamble that an ECP5 looks for, and the code of an LFE5U-85.
    assert b"\xff\xff\xbd\xb3" in done.data[:200] and b"\x41\x11\x30\x43" in done.data[:400]


@pytest.fixture
def places(monkeypatch, tmp_path):
    """The list of seeds placed, by a stand-in that reaches 40 MHz plus the seed in MHz."""
    seeds = []

    def place(netlist, top, device, *, seed, **_):
        seeds.append(seed)
        return Placement(seed, 40.0 + seed, 1, (), {}, 0.0, tmp_path)
    monkeypatch.setattr(synth.place, "place", place)
    monkeypatch.setattr(synth.ulx3s, "_pack", lambda placement, heard: b"bits")
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))    # the placement's folder
    return seeds


@pytest.mark.parametrize("every, tried, taken", [(False, [7, 16], 16), (True, [7, 16, 17], 17)])
def test_seeds(places, every, tried, taken):
    """The first seed that is fast enough is taken, or the fastest of all seeds."""
    found = build(small_board(frequency=55), seeds=[7, 16, 17], every=every)
    assert places == tried == [placement.seed for placement in found.placements]
    assert found.placement.seed == taken and found.data == b"bits"


def test_too_slow(places):
    """Seeds are tried one after the other, and no bitstream is made."""
    board = small_board(frequency=55)
    with pytest.raises(ToolError, match="55 MHz: 47 MHz with seed 7, 48 MHz with seed 8"):
        build(board, seeds=[7, 8])


def test_device():
    """The placement is for the device that the board carries."""
    assert (ULX3S_85F_Platform.device, ULX3S_85F_Platform.package) == ("LFE5U-85F", "BG381")
    options = find_device(DEVICE).options
    assert options == ("--85k", "--package", "CABGA381", "--speed", ULX3S_85F_Platform.speed)
