"""The Weaver: its tables, its current entry and its output."""

from hw.gather.fsm.unit import Weaver

from ..diagram import Diagram
from ..module_graph import ModuleGraph
from .common import shown


__all__ = ["draw"]


def draw() -> str:
    """The picture."""
    config = shown()
    d = Diagram("Block diagram of the Weaver", 860, 320, {"weaver": ModuleGraph(Weaver(config))})
    d.box("request", (20, 120, 110, 60), ["Request", "REG, SKIP,", "DEC_ID, DEC_LOC"],
          kind="outside", of=("weaver/port request",))
    d.box("table", (180, 40, 170, 66), [
        "Sparse table (ST)", f"{config.warps} rows x {config.threads} entries:",
        "VID, loc, degree"], kind="memory", of=("weaver/table",))
    d.box("pending", (180, 196, 170, 52), [
        "Queue", f"up to {config.warps} warps that wait"], kind="memory", of=("weaver/pending",))
    d.box("ced", (396, 40, 164, 66), ["Current entry (CED)", "VID, next edge,", "edges left"],
          kind="graph", of=("weaver/ced_vid", "weaver/ced_loc", "weaver/ced_degree"))
    d.box("fsm", (396, 130, 164, 44), ["State machine", "S0 to S8"], kind="graph",
          of=("weaver/fsm_state",))
    d.box("od", (600, 40, 110, 66), ["Output (OD)", f"{config.threads} VIDs"],
          kind="graph", of=("weaver/od_vid", "weaver/filled"))
    d.box("dt", (600, 196, 110, 66), ["Dense table", "(DT): EIDs and", "mask of a warp"],
          kind="memory", of=("weaver/dt_eid", "weaver/dt_mask"))
    d.box("response", (740, 120, 100, 60), ["Response", "VIDs or EIDs,", "mask"], kind="outside",
          of=("weaver/port response",))
    d.arrow("request", "table", via=((155, None), (None, 73)), label=("REG", (140, 112), "end"))
    d.arrow("request", "pending", via=((155, None), (None, 222)),
            label=("DEC_ID", (148, 212), "end"))
    d.arrow("request", "dt", out="bottom", into="bottom", via=((None, 300), (655, None)),
            label=("DEC_LOC", (365, 294)))
    d.arrow("table", "ced", label=("scan", (373, 66)))
    d.arrow("ced", "od", label=("VID", (580, 66)))
    d.arrow("ced", "dt", out="right+22", via=((575, None), (None, 229)),
            label=("EIDs", (570, 222), "end"))
    d.arrow("pending", "fsm", via=((375, None), (None, 152)))
    d.arrow("od", "response", into="left-10", via=((725, None), (None, 140)))
    d.arrow("dt", "response", into="left+10", via=((725, None), (None, 160)))
    return d.svg()
