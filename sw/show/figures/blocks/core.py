"""The core, from fetch to write-back."""

from hw.core.core import Core

from ..diagram import Diagram
from ..module_graph import ModuleGraph
from .common import narrow, shown, size


__all__ = ["draw"]


def draw() -> str:
    """The picture."""
    config = shown()
    d = Diagram("Block diagram of the core", 860, 470, {"core": ModuleGraph(Core(narrow()))})
    for x, stage in ((75, "F0, F1"), (205, "F2"), (325, "P"), (452, "I, O"), (598, "X"),
                     (766, "C")):
        d.note(x, 24, stage, size=12, anchor="middle", fill="#555")
    d.box("fetch", (20, 150, 110, 60), [
        "Fetch", "instruction", f"memory {size(config.imem_bytes)}"], of=("core/fetch",))
    d.box("decoder", (160, 150, 90, 60), ["Decoder"], of=("core/decoder",))
    d.box("scheduler", (280, 150, 96, 60), ["Scheduler", "scoreboard,", "buffers"],
          of=("core/scheduler",))
    d.box("registers", (406, 150, 92, 60), ["Registers", f"{config.warps} warps x", f"32 x "
          f"{config.threads} lanes"], of=("core/registers",))
    d.box("state", (20, 300, 230, 48), ["CSRs, errors, phase counters",
                                      "the first error stops all warps"],
          of=("core/checks", "core/csrs", "core/errors", "core/phases"))

    rows = {"alu": (["ALU", "branches, addresses"], ("core/alu_*",), "core"),
            "crosslane": (["Votes, shuffles"], ("core/crosslane",), "core"),
            "multiplier": (["Multiplier", "a lane each"], ("core/multiplier_*",), "core"),
            "divider": (["Divider", "a bit a cycle"], ("core/divider",), "core"),
            "lsu": (["Load/store unit", "L1 and local memory"], ("core/lsu",), "memory"),
            "weaver": (["Weaver", "behind a queue"], ("core/gathering",),
                       "graph")}
    for row, (name, (lines, of, kind)) in enumerate(rows.items()):
        d.box(name, (536, 40 + 62 * row, 126, 48), lines, of=of, kind=kind)
        d.arrow("registers", name, via=((516, None), (None, 64 + 62 * row)))

    d.box("flow", (692, 40, 148, 110), [
        "Control flow", "masks and stack", "of each warp,", f"{config.barriers} barriers"],
        kind="core", of=("core/divergence", "core/barriers"))
    d.box("writeback", (692, 212, 148, 72), [
        "Write-back", "pipeline first, loads,", "divider, Weaver"], kind="core",
        of=("core/writeback",))
    d.note(766, 204, "R", size=12, anchor="middle", fill="#555")
    d.arrow("fetch", "decoder")
    d.arrow("decoder", "scheduler")
    d.arrow("scheduler", "registers")
    d.arrow("alu", "flow", into="left-31")
    for name in ("alu", "crosslane", "multiplier", "divider", "lsu", "weaver"):
        d.arrow(name, "writeback", out=f"right{8 * (name == 'alu'):+d}",
                via=((677, None), (None, 248)))
    d.arrow("writeback", "registers", out="bottom", into="bottom", via=((None, 436), (452, None)),
            label=("results", (600, 430)))
    d.arrow("flow", "fetch", out="top", into="top", via=((None, 32), (75, None)),
            label=("next PC", (140, 46)))
    d.box("l2", (160, 372, 216, 48), ["L2", "lines, atomics, answers by tag"],
          kind="outside", of=("core/port request", "core/port response"))
    d.arrow("lsu", "l2", out="left+14", into="right", via=((528, None), (None, 396)), both=True)
    return d.svg()
