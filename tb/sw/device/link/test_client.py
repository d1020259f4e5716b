"""The protocol from the host's side, on a line with the faults of real lines.

======================  ========================================================
every operation         test_memory, test_registers, test_fill
noise                   test_noise: bytes changed, lost, repeated; each at once
.. commands             test_commands_once: however often they are sent;
                        test_numbers_of_commands: with any requests in between
.. no progress          test_too_bad, test_silence, test_chatter
reset, two programs     test_reset, test_two_programs
unplugged               test_unplugged
wrong boards            test_wrong_version, test_not_a_board
hostile peers           test_moods: each kind of wrong answer, told in one line;
                        test_hostile: any kinds one after the other, in bounded
                        steps; test_time_limit
======================  ========================================================
"""

import numpy as np
import pytest
from hypothesis import given, strategies

from base.errors import RunError, UserError
from hw.config import ConfigError, preset
from hw.isa import MemoryMap
from hw.link.frames import VERSION, Operation
from hw.registers import IMEM_BASE, Control, Register
from sim.noise import Noise
from sw.device.link import client as module
from sw.device.link.client import Client
from tb.sw.device.link import board_model
from tb.sw.device.link.board_model import (CLOCK_HZ, MOODS, BoardModel, Clock, HostilePeer,
                                           ModelCable)


CONFIG = preset("tiny").replace(memory_bytes=1 << 16)
BASE = int(MemoryMap.GLOBAL)


def _open(silence=0.0, patience=1.0, **noise):
    """The client and the cable. Silence ends at once, because a model answers at once."""
    cable = ModelCable(BoardModel(CONFIG), **noise)
    return Client(cable, silence=silence, patience=patience), cable


def _words(count, seed=1):
    return np.random.default_rng(seed).integers(1 << 32, size=count, dtype=np.uint32)


def test_open():
    client, _ = _open()
    assert client.board == (CONFIG.replace(name="board"), CLOCK_HZ) and not client.repeated


@given(strategies.integers(0, 300), strategies.integers(1, 700))
def test_memory(start, count):
    client, cable = _open()
    words = _words(count)
    client.write_memory(BASE + 4 * start, words)
    memory = cable.board.cores.memory.view(np.uint32)
    assert np.array_equal(memory[start:start + count], words)
    assert memory.sum() == words.sum()
    assert np.array_equal(client.read_memory(BASE + 4 * start, count), words)
    assert not client.repeated


def test_nothing():
    client, _ = _open()
    client.write_memory(BASE, [])
    client.fill_memory(BASE, 0, 1)
    assert len(client.read_memory(BASE, 0)) == 0


@pytest.mark.parametrize("count", [1, 64, 4096, 5000])
def test_fill(count):
    client, cable = _open()
    client.fill_memory(BASE + 8, count, 0xFFFF_FFFF)
    assert cable.board.cores.memory.view(np.uint32)[2:2 + count].all()
    assert cable.board.cores.memory.sum() == 4 * 0xFF * count


def test_registers():
    client, cable = _open()
    client.write_registers(Register.ENTRY, [16, 0x8000_0000])
    assert client.read_registers(Register.ENTRY, 2) == [16, 0x8000_0000]
    client.write_registers(IMEM_BASE, list(range(500)))
    assert cable.board._imem[:501] == [*range(500), BoardModel.UNKNOWN]


@pytest.mark.parametrize("noise", [{"corrupt": 0.001}, {"lose": 0.001}, {"repeat": 0.001},
                                   {"corrupt": 0.001, "lose": 0.001, "repeat": 0.001}])
@pytest.mark.parametrize("seed", range(3))
def test_noise(noise, seed):
    client, cable = _open(patience=10, seed=seed, **noise)
    words = _words(8000, seed)
    client.write_memory(BASE, words)
    assert np.array_equal(cable.board.cores.memory.view(np.uint32)[:8000], words)
    assert np.array_equal(client.read_memory(BASE, 8000), words)
    assert 0 < client.repeated < 500


def test_commands_once():
    client, cable = _open(patience=10)
    cable._there, cable._back = Noise(corrupt=0.02, lose=0.01), Noise(corrupt=0.02, lose=0.01)
    for value in range(200):
        client.command(Register.ARGUMENT, value)
    client.reset()
    commands = [request.payload[0] for request in cable.board.requests
                if request.operation == Operation.COMMAND]
    assert commands == list(range(200)) and client.repeated > 40
    assert [request.operation for request in cable.board.requests].count(Operation.RESET) == 1


@pytest.mark.parametrize("between", [0, 65_534, 65_535, 65_536])
def test_numbers_of_commands(between):
    client, cable = _open()
    client.command(Register.ARGUMENT, 1)
    for _ in range(between):                    # draw the numbers of the requests in between
        client._numbers.draw(False)
    client.command(Register.ARGUMENT, 2)
    assert [request.payload[0] for request in cable.board.requests
            if request.operation == Operation.COMMAND] == [1, 2]


def test_too_bad(monkeypatch):
    monkeypatch.setattr(module, "TRIES", 5)
    client, cable = _open(patience=10)
    cable._there = cable._back = lambda data: bytes(byte ^ 1 for byte in data)
    with pytest.raises(UserError, match=r"^model: .*\b5\b"):
        client.read_memory(BASE, 1)


def test_silence():
    client, cable = _open(silence=0.01, patience=0.05)
    cable.cut = True
    with pytest.raises(UserError, match=r"^model: .* 0\.05 s"):
        client.command(Register.CONTROL, Control.CLEAR)
    with pytest.raises(UserError, match="^model: .*baud"):
        Client(cable, silence=0.01, patience=0.05)
    cable.cut = False
    assert client.read_registers(Register.STATUS, 1) == [0]


@pytest.mark.parametrize("opened", [False, True])
def test_chatter(opened):
    """Another device talks on the line all the time, and sends no frame."""
    client, cable = _open(silence=0.01, patience=0.1)
    cable.read = lambda timeout: b"$GPGGA,,,,,,0,,,,,,,,*66\r\n"
    message = "the board has not answered" if opened else "no board answers .*baud rate right"
    with pytest.raises(UserError, match=f"model: {message}.* for 0.1 s"):
        client.read_memory(BASE, 1) if opened else Client(cable, silence=0.01, patience=0.1)


@pytest.mark.parametrize("bytes_", [1, 500, 5000])
def test_reset(bytes_):
    client, cable = _open()
    cable.after[cable.written + bytes_] = cable.board.reset
    with pytest.raises(UserError, match="model: the board was reset, or another program"):
        client.write_memory(BASE, _words(4000))
        client.read_memory(BASE, 1)
    done = len(cable.board.requests)
    with pytest.raises(UserError, match="the board was reset"):
        client.command(Register.CONTROL, Control.LAUNCH)
    assert len(cable.board.requests) == done


def test_two_programs():
    client, cable = _open()
    other = Client(cable, silence=0.0)
    with pytest.raises(UserError, match="another program has opened it"):
        client.command(Register.ENTRY, 4)
    assert other.read_registers(Register.ENTRY, 1) == [0]


def test_unplugged():
    client, cable = _open()

    def unplug():
        cable.unplugged = True
    cable.after[cable.written + 700] = unplug
    with pytest.raises(UserError, match="model: the board is gone"):
        client.write_memory(BASE, _words(1000))


def test_refused():
    client, _ = _open()
    with pytest.raises(UserError, match="model: the board refused a request"):
        client._perform([(99, 1, 0, b"")])


def test_wrong_version(monkeypatch):
    original = board_model.description

    def newer(*arguments):
        words = original(*arguments)
        words[1] += 1
        return words
    monkeypatch.setattr(board_model, "description", newer)
    with pytest.raises(ConfigError, match=f"{VERSION + 1} .*{VERSION}"):
        _open()


def test_not_a_board():
    class Echo:
        port = "echo"

        def write(self, data):
            self.data = data

        def read(self, timeout):
            return getattr(self, "data", b"")

        def close(self):
            pass
    with pytest.raises(UserError):
        Client(Echo(), silence=0.0, patience=0.1)


#: Message to the user about a peer that is honest until the link is open.
TOLD = {
    "silent": "the board has not answered for 10 s",
    "empty": "protocol .*: an answer has 0 bytes, the request asked for 8",
    "short": "an answer has 4 bytes, the request asked for 8",
    "long": "an answer has 12 bytes, the request asked for 8",
    "odd": "the line is too bad: a request was sent 100 times",
    "endless": "the board has not answered for 10 s",
    "miscounted": r"an answer has 8 bytes, its header says \d+",
    "behind": "the board has not answered for 10 s",
    "stranger": "the board was reset, or another program has opened it",
    "refusing": r"the board refused a request \(status \d+\)",
    "deaf": "the line is too bad",
    "half": "the line is too bad",
    "echoing": r"an answer has 4 bytes, its header says 8 \(is it a board of Graphloom\?\)",
    "chattering": "the board has not answered for 10 s|the line is too bad",
    "leaving": "the board is gone",
}

#: Moods in which an accepted answer is right.
HONEST = set(MOODS) - {"behind", "renumbered", "lying"}


@pytest.mark.parametrize("mood", TOLD)
def test_moods(mood):
    with Clock().kept() as clock:
        board, moods = BoardModel(CONFIG), [("honest", 1), (mood, 1)]
        client = Client(HostilePeer(clock, board.receive, moods, 1))
        with pytest.raises(UserError, match=f"^model: .*(?:{TOLD[mood]})"):
            if mood == "behind":        # a repeated read has another number
                client.command(Register.ARGUMENT, 1)
            client.read_memory(BASE, 2)


@given(strategies.lists(strategies.tuples(strategies.sampled_from(MOODS),
                                          strategies.integers(1, 9)),
                        min_size=1, max_size=4), strategies.integers(0, 1 << 16))
def test_hostile(moods, seed):
    """The client either reports an error in one line or finishes. With honest moods alone, the
    result is right."""
    board = BoardModel(CONFIG)
    words = _words(700, seed)
    with Clock().kept() as clock:
        try:
            client = Client(HostilePeer(clock, board.receive, moods, seed))
            client.write_memory(BASE, words)
            client.fill_memory(BASE + 4 * 300, 9, 5)
            client.command(Register.ARGUMENT, seed)
            got = [*client.read_memory(BASE, 700), *client.read_registers(Register.ARGUMENT, 1)]
        except (UserError, ConfigError) as error:
            assert "\n" not in str(error)
        else:
            assert len(got) == 701
            words[300:309] = 5
            assert {mood for mood, _ in moods} - HONEST or got == [*words, seed]


def test_time_limit():
    with Clock().kept() as clock:
        client = Client(HostilePeer(clock, BoardModel(CONFIG).receive, [], 1))
        client.limit(2.5)
        with pytest.raises(RunError, match=r"^model: .* 2\.5 s.*--time-limit"):
            while True:
                client.read_registers(Register.STATUS, 1)
        client.limit(2.5)
        assert client.read_registers(Register.STATUS, 1) == [0]
