"""The framing as the host computes it, and the description of a board.

======================  ========================================================
frames                  test_frames: any requests and answers come through
garbled                 test_damage: changed, lost or added bytes never make
                        another frame; the next frame comes through
length                  test_lengths: only whole words are good;
                        test_endless: an endless frame takes no memory;
                        test_longest: the longest frame is read in small pieces
description             test_description, test_strange_boards
divisor                 test_divisor: what a line cannot have is refused
======================  ========================================================
"""

import pytest
from hypothesis import given, strategies

from hw.config import PRESETS, ConfigError, preset
from hw.link.frames import (CRC_BYTES, ESCAPE, FLAG, MAX_WORDS, Answer, BoardDescription,
                            FrameReader, Request, check_divisor, description, frame)


# Bytes that need an escape occur more often than by chance.
BYTES = strategies.one_of(strategies.integers(0, 255), strategies.sampled_from([FLAG, ESCAPE]))
WORDS = strategies.integers(0, 0xFFFF_FFFF)
PAYLOADS = strategies.integers(0, MAX_WORDS).flatmap(
    lambda words: strategies.lists(BYTES, min_size=4 * words, max_size=4 * words)).map(bytes)
REQUESTS = strategies.builds(Request, strategies.integers(0, 0xFFFF), strategies.integers(0, 255),
                             strategies.integers(0, 255), WORDS, WORDS, PAYLOADS)
ANSWERS = strategies.builds(Answer, strategies.integers(0, 0xFFFF), strategies.integers(0, 255),
                            strategies.integers(0, 255), WORDS, PAYLOADS)


@given(strategies.lists(REQUESTS, max_size=4), strategies.lists(ANSWERS, max_size=4),
       strategies.integers(1, 40))
def test_frames(requests, answers, size):
    for kind, frames in ((Request, requests), (Answer, answers)):
        line = b"".join(frame.encode() for frame in frames)
        reader, got = FrameReader(), []
        for start in range(0, len(line), size):
            got += reader.feed(line[start:start + size])
        assert [kind.decode(content) for content in got] == frames


@given(REQUESTS, strategies.data())
def test_damage(request, data):
    line = bytearray(request.encode())
    for _ in range(data.draw(strategies.integers(1, 3))):
        place = data.draw(strategies.integers(0, len(line) - 1))
        how = data.draw(strategies.sampled_from(["change", "lose", "add"]))
        if how == "change":
            line[place] ^= data.draw(strategies.integers(1, 255))
        elif how == "lose":
            del line[place]
        else:
            line.insert(place, data.draw(BYTES))
    reader = FrameReader()
    got = list(reader.feed(bytes(line)))
    assert {frame for frame in got if frame is not None} <= {_content(request)}
    *_, whole = [*got, *reader.feed(request.encode())]
    assert Request.decode(whole) == request


def _content(request):
    return next(FrameReader().feed(request.encode()))


@pytest.mark.parametrize("size", range(20))
def test_lengths(size):
    content = bytes(range(size))
    assert list(FrameReader().feed(frame(content))) == [None if size % 4 else content]


@pytest.mark.parametrize("byte", [FLAG, ESCAPE])
def test_longest(byte):
    """All bytes of a request are escaped, and they come one by one."""
    word = byte * 0x0101_0101
    request = Request(word & 0xFFFF, byte, byte, word, word, bytes((byte,)) * 4 * MAX_WORDS)
    line, reader = request.encode(), FrameReader()
    assert len(line) >= 2 * len(_content(request)) + CRC_BYTES + 3
    got = [content for place in range(len(line)) for content in reader.feed(line[place:place + 1])]
    assert got == [_content(request)]


def test_endless():
    reader = FrameReader()
    for _ in range(100):
        assert not list(reader.feed(b"\x00" * 100))
    assert len(reader._received) < 1000
    assert list(reader.feed(bytes((FLAG,)))) == [None]


def test_short():
    assert Request.decode(b"\x00" * 11) is None
    assert Answer.decode(b"\x00" * 7) is None
    assert list(FrameReader().feed(bytes((FLAG, 1, 2, FLAG, FLAG, ESCAPE, FLAG)))) == [None]


@pytest.mark.parametrize("name", PRESETS)
def test_description(name):
    words = description(preset(name), 50_000_000)
    assert len(words) <= MAX_WORDS
    assert BoardDescription.parse(words) == (preset(name), 50_000_000)
    changed = preset(name).replace(warps=4, group_warps=0, gather="none", weaver_entries=0,
                                   counters=False)
    board = BoardDescription.parse(description(changed, 25_000_000))
    assert board.config == changed.replace(name="board") and board.clock_hz == 25_000_000


@pytest.mark.parametrize("place, value, message", [
    (0, 0, "not come from a Graphloom board"),
    (1, 99, "version 99 of the link"),
    (2, 0, "other configurations"),
    (-1, 9999, "illegal configuration"),
])
def test_strange_boards(place, value, message):
    words = description(preset("tiny"), 1)
    words[place] = value
    with pytest.raises(ConfigError, match=message):
        BoardDescription.parse(words)


def test_no_board():
    with pytest.raises(ConfigError, match="not come from a Graphloom board"):
        BoardDescription.parse([])


@pytest.mark.parametrize("divisor", [-4, 0, 3, 1 << 16, 8.0, True, "8", None])
def test_divisor(divisor):
    with pytest.raises(ValueError, match="from 4 to 65535"):
        check_divisor(divisor)
    check_divisor(4)
    check_divisor(65535)
