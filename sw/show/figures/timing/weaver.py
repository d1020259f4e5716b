"""The Weaver: DEC_ID basic, back to back, and with an answer that waits."""

from typing import Any

from hw.config import preset
from hw.operations import GatherOp
from hw.gather.fsm.unit import Weaver

from ..module_graph import signal
from ..waves import Bench, Row, record


__all__ = ["RUNS"]


def _register(warp, entries, threads):
    columns = [[*column, *[0] * (threads - len(entries))] for column in zip(*entries)]
    return {"op": GatherOp.REG, "warp": warp, "mask": (1 << len(entries)) - 1,
            **dict(zip(("vid", "loc", "degree"), columns))}


def _decode(warp):
    return {"op": GatherOp.DEC_ID, "warp": warp}


def _run(title, items, cycles, ready=""):
    """Send requests: a list is registered by warp 0, a number is a DEC_ID of that warp."""
    unit: Any = Weaver(preset("tiny").replace(warps=4))
    bench = Bench(unit)
    bench.feed(unit.request, [
        None if item is None else _register(0, item, 4) if isinstance(item, list)
        else _decode(item) for item in items])
    bench.take(unit.response, ready)
    state = signal(bench.fragment, "fsm_state")
    request, response = unit.request, unit.response
    rows = [
        Row("request.valid", request.valid), Row("request.ready", request.ready),
        Row("request.op", request.payload.op, lambda op: op.name.removeprefix("DEC_"), request,
            plain=True),
        Row("request.warp", request.payload.warp, str, request), None,
        Row("state", state, lambda value: state.decoder(value).partition("_")[0], plain=True), None,
        Row("response.valid", response.valid), Row("response.ready", response.ready),
        Row("response.warp", response.payload.warp, str, response),
        Row("VID of each lane", response.payload.data.as_value(), _vids, response, plain=True),
    ]
    return record(title, rows, bench.run(rows, 0, cycles - 1))


def _vids(value):
    """The VIDs of four lanes, a digit each; a dash is a lane without work."""
    words = [value >> 32 * lane & 0xFFFF_FFFF for lane in range(4)]
    return "".join("-" if word == 0xFFFF_FFFF else str(word) for word in words)


#: The paper's example: VID, position of the first edge, number of edges.
_PAPER = [(0, 2, 1), (2, 10, 2), (4, 30, 5)]

RUNS = {
    "basic": lambda: _run("Weaver: the paper's example, 4 lanes; DEC_ID of warp 1, later of warp 0",
                          [None, _PAPER, 1, *[None] * 9, 0], 18),
    "back-to-back": lambda: _run("Weaver: three DEC_IDs wait for the edges of one large vertex",
                                 [None, [(7, 0, 12)], 0, 1, 2], 13),
    "stalled": lambda: _run("Weaver: the core takes an answer late; the answer stays as it is",
                            [None, [(7, 0, 8)], 0, 1], 14, ready="1111110001"),
}
