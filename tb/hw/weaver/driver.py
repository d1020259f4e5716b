"""Plays the core of a Weaver, and compares the Weaver's answers with the golden model."""

import collections
import random

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from hw.config import HardwareConfig
from hw.operations import WeaverOp
from hw.weaver.interface import request_layout, response_layout
from sw.golden.weaver import NONE, WeaverModel as Golden
from tb import runner
from tb.clocking import start, tick
from tb.streams import StreamSink, StreamSource, unpack


__all__ = ["Core", "Event", "NONE"]


#: A request or response that was transferred, and the number of the cycle of its transfer.
Event = collections.namedtuple("Event", "cycle warp op")


class Core:
    """The warps of a core, as far as a Weaver sees them.

    A request goes to the golden model when it is queued. The response is compared when it comes.
    The comparison is exact if :meth:`reg` and :meth:`skip` are not called while a DEC_ID waits.
    With ``golden=False`` nothing is compared. The protocol of the responses, ``decoded`` and
    ``waiting`` are always checked, in every cycle.

    Parameters
    ----------
    dut
        The top module, a Weaver.
    idle, stall : float
        Probability that a cycle offers no request, or takes no response.
    golden : bool
        Whether to compare with the golden model.
    """

    def __init__(self, dut, *, idle=0.0, stall=0.0, golden=True):
        self.dut = dut
        self.config = HardwareConfig(**runner.parameters()["config"])
        self.warps, self.threads = self.config.warps, self.config.threads
        self.all_lanes = (1 << self.threads) - 1
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.golden = golden
        self.model = Golden(self.warps, self.threads, self.config.weaver_table_entries)
        self._layout = request_layout(self.config)
        self.source = StreamSource(dut, "request", self._layout, idle=idle)
        self.sink = StreamSink(dut, "response", response_layout(self.config), stall=stall)
        self.expected = {}                   # warp -> what its one response has to be
        self.order = {WeaverOp.DEC_ID: collections.deque(), WeaverOp.DEC_LOC: collections.deque()}
        self.last_mask = {}                  # warp -> lanes that got work in its last DEC_ID
        self.requests, self.responses = [], []
        self._waiting = 0

    @classmethod
    async def start(cls, dut, **kwargs):
        """Reset the design and begin."""
        await start(dut)
        core = cls(dut, **kwargs)
        cocotb.start_soon(core._watch())
        return core

    def _lanes(self, values):
        values = list(values)
        return values + [0] * (self.threads - len(values))

    def _send(self, op, warp, *, rd=0, mask=0, vid=(), loc=(), degree=()):
        self.source.send([{"op": op, "warp": warp, "rd": rd, "mask": mask,
                           "vid": self._lanes(vid), "loc": self._lanes(loc),
                           "degree": self._lanes(degree)}])

    def reg(self, warp, entries, mask=None):
        """Queue a REG; ``entries`` holds (vid, loc, degree) of the lanes from 0 on."""
        vid, loc, degree = (self._lanes(column) for column in zip(*entries))
        mask = (1 << len(entries)) - 1 if mask is None else mask
        self._send(WeaverOp.REG, warp, mask=mask, vid=vid, loc=loc, degree=degree)
        self.model.register(warp, mask, vid, loc, degree)

    def skip(self, warp, vids, mask=None):
        """Queue a SKIP."""
        mask = (1 << len(vids)) - 1 if mask is None else mask
        self._send(WeaverOp.SKIP, warp, mask=mask, vid=vids)
        self.model.skip(self._lanes(vids), mask)

    def dec_id(self, warp):
        """Queue a DEC_ID."""
        lanes, vids = self.model.decode_id(warp)
        mask = sum(1 << lane for lane in range(self.threads) if lanes[lane])
        self._ask(WeaverOp.DEC_ID, warp, self.rng.getrandbits(self.threads), mask, vids)

    def dec_loc(self, warp, mask=None):
        """Queue a DEC_LOC."""
        mask = self.all_lanes if mask is None else mask
        self._ask(WeaverOp.DEC_LOC, warp, mask, mask, self.model.decode_loc(warp))

    def _ask(self, op, warp, request_mask, mask, values):
        assert warp not in self.expected, "the bench broke the protocol"
        rd = self.rng.randrange(32)
        self._send(op, warp, rd=rd, mask=request_mask)
        self.expected[warp] = (rd, op is WeaverOp.DEC_ID, mask, [int(value) for value in values])
        self.order[op].append(warp)

    def pending(self, op):
        """Warps that wait for the response to a request of this kind."""
        return list(self.order[op])

    def idle_warps(self):
        """Warps that wait for nothing."""
        return [warp for warp in range(self.warps) if warp not in self.expected]

    async def response(self):
        """Take and check the next response. Returns (warp, op, mask, data)."""
        item, = await self.sink.receive(1)
        op = WeaverOp.DEC_ID if item.set_mask else WeaverOp.DEC_LOC
        assert self.order[op], f"a response to {op.name} that nobody asked for"
        warp = self.order[op].popleft()
        assert item.warp == warp, f"{op.name} answered for warp {item.warp}, it is {warp}'s turn"
        got = (item.rd, bool(item.set_mask), item.mask, [int(value) for value in item.data])
        rd, set_mask, mask, values = self.expected.pop(warp)
        assert got[0] == rd
        if self.golden:
            assert got == (rd, set_mask, mask, values), \
                f"{op.name} of warp {warp}: got {got}, expected {(rd, set_mask, mask, values)}"
        return warp, op, item.mask, got[3]

    async def ask(self, op, warp):
        """Queue a DEC_ID or DEC_LOC of a warp and return the response's (mask, data)."""
        (self.dec_id if op is WeaverOp.DEC_ID else self.dec_loc)(warp)
        _, _, mask, values = await self.response()
        return mask, values

    async def settle(self):
        """Wait until every request has been accepted and every response taken."""
        await self.source.drain()
        while self.expected:
            await self.response()

    def forget(self):
        """Forget everything, as at a launch or reset. All requests must have been accepted."""
        self.source.clear()
        self.sink.items.clear()
        self.expected.clear()
        for queue in self.order.values():
            queue.clear()
        self.model.reset()
        self._waiting = 0

    async def launch(self):
        """Pulse ``reset_table`` once all requests have been accepted."""
        await self.source.drain()
        stall, self.sink.stall = self.sink.stall, 0.0        # holds no response from now on
        await tick(self.dut)
        self.dut.reset_table.value = 1
        self.forget()
        await tick(self.dut)
        self.dut.reset_table.value = 0
        self.forget()
        self.sink.stall = stall

    async def _watch(self):
        dut, cycle = self.dut, 0
        while True:
            await FallingEdge(dut.clk)
            await ReadOnly()
            cycle += 1
            if dut.rst.value == 1 or dut.reset_table.value == 1:
                self._waiting = 0
                assert dut.rst.value == 1 or dut.request__ready.value == 0
                continue
            assert dut.waiting.value == int(self._waiting > 0)
            answered = False
            if dut.response__valid.value == 1 and dut.response__ready.value == 1:
                payload = unpack(response_layout(self.config), int(dut.response__payload.value))
                answered = bool(payload.set_mask)
                self.responses.append(Event(
                    cycle, payload.warp, WeaverOp.DEC_ID if answered else WeaverOp.DEC_LOC))
            assert dut.decoded.value == int(answered)
            if dut.request__valid.value == 1 and dut.request__ready.value == 1:
                payload = unpack(self._layout, int(dut.request__payload.value))
                self.requests.append(Event(cycle, payload.warp, payload.op))
                self._waiting += payload.op is WeaverOp.DEC_ID
            self._waiting -= answered
