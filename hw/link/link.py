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
        # The line, and the words of a frame.
        m.submodules.uart_receiver = uart_receiver = UartReceiver(self._divisor)
        m.submodules.queue = queue = SyncFIFOBuffered(width=8, depth=QUEUE_BYTES)
        # The output of block RAM is late in its cycle, so a register comes first.
        m.submodules.received = received = StreamRegister(8)
        m.submodules.receiver = receiver = FrameReceiver()
        m.submodules.transmitter = transmitter = FrameTransmitter()
        m.submodules.uart_transmitter = uart_transmitter = UartTransmitter(self._divisor)
        m.d.comb += [uart_receiver.rx.eq(self.rx), self.tx.eq(uart_transmitter.tx)]
        connect(m, uart_receiver.o, queue.w_stream)
        connect(m, queue.r_stream, received.i)
        connect(m, received.o, receiver.i)
        connect(m, transmitter.o, uart_transmitter.i)

        # One buffer for request and answer. The lower half, which no frame reaches, holds the
        # board's description.
        words = description(self._config, self._clock_hz)
        m.submodules.buffer = buffer = Memory(
            shape=32, depth=2 * BUFFER_WORDS, init=words,
            attrs={"ram_style": "block", "no_rw_check": 1})
        put, get = buffer.write_port(), buffer.read_port()

        # The request.
        sequence = Signal(16)
        count = Signal(8)
        status = Signal(8)
        operation = Signal(8)
        given = Signal(32)
        address = Signal(32)                    # byte address of the next word
        with m.If(receiver.write):
            with m.Switch(receiver.address):
                with m.Case(0):
                    m.d.sync += Cat(sequence, operation, count).eq(receiver.word)
                with m.Case(1):
                    m.d.sync += given.eq(receiver.word)
                with m.Case(2):
                    m.d.sync += address.eq(receiver.word)
        own, of_memory, writes, fills, reads, once, counts, carries, fits = (
            Signal(name=name) for name in ("own", "of_memory", "writes", "fills", "reads", "once",
                                           "counts", "carries", "fits"))
        length = receiver.o.payload.words
        m.d.sync += [
            own.eq(given == self.session),
            of_memory.eq(_any(operation, {Operation.READ_MEMORY, Operation.WRITE_MEMORY,
                                          Operation.FILL_MEMORY})),
            writes.eq(_any(operation, WRITES)), once.eq(_any(operation, ONCE)),
            fills.eq(operation == Operation.FILL_MEMORY),
            reads.eq(_any(operation, {Operation.READ_REGISTERS, Operation.READ_MEMORY})),
            counts.eq((count != 0) & (count <= MAX_WORDS)),
            carries.eq(length == _HEADER_WORDS + count),
        ]
        m.d.comb += fits.eq((operation == Operation.RESET)
                            | counts & Mux(writes, carries, reads)
                            & (~fills | (count == FILL_WORDS)))
        performed = Signal()
        last_once = Signal(16)      # sequence number of the last ONCE operation

        # The words of the request or answer, one after the other.
        value = Signal(32, reset_less=True)
        left = Signal(32)
        index = Signal(range(BUFFER_WORDS))
        described = Signal()                    # the answer's payload is the description
        answers = Signal(8)                     # words of the answer's payload
        m.d.comb += [
            get.addr.eq(Mux(described, 0, _PAYLOAD) + index), get.en.eq(0),
            put.addr.eq(BUFFER_WORDS | receiver.address), put.data.eq(receiver.word),
            put.en.eq(receiver.write),
            self.request.payload.write.eq(writes), self.request.payload.word.eq(address[2:]),
            self.request.payload.data.eq(value),
        ]
        m.d.sync += [self.read.eq(0), self.write.eq(0)]
        word, valid = transmitter.i.payload, transmitter.i.valid
        with m.FSM(name="state"):
            with m.State("IDLE"):
                m.d.sync += [status.eq(AnswerStatus.DONE), answers.eq(0), index.eq(0),
                             left.eq(count), described.eq(0)]
                with m.If(receiver.o.valid):
                    m.next = "SETTLE"
            with m.State("SETTLE"):             # the decoded registers are valid in CHECK
                m.next = "CHECK"
            with m.State("CHECK"):
                m.next = "HEAD"
                with m.If(~receiver.o.payload.good | (length < _HEADER_WORDS)):
                    m.d.sync += status.eq(AnswerStatus.GARBLED)
                with m.Elif(operation == Operation.OPEN):
                    m.d.sync += [self.session.eq(given), performed.eq(0), described.eq(1),
                                 answers.eq(len(words))]
                with m.Elif(~own):
                    m.d.sync += status.eq(AnswerStatus.STRANGER)
                with m.Elif(~fits):
                    m.d.sync += status.eq(AnswerStatus.REFUSED)
                with m.Elif(~once | ~performed | (sequence != last_once)):
                    with m.If(once):
                        m.d.sync += [performed.eq(1), last_once.eq(sequence)]
                    with m.If(operation == Operation.RESET):
                        m.d.sync += left.eq(_RESET_CYCLES)
                        m.next = "RESET"
                    with m.Elif(writes):
                        m.next = "FETCH"
                    with m.Else():
                        m.d.sync += answers.eq(count)
                        m.next = "ACCESS"
            with m.State("FETCH"):
                m.d.comb += get.en.eq(1)
                m.next = "LOAD"
            with m.State("LOAD"):
                m.d.sync += value.eq(get.data)
                m.next = "ACCESS"
                with m.If(fills & (index == 0)):
                    m.d.sync += [left.eq(get.data), index.eq(1)]
                    m.next = "FETCH"
                with m.Elif(left == 0):         # FILL_MEMORY of no words
                    m.next = "HEAD"
            with m.State("ACCESS"):
                m.d.comb += self.request.valid.eq(of_memory)
                m.d.sync += [self.address.eq(address), self.write_data.eq(value),
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
                m.d.sync += [address.eq(address + 4), left.eq(left - 1), index.eq(index + 1)]
                with m.If(left == 1):
                    m.next = "HEAD"
                with m.Elif(writes & ~fills):
                    m.next = "FETCH"
                with m.Else():
                    m.next = "ACCESS"
            with m.State("RESET"):
                m.d.sync += self.reset.eq(1)
                with m.If(left != 0):
                    m.d.sync += left.eq(left - 1)
                with m.Elif(self.drained):
                    m.d.sync += self.reset.eq(0)
                    m.next = "HEAD"

            with m.State("HEAD"):
                m.d.comb += [valid.eq(1), word.word.eq(Cat(sequence, status, answers))]
                with m.If(transmitter.i.ready):
                    m.next = "SESSION"
            with m.State("SESSION"):
                m.d.comb += [valid.eq(1), word.word.eq(self.session), word.last.eq(answers == 0)]
                m.d.sync += index.eq(0)
                with m.If(transmitter.i.ready):
                    m.next = "PAYLOAD"
                    with m.If(answers == 0):
                        m.next = "END"
            with m.State("PAYLOAD"):
                m.d.comb += get.en.eq(1)
                m.next = "GIVE"
            with m.State("GIVE"):
                m.d.sync += value.eq(get.data)
                m.next = "SEND"
            with m.State("SEND"):
                last = Signal()
                m.d.comb += [last.eq(index + 1 == answers),
                             valid.eq(1), word.word.eq(value), word.last.eq(last)]
                with m.If(transmitter.i.ready):
                    m.d.sync += index.eq(index + 1)
                    m.next = "PAYLOAD"
                    with m.If(last):
                        m.next = "END"
            with m.State("END"):
                m.d.comb += receiver.o.ready.eq(1)
                m.next = "IDLE"
        with m.If(get.en & ~ResetSignal()):
            m.d.sync += Assert(~put.en, "link: the buffer is read and written in one cycle")
        check_stream(m, self.request, name="request")
        return m


def _any(operation, operations):
    """Whether ``operation`` is one of ``operations``."""
    return reduce(or_, (operation == one for one in sorted(operations)))
