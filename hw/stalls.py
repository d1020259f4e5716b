"""The causes that keep a warp from issuing, a pass from the L1 and a stage of the SCU from going
on: the only lists of them.

Scheduler, trace port, counters, timeline and tables of results all follow these lists.
"""

from typing import NamedTuple

from hw.operations import Unit


__all__ = ["L1_STALLS", "SCU_STALLS", "STALLS", "WARP_STATES", "Stall"]


class Stall(NamedTuple):
    """A cause that keeps a warp from issuing."""
    label: str  #: Its name in tables of results.
    doc: str  #: The kind of cycle that the counter ``stall_<name>`` counts.
    #: The unit for whose results, or for room in which, the warp waits. Without a unit, the
    #: scheduler has a condition of its own.
    unit: Unit | None = None


#: {name: cause}. A cycle without an issue is attributed to the first cause in this list that holds
#: for any warp.
STALLS = {
    "memory": Stall("memory", "waiting for global memory", Unit.LSU),
    "local": Stall("local memory", "waiting for local memory"),
    "weaver": Stall("Weaver", "waiting for the Weaver", Unit.GATHER),
    "execute": Stall("execution unit", "waiting for an execution unit or its result"),
    "barrier": Stall("barrier", "a warp waits at a barrier, the others at most for instructions"),
    "fetch": Stall("fetch", "waiting for instructions, no warp at a barrier"),
}

#: {cause that keeps a pass from entering a bank of the L1: the kind of wait}. A cycle counts for
#: the first cause in this list that holds.
L1_STALLS = {
    "mshr": "a load, with no MSHR or no entry of the lists free",
    "fill": "a line of the set comes and is installed",
    "replay": "an answer has waited too long for the load queue, and goes first",
    "order": "an earlier pass to the line or to local memory is not done, or lines are forgotten",
    "l2": "the L2 takes no requests",
}

#: {stage of the SCU: the kind of wait}. Each cycle counts for all stages that do not take what they
#: are offered.
SCU_STALLS = {
    "fetch": "the Data Fetch does not take an element's address",
    "filter": "the Filtering/Grouping Unit does not take elements to look up",
    "store": "a Data Store does not take elements or costs",
    "l2": "the L2 does not take a request",
}

#: The states of a warp in the trace: the place in this list is the number in the record. For the
#: whole core, "ready" is a cycle with an issue, and "ended" is a cycle in which no warp was left.
WARP_STATES = ("ended", "ready", *STALLS)
