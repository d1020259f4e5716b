"""Logic synthesis: from a component to a netlist of the cells of a device, with Yosys."""

import dataclasses
import json
import pathlib
import re
import shutil
import time

from sim import cache
from sim.toolchain import ToolError

from . import rtlil, tools
from .devices import Area, TargetDevice


__all__ = ["BLOCK", "DISTRIBUTED", "FLIP_FLOPS", "REMOVED", "Logic", "synthesize"]


#: The resources that a memory can be mapped to. A memory without a use is removed.
BLOCK, DISTRIBUTED, FLIP_FLOPS, REMOVED = "block", "distributed", "flip-flops", "removed"

#: Part of the cache key. Change it when the kept data of a synthesis changes.
_RECIPE = "1"

#: The file of a cache entry that holds the members of a :class:`Logic` that are not files.
_RESULT = "result.json"

# Assertions are for simulation and proofs. ABC would check its own result, which for the SCU of 4
# elements takes over twenty minutes.
_BEGIN = """\
read_rtlil design.il
chformal -remove
scratchpad -set abc9.verify 0
"""

_SCRIPTS = {
    "ecp5": "synth_ecp5 -top {top} -json netlist.json\n",
    "ice40": "synth_ice40 -top {top} -json netlist.json\n",
    "generic": "synth -top {top} -flatten -lut 4\nwrite_json netlist.json\n",
}

_VERILOG = "blackbox =A:whitebox\nwrite_verilog -noexpr -noattr -selected netlist.v\n"

_PASS = re.compile(r"\d+(?:\.\d+)*\. Executing (\S+)")


@dataclasses.dataclass(frozen=True)
class Logic:
    """The result of a synthesis."""
    top: str  #: The top module of the netlist.
    device: TargetDevice
    cells: dict[str, int]  #: How many cells there are of each type.
    #: Resource that each memory is mapped to, by the memory's hierarchical name.
    memories: dict[str, str]
    seconds: float  #: Time that Yosys took for the synthesis.
    folder: pathlib.Path  #: Where :attr:`netlist`, :attr:`verilog` and :attr:`log` are.

    @property
    def netlist(self) -> pathlib.Path:
        """The netlist as JSON, for nextpnr."""
        return self.folder / "netlist.json"

    @property
    def verilog(self) -> pathlib.Path:
        """The netlist in Verilog, to be simulated with models of the cells."""
        return self.folder / "netlist.v"

    @property
    def log(self) -> pathlib.Path:
        """The log of Yosys."""
        return self.folder / "yosys.log"

    @property
    def placements(self) -> pathlib.Path:
        """The folder for placements of this netlist, created if need be."""
        return cache.kept("placements", self.folder.name)

    @property
    def area(self) -> Area:
        """The resources that the netlist takes."""
        return self.device.area(self.cells)


def synthesize(component, device, *, top, heard=lambda text: None) -> Logic:
    """Synthesize a component, unless that has been done before.

    Parameters
    ----------
    component : wiring.Component or str
        The component to synthesize, or its RTLIL.
    device : TargetDevice
    top : str
        Name of its module.
    heard : callable
        Called with the name of each pass of Yosys.

    Raises
    ------
    ToolError
        If there is no Yosys, or it stops with an error.
    """
    text = component if isinstance(component, str) else rtlil.convert(component, top)
    script = _BEGIN + _SCRIPTS[device.family].format(top=top) + _VERILOG
    key = cache.hashed(_RECIPE, tools.find("yosys").version, script, text)
    name = f"{top}-{device.family}-{key}"
    folder = cache.entry("synth", name, lambda work: _make(work, name, text, script, top, heard),
                         what=f"netlist of {top}")
    kept = json.loads((folder / _RESULT).read_text())
    return Logic(top, device, kept["cells"], kept["memories"], kept["seconds"], folder)


def _make(work, name, text, script, top, heard):
    """Run Yosys in an empty folder. If it fails, its log is kept beside the entry's place."""
    (work / "design.il").write_text(text)
    (work / "script.ys").write_text(script)
    began = time.perf_counter()

    def line(text):
        found = _PASS.match(text)
        if found:
            heard(found[1])
    log = work / "yosys.log"
    code = tools.run("yosys", ["-s", "script.ys"], work, log, heard=line)
    printed = log.read_text()
    if code:
        kept = work.with_name(f"{name}.log")
        shutil.copyfile(log, kept)
        raise ToolError(f"Yosys could not synthesize {top}: {_error(printed, code)}; its "
                        f"whole output is in {kept}")
    result = {"cells": _cells(work / "netlist.json", top),
              "memories": mapped(printed, text, top),
              "seconds": round(time.perf_counter() - began, 1)}
    (work / _RESULT).write_text(json.dumps(result))
    (work / "design.il").unlink()


def _error(printed, code):
    found = re.findall(r"(?m)^(?:ERROR: |.*wasm trap: )(.*)$", printed)
    return found[0] if found else f"it stopped with exit code {code}"


def _cells(path, top):
    """How many cells the netlist has of each type."""
    counts = {}
    for cell in json.loads(path.read_text())["modules"][top]["cells"].values():
        if cell["type"] != "$scopeinfo":
            counts[cell["type"]] = counts.get(cell["type"], 0) + 1
    return counts


def mapped(printed, text, top) -> dict:
    """The kind of cells that each memory of a design is made of.

    Parameters
    ----------
    printed : str
        The log of Yosys, in which MEMORY_LIBMAP names the cells of each memory that it found. If
        that pass does not run, every memory becomes flip-flops.
    text : str
        The design in RTLIL, which has all memories.
    top : str
        Its top module.
    """
    found = {}
    for name, cell in re.findall(r"(?m)^mapping memory (\S+) via (\S+)$", printed):
        # LUT RAM of the ECP5 has 16 words; all other memories are block RAMs.
        found[name] = DISTRIBUTED if "DPR16X4" in cell else BLOCK
    found |= dict.fromkeys(re.findall(r"(?m)^using FF mapping for memory (\S+)$", printed),
                           FLIP_FLOPS)
    found = {rtlil.plain(name.removeprefix(f"{top}.")): kind for name, kind in found.items()}
    absent = REMOVED if "MEMORY_LIBMAP" in printed else FLIP_FLOPS
    return {name: found.get(name, absent) for name in sorted(rtlil.memories(text, top) | {*found})}
