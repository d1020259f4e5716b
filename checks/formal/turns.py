"""The promise of the banks' turns at a memory port: no request is lost, none is sent twice, and
none is answered twice.

The harness takes the place of the port's banks and of the memory. What is between a bank and the
port is followed whole: a request that was taken from a bank and not sent. It must be on offer at
the port, with the number of its bank in line and tag and otherwise as it was taken. So no request
is lost, repeated or changed. One arbitrary read, named by its bank and its tag, is followed
further: it is either on offer, or sent and not answered. The answer goes to its bank alone. The
memory answers each read that was sent at most once, at any time. The proof is by induction.
"""

import types

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from checks.formal.answering import steady
from checks.formal.harness import Harness
from checks.formal.streams import hold
from hw.bits import index_bits
from hw.memory.port import memory_request_layout, memory_response_layout, port_of_line
from hw.memory.turns import take_turns


__all__ = ["TurnsPromise"]


class TurnsPromise(Harness):
    """The banks of the last memory port, and their promise."""

    def _ports(self, config):
        bank, count = config.bank, config.port_banks
        return {
            "bank_request": In(stream.Signature(memory_request_layout(bank))).array(count),
            "bank_response": Out(stream.Signature(memory_response_layout(bank))).array(count),
            "request": Out(stream.Signature(memory_request_layout(config))),
            "response": In(stream.Signature(memory_response_layout(config))),
            "watched": In(index_bits(count)), "tag": In(ceil_log2(config.l2_mshrs)),
        }

    def elaborate(self, platform):
        m = Module()
        config, count = self._config, self._config.port_banks
        port = config.memory_ports - 1
        banks = [types.SimpleNamespace(memory_request=self.bank_request[b],
                                       memory_response=self.bank_response[b])
                 for b in range(count)]
        between = take_turns(m, config, banks, self.request, self.response, port=port)
        steady(m, self, "watched", "tag")
        m.d.comb += [Assume(~ResetSignal()), Assume(self.watched < count)]
        for b in range(count):
            hold(m, self.bank_request[b], name=f"bank_request_{b}", rule=Assume)
        hold(m, self.response, name="response", rule=Assume)

        # What a bank's request must look like at the port.
        layout, out = memory_request_layout(config), self.request.payload
        bank_bits, place_bits = ceil_log2(config.l2_banks), ceil_log2(count)
        taken = Signal(count)
        expected = Signal(layout)
        for b, bank in enumerate(self.bank_request):
            number = port * count + b
            m.d.comb += [
                taken[b].eq(bank.valid & bank.ready),
                # The crossbar has moved the bank's number to the upper end of the line's address.
                Assume(~bank.valid | (bank.payload.line[-bank_bits:] == number)),
            ]
            with m.If(taken[b]):
                m.d.comb += [
                    expected.write.eq(bank.payload.write), expected.data.eq(bank.payload.data),
                    expected.mask.eq(bank.payload.mask),
                    expected.line.eq(bank.payload.line << bank_bits | number),
                    expected.tag.eq(Cat(bank.payload.tag, Const(b, place_bits))),
                ]
        sent = Signal()
        m.d.comb += [sent.eq(self.request.valid & self.request.ready),
                     Assert((taken & (taken - 1)[:count]) == 0)]
        due = Signal(layout)
        if between is None:
            m.d.comb += [due.eq(expected), Assert(sent == taken.any()),
                         Assert(self.request.valid == Cat(
                             bank.valid for bank in self.bank_request).any())]
        else:
            pending = Signal()
            m.d.sync += pending.eq(taken.any() | pending & ~sent)
            with m.If(taken.any()):
                m.d.sync += due.eq(expected)
            m.d.comb += [Assert(self.request.valid == pending), Assert(between == pending),
                         Assert(~taken.any() | ~pending | sent)]
        offered = sent if between is None else self.request.valid
        m.d.comb += Assert(~offered | ((out.as_value() == due.as_value())
                                       & (port_of_line(config, out.line) == port)))

        # The watched read.
        name = Signal(layout["tag"].shape)
        asks, sends, answers, gets = (Signal(name=each) for each in (
            "asks", "sends", "answers", "gets"))
        asked, at_memory = Signal(), Signal()
        answer = self.response
        mine, on_offer = Signal(), Signal()
        m.d.comb += [
            name.eq(Cat(self.tag, self.watched) if place_bits else self.tag),
            sends.eq(sent & ~out.write & (out.tag == name)), mine.eq(answer.payload.tag == name),
            answers.eq(answer.valid & answer.ready & mine),
            # A bank names a read by a tag that is free; the memory answers what was asked.
            Assume(~asks | ~asked), Assume(~(answer.valid & mine) | at_memory),
            Assert(~sends | (asked | asks) & ~at_memory),
            Assert(~gets | at_memory), Assert(gets == answers),
            on_offer.eq(0 if between is None else
                        self.request.valid & ~out.write & (out.tag == name)),
            Assert(asked == (at_memory | on_offer)), Assert(~(at_memory & on_offer)),
        ]
        for b, (bank, response) in enumerate(zip(self.bank_request, self.bank_response)):
            with m.If(self.watched == b):
                m.d.comb += [
                    asks.eq(taken[b] & ~bank.payload.write & (bank.payload.tag == self.tag)),
                    gets.eq(response.valid & response.ready & (response.payload.tag == self.tag)),
                ]
            m.d.comb += Assert(~response.valid | (response.payload.data.as_value()
                                                  == answer.payload.data.as_value()))
        m.d.sync += [asked.eq((asked | asks) & ~gets), at_memory.eq((at_memory | sends) & ~answers)]
        receivers = Cat(response.valid for response in self.bank_response)
        m.d.comb += [Assert(receivers.any() == answer.valid),
                     Assert((receivers & (receivers - 1)[:count]) == 0)]

        others = Signal(4)         # reads of any bank that overtake the watched one
        with m.If(at_memory & answer.valid & answer.ready & ~mine):
            m.d.sync += others.eq(Mux(others == 15, 15, others + 1))
        refused = Signal()
        m.d.sync += refused.eq(self.request.valid & ~self.request.ready)
        m.d.comb += [
            Cover(gets & (others > 0), "a read is answered after a later one"),
            Cover(refused & sends, "the memory refuses a read, then takes it"),
            Cover(sent & out.write & asked, "a line is written while a read is under way"),
            Cover(answer.valid & ~answer.ready & mine, "a bank does not take an answer at once"),
        ]
        return m
