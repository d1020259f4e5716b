"""Every combination of algorithm, format, schedule, direction and frontier, and which can work.

There is no list of the combinations that work. Each is planned as for a run, on three small graphs.
A combination that is refused on one of the graphs gives the reason. Planning makes no program: a
program that does not fit in instruction memory is refused when the combination is run. A program
that needs a graph of some kind gets the graphs made so.

A refusal is a UserError of the planner. Whatever else planning raises is a fault of Graphloom, and
counts as no refusal.
"""

import dataclasses
import itertools

from base.errors import UserError
from hw.config import LEGAL
from hw.gather.variants import VARIANTS
from sw.compile import algorithms, formats, schedules
from sw.compile.formats.image import DIRECTIONS
from sw.graph.load import load
from sw.compile import frontiers
from sw.device.device import Device
from sw.lang import programs
from sw.lang.needs import NEEDS


__all__ = ["ASKED", "AXES", "FURTHER", "GRAPHS", "HARDWARE", "Combination", "Ground", "axes",
           "choices", "combinations", "equipped", "made", "planned"]


#: The axes: all values of each choice of :func:`~sw.compile.plan.as_plan`, by its name. None
#: leaves the choice to the algorithm. A further axis is a further line. A block is an option of the
#: format.
AXES = {
    "algorithm": lambda: sorted({*algorithms.names(), *programs.names()}),
    "format": formats.image_names,
    "block": lambda: ["none", "16"],
    "schedule": schedules.names,
    "direction": lambda: [*DIRECTIONS, "auto"],
    "frontier": lambda: [None, *frontiers.pairs()],
}

#: Further axes, which multiply the combinations: deduplication, the least CTA size, and near and
#: far.
FURTHER = {
    "deduplicate": lambda: [None, "yes", "no"],
    "warps": lambda: [None, "1"],
    "delta": lambda: [None, "auto"],
}

#: Axes that a list has if they are asked for: whether one launch runs all supersteps.
ASKED = {
    "fusion": lambda: [None, "yes"],
}

#: Axes of the hardware, by the field of the configuration. A list has those that are asked for.
HARDWARE = {
    "gather": lambda: [*VARIANTS],
    "cores": lambda: [str(number) for number in LEGAL["cores"].values],
}

#: Axes whose values make no combination work that is refused without them. Fewer warps may: they
#: need less local memory.
_LEFT_OPEN = ("deduplicate", "delta", "fusion")

#: Options of formats by which a graph of 64 vertices has several clusters, blocks and shards.
_DIVIDED = {"cr2": "cr2:cluster_bits=4:warp_bits=3", "ell": "ell:width=2",
            "g-shards": "g-shards:shard=16", "tigr": "tigr:k=3"}


@dataclasses.dataclass(frozen=True)
class Ground:
    """A graph that combinations are tried on."""
    graph: str  #: A graph with weights, as a text for :func:`sw.graph.load.load`.
    #: Formats that have options on this graph, with the text that gives the options.
    formats: dict[str, str]

    def load(self, algorithm):
        """The graph, as the algorithm of that name needs it. Raises UserError if there is none."""
        graph = load(self.graph)
        for method in made(algorithm):
            graph = getattr(graph, method)()
        return graph

    def asked(self, choice) -> dict:
        """Choices of :func:`~sw.compile.plan.as_plan` for a combination on this ground."""
        asked = {axis: value for axis, value in choice.items() if axis not in HARDWARE}
        text = self.formats.get(choice["format"], choice["format"])
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
    """A combination."""
    choice: dict[str, str] | None  #: A value of each axis of the list.
    reason: str | None  #: Why it is refused; None if it is not.
    fault: str | None = None  #: What planning it has raised that is no refusal; None for nothing.

    @property
    def works(self) -> bool:
        """Whether it is planned."""
        return self.reason is None and self.fault is None


def made(algorithm) -> list[str]:
    """The methods of :class:`~sw.graph.graph.Graph` that make any graph one that the algorithm of
    that name can have, in their order."""
    program = getattr(algorithms.find(algorithm), "program", None)
    needed = {NEEDS[need].method for need in program.needs} if program is not None else set()
    return [method for method in ("undirected", "simplify") if method in needed]


def axes(only=(), further=False) -> dict:
    """The axes of a list: :data:`AXES`; those of :data:`FURTHER` that ``only`` names or, with
    ``further``, all; and those of :data:`ASKED` and of :data:`HARDWARE` that ``only`` names."""
    return (AXES | {axis: values for axis, values in FURTHER.items() if further or axis in only}
            | {axis: values for axis, values in (ASKED | HARDWARE).items() if axis in only})


def equipped(config, choice):
    """The configuration with a combination's values of the axes of :data:`HARDWARE`."""
    changes = {axis: choice[axis] for axis in HARDWARE if axis in choice}
    if "cores" in changes:
        changes["cores"] = int(changes["cores"])
    return config.replace(**changes) if changes else config


def choices(only=None, further=False):
    """All choices of a value of each axis, in the order of the axes.

    Parameters
    ----------
    only : dict of str to list, optional
        The wanted values of an axis, by the axis; other axes have all values.
    further : bool
        Whether the choices have all axes of :data:`FURTHER`.

    Yields
    ------
    dict of str to str or None
    """
    only = only or {}
    wanted = {axis: [value for value in values() if axis not in only or value in only[axis]]
              for axis, values in axes(only, further).items()}
    # Programs of files are on no axis.
    wanted["algorithm"] += [name for name in only.get("algorithm", ())
                            if name not in wanted["algorithm"]]
    for values in itertools.product(*wanted.values()):
        yield dict(zip(wanted, values))


def planned(config, chosen):
    """Plan choices, one after the other.

    Parameters
    ----------
    config : HardwareConfig
        The hardware on which they would run. Axes of :data:`HARDWARE` change the hardware.
    chosen : iterable of dict
        As of :func:`choices`.

    Yields
    ------
    Combination
    """
    planner = _Planner(config)
    for choice in chosen:
        yield Combination(choice, *planner.outcome(choice))


def combinations(config, only=None, further=False):
    """All combinations, in the order of the axes: :func:`planned` of all :func:`choices`."""
    return planned(config, choices(only, further))


class _Planner:
    """Plans combinations. If a combination is refused though it leaves deduplication and near and
    far open, no value of these axes helps, and the reason is the same."""

    def __init__(self, config):
        self._config = config
        self._grounds = {}
        self._open = {}

    def outcome(self, choice):
        """Why a combination is refused, and what planning it has raised besides; None for each that
        there is not."""
        opened = choice | {axis: None for axis in _LEFT_OPEN if axis in choice}
        key = tuple(opened.values())
        if key not in self._open:
            self._open[key] = self._asked(opened)
        if self._open[key] != (None, None) or opened == choice:
            return self._open[key]
        return self._asked(choice)

    def _asked(self, choice):
        device, algorithm = Device.functional(equipped(self._config, choice)), choice["algorithm"]
        try:
            if algorithm not in self._grounds:
                self._grounds[algorithm] = [(ground.load(algorithm), ground)
                                            for ground in GRAPHS.values()]
            for graph, ground in self._grounds[algorithm]:
                asked = ground.asked(choice)
                device.plan(asked.pop("algorithm"), graph, **asked)
        except UserError as error:
            return str(error), None
        except Exception as error:      # a list goes on behind it, and ends with its number
            return None, f"{type(error).__name__}: {error}"
        return None, None
