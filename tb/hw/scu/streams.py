"""Streams of beats of elements, cut and joined, for benches of the blocks of the SCU.

:func:`hw.scu.beats.beat_layout` describes a beat; its elements are integers here. A stream is
the list of its elements. :func:`cut` makes packed beats of a stream, and :func:`scatter` beats
with gaps. :class:`BeatSink` joins beats and checks the promises of their layout.
"""

import typing

from amaranth.hdl import Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped
from cocotb.triggers import FallingEdge, ReadOnly

from tb.clocking import Beat, integer
from tb.streams import StreamSink, StreamSource


__all__ = ["BeatSink", "BeatSource", "ScuBeat", "Together", "Transfers", "cut", "hush", "scatter"]


class ScuBeat(typing.NamedTuple):
    """The elements of all lanes, the mask of valid lanes, and whether the stream ends here."""
    elements: list
    valid: int
    end: bool

    @property
    def items(self):
        """The valid elements."""
        return [item for lane, item in enumerate(self.elements) if self.valid >> lane & 1]


def cut(items, width, rng, *, element=32):
    """Packed beats of a stream.

    If the last beat is full, the end comes with this beat or alone. Lanes that are not valid hold
    random values of ``element`` bits.
    """
    items = list(items)
    lists = [items[first:first + width] for first in range(0, len(items), width)]
    if not lists or (len(lists[-1]) == width and rng.random() < 0.5):
        lists.append([])
    return [ScuBeat(one + [rng.getrandbits(element) for _ in range(width - len(one))],
                  (1 << len(one)) - 1, number == len(lists) - 1)
            for number, one in enumerate(lists)]


def scatter(items, width, rng, *, element=32, density=0.5):
    """Beats of a stream with gaps. A lane is used with this probability; some beats are empty."""
    items, beats = list(items), []
    while items or not beats or rng.random() < 0.3:
        elements, valid = [rng.getrandbits(element) for _ in range(width)], 0
        for lane in range(width):
            if items and rng.random() < density:
                elements[lane], valid = items.pop(0), valid | 1 << lane
        beats.append(ScuBeat(elements, valid, False))
    beats[-1] = beats[-1]._replace(end=True)
    return beats


class _Bits:
    """Converts beats to and from the integers that a stream carries.

    Parameters
    ----------
    shape : shape
        Shape of an element.
    """
    def __init__(self, shape, width):
        self.element, self.width = Shape.cast(shape).width, width

    def pack(self, beat):
        bits = 0
        for lane, item in enumerate(beat.elements):
            assert item >> self.element == 0, f"{item:#x} has more than {self.element} bits"
            bits |= item << lane * self.element
        return bits | (beat.valid | beat.end << self.width) << self.element * self.width

    def unpack(self, bits):
        mask = (1 << self.element) - 1
        top = bits >> self.element * self.width
        return ScuBeat([bits >> lane * self.element & mask for lane in range(self.width)],
                     top & (1 << self.width) - 1, bool(top >> self.width))


class BeatSource(StreamSource):
    """A :class:`~tb.streams.StreamSource` of beats of elements of a shape."""
    def __init__(self, dut, name, shape, width, **options):
        super().__init__(dut, name, **options)
        self._bits = _Bits(shape, width)

    def send(self, items):
        super().send(map(self._bits.pack, items))


class BeatSink(StreamSink):
    """A :class:`~tb.streams.StreamSink` of beats of elements of a shape.

    Parameters
    ----------
    packed : bool
        Whether the beats have to be packed.
    """
    def __init__(self, dut, name, shape, width, *, packed=True, **options):
        super().__init__(dut, name, **options)
        self._bits, self._packed = _Bits(shape, width), packed

    def unpack(self, bits) -> ScuBeat:
        """The beat that these received bits encode."""
        return self._bits.unpack(bits)

    async def beats(self, **options):
        """The beats of one stream."""
        beats = []
        while not beats or not beats[-1].end:
            [bits] = await self.receive(1, **options)
            beat = self.unpack(bits)
            full = beat.valid + 1 == 1 << self._bits.width
            if self._packed:
                assert beat.valid & beat.valid + 1 == 0, f"a gap in {beat}"
                assert full or beat.end, f"{beat} is not full"
            beats.append(beat)
        return beats

    async def stream(self, **options):
        """The elements of one stream."""
        return [item for beat in await self.beats(**options) for item in beat.items]


async def hush(dut, name, cycles=10):
    """Check that a stream offers nothing for some cycles."""
    for _ in range(cycles):
        await FallingEdge(dut.clk)
        await ReadOnly()
        assert integer(getattr(dut, f"{name}__valid")) == 0, f"stream {name}: more than one end"
    await FallingEdge(dut.clk)


class Transfers:
    """The cycles in which streams transfer something, for tests of timing.

    Parameters
    ----------
    names : str
        Names of streams of the top module. For each there is an attribute of the same name, ``__``
        included: a list of cycles.
    """
    def __init__(self, dut, *names):
        self._names, self.cycle = names, 0
        self._wires = [(name, getattr(dut, f"{name}__valid"), getattr(dut, f"{name}__ready", None))
                       for name in names]
        self.clear()
        Beat.of(dut).add(self)

    def clear(self):
        """Forget the transfers seen so far."""
        for name in self._names:
            setattr(self, name, [])

    def sample(self):
        """Wait until inputs have settled."""
        self.cycle += 1
        for name, valid, ready in self._wires:
            if valid.value == 1 and (ready is None or ready.value == 1):
                getattr(self, name).append(self.cycle)


class Together(wiring.Component):
    """Several blocks side by side in one simulation.

    Parameters
    ----------
    blocks : wiring.Component, by name
        Port ``p`` of block ``b`` becomes port ``b__p``.
    """
    def __init__(self, **blocks):
        self._blocks = blocks
        super().__init__({name: Out(block.signature) for name, block in blocks.items()})

    def elaborate(self, platform):
        m = Module()
        for name, block in self._blocks.items():
            m.submodules[name] = block
            connect(m, block, flipped(getattr(self, name)))
        return m
