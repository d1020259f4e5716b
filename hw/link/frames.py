"""Frames on the line between host and board: one definition for both ends.

The line carries bytes, and may lose, change or add bytes. The host sends requests, and the board
answers. Each request and each answer is a frame::

    FLAG  header  payload  CRC-32  FLAG FLAG

The content between the flags is 32-bit words, least significant byte first. A content byte that
equals FLAG or ESCAPE is sent as two bytes: ESCAPE, then the byte with bit 5 inverted. So a flag
always is the boundary of a frame. Whatever was lost or garbled, the receiver reads the next frame
correctly. One flag may end a frame and begin the next frame. A frame without content is ignored. If
a sender stops in the middle of a frame, the first flag of the next frame ends the incomplete frame,
so no timer is needed. A frame ends with two flags. If one of the two is lost, the frame does not
have to wait for the next frame.

The CRC is the CRC-32 of Ethernet over header and payload. The board does not perform a frame of the
wrong CRC or length. The board answers such a frame with GARBLED, so that the host need not wait for
a time-out.

Header of a request, three words: ``sequence`` (bits 15:0), ``operation`` (23:16), ``count``
(31:24); ``session``; ``address``. Header of an answer, two words: ``sequence``, ``status`` and
``count`` in the same places; ``session``. ``count`` is the number of words that are read or
written. The payload of a request is the words to write. The payload of an answer is the words read.

The session is a number that the host chooses when the host opens the link. A board has no session
(0) after reset. A board performs nothing for a session other than its own. So the next answer tells
the host that the board was reset, or that another program has opened the link. A request of an old
session is never performed.

The host repeats a request whose answer did not arrive. Most operations may be performed twice with
the same effect. The exceptions, commands, are :data:`ONCE`. The board remembers the sequence number
of the last command that it performed. If this command comes a second time, the board only answers.
The line keeps the order. So one sequence number is enough, if the host sends each command alone and
sends nothing else before the answer.
"""

import enum
import struct
import zlib
from typing import NamedTuple

from hw.config import LEGAL, PRESETS, ConfigError, HardwareConfig


__all__ = ["BAUD", "CRC_BYTES", "ESCAPE", "ESCAPED", "FLAG", "MAGIC", "MAX_WORDS", "ONCE",
           "OPERATION_DOCS", "QUEUE_BYTES", "STATUS_DOCS", "VERSION", "WRITES", "Answer",
           "AnswerStatus", "BoardDescription", "FrameReader", "Operation", "Request",
           "check_divisor", "description", "frame"]


#: Version of the link. Changes whenever the meaning of a frame changes.
VERSION = 1

#: First word of a board's description: "GLNK".
MAGIC = 0x4B4E4C47

#: Bits per second, unless host and board use another rate.
BAUD = 1_000_000

#: Legal numbers of cycles of a bit. The receiver needs at least 4 cycles to sample the middle of a
#: bit. The receiver's counter limits the number from above.
DIVISORS = range(4, 1 << 16)

FLAG, ESCAPE, ESCAPED = 0x7E, 0x7D, 0x20

CRC_BYTES = 4

#: Words of a payload, at most. If one byte in a thousand is wrong, three in four frames of this
#: length arrive. On a good line, 93 % of the bytes are payload.
MAX_WORDS = 64

#: Words of the payload of FILL_MEMORY: the number of words to write, and the value to write.
FILL_WORDS = 2

#: Bytes that a board stores while the board performs earlier requests.
QUEUE_BYTES = 2048


def check_divisor(divisor) -> None:
    """Raise ValueError if ``divisor`` is not a legal number of cycles of a bit."""
    if type(divisor) is not int or divisor not in DIVISORS:
        raise ValueError(f"divisor is {divisor!r}, must be an integer from {DIVISORS[0]} to "
                         f"{DIVISORS[-1]}")


class Operation(enum.IntEnum):
    """Operation of a request."""
    OPEN            = 1
    READ_REGISTERS  = 2
    WRITE_REGISTERS = 3
    READ_MEMORY     = 4
    WRITE_MEMORY    = 5
    FILL_MEMORY     = 6
    COMMAND         = 7
    RESET           = 8


OPERATION_DOCS = {
    Operation.OPEN: "begin the session in the header; read the board's description. `count` and "
                    "`address` are ignored",
    Operation.READ_REGISTERS: "read `count` host registers from byte address `address` on",
    Operation.WRITE_REGISTERS: "write `count` host registers, instruction memory among them",
    Operation.READ_MEMORY: "read `count` words of global memory",
    Operation.WRITE_MEMORY: "write `count` words of global memory",
    Operation.FILL_MEMORY: "write the payload's second word to a range of global memory. The "
                           "payload's first word is the number of words, of 32 bits. `count` "
                           "is 2",
    Operation.COMMAND: "as WRITE_REGISTERS, performed once",
    Operation.RESET: "hold the GPU in reset until the memory has answered all reads of the GPU, "
                     "performed once; memory keeps its contents",
}

#: Operations that the board does not repeat for the sequence number that it performed last.
ONCE = frozenset({Operation.COMMAND, Operation.RESET})

#: Operations whose requests carry `count` words.
WRITES = frozenset({Operation.WRITE_REGISTERS, Operation.WRITE_MEMORY, Operation.FILL_MEMORY,
                    Operation.COMMAND})


class AnswerStatus(enum.IntEnum):
    """Status of an answer."""
    DONE     = 0
    GARBLED  = 1
    STRANGER = 2
    REFUSED  = 3


STATUS_DOCS = {
    AnswerStatus.DONE: "performed, now or earlier",
    AnswerStatus.GARBLED: "a frame of the wrong CRC or length: repeat the requests without an "
                          "answer",
    AnswerStatus.STRANGER: "the session is not the board's session: nothing was done",
    AnswerStatus.REFUSED: "unknown operation, illegal `count`, or `count` differs from the number "
                          "of words in the payload: nothing was done",
}


_ESCAPES = {byte: bytes((ESCAPE, byte ^ ESCAPED)) for byte in (FLAG, ESCAPE)}


def frame(content) -> bytes:
    """The bytes on the line for a header and payload, with CRC, escapes and flags."""
    content += zlib.crc32(content).to_bytes(CRC_BYTES, "little")
    # ESCAPE first, because the replacement of FLAG contains ESCAPE.
    for byte in (ESCAPE, FLAG):
        content = content.replace(bytes((byte,)), _ESCAPES[byte])
    return bytes((FLAG,)) + content + bytes((FLAG, FLAG))


class Request(NamedTuple):
    """A request of the host. The length of ``payload`` in bytes is a multiple of 4."""
    sequence: int
    operation: int
    count: int
    session: int
    address: int
    payload: bytes = b""

    HEADER = struct.Struct("<HBBII")

    def encode(self) -> bytes:
        """The request's frame, with flags."""
        return frame(self.HEADER.pack(*self[:5]) + self.payload)

    @classmethod
    def decode(cls, content) -> "Request | None":
        """The request in a frame's content; None if the content is too short."""
        return _decode(cls, content)


class Answer(NamedTuple):
    """An answer of the board."""
    sequence: int
    status: int
    count: int
    session: int
    payload: bytes = b""

    HEADER = struct.Struct("<HBBI")

    def encode(self) -> bytes:
        """The answer's frame, with flags."""
        return frame(self.HEADER.pack(*self[:4]) + self.payload)

    @classmethod
    def decode(cls, content) -> "Answer | None":
        """The answer in a frame's content; None if the content is too short."""
        return _decode(cls, content)


def _decode(kind, content):
    size = kind.HEADER.size
    if len(content) < size:
        return None
    return kind(*kind.HEADER.unpack_from(content), bytes(content[size:]))


class FrameReader:
    """Finds the frames in a stream of bytes."""

    #: Bytes of the longest frame, all escaped. More bytes without a flag are not a frame.
    LIMIT = 2 * (Request.HEADER.size + 4 * MAX_WORDS + CRC_BYTES)

    def __init__(self):
        self._received = bytearray()

    def feed(self, received):
        """Yield the content, without the CRC, of each frame that ends in these bytes.

        A garbled frame yields None.
        """
        *ended, rest = (self._received + received).split(bytes((FLAG,)))
        for frame in ended:
            if frame.strip(bytes((ESCAPE,))):
                yield self._content(frame)
        # Bytes beyond the limit are dropped. The rest is too long for a frame, so it is garbled.
        self._received = rest[:self.LIMIT + 1]

    @staticmethod
    def _content(frame):
        """Undo the escapes of a frame, check length and CRC, and return the content.

        A frame must consist of whole words, the last of which is the CRC. Otherwise the result is
        None.
        """
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
    """The words with which a board answers OPEN: the board's description.

    The word of a configuration's field is the index of the field's value among the legal values.
    """
    return [MAGIC, VERSION, _schema(), int(clock_hz),
            *(LEGAL[name].values.index(getattr(config, name)) for name in sorted(LEGAL))]


class BoardDescription(NamedTuple):
    """A board as its description tells: configuration and clock frequency."""
    config: HardwareConfig
    clock_hz: int

    @classmethod
    def parse(cls, words) -> "BoardDescription":
        """A board from the words of :func:`description`. Raises ConfigError for other words."""
        if len(words) < 4 or words[0] != MAGIC:
            raise ConfigError("the answer does not come from a Graphloom board")
        if words[1] != VERSION:
            raise ConfigError(f"the board speaks version {words[1]} of the link, this program "
                              f"version {VERSION}: rebuild the board's bitstream")
        if words[2] != _schema() or len(words) != 4 + len(LEGAL):
            raise ConfigError("the board was built by a version of Graphloom with other "
                              "configurations: rebuild the board's bitstream")
        if not words[3]:
            raise ConfigError("the board reports a clock of 0 Hz")
        fields = {name: LEGAL[name].values[index]
                  for name, index in zip(sorted(LEGAL), words[4:])
                  if index < len(LEGAL[name].values)}
        if len(fields) != len(LEGAL):
            raise ConfigError("the board reports an illegal configuration")
        config = HardwareConfig(name="board", **fields)
        for preset in PRESETS.values():
            if preset.replace(name="board") == config:
                config = preset
        return cls(config, words[3])
