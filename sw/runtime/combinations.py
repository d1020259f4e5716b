"""Every combination of algorithm, format, schedule, direction and frontier, and which can work.

There is no list of the combinations that work. Each is planned as for a run, on three small graphs,
up to its program. A combination that is refused on one of the graphs gives the reason.
"""

import dataclasses
import itertools

from sw import algorithms, formats, schedules
from sw.errors import UserError
from sw.formats.image import DIRECTIONS
from sw.graph.load import load
from sw.kernels import frontiers
from sw.runtime.device import Device


__all__ = ["AXES", "GRAPHS", "Combination", "Ground", "combinations"]


#: The axes: all values of each choice of :func:`~sw.runtime.plan.as_plan`, by its name. None
#: leaves the choice to the algorithm. A further axis is a further line. A block is an option of the
#: format.
AXES = {
    "algorithm": algorithms.names,
    "format": formats.image_names,
    "block": lambda: ["none", "16"],
    "schedule": schedules.names,
    "direction": lambda: [*DIRECTIONS, "auto"],
    "frontier": lambda: [None, *frontiers.names()],
}

#: Options of formats by which a graph of 64 vertices has several clusters, blocks and shards.
_DIVIDED = {"cr2": "cr2:cluster_bits=4:warp_bits=3", "ell": "ell:width=2",
            "g-shards": "g-shards:shard=16", "tigr": "tigr:k=3"}


@dataclasses.dataclass(frozen=True)
class Ground:
    """A graph that combinations are tried on.

    Parameters
    ----------
    graph : str
        A graph with weights, as a text for :func:`sw.graph.load.load`.
    formats : dict of str to str
        Formats that have options on this graph, with the text that gives the options.
    """
    graph: str
    formats: dict

    def asked(self, choice) -> dict:
        """Choices of :func:`~sw.runtime.plan.as_plan` for a combination on this ground."""
        asked, text = dict(choice), self.formats.get(choice["format"], choice["format"])
        block = asked.pop("block")
        return asked | {"format": text if block == "none" else f"{text}:block={block}"}


#: The graphs by their special property. ``odd`` has vertices without edges, self-loops and parallel
#: arcs.
GRAPHS = {
    "skewed": Ground("rmat:scale=6,degree=6,seed=1,weights=9", _DIVIDED),
    "road": Ground("road:side=8,seed=1,longest=9", {}),
    "odd": Ground("powerlaw:vertices=60,edges=120,exponent=2,seed=1,weights=9", _DIVIDED),
}


@dataclasses.dataclass(frozen=True)
class Combination:
    """A combination.

    Parameters
    ----------
    choice : dict of str to str or None
        A value of each of :data:`AXES`.
    reason : str or None
        Why it cannot work; None if it works.
    """
    choice: dict
    reason: str | None


def combinations(config, only=None):
    """All combinations, in the order of the axes.

    Parameters
    ----------
    config : HardwareConfig
        The hardware on which they would run.
    only : dict of str to list, optional
        The wanted values of an axis, by the axis; other axes have all values.

    Yields
    ------
    Combination
    """
    only = only or {}
    grounds = [(load(ground.graph), ground) for ground in GRAPHS.values()]
    device = Device.functional(config)
    wanted = ([value for value in values() if axis not in only or value in only[axis]]
              for axis, values in AXES.items())
    for values in itertools.product(*wanted):
        choice = dict(zip(AXES, values))
        reason = None
        try:
            for graph, ground in grounds:
                asked = ground.asked(choice)
                _ = device.plan(asked.pop("algorithm"), graph, **asked).program
        except UserError as error:
            reason = str(error)
        yield Combination(choice, reason)
