"""The link: performs the requests of a serial line's frames (:mod:`hw.link.frames`)."""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Cat, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect

from hw.config import HardwareConfig
from hw.link.frames import (FILL_WORDS, MAX_WORDS, ONCE, QUEUE_BYTES, WRITES, Operation, Request,
                            AnswerStatus, check_divisor, description)
from hw.link.framing import BUFFER_WORDS, FrameReceiver, FrameTransmitter
from hw.link.share import WORD_REQUEST
from hw.link.uart import UartReceiver, UartTransmitter
from hw.registers import ADDRESS_BITS
from hw.streams import StreamRegister, check_stream


__all__ = ["Link"]


#: Words of a request's header, and the place of request and answer payloads in the buffer.
_HEADER_WORDS = Request.HEADER.size // 4
_PAYLOAD = BUFFER_WORDS + _HEADER_WORDS

#: Cycles of the GPU's reset, at least. The GPU's black boxes and memories need several cycles.
_RESET_CYCLES = 16


class _Parts:
    """The words of a frame, and the buffer for request and answer. The lower half of the buffer,
    which no frame reaches, holds the board's description."""
    def __init__(self, m, words):
        m.submodules.receiver = self.receiver = FrameReceiver()
        m.submodules.transmitter = self.transmitter = FrameTransmitter()
        m.submodules.buffer = buffer = Memory(
            shape=32, depth=2 * BUFFER_WORDS, init=words,
            attrs={"ram_style": "block", "no_rw_check": 1})
        self.put, self.get = buffer.write_port(), buffer.read_port()
        self.description_words = len(words)


class _Header:
    """The header of a request, and what it says: all registers."""
    def __init__(self):
        self.sequence = Signal(16, name="sequence")
        self.count, self.operation = Signal(8, name="count"), Signal(8, name="operation")
        self.given = Signal(32, name="given")
        self.address = Signal(32, name="address")       # byte address of the next word
        self.own, self.of_memory, self.writes, self.fills, self.reads, self.once, self.counts, \
            self.carries, self.fits = (Signal(name=name) for name in (
                "own", "of_memory", "writes", "fills", "reads", "once", "counts", "carries",
                "fits"))


class _Progress:
    """How far the words of the request or answer are, one after the other."""
    def __init__(self):
        self.value = Signal(32, name="value", reset_less=True)
        self.left = Signal(32, name="left")
        self.index = Signal(range(BUFFER_WORDS), name="index")
        self.status = Signal(8, name="status")
        self.described = Signal(name="described")   # the answer's payload is the description
        self.answers = Signal(8, name="answers")    # words of the answer's payload


class Link(wiring.Component):
    """Host link of a board.

    The link receives a frame, performs the request word by word, and sends the answer. Then the
    link takes the next frame. A queue of :data:`hw.link.frames.QUEUE_BYTES` bytes holds later bytes
    from the line.

    Throughput: a register is read in five cycles and written in four.

    Parameters
    ----------
    config : HardwareConfig
        The GPU's configuration, for the answer to OPEN.
    divisor : int
        Cycles of a bit on the line.
    clock_hz : int
        Clock frequency in Hz, for the answer to OPEN.

    Members
    -------
    rx, tx : In(1), Out(1)
        The line.
    read, write, address, write_data, read_data
        The GPU's host port (:class:`hw.control.ControlPort`). All outputs are registers.
    request : Out(stream(WORD_REQUEST))
        Words of memory. The link requests a second read only after the answer to the first.
    response : In(stream(32))
        Words that were read.
    reset : Out(1)
        Hold the GPU in reset and drop the memory's answers to the GPU; from a register.
    drained : In(1)
        The memory has answered all reads of the GPU. Valid while ``reset`` is high.
    session : Out(32)
        The open session; 0 if there is none.
    """
    def __init__(self, config: HardwareConfig, divisor, clock_hz):
        check_divisor(divisor)
        self._config, self._divisor, self._clock_hz = config, divisor, clock_hz
        super().__init__({
            "rx": In(1, init=1), "tx": Out(1, init=1),
            "read": Out(1), "write": Out(1), "address": Out(ADDRESS_BITS), "write_data": Out(32),
            "read_data": In(32),
            "request": Out(stream.Signature(WORD_REQUEST)),
            "response": In(stream.Signature(32)),
            "reset": Out(1), "drained": In(1), "session": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        parts = _Parts(m, description(self._config, self._clock_hz))
        self._connect_line(m, parts)
        request = self._take_header(m, parts.receiver)
        now = _Progress()
        put, get, receiver = parts.put, parts.get, parts.receiver
        m.d.comb += [
            get.addr.eq(Mux(now.described, 0, _PAYLOAD) + now.index), get.en.eq(0),
            put.addr.eq(BUFFER_WORDS | receiver.address), put.data.eq(receiver.word),
            put.en.eq(receiver.write),
            self.request.payload.write.eq(request.writes),
            self.request.payload.word.eq(request.address[2:]),
            self.request.payload.data.eq(now.value),
        ]
        m.d.sync += [self.read.eq(0), self.write.eq(0)]
        with m.FSM(name="state"):
            self._check_request(m, parts, request, now)
            self._perform(m, parts, request, now)
            self._answer(m, parts, request, now)
        with m.If(get.en & ~ResetSignal()):
            m.d.sync += Assert(~put.en, "link: the buffer is read and written in one cycle")
        check_stream(m, self.request, name="request")
        return m

    def _connect_line(self, m, parts):
        """The line, its queue, and the frames."""
        m.submodules.uart_receiver = uart_receiver = UartReceiver(self._divisor)
        m.submodules.queue = queue = SyncFIFOBuffered(width=8, depth=QUEUE_BYTES)
        # The output of block RAM is late in its cycle, so a register comes first.
        m.submodules.received = received = StreamRegister(8)
        m.submodules.uart_transmitter = uart_transmitter = UartTransmitter(self._divisor)
        m.d.comb += [uart_receiver.rx.eq(self.rx), self.tx.eq(uart_transmitter.tx)]
        connect(m, uart_receiver.o, queue.w_stream)
        connect(m, queue.r_stream, received.i)
        connect(m, received.o, parts.receiver.i)
        connect(m, parts.transmitter.o, uart_transmitter.i)

    def _take_header(self, m, receiver):
        """The header of a request."""
        request = _Header()
        operation, count = request.operation, request.count
        with m.If(receiver.write), m.Switch(receiver.address):
            for address, word in enumerate((Cat(request.sequence, operation, count),
                                            request.given, request.address)):
                with m.Case(address):
                    m.d.sync += word.eq(receiver.word)
        m.d.sync += [
            request.own.eq(request.given == self.session),
            request.of_memory.eq(_any(operation, {
                Operation.READ_MEMORY, Operation.WRITE_MEMORY, Operation.FILL_MEMORY})),
            request.writes.eq(_any(operation, WRITES)), request.once.eq(_any(operation, ONCE)),
            request.fills.eq(operation == Operation.FILL_MEMORY),
            request.reads.eq(_any(operation, {Operation.READ_REGISTERS, Operation.READ_MEMORY})),
            request.counts.eq((count != 0) & (count <= MAX_WORDS)),
            request.carries.eq(receiver.o.payload.words == _HEADER_WORDS + count),
        ]
        m.d.comb += request.fits.eq(
            (operation == Operation.RESET)
            | request.counts & Mux(request.writes, request.carries, request.reads)
            & (~request.fills | (count == FILL_WORDS)))
        return request

    def _check_request(self, m, parts, request, now):
        """States that take a request, and refuse a bad one."""
        receiver = parts.receiver
        performed = Signal()
        last_once = Signal(16)      # sequence number of the last ONCE operation
        with m.State("IDLE"):
            m.d.sync += [now.status.eq(AnswerStatus.DONE), now.answers.eq(0), now.index.eq(0),
                         now.left.eq(request.count), now.described.eq(0)]
            with m.If(receiver.o.valid):
                m.next = "SETTLE"
        with m.State("SETTLE"):             # the decoded registers are valid in CHECK
            m.next = "CHECK"
        with m.State("CHECK"):
            m.next = "HEAD"
            with m.If(~receiver.o.payload.good | (receiver.o.payload.words < _HEADER_WORDS)):
                m.d.sync += now.status.eq(AnswerStatus.GARBLED)
            with m.Elif(request.operation == Operation.OPEN):
                m.d.sync += [self.session.eq(request.given), performed.eq(0), now.described.eq(1),
                             now.answers.eq(parts.description_words)]
            with m.Elif(~request.own):
                m.d.sync += now.status.eq(AnswerStatus.STRANGER)
            with m.Elif(~request.fits):
                m.d.sync += now.status.eq(AnswerStatus.REFUSED)
            with m.Elif(~request.once | ~performed | (request.sequence != last_once)):
                with m.If(request.once):
                    m.d.sync += [performed.eq(1), last_once.eq(request.sequence)]
                with m.If(request.operation == Operation.RESET):
                    m.d.sync += now.left.eq(_RESET_CYCLES)
                    m.next = "RESET"
                with m.Elif(request.writes):
                    m.next = "FETCH"
                with m.Else():
                    m.d.sync += now.answers.eq(request.count)
                    m.next = "ACCESS"

    def _perform(self, m, parts, request, now):
        """States that perform a request, word by word."""
        put, get, value, index = parts.put, parts.get, now.value, now.index
        of_memory, writes, fills = request.of_memory, request.writes, request.fills
        with m.State("FETCH"):
            m.d.comb += get.en.eq(1)
            m.next = "LOAD"
        with m.State("LOAD"):
            m.d.sync += value.eq(get.data)
            m.next = "ACCESS"
            with m.If(fills & (index == 0)):
                m.d.sync += [now.left.eq(get.data), index.eq(1)]
                m.next = "FETCH"
            with m.Elif(now.left == 0):         # FILL_MEMORY of no words
                m.next = "HEAD"
        with m.State("ACCESS"):
            m.d.comb += self.request.valid.eq(of_memory)
            m.d.sync += [self.address.eq(request.address), self.write_data.eq(value),
                         self.write.eq(~of_memory & writes), self.read.eq(~of_memory & ~writes)]
            with m.If(~of_memory | self.request.ready):
                m.next = "NEXT"
                with m.If(~writes):
                    m.next = "AWAIT"
        with m.State("AWAIT"):              # the GPU sees `read` in this cycle
            m.d.comb += self.response.ready.eq(1)
            with m.If(~of_memory | self.response.valid):
                m.next = "TAKE"
            m.d.sync += value.eq(self.response.payload)
        with m.State("TAKE"):
            with m.If(~of_memory):
                m.d.sync += value.eq(self.read_data)
            m.next = "STORE"
        with m.State("STORE"):
            m.d.comb += [put.addr.eq(_PAYLOAD + index), put.data.eq(value), put.en.eq(1)]
            m.next = "NEXT"
        with m.State("NEXT"):
            m.d.sync += [request.address.eq(request.address + 4), now.left.eq(now.left - 1),
                         index.eq(index + 1)]
            with m.If(now.left == 1):
                m.next = "HEAD"
            with m.Elif(writes & ~fills):
                m.next = "FETCH"
            with m.Else():
                m.next = "ACCESS"
        with m.State("RESET"):
            m.d.sync += self.reset.eq(1)
            with m.If(now.left != 0):
                m.d.sync += now.left.eq(now.left - 1)
            with m.Elif(self.drained):
                m.d.sync += self.reset.eq(0)
                m.next = "HEAD"

    def _answer(self, m, parts, request, now):
        """States that send the answer."""
        get, valid, sent = parts.get, parts.transmitter.i.valid, parts.transmitter.i.payload
        ready, answers, index = parts.transmitter.i.ready, now.answers, now.index
        with m.State("HEAD"):
            m.d.comb += [valid.eq(1), sent.word.eq(Cat(request.sequence, now.status, answers))]
            with m.If(ready):
                m.next = "SESSION"
        with m.State("SESSION"):
            m.d.comb += [valid.eq(1), sent.word.eq(self.session), sent.last.eq(answers == 0)]
            m.d.sync += index.eq(0)
            with m.If(ready):
                m.next = "PAYLOAD"
                with m.If(answers == 0):
                    m.next = "END"
        with m.State("PAYLOAD"):
            m.d.comb += get.en.eq(1)
            m.next = "GIVE"
        with m.State("GIVE"):
            m.d.sync += now.value.eq(get.data)
            m.next = "SEND"
        with m.State("SEND"):
            last = Signal()
            m.d.comb += [last.eq(index + 1 == answers),
                         valid.eq(1), sent.word.eq(now.value), sent.last.eq(last)]
            with m.If(ready):
                m.d.sync += index.eq(index + 1)
                m.next = "PAYLOAD"
                with m.If(last):
                    m.next = "END"
        with m.State("END"):
            m.d.comb += parts.receiver.o.ready.eq(1)
            m.next = "IDLE"


def _any(operation, operations):
    """Whether ``operation`` is one of ``operations``."""
    return reduce(or_, (operation == one for one in sorted(operations)))
