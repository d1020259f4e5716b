"""The unit that generates edges in hardware: EGHW (SparseWeaver, 4.6.8)."""

from amaranth.lib import enum

from hw.gather.instructions import DEC_ID, REG, SET, SKIP
from hw.gather.variant import GatherVariant
from hw.inside import Inside


__all__ = ["VARIANT", "AccessTag"]


class AccessTag(enum.Enum, shape=3):
    """The purpose of an access of the unit."""
    IDS       = 0      # vertex IDs, in local memory
    BEGINS    = 1      # offsets of vertices
    ENDS      = 2      # the words behind these
    NEIGHBORS = 3
    WEIGHTS   = 4


VARIANT = GatherVariant(
    name="eghw", title="EGHW", component="EdgeGenerator",
    doc="a unit that reads offsets and edges itself",
    instructions=(SET, REG, SKIP, DEC_ID), settings=("weaver_entries", "eghw_requests"),
    reads_memory=True, tag=lambda config: AccessTag,
    shown=(
        Inside("topology reader", "topology", "fsm_state", "state", states=(
            "REST", "ASK_IDS", "IDS", "ASK_BEGINS", "ASK_ENDS", "OFFSETS")),
        Inside("current entry: vertex", "works", "vid", "number"),
        Inside("current entry: next edge", "works", "loc", "number", ("loc",)),
        Inside("current entry: edges left", "works", "left", "number"),
        Inside("lanes filled", "works", "filled", "number"),
        Inside("vertices read", "topology", "ids_read", "entries", ("vid",)),
        Inside("first edges read", "topology", "begins", "entries", ("loc",)),
        Inside("last edges read", "topology", "ends", "entries", ("end",)),
    ))
