"""A board's model as a machine: algorithms through the line, and messages to the user.

======================  ========================================================
algorithms              test_algorithms: BFS and PageRank on a bad line, golden
errors of the device    test_device_error, test_limit; the next launch is good
progress                test_progress: cycles; test_carry; test_cycles_of_the_scu;
                        words written and read
configurations          test_other_configuration, test_any_configuration
reset, unplugged        test_reset, test_unplugged: one line that names the cause
ports                   test_no_port, test_gone: any error of pyserial
hostile peers           test_hostile: any kinds of wrong answers; test_noise: any
                        parts of a board are noise; test_counter_back,
                        test_counter_noise, test_status: each named; test_time_limit
======================  ========================================================
"""

import os
import re
import termios

import numpy as np
import pytest
import serial
from hypothesis import given, settings, strategies

from base.errors import RunError, UserError
from hw.config import ConfigError, preset
from hw.isa import MemoryMap, encode
from hw.link.frames import Operation
from hw.registers import Register, counter_address
from sim.errors import SimulationError
from sw.device.link import TIME_LIMIT, SerialMachine
from sw.device.link.cable import Cable
from sw.device import Device
from tb.sw.graphs import random_graph
from tb.sw.device.link.board_model import (MOODS, BoardModel, Clock, HostilePeer, ModelCable,
                                           NoisyBoard)


CONFIG = preset("tiny").replace(memory_bytes=1 << 17)
GRAPH = random_graph(60, 240, 1)

#: A program in which every warp stores at an unmapped address, and an empty program.
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
    with pytest.raises(SimulationError,
                       match="warp 0, lane 0 .* 0x00000000: .*store") as caught:
        machine.launch(0, 0)
    assert caught.value.kind == "device"
    machine.load_program(END)
    machine.launch(0, 0)
    assert machine.counters()["instructions"]


def test_past_the_program():
    """A program that is too short runs neither old contents of instruction memory nor an earlier
    program."""
    machine, cable = _machine()
    assert BoardModel.UNKNOWN == encode("addi")
    for earlier in ([], [encode("addi")] * 80 + END):
        if earlier:
            machine.load_program(earlier)
            machine.launch(0, 0)
        machine.load_program([encode("addi")])
        with pytest.raises(SimulationError, match="PC 0x00000004"):
            machine.launch(0, 0)


def test_limit():
    machine, cable = _machine()
    machine.load_program([encode("jal", imm=0)])
    with pytest.raises(SimulationError, match="5000 cycles") as caught:
        machine.launch(0, 0, max_cycles=5000)
    assert caught.value.kind == "limit" and caught.value.counters["cycles"] >= 5000
    before = [request.operation for request in cable.board.requests].count(Operation.RESET)
    machine.load_program(END)
    machine.launch(0, 0)
    after = [request.operation for request in cable.board.requests].count(Operation.RESET)
    assert after == before + 1


def _progress(machine):
    """The first four reports of an endless launch."""
    machine.load_program([encode("jal", imm=0)])
    seen = []

    def progress(cycles):
        seen.append(cycles)
        if len(seen) == 4:
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        machine.launch(0, 0, progress=progress)
    return seen


def test_progress():
    machine, _ = _machine()
    seen = _progress(machine)
    assert seen == sorted(seen) and seen[-1] > 0
    machine.load_program(END)
    machine.launch(0, 0)


def test_carry():
    """The cycles are right if the counter's lower word overflows while it is read."""
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


def test_cycles_of_the_scu():
    """Cycles in which the SCU works alone count, so that a limit ends a launch."""
    class Compacting(BoardModel):
        now = 0

        def _read(self, address):
            if address == counter_address("scu_beside"):
                return self.now // 5
            if address == counter_address("scu_cycles"):
                self.now += 25      # the two words are read twice
                return self.now
            return 0 if address == counter_address("cycles") else super()._read(address)

    board = Compacting(CONFIG.replace(scu=1))
    machine = SerialMachine(ModelCable(board), silence=0.0, patience=10.0)
    assert _progress(machine) == [40, 80, 120, 160]


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
    """If there is nothing to flush, nothing is sent."""
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
            "model: the board has another GPU than the options ask for: warps = 2, not 4")):
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
    """A run. ``happen`` is called when this fraction of the run is over."""
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
        with pytest.raises(UserError, match=f"^{port}: "):
            SerialMachine.open(str(port), 1_000_000)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UserError, match=f"^{file}: "):
        SerialMachine.open(str(file), 1_000_000)


def test_wrong_parameters():
    for baud in (0, -1, 1.5):
        with pytest.raises(UserError, match=f"^/dev/ttyS0: .* {baud}"):
            Cable("/dev/ttyS0", baud)
    for limit in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(UserError, match=f" {limit} s"):
            SerialMachine(ModelCable(BoardModel(CONFIG)), time_limit=limit)


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), termios.error(5, "gone"),
                                   ValueError("Failed to set custom baud rate"),
                                   TypeError("None"), serial.SerialException("gone")])
def test_gone(error, monkeypatch):
    master, slave = os.openpty()
    try:
        cable = Cable(os.ttyname(slave), 115_200)

        def fail(*arguments):
            raise error
        for method in ("read", "write", "close"):
            monkeypatch.setattr(cable._serial, method, fail)
        for use in (lambda: cable.read(0.1), lambda: cable.write(b"x")):
            with pytest.raises(UserError, match="the board is gone, or its cable was unplugged"):
                use()
        cable.close()
    finally:
        os.close(master)
        os.close(slave)


def test_takes_nothing(monkeypatch):
    monkeypatch.setattr("sw.device.link.cable._WRITE_SECONDS", 0.05)
    master, slave = os.openpty()
    try:
        cable = Cable(os.ttyname(slave), 115_200)
        with pytest.raises(UserError, match=r" 0\.05 s"):
            for _ in range(1000):
                cable.write(bytes(1000))
    finally:
        os.close(master)
        os.close(slave)


@settings(max_examples=40)
@given(strategies.lists(strategies.tuples(strategies.sampled_from(MOODS),
                                          strategies.integers(1, 40)),
                        min_size=1, max_size=3), strategies.integers(0, 1 << 16))
def test_hostile(moods, seed):
    board = BoardModel(CONFIG)
    with Clock().kept() as clock:
        peer = HostilePeer(clock, board.receive, [("honest", 3), *moods], seed)
        try:
            machine = SerialMachine(peer, CONFIG, time_limit=60.0)
            machine.load_program(END)
            machine.power_on()
            for _ in range(2):
                machine.launch(0, 0, max_cycles=1 << 20)
                machine.counters()
            machine.flush()
        except (UserError, SimulationError, ConfigError) as error:
            assert "\n" not in str(error)


NOISY = preset("tiny").replace(memory_bytes=1 << 17, scu=1)


@pytest.mark.parametrize("algorithm, schedule, options", [
    ("bfs", "weaver", {"direction": "auto"}), ("bfs", "vm", {"frontier": "bitmap"}),
    ("sssp", "vm", {"delta": 5}), ("cc", "weaver", {"format": "cr2:reorder=louvain"}),
    ("pagerank", "vm", {"tolerance": 0.01}), ("bfs", "scu", {}), ("sssp", "scu-enhanced", {})])
@pytest.mark.parametrize("noisy", [{"memory"}, {"memory", "scu"}, {"status"}, {"counters"}])
def test_noise(algorithm, schedule, options, noisy):
    """A run ends with an error of one line, if the noise is in a part that the run needs."""
    for seed in range(2):
        with Clock().kept() as clock:
            peer = HostilePeer(clock, NoisyBoard(NOISY, noisy, seed).receive, [], seed)
            device = Device(NOISY, lambda: SerialMachine(peer, NOISY, time_limit=5.0))
            with pytest.raises((UserError, SimulationError)) as caught:
                device.run(algorithm, GRAPH, schedule=schedule, **options)
            assert "\n" not in str(caught.value)


def _reading(words):
    """A machine whose registers read as a dict says. Each has a list of values, read one by one."""
    class Board(BoardModel):
        def _read(self, address):
            given = words.get(address)
            return given.pop(0) if given else super()._read(address)
    return SerialMachine(ModelCable(Board(CONFIG)), silence=0.0, patience=10.0)


def test_counter_back():
    low = counter_address("lanes")
    machine = _reading({low: [7, 6]})
    machine.counters()
    with pytest.raises(UserError, match=f"model: .*0x{low:04x} .*7 .*6"):
        machine.counters()
    machine.clear_counters()
    machine.counters()


def test_counter_noise():
    low = counter_address("cycles")
    machine = _reading({low + 4: list(range(100))})
    machine.load_program([encode("jal", imm=0)])
    with pytest.raises(UserError, match=f"model: .*upper word .*0x{low:04x}"):
        machine.launch(0, 0, max_cycles=100)


def test_status():
    words = {}
    machine = _reading(words)
    machine.load_program(END)
    words[Register.STATUS] = [1, 0x8000_0001]
    with pytest.raises(UserError, match="model: .*STATUS is 0x80000001"):
        machine.launch(0, 0)
    machine.launch(0, 0)


def test_time_limit():
    """The time limit ends a run on a board that is busy for ever, and a run of many short launches.
    """
    board = BoardModel(CONFIG)
    with Clock().kept() as clock:
        machine = SerialMachine(HostilePeer(clock, board.receive, [], 1, seconds=3.0))
        machine.load_program([encode("jal", imm=0)])
        machine.power_on()
        board._run = lambda: None
        with pytest.raises(RunError, match="3600 s: .*--time-limit"):
            machine.launch(0, 0)
        del board._run
        assert clock.monotonic() < 1.01 * TIME_LIMIT
        machine.power_on()
        machine.load_program(END)
        machine.launch(0, 0)
        with pytest.raises(RunError, match="time limit"):
            while True:
                machine.read_memory(MemoryMap.GLOBAL, 1)
