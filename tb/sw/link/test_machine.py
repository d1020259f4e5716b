"""A board's model as a machine: algorithms through the line, and what a user is told.

======================  ========================================================
algorithms              test_algorithms: BFS and PageRank on a bad line, golden
errors of the device    test_device_error, test_limit; the next launch is good
progress                test_progress: cycles; test_carry; what is written and read
configurations          test_other_configuration, test_any_configuration
reset, unplugged        test_reset, test_unplugged: one line, of what happened
ports                   test_no_port
======================  ========================================================
"""

import re

import numpy as np
import pytest

from hw.config import ConfigError, preset
from hw.isa import MemoryMap, encode
from hw.link.frames import Operation
from hw.registers import counter_address
from sim.errors import SimulationError
from sw.errors import RunError, UserError
from sw.link.machine import SerialMachine
from sw.runtime import Device
from tb.sw.graphs import random_graph
from tb.sw.link.board_model import BoardModel, ModelCable


CONFIG = preset("tiny").replace(memory_bytes=1 << 17)
GRAPH = random_graph(60, 240, 1)

#: A program of which every warp stores at an address that is not there; and one of nothing.
BAD = [encode("sw", rs2=1)]
END = [encode("tmc")]


def _machine(config=None, report=None, **noise):
    cable = ModelCable(BoardModel(CONFIG), **noise)
    return SerialMachine(cable, config, report=report, silence=0.0, patience=10.0), cable


@pytest.mark.parametrize("algorithm, options", [("bfs", {"source": 3}),
                                                ("pagerank", {"iterations": 3})])
@pytest.mark.parametrize("noise", [{}, {"corrupt": 0.001, "lose": 0.001, "repeat": 0.001}])
def test_algorithms(algorithm, options, noise):
    machine, _ = _machine(CONFIG, **noise)
    with Device(CONFIG, lambda: machine) as device:
        for schedule in ("vm", "weaver"):
            result = device.run(algorithm, GRAPH, schedule=schedule, **options)
            assert result.verified and result.counters["instructions"] > 0
    assert (machine._client.repeated > 0) == bool(noise)


def test_device_error():
    machine, cable = _machine()
    machine.load_program(BAD)
    with pytest.raises(SimulationError, match="warp 0 stopped at PC 0x00000000: .*store") as caught:
        machine.launch(0, 0)
    assert caught.value.kind == "device"
    machine.load_program(END)
    machine.launch(0, 0)
    assert machine.counters()["instructions"]


def test_limit():
    machine, cable = _machine()
    machine.load_program([encode("jal", imm=0)])
    with pytest.raises(SimulationError, match="not finished after 5000 cycles") as caught:
        machine.launch(0, 0, max_cycles=5000)
    assert caught.value.kind == "limit" and caught.value.counters["cycles"] >= 5000
    before = [request.operation for request in cable.board.requests].count(Operation.RESET)
    machine.load_program(END)
    machine.launch(0, 0)
    after = [request.operation for request in cable.board.requests].count(Operation.RESET)
    assert after == before + 1


def test_progress():
    machine, _ = _machine()
    machine.load_program([encode("jal", imm=0)])
    seen = []

    def progress(cycles):
        seen.append(cycles)
        if len(seen) == 4:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        machine.launch(0, 0, progress=progress)
    assert seen == sorted(seen) and seen[-1] > 0
    machine.load_program(END)
    machine.launch(0, 0)


def test_carry():
    """Cycles are told rightly if the counter's lower word overflows while it is read."""
    low = counter_address("cycles")

    class Counting(BoardModel):
        now = 2**32 - 30

        def _read(self, address):
            if address not in (low, low + 4):
                return super()._read(address)
            self.now += 3
            return self.now >> 32 if address > low else self.now & 0xFFFF_FFFF

    machine = SerialMachine(ModelCable(Counting(CONFIG)), silence=0.0, patience=10.0)
    machine.load_program([encode("jal", imm=0)])
    seen = []

    def progress(cycles):
        seen.append(cycles)
        if len(seen) == 8:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        machine.launch(0, 0, progress=progress)
    assert seen == sorted(seen) and 30 < seen[-1] < 300


def test_report():
    told = []
    machine, _ = _machine(report=told.append)
    words = np.arange(20_000, dtype=np.uint32)
    machine.write_memory(MemoryMap.GLOBAL, words)
    assert told[-1] == "writing 80,000 bytes: 100 %"
    assert np.array_equal(machine.read_memory(MemoryMap.GLOBAL, 20_000), words)
    assert told[-1] == "reading 80,000 bytes: 100 %"
    told.clear()
    machine.read_memory(MemoryMap.GLOBAL, 100)
    assert not told


def test_flush():
    """Nothing is sent where there is nothing to be flushed."""
    machine, cable = _machine()
    machine.load_program(END)
    machine.launch(0, 0)
    machine.flush()
    done = len(cable.board.requests)
    machine.flush()
    assert len(cable.board.requests) == done
    machine.flush(invalidate=True)
    assert len(cable.board.requests) > done


def test_any_configuration():
    machine, _ = _machine()
    assert machine.config == CONFIG.replace(name="board")
    assert machine.clock_hz == 50_000_000


def test_other_configuration():
    with pytest.raises(ConfigError, match=re.escape(
            "model: the board is another GPU than was asked for: warps = 2, not 4")):
        _machine(CONFIG.replace(warps=4))
    machine, _ = _machine(CONFIG.replace(name="mine"))
    assert machine.config.name == "mine"


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_reset(fraction):
    with pytest.raises((UserError, RunError), match="model: the board was reset"):
        _interrupted(fraction, lambda cable: cable.board.reset())


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_unplugged(fraction):
    with pytest.raises((UserError, RunError), match="model: the board is gone"):
        _interrupted(fraction, lambda cable: setattr(cable, "unplugged", True))


def _interrupted(fraction, happen):
    """A run in which something happens when a fraction of it is over."""
    def run(cable):
        machine = SerialMachine(cable, CONFIG, silence=0.0, patience=10.0)
        Device(CONFIG, lambda: machine).run("bfs", GRAPH, schedule="vm")
    whole = ModelCable(BoardModel(CONFIG))
    run(whole)
    cable = ModelCable(BoardModel(CONFIG))
    cable.after[int(fraction * whole.written)] = lambda: happen(cable)
    run(cable)


def test_no_port(tmp_path):
    for port in (tmp_path / "missing", tmp_path):
        with pytest.raises(UserError, match=f"{port}: cannot be opened as a serial port"):
            SerialMachine.open(str(port), 1_000_000)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UserError, match=f"{file}: cannot be opened as a serial port"):
        SerialMachine.open(str(file), 1_000_000)
