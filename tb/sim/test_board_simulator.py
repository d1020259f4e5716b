"""The simulated board, through a serial port, as a user runs it.

======================  ========================================================
algorithms              test_algorithms: BFS and PageRank equal golden, with one
                        byte in a thousand corrupted and one lost; with the SDRAM
                        whose timing is checked, and with the DRAM model
memory, registers       test_machine: any words; errors of the device; counters
limits                  test_limit: a hung kernel that reads memory all the time
                        is reset, and the next run is right
reset, unplugged        test_reset, test_unplugged: in the middle of a run
the command line        test_run, test_other_board, test_options
.. the board's command  test_board_command
======================  ========================================================
"""

import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from base.errors import UserError
from checks.campaign.machines import check_counters
from hw.config import ConfigError, preset
from hw.isa import MemoryMap, encode
from sim.board_simulator import BoardSimulator
from sim.errors import SimulationError
from sw.cli.main import main
from sw.device.link import SerialMachine
from sw.device import Device
from tb.sw.graphs import random_graph


pytestmark = pytest.mark.usefixtures("optimized")

CONFIG = preset("tiny")
GRAPH = random_graph(40, 160, 1)
END = encode("tmc")

#: A loop that reads the first words of global memory again and again, without a cached copy.
HANG = [encode("lui", rd=1, imm=0x80000), encode("lw", rd=2, rs1=1), encode("fence"),
        encode("jal", imm=-8)]


@pytest.fixture
def board():
    """A simulated board with SDRAM, on a good line."""
    with BoardSimulator(CONFIG) as board:
        yield board
    assert board.problem is None


def _device(board, **options):
    return Device.serial(board.port, CONFIG, **options)


@pytest.mark.parametrize("sdram", [True, pytest.param(False, marks=pytest.mark.full)])
def test_algorithms(sdram):
    """On a bad line. The board with SDRAM is that of the other tests."""
    with BoardSimulator(CONFIG, sdram=sdram, corrupt=0.001, lose=0.001, seed=7) as board, \
            _device(board) as device:
        for algorithm, options in (("bfs", {"source": 3}), ("pagerank", {"iterations": 1})):
            result = device.run(algorithm, GRAPH, **options)
            assert result.verified
            check_counters(CONFIG, result.counters)
        assert device.machine._client.repeated
    assert board.problem is None
    assert board.to_board.corrupted and board.to_board.lost
    assert board.to_host.corrupted and board.to_host.lost


def test_machine(board):
    with SerialMachine.open(board.port, 1_000_000) as machine:
        assert machine.config == CONFIG
        words = np.random.default_rng(1).integers(1 << 32, size=300, dtype=np.uint32)
        address = int(MemoryMap.GLOBAL) + 4 * 77
        machine.write_memory(address, words)
        assert np.array_equal(board.memory.view(np.uint32)[77:377], words)
        assert np.array_equal(machine.read_memory(address, 300), words)
        machine.fill_memory(address, 5000, 7)
        assert (machine.read_memory(address, 5001) == [*[7] * 5000, 0]).all()
        machine.load_program([encode("sw", rs2=1)])
        with pytest.raises(SimulationError,
                           match="lane 0 stopped at PC 0x00000000: .*store") as caught:
            machine.launch(0, 0)
        assert caught.value.kind == "device"
        machine.load_program([END])
        machine.clear_counters()
        machine.launch(0, 0)
        assert machine.counters()["instructions"] == CONFIG.warps
        assert machine.phase_cycles().shape == (1, CONFIG.warps, 7)


def test_limit(board):
    with _device(board) as device:
        for _ in range(2):
            machine = device.machine
            machine.load_program(HANG)
            with pytest.raises(SimulationError, match="not finished after 3000 cycles") as caught:
                machine.launch(0, 0, max_cycles=3000)
            assert caught.value.kind == "limit"
            assert caught.value.counters["dram_bytes_read"] > 0
            assert device.run("bfs", random_graph(10, 20, 1), schedule="vm").verified


def _interrupted(board, monkeypatch, happen):
    """A run. ``happen`` is called when the run has begun."""
    launch = SerialMachine.launch

    def interrupted(self, *arguments, **options):
        happen()
        launch(self, *arguments, **options)
    with _device(board) as device:
        monkeypatch.setattr(SerialMachine, "launch", interrupted)
        device.run("pagerank", GRAPH)


def test_reset(board, monkeypatch):
    with pytest.raises(UserError, match=f"{board.port}: the board was reset"):
        _interrupted(board, monkeypatch, board.reset)
    monkeypatch.undo()
    with _device(board) as device:
        assert device.run("bfs", random_graph(10, 20, 1), schedule="vm").verified


def test_unplugged(board, monkeypatch):
    with pytest.raises(UserError, match=f"{board.port}: the board is gone, or its cable was"):
        _interrupted(board, monkeypatch, board.unplug)


def test_run(board, tmp_path, capfd):
    target = f"serial:{board.port}@115200"
    assert main(["run", "bfs", "karate", "--device", target, "--schedule", "vm", "--json",
                 str(tmp_path / "out.json")]) == 0
    assert "bit-identical" in capfd.readouterr().out
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["board"] == {"port": board.port, "baud": 115200}
    assert record["configuration"]["name"] == "tiny"
    assert main(["run", "bfs", "karate", "--device", target, "--time-limit", "0.01"]) == 2
    assert "not finished after 0.01 s: the time limit of a run on a board" in capfd.readouterr().err
    assert main(["run", "bfs", "karate", "--device", target, "--max-cycles", "1000"]) == 2
    assert "not finished after 1000 cycles" in capfd.readouterr().err


def test_other_board(board, capfd):
    assert main(["run", "bfs", "karate", "--device", f"serial:{board.port}", "--preset", "tiny",
                 "--set", "warps=4"]) == 2
    assert "another GPU than the options ask for: warps = 2, not 4" in capfd.readouterr().err


@pytest.mark.parametrize("arguments, message", [
    (["--device", "usb"], "--device usb: must be simulator, serial:PORT or serial:PORT@BAUD"),
    (["--device", "serial:"], "--device serial:: must be"),
    (["--device", "serial:/dev/x@fast"], "must be simulator, serial:PORT"),
    (["--device", "serial:/dev/missing"], "/dev/missing: cannot be opened as a serial port"),
    (["--device", "serial:/dev/x", "--wave", "x.vcd"], "--wave applies to simulations only"),
    (["--device", "serial:/dev/x", "--dram", "latency=5"], "--dram applies to simulations only"),
    (["--device", "serial:/dev/x@0"], "must be simulator, serial:PORT"),
    (["--device", "serial:/dev/x@\N{ARABIC-INDIC DIGIT ONE}"], "must be simulator, serial:PORT"),
    (["--device", "serial:/dev/x", "--time-limit", "0"], "--time-limit 0: must be above 0"),
    (["--device", "serial:/dev/x", "--time-limit", "nan"], "--time-limit nan: must be a number"),
    (["--time-limit", "5"],
     "--time-limit applies to boards only; for a simulation give --max-cycles"),
])
def test_options(arguments, message, capfd):
    assert main(["run", "bfs", "karate", *arguments]) == 2
    assert message in capfd.readouterr().err


def test_wrong_parameters():
    with pytest.raises(ConfigError, match="the board's line: divisor is 3, must be"):
        BoardSimulator(CONFIG, divisor=3)
    with pytest.raises(ConfigError, match="noise on the line: corrupt 0.5, lose 0.5"):
        BoardSimulator(CONFIG, corrupt=0.5, lose=0.5)


@pytest.mark.parametrize("arguments, message", [
    (["--memory", "flash"], "--memory flash: must be sdram or dram"),
    (["--dram", "latency=5"], "--dram applies to the DRAM model only"),
    (["--memory", "dram", "--dram", "slow_bytes_per_cycle=4"],
     "slow_bytes_per_cycle = 4: a board has no slow region; must be 0"),
    (["--preset", "default"], "memory_bytes = 268435456: the SDRAM holds at most 33554432"),
    (["--divisor", "3"], "divisor is 3, must be an integer from 4 to 65535"),
    (["--corrupt", "1.5"], "--corrupt 1.5: must be a number from 0.0 to 1.0"),
])
def test_board_options(arguments, message, capfd):
    assert main(["board", *arguments]) == 2
    assert message in capfd.readouterr().err


def test_board_command():
    command = [sys.executable, "-m", "sw.cli"]
    with subprocess.Popen([*command, "board", "--preset", "tiny", "--corrupt", "0.001"],
                          stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        port = re.match(r"(/dev/\S+): a board, tiny;", line)[1]
        done = subprocess.run([*command, "run", "bfs", "karate", "--device", f"serial:{port}"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "bit-identical" in done.stdout
        process.send_signal(signal.SIGINT)
        assert re.search(r"[\d,]+ cycles; on the line [1-9]\d* bytes corrupted",
                         process.stdout.read())
        assert process.wait() == 0
