"""Plays the core of a Weaver, and compares the Weaver's answers with the golden model."""

import collections
import random

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from hw.config import HardwareConfig
from hw.operations import GatherOp
from hw.gather.interface import event_layout, request_layout, response_layout
from sw.golden.gather.fsm import NONE, WeaverModel as Golden
from tb import runner
from tb.clocking import start, tick
from tb.streams import StreamSink, StreamSource, unpack


__all__ = ["Core", "Event", "NONE"]


#: A request or response that was transferred, and the number of the cycle of its transfer.
Event = collections.namedtuple("Event", "cycle warp op")


class Core:
    """The warps of a core, as far as a Weaver sees them.

    A request goes to the golden model when it is queued. The response is compared when it comes.
    The comparison is exact if :meth:`reg` and :meth:`skip` are not called while a DEC_ID or DEC
    waits.
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
        self.expected = {}                   # warp -> (op, what its responses have to be)
        self.given = {}                      # warp -> values of its first response of two
        self.order = {GatherOp.DEC_ID: collections.deque(), GatherOp.DEC_LOC: collections.deque()}
        self.last_mask = {}                  # warp -> lanes that got work in its last DEC_ID or DEC
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

    def _send(self, op, warp, *, rd=0, rd2=0, mask=0, vid=(), loc=(), degree=()):
        self.source.send([{"op": op, "warp": warp, "rd": rd, "rd2": rd2, "mask": mask,
                           "vid": self._lanes(vid), "loc": self._lanes(loc),
                           "degree": self._lanes(degree)}])

    def reg(self, warp, entries, mask=None):
        """Queue a REG; ``entries`` holds (vid, loc, degree) of the lanes from 0 on."""
        vid, loc, degree = (self._lanes(column) for column in zip(*entries))
        mask = (1 << len(entries)) - 1 if mask is None else mask
        self._send(GatherOp.REG, warp, mask=mask, vid=vid, loc=loc, degree=degree)
        self.model.register(warp, mask, vid, loc, degree)

    def skip(self, warp, vids, mask=None):
        """Queue a SKIP."""
        mask = (1 << len(vids)) - 1 if mask is None else mask
        self._send(GatherOp.SKIP, warp, mask=mask, vid=vids)
        self.model.skip(self._lanes(vids), mask)

    def dec_id(self, warp):
        """Queue a DEC_ID."""
        lanes, vids = self.model.decode_id(warp)
        self._ask(GatherOp.DEC_ID, warp, self.rng.getrandbits(self.threads),
                  (True, self._mask(lanes), vids))

    def dec(self, warp):
        """Queue a DEC."""
        lanes, vids, places = self.model.decode(warp)
        self._ask(GatherOp.DEC, warp, self.rng.getrandbits(self.threads),
                  (False, self.all_lanes, vids), (True, self._mask(lanes), places))

    def dec_loc(self, warp, mask=None):
        """Queue a DEC_LOC."""
        mask = self.all_lanes if mask is None else mask
        self._ask(GatherOp.DEC_LOC, warp, mask, (False, mask, self.model.decode_loc(warp)))

    def _mask(self, lanes):
        return sum(1 << lane for lane in range(self.threads) if lanes[lane])

    def _ask(self, op, warp, request_mask, *responses):
        assert warp not in self.expected, "the bench broke the protocol"
        registers = [self.rng.randrange(32) for _ in range(2)]
        self._send(op, warp, rd=registers[0], rd2=registers[1], mask=request_mask)
        self.expected[warp] = (op, collections.deque(
            (rd, set_mask, mask, [int(value) for value in values])
            for rd, (set_mask, mask, values) in zip(registers, responses)))
        self.order[self._kind(op)].append(warp)

    @staticmethod
    def _kind(op):
        """DEC_ID for a request that is answered with VIDs, else DEC_LOC."""
        return GatherOp.DEC_LOC if op is GatherOp.DEC_LOC else GatherOp.DEC_ID

    def pending(self, op):
        """Warps that wait for VIDs (of DEC_ID or DEC), or for EIDs (of DEC_LOC)."""
        return list(self.order[op])

    def idle_warps(self):
        """Warps that wait for nothing."""
        return [warp for warp in range(self.warps) if warp not in self.expected]

    async def response(self):
        """Take and check responses until a request has all of its. Returns (warp, op, mask, data).
        The data of a DEC are its VIDs and, behind them, its places."""
        while True:
            item, = await self.sink.receive(1)
            warp = item.warp
            assert warp in self.expected, f"a response for warp {warp}, which asked for nothing"
            op, responses = self.expected[warp]
            if warp not in self.given:
                turn = self.order[self._kind(op)].popleft()
                assert warp == turn, f"{op.name} answered for warp {warp}, it is {turn}'s turn"
            got = (item.rd, bool(item.set_mask), item.mask, [int(value) for value in item.data])
            expected = responses.popleft()
            assert got[:2] == expected[:2], f"{op.name} of warp {warp}: {got}, not {expected}"
            if self.golden:
                assert got == expected, f"{op.name} of warp {warp}: {got}, not {expected}"
            if not responses:
                del self.expected[warp]
                return warp, op, item.mask, self.given.pop(warp, []) + got[3]
            assert item.mask == self.all_lanes
            self.given[warp] = got[3]

    async def ask(self, op, warp):
        """Queue a DEC_ID, DEC_LOC or DEC of a warp and return the response's (mask, data)."""
        {GatherOp.DEC_ID: self.dec_id, GatherOp.DEC_LOC: self.dec_loc,
         GatherOp.DEC: self.dec}[op](warp)
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
        self.given.clear()
        for queue in self.order.values():
            queue.clear()
        self.model.reset()
        self._waiting = 0

    async def launch(self):
        """Pulse ``reset`` once all requests have been accepted."""
        await self.source.drain()
        stall, self.sink.stall = self.sink.stall, 0.0        # holds no response from now on
        await tick(self.dut)
        self.dut.reset.value = 1
        self.forget()
        await tick(self.dut)
        self.dut.reset.value = 0
        self.forget()
        self.sink.stall = stall

    async def _watch(self):
        dut, cycle, asked = self.dut, 0, {}
        while True:
            await FallingEdge(dut.clk)
            await ReadOnly()
            cycle += 1
            if dut.rst.value == 1 or dut.reset.value == 1:
                self._waiting = 0
                assert dut.rst.value == 1 or dut.request__ready.value == 0
                continue
            events = unpack(event_layout(), int(dut.events.value))
            assert events.waiting == int(self._waiting > 0)
            answered = False
            if dut.response__valid.value == 1 and dut.response__ready.value == 1:
                payload = unpack(response_layout(self.config), int(dut.response__payload.value))
                op = asked[payload.warp]
                answered = op is GatherOp.DEC_ID or (op is GatherOp.DEC and not payload.set_mask)
                self.responses.append(Event(cycle, payload.warp, op))
            assert events.decoded == int(answered)
            if dut.request__valid.value == 1 and dut.request__ready.value == 1:
                payload = unpack(self._layout, int(dut.request__payload.value))
                self.requests.append(Event(cycle, payload.warp, payload.op))
                if payload.op not in (GatherOp.REG, GatherOp.SKIP):
                    asked[payload.warp] = payload.op
                self._waiting += payload.op in (GatherOp.DEC_ID, GatherOp.DEC)
            self._waiting -= answered
