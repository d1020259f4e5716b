"""The part that drivers of all Weavers share: a core's requests, and random choices."""

import collections
import random

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly

from hw.config import HardwareConfig
from hw.gather.interface import event_layout, request_layout, response_layout
from hw.operations import NONE, GatherOp
from sw.golden.gather import variants
from tb import runner
from tb.clocking import integer, start, tick
from tb.streams import StreamSink, StreamSource, unpack


__all__ = ["SHAPES", "Event", "Warps", "random_degree", "random_distance", "random_rates"]


#: Shapes of the random benches, as fields of a configuration.
SHAPES = {
    "tiny": {"warps": 2, "threads": 4},
    "one": {"warps": 1, "threads": 1},
    "one_thread": {"warps": 8, "threads": 1},
    "one_warp": {"warps": 1, "threads": 8},
    "fpga": {"warps": 8, "threads": 8},
    "small_table": {"warps": 8, "threads": 4, "weaver_entries": 12},
    "one_row": {"warps": 4, "threads": 2, "weaver_entries": 2},
}

_WITHOUT_ANSWER = (GatherOp.REG, GatherOp.SKIP, GatherOp.SET, GatherOp.PUSH)

#: Requests whose wait for an answer the unit's events tell.
_WAITING = (GatherOp.DEC_ID, GatherOp.DEC, GatherOp.POP_VERT)

#: A request or response that was transferred, and the number of the cycle of its transfer.
Event = collections.namedtuple("Event", "cycle warp op")


def random_degree(rng, threads):
    """A degree: often 0 or small, sometimes several works long."""
    return rng.choice([0, 0, 1, 1, 2, 3, rng.randrange(2 * threads + 1),
                       rng.randrange(6 * threads)])


def random_distance(rng, rows):
    """The distance of a row from a warp: often 0, sometimes to a row beyond the table."""
    return rng.choice([0, 0, 0, rng.randrange(rows + 1), rng.randrange(32)])


def random_rates(core, rng):
    """Set other rates of the streams for some time."""
    core.source.idle = rng.choice([0.0, 0.0, 0.3, 0.8])
    core.sink.stall = rng.choice([0.0, 0.0, 0.3, 0.8])


class Warps:
    """The warps of a core, as far as a Weaver sees them. A request goes to the model when it is
    queued, and is accepted some time later.

    The protocol of answers and events is checked in every cycle. Subclasses have ``_forget``, which
    forgets their own state, and may have more to do in each cycle.

    Parameters
    ----------
    dut
        The top module, the unit of the configuration.
    idle, stall : float
        Probability that a cycle offers no request, or takes no response.

    Attributes
    ----------
    requests, responses : list of Event
        All transfers.
    skipped : int
        Edges that SKIPs have cut off, as the unit's events tell.
    """

    def __init__(self, dut, *, idle=0.0, stall=0.0):
        self.dut = dut
        self.config = HardwareConfig(**runner.parameters()["config"])
        self.warps, self.threads = self.config.warps, self.config.threads
        self.all_lanes = (1 << self.threads) - 1
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.model = variants.model(self.config)
        self.layout = request_layout(self.config)
        self.source = StreamSource(dut, "request", self.layout, idle=idle)
        self.sink = StreamSink(dut, "response", response_layout(self.config), stall=stall)
        self.requests, self.responses = [], []
        self.skipped = 0

    @classmethod
    async def start(cls, dut, **options):
        """Reset the design and begin."""
        await start(dut)
        core = cls(dut, **options)
        cocotb.start_soon(core._watch())
        return core

    async def _watch(self):
        """Keep the transfers, and check the events: a warp waits from a DEC_ID or DEC to the first
        part of its answer."""
        dut, cycle, asked, waiting = self.dut, 0, {}, set()
        while True:
            await FallingEdge(dut.clk)
            await ReadOnly()
            cycle += 1
            if integer(dut.rst) == 1 or integer(dut.reset) == 1:
                waiting.clear()
                assert integer(dut.rst) == 1 or integer(dut.request__ready) == 0
                continue
            self._each_cycle()
            events = unpack(event_layout(), integer(dut.events))
            self.skipped += events.skipped
            assert events.waiting == bool(waiting)
            answered = False
            if integer(dut.response__valid) == 1 and integer(dut.response__ready) == 1:
                payload = unpack(response_layout(self.config), integer(dut.response__payload))
                answered = payload.warp in waiting and self._ends_wait(payload)
                if answered:
                    waiting.remove(payload.warp)
                self.responses.append(Event(cycle, payload.warp, asked[payload.warp]))
            assert events.decoded == answered
            if integer(dut.request__valid) == 1 and integer(dut.request__ready) == 1:
                payload = unpack(self.layout, integer(dut.request__payload))
                self.requests.append(Event(cycle, payload.warp, payload.op))
                if payload.op not in _WITHOUT_ANSWER:
                    asked[payload.warp] = payload.op
                if payload.op in _WAITING:
                    waiting.add(payload.warp)

    def _ends_wait(self, response):
        """Whether a response to a warp that waits is what the warp waits for."""
        return True

    def _each_cycle(self):
        """Called in every cycle without a reset, when the signals have settled."""

    def lanes(self, values):
        """The values of all lanes; those left out are 0."""
        values = list(values)
        return values + [0] * (self.threads - len(values))

    def send(self, op, warp, *, rd=0, rd2=0, mask=0, vid=(), loc=(), degree=()):
        """Queue a request."""
        self.source.send([{"op": op, "warp": warp, "rd": rd, "rd2": rd2, "mask": mask,
                           "vid": self.lanes(vid), "loc": self.lanes(loc),
                           "degree": self.lanes(degree)}])

    def reg(self, warp, entries, mask=None, distance=0):
        """Queue a REG of row ``warp + distance``; ``entries`` holds (vid, loc, degree) of the lanes
        from 0 on."""
        vid, loc, degree = (self.lanes(column) for column in zip(*entries))
        mask = (1 << len(entries)) - 1 if mask is None else mask
        self.send(GatherOp.REG, warp, rd=distance, mask=mask, vid=vid, loc=loc, degree=degree)
        self.model.register(warp, mask, vid, loc, degree, distance)

    def skip(self, warp, vids, mask=None):
        """Queue a SKIP."""
        vids, mask = self._named(vids, mask)
        self.send(GatherOp.SKIP, warp, mask=mask, vid=vids)
        self.model.skip(vids, mask, warp)

    def _named(self, vids, mask):
        """The VIDs of all lanes and the mask of a SKIP. Lanes outside of the mask name one of the
        VIDs, or none, which must not count."""
        mask = (1 << len(vids)) - 1 if mask is None else mask
        others = [*vids, NONE]
        return [vid if mask >> lane & 1 else self.rng.choice(others)
                for lane, vid in enumerate(self.lanes(vids))], mask

    def forget(self):
        """Forget everything, as at a launch or reset. All requests must have been accepted."""
        self.source.clear()
        self.sink.items.clear()
        self._forget()
        self.model.reset()

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
