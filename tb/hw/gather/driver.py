"""Plays the core of a Weaver with rounds, and compares its answers with the golden model."""

import collections

from hw.operations import GatherOp
from sw.golden.gather.fsm import NONE
from tb.hw.gather.warps import Event, Warps


__all__ = ["Core", "Event", "NONE"]


class Core(Warps):
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
    golden : bool
        Whether to compare with the golden model.
    rates
        As of :class:`~tb.hw.gather.warps.Warps`.
    """

    def __init__(self, dut, *, golden=True, **rates):
        super().__init__(dut, **rates)
        self.golden = golden
        self.expected = {}                   # warp -> (op, what its responses have to be)
        self.given = {}                      # warp -> values of its first response of two
        self.order = {GatherOp.DEC_ID: collections.deque(), GatherOp.DEC_LOC: collections.deque()}
        self.last_mask = {}                  # warp -> lanes that got work in its last DEC_ID or DEC
        self.numbers = {}                    # warp -> number of its last answer with VIDs
        self._answers = 0

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
        self.send(op, warp, rd=registers[0], rd2=registers[1], mask=request_mask)
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
                if op is not GatherOp.DEC_LOC:
                    self._answers += 1
                    self.numbers[warp] = self._answers
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

    async def latency(self, op, warp=0):
        """Ask, and return the cycles from the request to its last response."""
        await self.ask(op, warp)
        return self.responses[-1].cycle - self.requests[-1].cycle

    async def settle(self):
        """Wait until every request has been accepted and every response taken."""
        await self.source.drain()
        while self.expected:
            await self.response()

    def _forget(self):
        self.expected.clear()
        self.given.clear()
        for queue in self.order.values():
            queue.clear()
