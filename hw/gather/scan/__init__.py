"""A Weaver that takes a row a step."""

from hw.gather.instructions import WEAVER
from hw.gather.shown import ENTRY, row_store
from hw.gather.variant import GatherVariant
from hw.inside import Inside


__all__ = ["VARIANT"]


VARIANT = GatherVariant(
    name="scan", title="Weaver scan", component="ScanWeaver",
    doc="the Weaver with a row a step",
    instructions=WEAVER, settings=("weaver_entries", "table_latency"), compared=False,
    shown=(
        Inside("current row", "", "current", "entries", ENTRY),
        Inside("lanes filled", "", "filled", "number"),
        *row_store("store"),
    ))
