"""The architecture of the whole, from host to DRAM."""

from hw.core.core import Core
from hw.core.lsu import LoadStoreUnit
from hw.gpu import Uncore
from hw.memory.l2 import L2

from ..diagram import Diagram
from ..module_graph import ModuleGraph
from .common import narrow, shown, size


__all__ = ["draw"]


def draw() -> str:
    """The picture."""
    config = shown(several=True)
    d = Diagram("Architecture of Graphloom", 860, 710, {
        "gpu": ModuleGraph(Uncore(narrow(several=True))),
        "l2": ModuleGraph(L2(narrow(several=True))),
        "core": ModuleGraph(Core(narrow())), "lsu": ModuleGraph(LoadStoreUnit(narrow()))})

    d.box("host", (20, 16, 820, 46), [
        "Host software", "algorithms, schedules, storage formats, kernel compiler, runtime"],
        kind="outside")
    d.box("simulator", (150, 92, 250, 42), [
        "Native simulator", "the same RTL, compiled to C++"], kind="outside")
    d.box("link", (460, 92, 250, 42), ["Board", "serial link and SDRAM controller"], kind="outside")
    d.arrow("host", "simulator", out="bottom-155", into="top", both=True)
    d.arrow("host", "link", out="bottom+155", into="top", both=True)

    d.box("gpu", (20, 160, 820, 466), ["GPU"], kind="frame")
    d.box("control", (150, 176, 560, 42), [
        "Control", "host registers, launches, performance counters"],
        of=("gpu/control", "gpu/counters", "gpu/counters_*"))
    d.arrow("simulator", "control", out="bottom", into="top-155", both=True)
    d.arrow("link", "control", out="bottom", into="top+155", both=True)

    d.box("other cores", (182, 260, 646, 244), [], kind="frame")
    d.box("core", (174, 252, 646, 244), [], kind="core", of=("gpu/port core_0", "gpu/port core_1"))
    d.note(186, 272, f"Core, 1 to 8 of them: {config.warps} warps x {config.threads} lanes",
           size=13, font_weight="bold")
    d.arrow("control", "core", out="bottom", into="top-67",
            label=("program, launch", (440, 240), "start"))
    d.box("fetch", (190, 288, 130, 52), [
        "Fetch, decode", f"{size(config.imem_bytes)} of program"],
        of=("core/fetch", "core/decoder"))
    d.box("scheduler", (350, 288, 130, 52), ["Scheduler", "scoreboard"], of=("core/scheduler",))
    d.box("registers", (510, 288, 130, 52), ["Registers", "32 a lane and warp"],
          of=("core/registers",))
    d.box("pipelines", (670, 288, 134, 52), ["Pipelines", "arithmetic, votes"],
          of=("core/alu_*", "core/multiplier_*", "core/divider", "core/crosslane"))
    d.box("control flow", (190, 362, 130, 52), ["Control flow", "divergence, barriers"],
          of=("core/divergence", "core/barriers"))
    d.box("writeback", (670, 362, 134, 52), ["Write-back"], of=("core/writeback",))
    d.box("lsu", (510, 362, 130, 52), ["Load/store unit", "coalescer, load queue"],
          kind="memory", of=("core/lsu", "lsu/queue", "lsu/coalescer", "lsu/loads"))
    d.box("weaver", (350, 362, 130, 52), ["Weaver", "hands out edges"], kind="graph",
          of=("core/gathering",))
    d.box("l1", (350, 444, 454, 44), [
        "L1 data cache and local memory",
        f"{size(config.l1_bytes)} of cache, {config.l1_mshrs} MSHRs; "
        f"{size(config.local_bytes)} of local memory"],
        kind="memory", of=("lsu/l1", "gpu/port core_0"))
    d.inside("core/checks", "core/csrs", "core/errors", "core/phases")
    d.arrow("fetch", "scheduler")
    d.arrow("scheduler", "registers")
    d.arrow("registers", "pipelines")
    d.arrow("registers", "lsu", out="bottom", into="top")
    d.arrow("registers", "weaver", out="bottom-40", into="top+20", via=((None, 351), (435, None)))
    d.arrow("pipelines", "writeback", out="bottom", into="top")
    d.arrow("lsu", "writeback", out="right+8", into="left+8")
    d.arrow("weaver", "writeback", out="bottom", into="bottom", via=((None, 425), (737, None)))
    d.arrow("writeback", "registers", out="left-14", into="right+14",
            via=((655, None), (None, 328)))
    d.arrow("control flow", "fetch", out="top", into="bottom")
    d.arrow("lsu", "l1", out="bottom", into="top-2", both=True)

    d.box("scu", (36, 252, 122, 244), [
        "SCU", "Stream", "Compaction Unit:", "selects, gathers,", "expands, filters,", "groups", "",
        f"{config.scu} elements a cycle,", "an option"], kind="graph", of=("gpu/scu",))
    d.arrow("control", "scu", out="left", into="top", via=((97, None),), both=True)
    d.box("crossbar", (36, 524, 788, 30), ["Crossbar (with several banks)"], kind="memory",
          of=("gpu/l2", "l2/crossbar"))
    d.arrow("scu", "crossbar", out="bottom", into="top-333", both=True)
    d.arrow("l1", "crossbar", out="bottom", into="top+147", both=True)
    d.box("bank 0", (36, 576, 386, 40), [
        f"L2, bank 0 of {config.l2_banks}",
        f"{size(config.l2_bytes)} in all, atomics, {config.l2_mshrs} MSHRs a bank"],
        kind="memory", of=("l2/bank_0",))
    d.box("bank 1", (438, 576, 386, 40), [f"L2, bank 1 of {config.l2_banks}"],
          kind="memory", of=("l2/bank_1",))
    for number, place in enumerate((-201, 201)):
        d.arrow("crossbar", f"bank {number}", out=f"bottom{place:+d}", into="top", both=True)
    d.box("dram", (36, 650, 788, 42), [
        "DRAM", "a model in the simulator; SDRAM on the board"], kind="outside",
        of=("l2/port", "gpu/answers", "l2/port memory_response"))
    for number, place in enumerate((-201, 201)):
        d.arrow(f"bank {number}", "dram", out="bottom", into=f"top{place:+d}", both=True)
    return d.svg()
