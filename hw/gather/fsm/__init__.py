"""The Weaver of SparseWeaver: the state machine of the paper."""

from hw.gather.instructions import WEAVER
from hw.gather.shown import row_store
from hw.gather.variant import GatherVariant
from hw.inside import Inside


__all__ = ["VARIANT"]


VARIANT = GatherVariant(
    name="fsm", title="Weaver fsm", component="Weaver",
    doc="the Weaver, the state machine of the SparseWeaver paper",
    instructions=WEAVER, settings=("weaver_entries", "table_latency"),
    shown=(
        Inside("state machine", "", "fsm_state", "state", states=(
            "S0_INIT", "S1_LOAD_FIRST", "S7_DRAIN", "S2_DECODE", "S3_FETCH", "S5_OUTPUT",
            "S4_UPDATE", "S6_WAIT", "S8_END")),
        Inside("current entry: vertex", "", "ced_vid", "number"),
        Inside("current entry: next edge", "", "ced_loc", "number", ("loc",)),
        Inside("current entry: edges left", "", "ced_degree", "number"),
        Inside("lanes filled", "", "filled", "number"),
        Inside("output data: vertices", "", "od_vid", "entries", ("vid",)),
        *row_store("table.store"),
        Inside("dense table: lanes", "", "dt_mask", "mask"),
        Inside("dense table by warp: edge of lane 0", "", "dt_eid", "entries", ("eid",),
               valid="dense table: lanes"),
    ))
