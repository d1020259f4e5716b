"""Every combination of algorithm, format, schedule, direction and frontier, and which can work.

Nothing lists them: each is asked for, on a small graph, as a run would ask for it, up to its
program. What is refused gives its reason.
"""

import dataclasses
import itertools

from sw import algorithms, formats, schedules
from sw.errors import UserError
from sw.formats.image import DIRECTIONS
from sw.graph.load import load
from sw.kernels import frontiers
from sw.runtime.device import Device


__all__ = ["AXES", "Combination", "combinations"]


#: What is combined: the values that there are, by the name of the parameter of
#: :meth:`~sw.runtime.device.Device.plan`; None leaves the choice to the algorithm. A further axis
#: is a further line.
AXES = {
    "algorithm": algorithms.names,
    "format": formats.image_names,
    "schedule": schedules.names,
    "direction": lambda: [*DIRECTIONS, "auto"],
    "frontier": lambda: [None, *frontiers.names()],
}

#: Whom it is tried on.
_GRAPH, _WEIGHTS = "karate", 9


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


def combinations(config):
    """All of them, in the order of the axes.

    Parameters
    ----------
    config : HardwareConfig
        What they would run on.

    Yields
    ------
    Combination
    """
    graph = load(_GRAPH, weights=_WEIGHTS)
    device = Device.functional(config)
    for values in itertools.product(*(values() for values in AXES.values())):
        choice = dict(zip(AXES, values))
        reason = None
        try:
            device.plan(graph=graph, **choice).program
        except UserError as error:
            reason = str(error)
        yield Combination(choice, reason)
