"""Small circuits that many units use, and assertions for the stream contract."""

import operator
from functools import reduce

from amaranth.hdl import Assert, Cat, Const, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


__all__ = ["index_bits", "extra_stage", "guard", "at_most", "any_and_several", "lowest", "highest",
           "encode", "and_or", "mux_tree", "merge_bytes", "state_text", "check_stream",
           "RoundRobin", "StreamRegister", "StreamBuffer", "cut"]


def index_bits(count):
    """Bits of an index into ``count`` items; at least one, so that the signal exists."""
    return max(1, ceil_log2(count))


def extra_stage(config):
    """Clock domain of signals that have a register only in the long pipeline.

    ``"sync"`` with the long pipeline, ``"comb"`` with the short one.
    """
    return "sync" if config.long else "comb"


def guard(config, needed):
    """Condition for work whose result is harmless when it is not ``needed``.

    With the short pipeline the condition is ``needed``, so that a simulator skips the work
    otherwise. With the long pipeline the condition is constant 1, because ``needed`` would be
    known late.
    """
    return Const(1) if config.long else needed


def at_most(value, most):
    """The smaller of ``value`` and the constant ``most``."""
    return Mux(value > most, most, value)[:most.bit_length()]


def any_and_several(value):
    """Whether a bit of ``value`` is set, and whether more than one bit is set.

    The number of bits is a power of two.
    """
    found = [(bit, Const(0, 1)) for bit in value]
    while len(found) > 1:
        found = [(a | b, several_a | several_b | a & b)
                 for (a, several_a), (b, several_b) in zip(found[::2], found[1::2], strict=True)]
    return found[0]


def _smeared(m, value, move, name):
    """``value`` with each set bit copied to all places on one side of the bit, in log2 steps.

    The circuit has no carry chain. For these widths this is faster than arithmetic.
    """
    width = len(value)
    smeared = Signal(width, name=f"{name}_smeared_0")
    m.d.comb += smeared.eq(value)
    shift = 1
    while shift < width:
        wider = Signal(width, name=f"{name}_smeared_{shift}")
        m.d.comb += wider.eq(smeared | move(smeared, shift))
        smeared = wider
        shift *= 2
    return smeared


def lowest(m, value, *, name):
    """One-hot signal of the lowest set bit of ``value``; zero if no bit is set."""
    smeared = _smeared(m, value, operator.lshift, name)
    result = Signal(len(value), name=name)
    m.d.comb += result.eq(smeared ^ smeared << 1)
    return result


def highest(m, value, *, name):
    """One-hot signal of the highest set bit of ``value``; zero if no bit is set."""
    smeared = _smeared(m, value, operator.rshift, name)
    result = Signal(len(value), name=name)
    m.d.comb += result.eq(smeared ^ smeared >> 1)
    return result


def encode(one_hot, bits=None):
    """The index of the set bit of a one-hot value; zero if none is set."""
    width = len(one_hot)
    bits = index_bits(width) if bits is None else bits
    return Cat((one_hot & sum(1 << i for i in range(width) if i >> bit & 1)).any()
               for bit in range(bits))


def and_or(one_hot, values):
    """The value whose bit of ``one_hot`` is set; zero if no bit is set.

    An AND-OR, the smallest multiplexer.
    """
    # Not an AND with a replicated bit: Verilog, and so a simulator, would compute it bit by bit.
    return reduce(operator.or_, (Mux(one_hot[i], value, 0) for i, value in enumerate(values)))


def mux_tree(index, values):
    """``values[index]`` as a tree of two-input multiplexers.

    The number of ``values`` is a power of two.
    """
    values = list(values)
    bit = 0
    while len(values) > 1:
        values = [Mux(index[bit], values[i + 1], values[i]) for i in range(0, len(values), 2)]
        bit += 1
    return values[0]


def merge_bytes(mask, new, old):
    """Bytes of ``new`` where the mask bit is set, else bytes of ``old``; a word at a time."""
    words = []
    for low in range(0, len(mask), 4):
        bits = Cat(Mux(mask[low + byte], Const(0xFF, 8), 0) for byte in range(4))
        word = slice(8 * low, 8 * low + 32)
        words.append((new[word] & bits) | (old[word] & ~bits))
    return Cat(*words)


def state_text(m, fsm, *, name):
    """Signal that holds the name of an FSM's state as ASCII text, for waveforms.

    Verilog has no place for the names of states. A waveform viewer shows this signal as a string
    if the signal's format is set to ASCII. Call this function after the FSM's last state.
    """
    states = list(fsm.encoding)
    text = Signal(8 * max(map(len, states)), name=name)
    for state in states:
        with m.If(fsm.ongoing(state)):
            m.d.comb += text.eq(int.from_bytes(state.encode(), "big"))
    return text


def check_stream(m, port, *, name):
    """Assert that an offered payload stays valid and unchanged until it is taken.

    The added registers feed only the assertions. A simulation without assertions drops these
    registers, and so does Yosys after ``chformal -remove``.

    Parameters
    ----------
    port
        A stream: ``valid``, ``ready`` and ``payload``, in the clock domain ``sync``.
    name : str
        Name of the stream, for the message.
    """
    payload = Value.cast(port.payload)
    held = Signal(name=f"{name}_held")              # offered in the cycle before, and not taken
    before = Signal(len(payload), name=f"{name}_before", reset_less=True)
    m.d.sync += held.eq(port.valid & ~port.ready)
    with m.If(port.valid & ~port.ready & ~held):
        m.d.sync += before.eq(payload)
    with m.If(held & ~ResetSignal()):
        m.d.sync += [
            Assert(port.valid, f"{name}: valid fell before the payload was taken"),
            Assert(payload == before, f"{name}: the payload changed before it was taken"),
        ]


class RoundRobin(wiring.Component):
    """Round-robin arbiter.

    The grant is combinational. When ``advance`` is high, the priority moves past the granted
    requester.

    Parameters
    ----------
    count : int
        Number of requesters, at least 1.

    Members
    -------
    requests : In(count)
        One bit for each requester.
    advance : In(1)
        The grant is used in this cycle.
    grant : Out(count)
        One-hot; zero if there is no request.
    """
    def __init__(self, count):
        if count < 1:
            raise ValueError(f"RoundRobin needs at least one requester, not {count!r}")
        self._count = count
        super().__init__({"requests": In(count), "advance": In(1), "grant": Out(count)})

    def elaborate(self, platform):
        m = Module()
        above = Signal(self._count)     # requesters after the last granted one
        preferred = Signal(self._count)
        m.d.comb += preferred.eq(self.requests & above)
        first = lowest(m, preferred, name="first")
        wrapped = lowest(m, self.requests, name="wrapped")
        m.d.comb += self.grant.eq(Mux(preferred.any(), first, wrapped))
        smeared = _smeared(m, self.grant, operator.lshift, "granted")
        with m.If(self.advance & self.grant.any()):
            m.d.sync += above.eq(smeared << 1)
        return m


class _StreamStage(wiring.Component):
    """A component with an input stream and an output stream of the same shape."""
    def __init__(self, shape):
        self._shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})


class StreamRegister(_StreamStage):
    """A register in a stream.

    The register cuts the paths of ``valid`` and ``payload``, and with ``cuts_ready`` also the path
    of ``ready``. With ``cuts_ready`` the register is filled only while it is empty.

    Latency: one cycle. Throughput: a payload a cycle; with ``cuts_ready``, a payload every other
    cycle.

    Parameters
    ----------
    shape
        Shape of the payload.
    cuts_ready : bool
        Whether the path of ``ready`` is cut.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    """
    def __init__(self, shape, *, cuts_ready=False):
        self._cuts_ready = cuts_ready
        super().__init__(shape)

    def elaborate(self, platform):
        m = Module()
        held = Signal(self._shape, reset_less=True)
        leaves = 0 if self._cuts_ready else self.o.ready
        m.d.comb += [self.i.ready.eq(~self.o.valid | leaves), self.o.payload.eq(held)]
        with m.If(self.i.ready):
            m.d.sync += [self.o.valid.eq(self.i.valid), held.eq(self.i.payload)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m


def cut(m, config, port, *, name):
    """A stream; in the long pipeline, the stream behind a register called ``name``.

    The register cuts all paths of the stream and halves its throughput.
    """
    if not config.long:
        return port
    m.submodules[name] = register = StreamRegister(port.payload.shape(), cuts_ready=True)
    wiring.connect(m, port, register.i)
    return register.o


class StreamBuffer(_StreamStage):
    """Two registers in a stream, filled and emptied in turn.

    The paths of ``valid``, ``payload`` and ``ready`` are cut. A late ``ready`` drives only the bit
    that selects the register, and not every bit of a wide payload.

    Latency: one cycle. Throughput: a payload a cycle.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    """
    def elaborate(self, platform):
        m = Module()
        filled = Signal(2)
        fills = Signal()
        empties = Signal()
        held = [Signal(self._shape, name=f"held_{i}", reset_less=True) for i in range(2)]
        m.d.comb += [
            self.i.ready.eq(~filled.bit_select(fills, 1)),
            self.o.valid.eq(filled.bit_select(empties, 1)),
            self.o.payload.eq(Mux(empties, held[1], held[0])),
        ]
        for i in range(2):
            with m.If(filled[i]):
                with m.If(self.o.ready & (empties == i)):
                    m.d.sync += filled[i].eq(0)
            with m.Elif(fills == i):
                m.d.sync += [held[i].eq(self.i.payload), filled[i].eq(self.i.valid)]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += fills.eq(~fills)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += empties.eq(~empties)
        m.d.sync += [
            Assert((fills == empties) == (filled[0] == filled[1])),
            Assert(self.o.valid | ~filled.any()),
        ]
        return m
