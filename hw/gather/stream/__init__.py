"""A Weaver without rounds: warps register rows while others get work."""

from hw.gather.instructions import WEAVER
from hw.gather.shown import row_store
from hw.gather.variant import GatherVariant
from hw.inside import Inside


__all__ = ["VARIANT"]


VARIANT = GatherVariant(
    name="stream", title="Weaver stream", component="StreamWeaver",
    doc="a Weaver without rounds",
    instructions=WEAVER, settings=("weaver_entries", "table_latency"), rounds=False,
    shown=(
        Inside("current entry: vertex", "", "vid", "number"),
        Inside("current entry: next edge", "", "loc", "number", ("loc",)),
        Inside("current entry: edges left", "", "degree", "number"),
        Inside("lanes filled", "", "filled", "number"),
        Inside("output data: vertices", "", "od_vid", "entries", ("vid",)),
        Inside("output data: edges", "", "od_eid", "entries", ("eid",)),
        *row_store("store"),
    ))
