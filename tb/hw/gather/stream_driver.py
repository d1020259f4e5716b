"""Plays the core of a Weaver without rounds: each warp is as a kernel is."""

from hw.operations import GatherOp
from sw.golden.gather.stream import NONE, REGISTER
from tb.hw.gather.warps import Warps


__all__ = ["Core", "NONE", "REGISTER"]


class Core(Warps):
    """The warps of a core. A request is accepted some time after it was queued. The protocol of the
    answers and the events are checked in every cycle; the caller judges the values.

    Parameters
    ----------
    dut
        The top module, a StreamWeaver.
    rates
        As of :class:`~tb.hw.gather.warps.Warps`.
    """

    def __init__(self, dut, **rates):
        super().__init__(dut, **rates)
        self.rows = self.model.rows
        self.asked = {}                  # warp -> (op, rd, rd2, mask), without its last answer
        self.first = {}                  # warp -> VIDs of the DEC whose addresses are due
        self.numbers = {}                # warp -> number of its last answer with VIDs
        self._answers = 0

    def close(self, warp):
        """Queue the SKIP that closes a warp."""
        self.skip(warp, [NONE], 1)

    def ask(self, op, warp, mask=None):
        """Queue a DEC_ID, DEC_LOC or DEC."""
        assert warp not in self.asked, "the bench broke the protocol"
        mask = self.rng.getrandbits(self.threads) if mask is None else mask
        rd, rd2 = self.rng.randrange(32), self.rng.randrange(32)
        self.asked[warp] = op, rd, rd2, mask
        self.send(op, warp, rd=rd, rd2=rd2, mask=mask)

    async def response(self):
        """The next answer, complete: (warp, op, mask, VIDs or EIDs, addresses or None)."""
        while True:
            item, = await self.sink.receive(1)
            warp, values = item.warp, [int(value) for value in item.data]
            op, rd, rd2, mask = self.asked[warp]
            assert not self.first or warp in self.first or self.config.table_latency, \
                "something between the parts of a DEC"
            second = warp in self.first
            assert item.rd == (rd2 if second else rd)
            if not second and op is not GatherOp.DEC_LOC:
                self._answers += 1
                self.numbers[warp] = self._answers
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

    def _forget(self):
        self.asked.clear()
        self.first.clear()
