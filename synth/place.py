"""Placement and routing with nextpnr: the frequency that a netlist reaches, and what limits it."""

import dataclasses
import itertools
import json
import os
import pathlib
import re
import statistics
import tempfile
import time

from base.output import replacing
from sim import cache
from sim.toolchain import ToolError

from . import tools
from .devices import TargetDevice
from .netlist import Netlist, PathStep, strip
from .parallel import in_parallel


__all__ = ["DoesNotFit", "Placement", "Spread", "complaint", "place", "place_all", "spread"]


#: Part of the key of kept placements. Change it when the kept data of a placement changes.
_RECIPE = "4"

# Large designs from the other placer can hardly be routed, and the other router does not finish on
# them (docs/synthesis.md).
_OPTIONS = ("--placer", "static", "--router", "router1", "--timing-allow-fail")


class DoesNotFit(ToolError):
    """A design needs more of a resource than the device has. The message is one line and names the
    resource."""


@dataclasses.dataclass(frozen=True)
class Placement:
    """The result of nextpnr for a netlist and one seed."""
    seed: int
    frequency: float  #: MHz that the slowest clock reaches.
    levels: int  #: Pieces of logic on the longest path of that clock.
    path: tuple[PathStep, ...]  #: The steps of that longest path.
    used: dict[str, int]  #: Cells of each type that are used.
    seconds: float  #: Time that nextpnr took.
    folder: pathlib.Path  #: Where :attr:`log` and :attr:`configuration` are.

    @property
    def log(self) -> pathlib.Path:
        """The log of nextpnr."""
        return self.folder / f"nextpnr-{self.seed}.log"

    @property
    def configuration(self) -> pathlib.Path:
        """The configuration from which ecppack makes a bitstream."""
        return self.folder / f"placed-{self.seed}.config"

    def record(self) -> dict:
        """All but the folder, for JSON."""
        found = dataclasses.asdict(self)
        del found["folder"]
        return found

    @classmethod
    def from_record(cls, record, folder) -> "Placement":
        """The placement with this :meth:`record`, whose files are in a folder."""
        path = tuple(PathStep(**step) for step in record["path"])
        return cls(**record | {"path": path}, folder=folder)


@dataclasses.dataclass(frozen=True)
class Spread:
    """Lowest, middle and highest frequency of several seeds."""
    low: float
    median: float
    high: float


def spread(placements) -> Spread:
    """The spread of some placements' frequencies."""
    found = [placement.frequency for placement in placements]
    return Spread(min(found), statistics.median(found), max(found))


#: The names of resources in tables, by nextpnr's names for them.
_RESOURCES = {"TRELLIS_COMB": "LUT4", "TRELLIS_FF": "FF", "DP16KD": "block RAM",
              "MULT18X18D": "DSP", "TRELLIS_RAMW": "LUT RAM", "TRELLIS_IO": "pins",
              "DCCA": "global clocks"}

#: The phases of nextpnr, by the text that nextpnr prints at the beginning of each.
_PHASES = {"Info: Packing": "packing", "Info: Running Static": "placing",
           "Info: Running simulated": "improving the placement", "Info: Routing": "routing",
           "Info: Setting up routing": "routing"}

#: The line that nextpnr prints for each resource after packing: name, used cells, available cells.
_USED = re.compile(r"(?m)^Info:\s+(\w+):\s+(\d+)/\s*(\d+)\s+\d+%$")

#: The number of missing connections in a line that router1 prints.
_LEFT = re.compile(r"Info:\s+\d+ \|.*\|\s*(\d+)\|")


class _Full(Exception):
    """A resource has run out, and nextpnr would try to place the design all the same."""


def _over(printed):
    """The resources that are used up beyond the device's amount, each as text."""
    return [f"{used} {_RESOURCES.get(name, name)} of {available}"
            for name, used, available in _USED.findall(printed) if int(used) > int(available)]


def complaint(printed, code) -> tuple[bool, str]:
    """Why nextpnr failed, from its output: whether a resource ran out, and a line that names the
    resource or else the error."""
    over = _over(printed)
    if over:
        return True, "it needs " + ", ".join(dict.fromkeys(over))
    for error in re.findall(r"(?m)^ERROR: (.*)$", printed):
        found = re.search(r"place cell '(.*?)', no BELs remaining .* cell type '(\w+)'", error)
        if found:
            return True, (f"no {_RESOURCES.get(found[2], found[2])} is left for "
                          f"{strip(found[1])}")
        if "utilisation limit" in error or "legal placement" in error:
            return True, f"LUT4 and FF cannot be packed into the device: {error}"
        return False, error
    return False, f"it stopped with exit code {code}"


def place(netlist, top, device: TargetDevice, *, seed, folder, frequency=50.0, constraints=None,
          heard=lambda text: None) -> Placement:
    """Place and route a netlist. A clock that is slower than wanted is no error.

    Parameters
    ----------
    netlist : pathlib.Path
        JSON of Yosys.
    top : str
        Its top module.
    device : TargetDevice
    seed : int
    folder : pathlib.Path
        An existing folder for the log and the configuration.
    frequency : float
        Target frequency, in MHz.
    constraints : pathlib.Path, optional
        A file of pin and clock constraints (LPF); without it, nextpnr chooses the pins.
    heard : callable
        Called with what nextpnr is doing.

    Raises
    ------
    DoesNotFit
        If a resource ran out; the error names it. It comes before placement if there are too many
        cells.
    ToolError
        If there is no nextpnr, or it stops with another error.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".work-") as name:
        work = pathlib.Path(name)
        arguments = [*device.options, *_OPTIONS, "--json", _relative(netlist, work),
                     "--seed", seed, "--freq", frequency, "--report", "report.json",
                     "--textcfg", "config"]
        if constraints is None:
            arguments.append("--lpf-allow-unconstrained")
        else:
            arguments += ["--lpf", _relative(constraints, work)]

        fits = True

        def line(text):
            nonlocal fits
            fits = fits and not _over(text)
            for start, phase in _PHASES.items():
                if text.startswith(start):
                    if phase == "placing" and not fits:
                        raise _Full
                    heard(phase)
            left = _LEFT.match(text)
            if left:
                heard(f"routing, {int(left[1]):,} connections left")
        began = time.perf_counter()
        try:
            code = tools.run("nextpnr-ecp5", arguments, work, work / "log", heard=line)
        except _Full:
            code = None
        seconds = round(time.perf_counter() - began, 1)
        log = folder / f"nextpnr-{seed}.log"
        os.replace(work / "log", log)
        if code != 0:
            full, why = complaint(log.read_text(), code)
            if full:
                raise DoesNotFit(f"{top} does not fit {device.name}: {why} (the output of nextpnr "
                                 f"is in {log})")
            raise ToolError(f"nextpnr could not place {top}: {why} (its whole output is in "
                            f"{log})")
        found = json.loads((work / "report.json").read_text())
        reached, path = _slowest(found)
        placement = Placement(
            seed=seed, frequency=round(reached, 2),
            levels=sum(part["type"] == "routing" and part["delay"] > 0
                       and after["type"] == "logic" for part, after in itertools.pairwise(path)),
            path=_steps(path, Netlist(netlist.read_text(), top)), seconds=seconds, folder=folder,
            used={name: cell["used"] for name, cell in found["utilization"].items()
                  if cell["used"]})
        os.replace(work / "config", placement.configuration)
    return placement


def _relative(path, folder):
    """The path of a file for a program that runs in the folder."""
    return os.path.relpath(path.resolve(), folder.resolve())


def _slowest(report):
    """The frequency of the slowest clock, and its longest path."""
    if not report["fmax"]:
        raise ToolError("nextpnr found no clock in the design")
    clock = min(report["fmax"], key=lambda name: report["fmax"][name]["achieved"])
    for found in report["critical_paths"]:
        if found["from"].split()[-1] == clock and found["to"].split()[-1] == clock:
            return report["fmax"][clock]["achieved"], found["path"]
    return report["fmax"][clock]["achieved"], []


def _steps(path, names):
    """A path of nextpnr's report with our own names."""
    steps, time = [], 0.0
    for part in path:
        time += part["delay"]
        kind = part["type"]
        if kind == "routing":
            signal = names.place_of(part["net"])
        else:
            signal = names.driven(part["to" if kind == "setup" else "from"]["cell"])
        steps.append(PathStep(round(time, 2), kind, signal))
    return tuple(steps)


def place_all(netlist, top, device, *, seeds, folder, frequency=50.0, constraints=None,
              jobs=1, heard=lambda seed, text: None) -> list[Placement]:
    """:func:`place` with several seeds, ``jobs`` at a time; in the order of the seeds. Earlier
    placements are reused.

    Parameters
    ----------
    folder : pathlib.Path
        Parent of the placements' folders, which are one for each device, frequency, set of
        constraints and version of nextpnr.
    constraints : str, optional
        Contents of the file of constraints.
    heard : callable
        Called with a seed and what is being done with it.
    """
    key = cache.hashed(_RECIPE, *_OPTIONS, tools.find("nextpnr-ecp5").version, device, frequency,
                       constraints or "")
    folder = folder / f"{device.name}-{key[:16]}"
    with cache.writing(folder):
        folder.mkdir(exist_ok=True)
        pins = None
        if constraints is not None:
            pins = folder / "pins.lpf"
            _write(pins, constraints)

        def one(seed):
            placement = _kept(folder, seed)
            if placement is None:
                placement = place(
                    netlist, top, device, seed=seed, folder=folder, frequency=frequency,
                    constraints=pins, heard=lambda text: heard(seed, text))
                _keep(placement, folder)
            return placement

        return in_parallel(one, seeds, jobs)


def _keep(placement, folder):
    """Write a placement, with the digest of its configuration, so that it can be reused."""
    path = placement.configuration
    _write(folder / f"{placement.seed}.json", json.dumps(
        placement.record() | {"sha256": cache.digest(path) if path.exists() else None}))


def _write(path, text):
    """Write a file that another placement may read at the same time."""
    with replacing(path) as stream:
        stream.write(text.encode())


def _kept(folder, seed):
    """The placement with a seed, if there is one and its files are unchanged."""
    try:
        record = json.loads((folder / f"{seed}.json").read_text())
        wanted = record.pop("sha256")
        placement = Placement.from_record(record, folder)
        path = placement.configuration
        return placement if wanted == (cache.digest(path) if path.exists() else None) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
