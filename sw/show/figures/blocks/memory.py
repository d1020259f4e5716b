"""The memory path, from an instruction's addresses to the memory port."""

from hw.core.l1 import L1
from hw.core.lsu import LoadStoreUnit
from hw.memory.l2 import L2
from hw.memory.l2_bank import L2Bank

from ..diagram import Diagram
from ..module_graph import ModuleGraph
from .common import narrow, shown, size


__all__ = ["draw"]


def draw() -> str:
    """The picture."""
    config, small = shown(several=True), narrow(several=True)
    d = Diagram("Block diagram of the memory path", 860, 440, {
        "lsu": ModuleGraph(LoadStoreUnit(narrow())), "l1": ModuleGraph(L1(narrow())),
        "l2": ModuleGraph(L2(small)), "bank": ModuleGraph(L2Bank(small.bank))})
    d.box("core", (16, 16, 446, 408), ["Load/store unit of a core"], kind="frame")
    d.box("queue", (28, 52, 120, 54), ["Queue", "addresses checked"], of=("lsu/queue",))
    d.box("coalescer", (28, 150, 120, 54), ["Coalescer", "lanes to passes"], of=("lsu/coalescer",))
    d.box("loads", (28, 330, 120, 70), ["Load queue", f"{config.load_queue} loads,",
                                      "lines to lanes"], of=("lsu/loads",))
    d.box("l1", (200, 52, 250, 348), ["L1", f"{size(config.l1_bytes)}, {config.l1_ways} ways"],
          kind="frame", of=("lsu/l1",))
    d.box("tags", (212, 104, 106, 48), ["Tags", "valid bits"], kind="memory",
          of=("l1/tags", "l1/valid"))
    d.box("lines", (330, 104, 106, 48), ["Lines", f"{config.line_bytes} bytes"], kind="memory",
          of=("l1/lines_*",))
    d.box("misses", (212, 182, 106, 48), ["MSHRs", f"{config.l1_mshrs}, with lists"], kind="memory",
          of=("l1/misses",))
    d.box("replacement", (330, 182, 106, 48), ["Replacement"], kind="memory",
          of=("l1/replacement",), size=12)
    d.box("requests", (330, 252, 106, 48), ["Requests", "in order"], kind="memory",
          of=("l1/requests",))
    d.box("local", (212, 330, 224, 54), [
        "Local memory", f"{size(config.local_bytes)}, {config.threads} banks"], kind="memory",
        of=("l1/local",))
    d.arrow("queue", "coalescer", out="bottom", into="top",
            label=("instruction", (94, 132), "start"))
    d.arrow("coalescer", "l1", into="left-49", label=("passes", (174, 170)))
    d.arrow("coalescer", "loads", out="bottom", into="top",
            label=("slot, lanes", (94, 270), "start"))
    d.arrow("l1", "loads", out="left+139", into="right", label=("lines", (174, 358)))

    d.box("several", (492, 16, 356, 408), ["L2"], kind="frame")
    d.box("crossbar", (502, 104, 80, 240), [
        "Crossbar", "a request", "a bank", "and an", "answer", "a core", "each cycle"],
        kind="memory", of=("l2/crossbar", "l1/port request", "l1/port response"))
    d.arrow("requests", "crossbar", into="left+52")
    d.arrow("crossbar", "misses", out="left+16", into="bottom", via=((265, None),),
            label=("answers", (294, 254)))
    d.box("other", (614, 76, 164, 320), [], kind="frame", of=("l2/bank_1",))
    d.box("bank", (606, 68, 164, 320), [
        f"L2 bank, 1 of {config.l2_banks}", f"{size(config.bank.l2_bytes)}, "
        f"{config.l2_ways} ways"], kind="frame", of=("l2/bank_0",))
    d.box("l2 tags", (614, 118, 70, 44), ["Tags"], kind="memory", of=("bank/tags",))
    d.box("l2 lines", (692, 118, 70, 44), ["Lines", "atomics"], kind="memory", of=("bank/lines",))
    d.box("l2 misses", (614, 180, 70, 48), ["MSHRs", f"{config.l2_mshrs}"], kind="memory",
          of=("bank/misses",))
    d.box("l2 replacement", (692, 180, 70, 48), ["Replace-", "ment"], kind="memory",
          of=("bank/replacement",), size=11)
    d.box("fetches", (614, 246, 148, 28), ["Fetches"], kind="memory", of=("bank/fetches",))
    d.box("victims", (614, 288, 148, 28), ["Write-back queue"], kind="memory", of=("bank/victims",))
    d.box("responses", (614, 330, 148, 28), ["Answers"], kind="memory", of=("bank/responses",))
    d.arrow("crossbar", "bank", into="left-4", both=True)
    d.box("port", (796, 104, 44, 240), ["Port", "of all", "banks"], kind="memory", of=("l2/port",))
    d.arrow("bank", "port", into="left+4")
    d.note(790, 372, "to DRAM", size=11)
    return d.svg()
