"""The parts that units that hand out edges have in common."""

from amaranth.hdl import Assert, Cat, ResetSignal, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO

from base.errors import ConfigError
from hw.gather.interface import unit_signature, warp_shape
from hw.operations import GatherOp


__all__ = ["GatheringUnit", "lane_edges", "waiting_warps"]


class GatheringUnit(wiring.Component):
    """Base of all units that hand out edges.

    Parameters
    ----------
    config : HardwareConfig
        Shape; ``gather`` must be the unit's :attr:`variant`.

    Attributes
    ----------
    variant : str
        The unit's value of ``HardwareConfig.gather``.

    Members
    -------
    request, response, reset, events
        As in :func:`hw.gather.interface.unit_signature`.

    Raises
    ------
    ConfigError
        If the configuration has another unit, or none.
    """
    variant: str

    def __init__(self, config):
        if config.gather != self.variant:
            raise ConfigError(f"HardwareConfig: gather = {config.gather!r}: must be "
                              f"{self.variant!r} to build a {type(self).__name__}")
        self._config = config
        super().__init__(unit_signature(config))


def lane_edges(m, lanes, fills, begins, vertex, first):
    """The edges of the lanes of a row that is filled from consecutive edges of vertices.

    Each lane keeps its vertex, and the number of the edge that lane 0 would have.

    Parameters
    ----------
    m : Module
    lanes : int
    fills : Value
        Edges of ``vertex`` go to the lanes from ``begins`` on, as far as there are edges; lanes
        behind these are filled again before the row is used, or not used.
    begins : Value
    vertex : Value
    first : Value
        The number of the edge that lane 0 would have.

    Returns
    -------
    vertices, edges : list of Value
        For each lane, from the cycle after ``fills`` on.
    """
    vertices, edges = [], []
    for lane in range(lanes):
        start = Signal(len(first), name=f"first_{lane}", reset_less=True)
        base = Signal(len(vertex), name=f"base_{lane}", reset_less=True)
        with m.If(fills & (begins <= lane)):
            m.d.sync += [base.eq(vertex), start.eq(first)]
        vertices.append(base)
        edges.append(start + lane)
    return vertices, edges


def waiting_warps(m, config, request, accepted, answered):
    """The queue of the warps whose DEC_ID or DEC waits, in the order of their requests.

    Parameters
    ----------
    m : Module
    config : HardwareConfig
    request : View(request_layout)
        The request of this cycle.
    accepted : Signal
        It is accepted.
    answered : Signal
        The first warp leaves the queue.

    Returns
    -------
    head : View
        ``warp``, ``rd``, ``rd2`` of the first warp's request, and ``fused`` for a DEC.
    pending : SyncFIFO
        The queue, which has room for all warps: ``r_rdy`` and ``level`` say how many wait.
    """
    head = Signal(data.StructLayout({"warp": warp_shape(config), "rd": 5, "rd2": 5, "fused": 1}))
    m.submodules.pending = pending = SyncFIFO(width=len(head.as_value()), depth=config.warps)
    m.d.comb += [
        pending.w_en.eq((accepted & (request.op == GatherOp.DEC_ID))
                        | (accepted & (request.op == GatherOp.DEC))),
        pending.w_data.eq(Cat(request.warp, request.rd, request.rd2, request.op == GatherOp.DEC)),
        head.eq(pending.r_data), pending.r_en.eq(answered),
    ]
    m.d.sync += Assert(~(~ResetSignal() & pending.w_en & ~pending.w_rdy))
    return head, pending
