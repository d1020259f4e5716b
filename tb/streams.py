"""Both ends of an Amaranth stream, for cocotb benches.

A stream port ``i`` of the top is three signals ``i__valid``, ``i__ready`` and ``i__payload``. A
:class:`StreamSource` drives a stream, and a :class:`StreamSink` takes from a stream. Both make gaps
with a seeded random generator. Each checks the contract of ``amaranth.lib.stream`` at its side: an
offer that is valid and not ready stays valid, with the same payload.

Payloads are values of their Amaranth shape. :func:`pack` turns a value into the integer for the
simulator, and :func:`unpack` turns the integer into a value.
"""

import collections
import random
import zlib

import cocotb
from amaranth.hdl import Const, Shape, ShapeCastable
from amaranth.lib import data
from cocotb.triggers import with_timeout

from tb.clocking import Beat, Pins, integer


__all__ = ["StreamSink", "StreamSource", "pack", "unpack"]


def pack(shape, value) -> int:
    """The bits of a value of an Amaranth shape, as a non-negative integer.

    ``shape`` may be an integer, a range, an enumeration, a ``data.Layout`` or a ``data.Struct``;
    None means plain bits. ``value`` is a legal ``init`` for ``Signal(shape, init=value)``: for a
    layout a dict or a list, also nested.
    """
    if shape is None:
        return int(value)
    if isinstance(shape, ShapeCastable):
        constant = shape.const(value)
        if isinstance(constant, data.Const):
            return constant.as_bits()
        constant = Const.cast(constant)
    else:
        shape = Shape.cast(shape)
        constant = Const(int(value), shape)
        if constant.value != int(value):
            raise ValueError(f"{value} does not fit in {shape}")
    return constant.value & (1 << len(constant)) - 1


def unpack(shape, bits: int):
    """The value of an Amaranth shape that has these bits; the inverse of :func:`pack`.

    The value is an integer, a member of an enumeration, or a ``data.Const`` with fields as
    attributes or by key.
    """
    bits = int(bits)
    if shape is None:
        return bits
    if isinstance(shape, ShapeCastable):
        return shape.from_bits(bits)
    shape = Shape.cast(shape)
    return Const(bits, shape).value


def _generator(name):
    """A separate random generator for each port, derived from the seed of the bench."""
    return random.Random(cocotb.RANDOM_SEED ^ zlib.crc32(name.encode()))


class _Port:
    """The three signals of a stream, and the check of its contract."""

    def __init__(self, dut, name, shape):
        self.name = name
        self.shape = shape
        self.beat = Beat.of(dut)
        self.valid = getattr(dut, f"{name}__valid")
        # Amaranth omits ports that are constant or have no bits.
        self.ready = getattr(dut, f"{name}__ready", None)
        self.payload = getattr(dut, f"{name}__payload", None)
        self.held = None
        self.pins = Pins()

    def bits(self):
        return 0 if self.payload is None else integer(self.payload)

    def sample(self):
        """Whether the next rising edge transfers an item. Called when inputs have settled."""
        if self.beat.reset:
            self.held = None
            return False
        valid = integer(self.valid)
        ready = self.ready is None or integer(self.ready)
        if self.held is not None:
            assert valid, f"stream {self.name}: valid fell before the item was taken"
            assert self.bits() == self.held, (
                f"stream {self.name}: the payload changed from {self.held:#x} to "
                f"{self.bits():#x} before the item was taken")
        self.held = self.bits() if valid and not ready else None
        return valid and ready


class StreamSource:
    """Feeds a stream that is an input of the top.

    Parameters
    ----------
    dut
        The top.
    name : str
        The stream's name; ``bus__i`` for a stream ``i`` inside an interface ``bus``.
    shape : shape-like, optional
        Shape of the payload. Without a shape, items are plain integers.
    idle : float
        Probability that a cycle offers nothing although there is an item.
    rng : random.Random, optional
        Generator for the gaps; by default derived from the seed and the name.
    """

    def __init__(self, dut, name, shape=None, *, idle=0.0, rng=None):
        self._port = _Port(dut, name, shape)
        self._rng = rng or _generator(name)
        self._queue = collections.deque()
        self._drained = cocotb.triggers.Event()
        self._drained.set()
        self._offered = False
        self.idle = idle
        self.sent = 0
        self._port.pins.put(self._port.valid, 0)
        self._port.beat.add(self)

    def send(self, items):
        """Append items to offer from the next falling edge on."""
        self._queue.extend(pack(self._port.shape, item) for item in items)
        if self._queue:
            self._drained.clear()

    async def drain(self):
        """Wait until every item has been taken."""
        await self._drained.wait()

    @property
    def drained(self):
        """Whether every item has been taken."""
        return not self._queue

    def clear(self):
        """Drop all items that were not taken, as for a reset."""
        self._queue.clear()
        self._drained.set()

    def drive(self):
        """At a falling edge."""
        if self._queue:
            if not self._offered:
                self._offered = self._rng.random() >= self.idle
        else:
            self._offered = False
        port = self._port
        port.pins.put(port.valid, int(self._offered))
        if self._offered:
            port.pins.put(port.payload, self._queue[0])

    def sample(self):
        """When inputs have settled."""
        if self._port.sample() and self._offered:
            self._queue.popleft()
            self.sent += 1
            self._offered = False
            if not self._queue:
                self._drained.set()


class StreamSink:
    """Takes from a stream that is an output of the top.

    Parameters
    ----------
    dut, name, shape, rng
        As for :class:`StreamSource`.
    stall : float
        Probability that a cycle is not ready. 1 stops the stream. May change at any time.

    Attributes
    ----------
    items : collections.deque
        Items that were taken and not yet fetched with :meth:`receive`, as values of the shape.
    """

    def __init__(self, dut, name, shape=None, *, stall=0.0, rng=None):
        self._port = _Port(dut, name, shape)
        self._rng = rng or _generator(name)
        self._arrived = cocotb.triggers.Event()
        self.stall = stall
        self.items = collections.deque()
        self._port.beat.add(self)

    def withdraw(self):
        """Drop the items taken so far. The stream may withdraw its present offer."""
        self._port.held = None
        self.items.clear()

    async def receive(self, count, *, timeout_cycles=100_000):
        """Wait for ``count`` items and return them. Fails when they take too long."""
        got = []

        async def collect():
            while len(got) < count:
                if self.items:
                    got.append(self.items.popleft())
                else:
                    self._arrived.clear()
                    await self._arrived.wait()
        try:
            await with_timeout(collect(), 10 * timeout_cycles, "ns")
        except cocotb.triggers.SimTimeoutError:
            raise AssertionError(f"stream {self._port.name}: {len(got)} of {count} items after "
                                 f"{timeout_cycles} cycles") from None
        return got

    def drive(self):
        """At a falling edge."""
        self._port.pins.put(self._port.ready, int(self._rng.random() >= self.stall))

    def sample(self):
        """When inputs have settled."""
        if self._port.sample():
            self.items.append(unpack(self._port.shape, self._port.bits()))
            self._arrived.set()
