"""The Stream Compaction Unit."""

from hw.scu.scu import Scu

from ..diagram import Diagram
from ..module_graph import ModuleGraph
from .common import narrow, shown


__all__ = ["draw"]


def draw() -> str:
    """The picture."""
    config = shown(several=True)
    d = Diagram("Block diagram of the Stream Compaction Unit", 860, 400,
                {"scu": ModuleGraph(Scu(narrow(several=True)))})
    d.box("host", (20, 40, 110, 48), ["Host", "registers"], kind="outside", of=(
        "scu/port write", "scu/port address", "scu/port write_data"))
    d.box("check", (160, 40, 120, 48), ["Register check"], of=("scu/check",))
    d.box("vectors", (20, 130, 110, 120), [
        "Vectors", "bitmask, indexes,", "counts, filter,", "operand, order"], kind="memory",
        of=("scu/bitmask", "scu/indexes", "scu/counts", "scu/filter", "scu/operand",
            "scu/order"))
    d.box("generator", (160, 130, 120, 60), ["Address", "generator"], kind="graph",
          of=("scu/address_generator", "scu/bits_fork", "scu/counts_fork"))
    d.box("rows", (160, 262, 120, 40), ["Row lookup"], kind="graph", of=("scu/row_lookup",))
    d.box("sieve", (310, 130, 110, 60), ["Sieve, packer", "drop, close gaps"], kind="graph",
          of=("scu/sieve", "scu/packer"))
    d.box("bounds", (450, 130, 90, 60), ["Bounds", "first fault"], kind="graph",
          of=("scu/bounds", "scu/words_fork"))
    d.box("costs", (400, 220, 110, 60), ["Costs", "of STREAM"], kind="graph", of=("scu/costs",))
    d.box("fetch", (570, 130, 120, 60), ["Data fetch", "coalesces reads"], kind="graph",
          of=("scu/data_fetch",))
    d.box("output", (720, 130, 120, 60), ["Output", "operands, bitmask"], kind="graph",
          of=("scu/output",))
    d.box("lookup", (570, 220, 120, 60), ["Filter, group", "hash table"], kind="graph",
          of=("scu/filter_group",))
    d.box("store", (720, 220, 120, 60), ["Data stores", "coalesce writes"], kind="graph",
          of=("scu/data_store", "scu/costs_store", "scu/stores"))
    d.box("port", (20, 320, 820, 54), ["Port", "requests in turn, a line a cycle; answers by tag; "
                                     "to the L2, beside the cores"], kind="memory",
          of=("scu/port",))
    d.arrow("host", "check")
    d.arrow("vectors", "generator", out="right-30")
    d.arrow("vectors", "rows", out="right+45", via=((145, None), (None, 282)))
    d.arrow("rows", "generator", out="top-35", into="bottom-35")
    d.arrow("rows", "port", out="bottom", into="top-210", both=True)
    d.arrow("vectors", "sieve", out="right+30", into="bottom", via=((365, None),))
    d.arrow("vectors", "output", out="top", into="top", via=((None, 108), (780, None)),
            label=("operands, order", (640, 102)))
    d.arrow("check", "generator", out="bottom", into="top", label=("start", (226, 102), "start"))
    for one, other in (("generator", "sieve"), ("sieve", "bounds"), ("bounds", "fetch"),
                       ("fetch", "output")):
        d.arrow(one, other)
    d.arrow("output", "store", out="bottom+20", into="top+20")
    d.arrow("output", "lookup", out="bottom-30", into="right",
            via=((None, 205), (705, None), (None, 250)), both=True)
    d.arrow("generator", "costs", out="bottom", via=((220, None), (None, 250)))
    d.arrow("bounds", "costs", out="bottom-20", into="top+20")
    d.arrow("costs", "output", out="right+18", into="bottom-5",
            via=((540, None), (None, 300), (712, None), (None, 210), (775, None)))
    d.arrow("costs", "port", out="bottom", into="top+25", both=True)
    d.arrow("vectors", "port", out="bottom", into="top-355", both=True)
    d.arrow("fetch", "port", out="left+20", into="top+125", via=((555, None),), both=True)
    d.arrow("lookup", "port", out="bottom", into="top+200", both=True)
    d.arrow("store", "port", out="bottom", into="top+350")
    d.note(310, 68, f"Between blocks: {config.scu} elements a cycle", fill="#555")
    return d.svg()
