"""What travels on the line between host and board: the one definition for both ends.

The line carries bytes, and may lose, change or add some. The host asks, the board answers; each
request and each answer is a frame::

    FLAG  header  payload  CRC-32  FLAG FLAG

All between the flags are 32-bit words, least significant byte first, in which a byte that equals
FLAG or ESCAPE is sent as ESCAPE and the byte with bit 5 inverted. So a flag always is the boundary
of a frame: whatever was lost or garbled, the next frame is read right. One flag may be the end of a
frame and the beginning of the next, and a frame without anything in it is none: half a frame, whose
sender has gone, is ended by the flag with which the next one begins, and needs no timer. There are
two at the end so that a frame does not have to wait for the next if one of them is lost.

The CRC is that of Ethernet, over header and payload. A frame of the wrong CRC or length is not
performed; the board answers it with GARBLED, so that the host need not wait for its time to run
out.

Header of a request, three words: ``sequence`` (bits 15:0), ``operation`` (23:16), ``count``
(31:24); ``session``; ``address``. Header of an answer, two words: ``sequence``, ``status`` and
``count`` in the same places; ``session``. ``count`` is the number of words that are read or
written. The payload of a request is what is to be written, that of an answer what was read.

The session is a number that the host makes up when it opens the link. A board that comes out of
reset has none (0), and a board does nothing for a session that is not its own: so a board that was
reset, or that another program has opened, is noticed with the next answer, and nothing that was
meant for the board before is done by the one after.

A request whose answer did not arrive is sent again. Most may be performed twice and do the same.
Those that may not, commands, are :data:`ONCE`: the board remembers the sequence number of the last
of them that it performed, and only answers it the second time. The line keeps the order, so that
is enough if the host sends a command alone, and nothing else before it is answered.
"""

import enum
import struct
import zlib
from typing import NamedTuple

from hw.config import LEGAL, PRESETS, ConfigError, HardwareConfig


__all__ = ["BAUD", "CRC_BYTES", "ESCAPE", "ESCAPED", "FLAG", "MAGIC", "MAX_WORDS", "ONCE",
           "OPERATION_DOCS", "QUEUE_BYTES", "STATUS_DOCS", "VERSION", "WRITES", "Answer", "Board",
           "FrameReader", "Operation", "Request", "Status", "check_divisor", "description", "frame"]


#: Changed whenever a frame means something else than before.
VERSION = 1

#: First word of what a board says of itself: "GLNK".
MAGIC = 0x4B4E4C47

#: Bits per second, unless something else is agreed.
BAUD = 1_000_000

#: Cycles of a bit: enough for the receiver to look at its middle, and what its counter holds.
DIVISORS = range(4, 1 << 16)

FLAG, ESCAPE, ESCAPED = 0x7E, 0x7D, 0x20

CRC_BYTES = 4

#: Words of a payload. With one byte in a thousand wrong, three in four frames of this length
#: arrive; on a good line, 93 % of the bytes are payload.
MAX_WORDS = 64

#: Words of the payload that asks to fill memory: how many words, and what with.
FILL_WORDS = 2

#: Bytes that a board keeps while it is at work on what came before.
QUEUE_BYTES = 2048


def check_divisor(divisor) -> None:
    """Raise ValueError if a bit cannot have so many cycles."""
    if type(divisor) is not int or divisor not in DIVISORS:
        raise ValueError(f"divisor is {divisor!r}, must be an integer from {DIVISORS[0]} to "
                         f"{DIVISORS[-1]}")


class Operation(enum.IntEnum):
    """What a request asks for."""
    OPEN            = 1
    READ_REGISTERS  = 2
    WRITE_REGISTERS = 3
    READ_MEMORY     = 4
    WRITE_MEMORY    = 5
    FILL_MEMORY     = 6
    COMMAND         = 7
    RESET           = 8


OPERATION_DOCS = {
    Operation.OPEN: "begin a session, the one in the header; read what the board is. `count` and "
                    "`address` mean nothing",
    Operation.READ_REGISTERS: "read `count` host registers from byte address `address` on",
    Operation.WRITE_REGISTERS: "write `count` host registers, instruction memory among them",
    Operation.READ_MEMORY: "read `count` words of global memory",
    Operation.WRITE_MEMORY: "write `count` words of global memory",
    Operation.FILL_MEMORY: "write the payload's second word to as many words of global memory as "
                           "its first word says, of 32 bits; `count` is 2",
    Operation.COMMAND: "as WRITE_REGISTERS, once",
    Operation.RESET: "hold the GPU in reset until the memory has answered all its reads, once; "
                     "memory keeps its contents",
}

#: Operations that are not performed again for a sequence number that was the last of them.
ONCE = frozenset({Operation.COMMAND, Operation.RESET})

#: Operations whose requests carry `count` words.
WRITES = frozenset({Operation.WRITE_REGISTERS, Operation.WRITE_MEMORY, Operation.FILL_MEMORY,
                    Operation.COMMAND})


class Status(enum.IntEnum):
    """What an answer says."""
    DONE     = 0
    GARBLED  = 1
    STRANGER = 2
    REFUSED  = 3


STATUS_DOCS = {
    Status.DONE: "performed, now or before",
    Status.GARBLED: "a frame of the wrong CRC or length: send again what is not answered",
    Status.STRANGER: "the session is not the board's: nothing was done",
    Status.REFUSED: "there is no such operation, its `count` is not what it can be, or not "
                    "the words of its payload: nothing was done",
}


_ESCAPES = {byte: bytes((ESCAPE, byte ^ ESCAPED)) for byte in (FLAG, ESCAPE)}


def frame(content) -> bytes:
    """The bytes on the line, for header and payload: with CRC, escapes and flags."""
    content += zlib.crc32(content).to_bytes(CRC_BYTES, "little")
    # The escape first: the flag's is made of it.
    for byte in (ESCAPE, FLAG):
        content = content.replace(bytes((byte,)), _ESCAPES[byte])
    return bytes((FLAG,)) + content + bytes((FLAG, FLAG))


class Request(NamedTuple):
    """What the host asks for; ``payload`` is bytes, a multiple of 4."""
    sequence: int
    operation: int
    count: int
    session: int
    address: int
    payload: bytes = b""

    HEADER = struct.Struct("<HBBII")

    def encode(self) -> bytes:
        """The frame, with its flags."""
        return frame(self.HEADER.pack(*self[:5]) + self.payload)

    @classmethod
    def decode(cls, content) -> "Request | None":
        """The request of a frame's content; None if it is too short."""
        return _decode(cls, content)


class Answer(NamedTuple):
    """What the board answers."""
    sequence: int
    status: int
    count: int
    session: int
    payload: bytes = b""

    HEADER = struct.Struct("<HBBI")

    def encode(self) -> bytes:
        """The frame, with its flags."""
        return frame(self.HEADER.pack(*self[:4]) + self.payload)

    @classmethod
    def decode(cls, content) -> "Answer | None":
        """The answer of a frame's content; None if it is too short."""
        return _decode(cls, content)


def _decode(kind, content):
    size = kind.HEADER.size
    if len(content) < size:
        return None
    return kind(*kind.HEADER.unpack_from(content), bytes(content[size:]))


class FrameReader:
    """Finds the frames in a stream of bytes."""

    #: Bytes after which what was received is no frame.
    LIMIT = 2 * (Request.HEADER.size + 4 * MAX_WORDS + CRC_BYTES)

    def __init__(self):
        self._received = bytearray()

    def feed(self, received):
        """Yield, for each frame that ends in these bytes, its content without the CRC, or None if
        it is garbled."""
        *ended, rest = (self._received + received).split(bytes((FLAG,)))
        for frame in ended:
            if frame.strip(bytes((ESCAPE,))):
                yield self._content(frame)
        # Of what is too long to become a frame it is enough to know that it was there.
        self._received = rest[:self.LIMIT + 1]

    @staticmethod
    def _content(frame):
        """Undo the escapes of a frame and check it: whole words, of which the last is the CRC."""
        head, *parts = bytes(frame).split(bytes((ESCAPE,)))
        content = head + b"".join(bytes((part[0] ^ ESCAPED,)) + part[1:] for part in parts if part)
        body, crc = content[:-CRC_BYTES], content[-CRC_BYTES:]
        whole = len(content) >= CRC_BYTES and len(content) % 4 == 0
        if not whole or zlib.crc32(body) != int.from_bytes(crc, "little"):
            return None
        return body


def _schema():
    """A number that changes with the fields of a configuration and their legal values."""
    return zlib.crc32(repr([(name, LEGAL[name].values) for name in sorted(LEGAL)]).encode())


def description(config: HardwareConfig, clock_hz) -> list:
    """The words with which a board answers OPEN: what it is.

    A field of the configuration is the index of its value among those that are legal.
    """
    return [MAGIC, VERSION, _schema(), int(clock_hz),
            *(LEGAL[name].values.index(getattr(config, name)) for name in sorted(LEGAL))]


class Board(NamedTuple):
    """What a board says of itself."""
    config: HardwareConfig
    clock_hz: int

    @classmethod
    def parse(cls, words) -> "Board":
        """From the words of :func:`description`. Raises ConfigError if they are no such."""
        if len(words) < 4 or words[0] != MAGIC:
            raise ConfigError("what answers is not a board of Graphloom")
        if words[1] != VERSION:
            raise ConfigError(f"the board speaks version {words[1]} of the link, this program "
                              f"version {VERSION}: build the board's bitstream anew")
        if words[2] != _schema() or len(words) != 4 + len(LEGAL):
            raise ConfigError("the board was built by a version of Graphloom with other "
                              "configurations: build its bitstream anew")
        if not words[3]:
            raise ConfigError("the board says that its clock has no cycles in a second")
        fields = {name: LEGAL[name].values[index]
                  for name, index in zip(sorted(LEGAL), words[4:])
                  if index < len(LEGAL[name].values)}
        if len(fields) != len(LEGAL):
            raise ConfigError("the board's configuration is none")
        config = HardwareConfig(name="board", **fields)
        for preset in PRESETS.values():
            if preset.replace(name="board") == config:
                config = preset
        return cls(config, words[3])
