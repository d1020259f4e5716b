"""The promise of the SCU's Row Lookup as assertions: every input gets its row and its cost.

A plain queue takes the place of the Data Fetch, whose promise is proved by itself
(:mod:`checks.formal.fetch`). The word at each place of the memory is the place's number with some
bits inverted. The harness watches one arbitrary input, and counts the beats that came in and left.
The watched input's words must leave in its place. Its count must be 0 if it, or an input before it,
has a place outside the memory.

Keys, distances, waiting times and the inverted bits are free. The proof has no invariants, so it
holds only for the first cycles after reset.
"""

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from checks.formal.harness import Harness
from checks.formal.streams import hold
from hw.bits import index_bits
from hw.scu.beats import beat_layout
from hw.scu.checks import mapped
from hw.scu.interface import line_response_layout, read_layout
from hw.scu.registers import ScuError
from hw.scu.rows import RowLookup


__all__ = ["RowsPromise"]


#: Bits of the number of inputs.
INPUTS = 3


class _PlainFetch(wiring.Component):
    """A Data Fetch without a memory: a word is its place's number, with the bits of ``twist``
    inverted. ``go`` lets a beat leave."""
    def __init__(self, config, width):
        self._width = width
        super().__init__({
            "i": In(stream.Signature(beat_layout(30, width))),
            "o": Out(stream.Signature(beat_layout(32, width))),
            "read": Out(stream.Signature(read_layout(config))),
            "response": In(stream.Signature(line_response_layout(config))),
            "go": In(1), "twist": In(32),
        })

    def elaborate(self, platform):
        m = Module()
        shape = beat_layout(30, self._width)
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=shape.size, depth=3)
        first = data.View(shape, queue.r_data)
        offers = Signal()
        m.d.comb += [
            queue.w_data.eq(self.i.payload), queue.w_en.eq(self.i.valid),
            self.i.ready.eq(queue.w_rdy), self.response.ready.eq(1),
            self.o.valid.eq(queue.r_rdy & (self.go | offers)), queue.r_en.eq(self.o.valid
                                                                             & self.o.ready),
            self.o.payload.valid.eq(first.valid), self.o.payload.end.eq(first.end),
            *(self.o.payload.elements[k].eq(first.elements[k] ^ self.twist)
              for k in range(self._width)),
        ]
        m.d.sync += offers.eq(self.o.valid & ~self.o.ready)
        return m


class RowsPromise(Harness):
    """A Row Lookup and its promise.

    Parameters
    ----------
    config : HardwareConfig
    width : int
        Inputs of a beat.
    """
    def __init__(self, config, width):
        self._width = width
        super().__init__(config)

    def _ports(self, config):
        words = stream.Signature(data.ArrayLayout(32, self._width))
        return {
            "keys": In(words), "indexes": Out(words), "counts": Out(words), "given": Out(words),
            "go": In(1), "length": In(INPUTS), "looks": In(1), "to_row": In(32), "to_cost": In(32),
            "twist": In(32), "pick": In(INPUTS),
        }

    def elaborate(self, platform):
        m = Module()
        config, width = self._config, self._width
        fetch = _PlainFetch(config, width)
        dut = RowLookup(config, width, fetch=fetch)
        self._place(m, dut)
        began = Signal()
        m.d.sync += began.eq(1)
        connect(m, flipped(self.keys), dut.keys)
        hold(m, dut.keys, name="keys", rule=Assume)
        for name in ("indexes", "counts", "given"):
            connect(m, getattr(dut, name), flipped(getattr(self, name)))
            hold(m, getattr(dut, name), name=name)
        m.d.comb += [Assume(~ResetSignal()), dut.start.eq(~began), fetch.go.eq(self.go),
                     fetch.twist.eq(self.twist), Assume(began | ~self.keys.valid)]
        for name in ("length", "looks", "to_row", "to_cost", "twist", "pick"):
            port = getattr(self, name)
            before = Signal.like(port, name=f"{name}_before")
            m.d.sync += before.eq(port)
            m.d.comb += Assume(~began | (port == before))
            if name not in ("twist", "pick"):
                m.d.comb += getattr(dut, name).eq(port)

        # Inputs that come: places of their words, and whether they are in the memory.

        came = Signal(INPUTS + 1)           # beats
        comes = Signal()
        m.d.comb += comes.eq(dut.keys.valid & dut.keys.ready)
        m.d.sync += came.eq(came + comes)
        lane_bits = index_bits(width) if width > 1 else 0
        lane, beat = self.pick[:lane_bits], self.pick[lane_bits:]
        places = Array(Signal(3 * 30, name=f"places_{k}") for k in range(width))
        watched = Signal(data.StructLayout({"first": 30, "behind": 30, "cost": 30}))
        wrong, lacking = Signal(), Signal()      # the watched input, or one before; any
        first_wrong = Signal(32)
        wrongs, addresses = [], []
        for k in range(width):
            key = dut.keys.payload[k]
            numbers = [(key + self.to_row)[2:32], ((key + self.to_row)[2:32] + 1)[:30],
                       (key + self.to_cost)[2:32]]
            bad = [~mapped(config, number) for number in numbers]
            bad[2] &= self.looks
            m.d.comb += places[k].eq(Cat(numbers))
            number = came * width + k
            wrongs.append((number < self.length) & Cat(bad).any())
            addresses.append(Cat(Const(0, 2), Mux(bad[0], numbers[0],
                                                  Mux(bad[1], numbers[1], numbers[2]))))
            with m.If(comes & wrongs[k] & (number <= self.pick)):
                m.d.sync += wrong.eq(1)
        with m.If(comes):
            m.d.sync += lacking.eq(lacking | Cat(wrongs).any())
            with m.If(came == beat):
                m.d.sync += watched.eq(places[lane] if width > 1 else places[0])
            with m.If(~lacking):
                address = addresses[-1]
                for bad, place in reversed(list(zip(wrongs[:-1], addresses[:-1]))):
                    address = Mux(bad, place, address)
                m.d.sync += first_wrong.eq(Mux(Cat(wrongs).any(), address, 0))
        m.d.comb += [
            Assert((dut.fault.error == ScuError.UNMAPPED) == lacking),
            Assert(dut.fault.address == first_wrong),
            Assert(~comes | (came * width < self.length)),
        ]

        # Beats that leave.

        words = [(place ^ self.twist)[:32] for place in (watched.first, watched.behind,
                                                         watched.cost)]
        right = {"indexes": words[0], "counts": Mux(wrong, 0, (words[1] - words[0])[:32]),
                 "given": words[2]}
        for name, word in right.items():
            port = getattr(dut, name)
            left = Signal(INPUTS + 1, name=f"left_{name}")
            m.d.sync += left.eq(left + (port.valid & port.ready))
            payload = Array(port.payload[k] for k in range(width))[lane] if width > 1 \
                else port.payload[0]
            is_watched = port.valid & (left == beat) & (self.pick < self.length)
            m.d.comb += [
                Assert(~port.valid | (left < came)),
                Assert(~is_watched | (payload == word) | (wrong & (name != "counts"))),
            ]
            m.d.comb += Cover(is_watched & ~wrong & (beat != 0), f"{name} of a later beat leave")
        m.d.comb += [
            Assert(~dut.given.valid | self.looks),
            Cover(dut.counts.valid & wrong & (self.pick != 0), "an input is wrong"),
        ]
        return m
