"""Plays the core of a Weaver without rounds: each warp is as a kernel is."""

import random

from hw.operations import GatherOp
from hw.gather.interface import event_layout, request_layout, response_layout
from hw.config import HardwareConfig
from sw.golden.gather.stream import NONE, REGISTER, StreamModel
from tb import runner
from tb.clocking import start
from tb.streams import StreamSink, StreamSource, unpack

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly


__all__ = ["Core", "NONE", "REGISTER"]


class Core:
    """The warps of a core. A request is accepted some time after it was queued. The protocol of the
    answers and the events are checked in every cycle; the caller judges the values.

    Parameters
    ----------
    dut
        The top module, a StreamWeaver.
    idle, stall : float
        Probability that a cycle offers no request, or takes no response.

    Attributes
    ----------
    requests, responses : list
        (cycle, warp, op) of each transfer.
    """
    def __init__(self, dut, idle=0.0, stall=0.0):
        self.dut = dut
        self.config = HardwareConfig(**runner.parameters()["config"])
        self.warps, self.threads = self.config.warps, self.config.threads
        self.rows = self.config.weaver_table_entries // self.threads
        self.all_lanes = (1 << self.threads) - 1
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.model = StreamModel(self.warps, self.threads, self.config.weaver_table_entries)
        self._layout = request_layout(self.config)
        self.source = StreamSource(dut, "request", self._layout, idle=idle)
        self.sink = StreamSink(dut, "response", response_layout(self.config), stall=stall)
        self.asked = {}                  # warp -> (op, rd, rd2, mask), without its last answer
        self.first = {}                  # warp -> VIDs of the DEC whose addresses are due
        self.requests, self.responses = [], []

    @classmethod
    async def start(cls, dut, **kwargs):
        """Reset the design and begin."""
        await start(dut)
        core = cls(dut, **kwargs)
        cocotb.start_soon(core._watch())
        return core

    def _send(self, op, warp, *, rd=0, rd2=0, mask=0, entries=()):
        columns = [list(column) for column in zip(*entries)] or [[], [], []]
        vid, loc, degree = ([*column, *[0] * (self.threads - len(column))] for column in columns)
        self.source.send([{"op": op, "warp": warp, "rd": rd, "rd2": rd2, "mask": mask, "vid": vid,
                           "loc": loc, "degree": degree}])

    def reg(self, warp, entries, mask=None):
        """Queue a REG; ``entries`` holds (vid, loc, degree) of the lanes from 0 on."""
        mask = (1 << len(entries)) - 1 if mask is None else mask
        entries = [*entries, *[(0, 0, 0)] * (self.threads - len(entries))]
        self._send(GatherOp.REG, warp, mask=mask, entries=entries)
        self.model.register(warp, mask, *zip(*entries))

    def skip(self, warp, vids, mask=None):
        """Queue a SKIP."""
        mask = (1 << len(vids)) - 1 if mask is None else mask
        vids = [*vids, *[0] * (self.threads - len(vids))]
        self._send(GatherOp.SKIP, warp, mask=mask, entries=[(vid, 0, 0) for vid in vids])
        self.model.skip(vids, mask, warp)

    def close(self, warp):
        """Queue the SKIP that closes a warp."""
        self.skip(warp, [NONE], 1)

    def ask(self, op, warp, mask=None):
        """Queue a DEC_ID, DEC_LOC or DEC."""
        assert warp not in self.asked, "the bench broke the protocol"
        mask = self.rng.getrandbits(self.threads) if mask is None else mask
        rd, rd2 = self.rng.randrange(32), self.rng.randrange(32)
        self.asked[warp] = op, rd, rd2, mask
        self._send(op, warp, rd=rd, rd2=rd2, mask=mask)

    async def response(self):
        """The next answer, complete: (warp, op, mask, VIDs or EIDs, addresses or None)."""
        while True:
            item, = await self.sink.receive(1)
            warp, values = item.warp, [int(value) for value in item.data]
            op, rd, rd2, mask = self.asked[warp]
            assert not self.first or warp in self.first, "something between the parts of a DEC"
            second = warp in self.first
            assert item.rd == (rd2 if second else rd)
            assert item.set_mask == (second or op is GatherOp.DEC_ID)
            if op is GatherOp.DEC and not second:
                assert item.mask == self.all_lanes
                self.first[warp] = values
                continue
            del self.asked[warp]
            if op is GatherOp.DEC_LOC:
                assert item.mask == mask
            return ((warp, op, item.mask, self.first.pop(warp), values) if second else
                    (warp, op, item.mask, values, None))

    async def answer(self, op, warp, mask=None):
        """Queue a request that has an answer. Returns (mask, VIDs or EIDs), and of a DEC the
        addresses behind the VIDs."""
        self.ask(op, warp, mask)
        answered, _, got, values, places = await self.response()
        assert answered == warp
        return got, values + (places or [])

    def forget(self):
        """Forget everything, as at a launch or reset."""
        self.source.clear()
        self.sink.items.clear()
        self.asked.clear()
        self.first.clear()
        self.model.reset()

    async def launch(self):
        """Pulse ``reset`` once all requests have been accepted."""
        await self.source.drain()
        stall, self.sink.stall = self.sink.stall, 0.0
        await FallingEdge(self.dut.clk)
        self.dut.reset.value = 1
        self.forget()
        await FallingEdge(self.dut.clk)
        self.dut.reset.value = 0
        self.forget()
        self.sink.stall = stall

    async def _watch(self):
        dut, cycle, asked, waiting = self.dut, 0, {}, set()
        while True:
            await FallingEdge(dut.clk)
            await ReadOnly()
            cycle += 1
            if dut.rst.value == 1 or dut.reset.value == 1:
                waiting.clear()
                assert dut.rst.value == 1 or dut.request__ready.value == 0
                continue
            events = unpack(event_layout(), int(dut.events.value))
            assert events.waiting == bool(waiting)
            answered = False
            if dut.response__valid.value == 1 and dut.response__ready.value == 1:
                payload = unpack(response_layout(self.config), int(dut.response__payload.value))
                answered = payload.warp in waiting
                waiting.discard(payload.warp)
                self.responses.append((cycle, payload.warp, asked[payload.warp]))
            assert events.decoded == answered
            if dut.request__valid.value == 1 and dut.request__ready.value == 1:
                payload = unpack(self._layout, int(dut.request__payload.value))
                self.requests.append((cycle, payload.warp, payload.op))
                asked[payload.warp] = payload.op
                if payload.op in (GatherOp.DEC_ID, GatherOp.DEC):
                    waiting.add(payload.warp)
