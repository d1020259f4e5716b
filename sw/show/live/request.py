"""From what a user chooses on the page to a recording, and to the command line that repeats it."""

import dataclasses
import json
import pathlib
import re
import shlex

from base import scratch
from base.errors import UserError
from base.installation import PROGRAM
from base.printable import one_line
from hw.config import PRESETS, ConfigError, HardwareConfig
from hw.gather.variants import VARIANTS
from hw.stalls import STALLS
from sim import wasm
from sim.errors import BuildError, SimulationError
from sim.toolchain import ToolError
from sw.compile import algorithms, schedules
from sw.show.colours import CAUSES, NEUTRAL, SCHEDULES
from sw.study.benchmarks.workers import tell
from sw.graph.generators import GENERATORS
from sw.graph.load import load
from sw.lang import programs
from sw.compile.plan import as_plan
from sw.compile.schedules import equip

from .recording import RecordingMachine, check_graph, check_text, record
from .work import BUILDING, BUILT


__all__ = ["FIELDS", "RACE", "RunRequest", "check_upload", "choices", "offer", "recorded"]


#: Largest of the random weights of a graph without weights, for algorithms that use weights.
_WEIGHTS = 255

#: The fields of a request that the page may send, and their kinds.
FIELDS = {"algorithm": str, "graph": str, "schedule": str, "direction": str, "format": str,
          "preset": str, "gather": str, "source": str, "iterations": int, "program": str,
          "parameters": str}

#: What the page begins with: the best schedule in software on a small R-MAT, and two units.
RACE = {"preset": "tiny", "graph": "rmat:scale=7,degree=8,seed=1", "algorithm": "bfs",
        "direction": "push", "source": "hub", "schedule": ["vwc", "weaver", "graphpeg"]}

#: The longest text of a program, in characters.
_MOST_TEXT = 20_000

#: The presets of one core, which the page can show.
_PRESETS = tuple(name for name, config in PRESETS.items() if config.cores == 1)


def offer(mode, first=RACE, **more) -> dict:
    """What the page offers, as it reads it: ``mode`` is ``"live"`` or ``"static"``; what it begins
    with, and the colours of states of warps and of schedules, which are those of reports."""
    colours = {"issued": CAUSES["issued"][1], "state-ready": NEUTRAL} | {
        f"state-{name}": CAUSES[name][1] for name in STALLS} | {
        f"schedule-{name}": colour for name, colour in SCHEDULES.items()}
    return {"mode": mode, "first": first, "colours": colours, **more}


def choices() -> dict:
    """The values that the page offers, by field."""
    return {"algorithm": algorithms.names(), "schedule": schedules.names(),
            "direction": ["pull", "push", "auto"],
            "parameters": {name: [parameter for parameter in ("source", "iterations")
                                  if parameter in algorithms.find(name).options]
                           for name in algorithms.names()},
            "programs": {name: programs.path(name).read_text() for name in algorithms.names()
                         if name in programs.names()},
            "preset": list(_PRESETS),
            "gather": list(VARIANTS),
            "graph": ["rmat:scale=6,degree=6,seed=1", "rmat:scale=7,degree=8,seed=1",
                      "road:side=8,seed=1", "road:side=16,seed=1", "karate",
                      "rmat:scale=10,degree=16,seed=1", "road:side=32,seed=1"]}


@dataclasses.dataclass(frozen=True)
class RunRequest:
    """A run that a user asks for."""
    algorithm: str  #: As ``graphloom run`` takes it.
    graph: str  #: As ``graphloom run`` takes it.
    schedule: str | None = None  #: None for the command's own choice.
    direction: str | None = None  #: None for the command's own choice.
    format: str | None = None  #: None for the command's own choice.
    preset: str = "tiny"  #: The hardware to start from.
    #: The unit that hands out edges; None for the preset's, or the one that the schedule needs.
    gather: str | None = None
    source: str | None = None  #: None for the command's own choice.
    iterations: int | None = None
    path: str | None = None  #: The file with the graph, if ``graph`` is the text of an upload.
    parameters: str | None = None  #: Further parameters of the program, ``NAME=VALUE,...``.
    program: str | None = None  #: The text of the program; ``algorithm`` is then its file's name.

    @classmethod
    def parse(cls, text: bytes) -> "RunRequest":
        """The request in a text of JSON. Raises UserError."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            raise UserError("the request is no JSON") from None
        if not isinstance(given, dict):
            raise UserError("the request must be an object of JSON")
        for name, value in given.items():
            kind = FIELDS.get(name)
            if kind is None:
                raise UserError(f"the request has no field {name!r}; there are {', '.join(FIELDS)}")
            if value is not None and type(value) is not kind:
                raise UserError(f"the request's {name} is {value!r}, must be "
                                f"{'a whole number' if kind is int else 'a text'}")
        if given.get("program"):
            given["algorithm"] = _file_name(given["program"])
        for name in ("algorithm", "graph"):
            if not given.get(name):
                raise UserError(f"the request has no {name}")
        known = {*algorithms.names(), *programs.names()}
        if not given.get("program") and given["algorithm"] not in known:
            raise UserError(f"there is no algorithm {given['algorithm']!r} here; a page runs "
                            f"{', '.join(sorted(known))}, and no program from a file")
        return cls(**{name: value for name, value in given.items()
                                 if value not in (None, "")})

    @property
    def plan(self):
        """The plan. Raises UserError."""
        return as_plan(self.algorithm, schedule=self.schedule, direction=self.direction,
                       format=self.format, source=self.source, iterations=self.iterations,
                       parameters=self._parameters)

    @property
    def config(self):
        """The hardware. Raises ConfigError or UserError."""
        config = HardwareConfig.parse(self.preset, [f"gather={self.gather}"] * bool(self.gather))
        return equip(config, [side.schedule for side in self.plan.sides.values()],
                     ["gather"] * bool(self.gather))

    @property
    def command(self) -> str:
        """The command line that repeats the run."""
        words = [PROGRAM, "run", self.algorithm, self._name]
        for name in ("schedule", "direction", "format", "source", "iterations", "preset"):
            value = getattr(self, name)
            words += [f"--{name}", str(value)] if value is not None else []
        for name, value in self._parameters.items():
            words += [f"--{name.replace('_', '-')}", value]
        if self.gather:
            words += ["--set", f"gather={self.gather}"]
        if self._weighted:
            words += ["--weights", str(_WEIGHTS)]
        return shlex.join(words)

    @property
    def _parameters(self):
        given = [text.partition("=") for text in (self.parameters or "").split(",") if text.strip()]
        for name, equals, value in given:
            if not equals or not value.strip():
                raise UserError(f"parameters {self.parameters}: {name.strip()!r} must be "
                                "NAME=VALUE")
        return {name.strip(): value.strip() for name, _, value in given}

    @property
    def _name(self):
        """The graph's text, or the name of the file that was sent."""
        return self.graph if self.path is None else pathlib.PurePath(self.path).name

    @property
    def _weighted(self):
        return algorithms.find(self.algorithm).weighted

    def load(self):
        """The graph. Raises UserError, also if it is too large for the page."""
        if self.graph.partition(":")[0].strip(" ") in GENERATORS:
            check_text(self.graph)
        graph = load(self.path or self.graph, no_weights=not self._weighted,
                     weights=_WEIGHTS if self._weighted else None)
        check_graph(graph)
        return graph

    def record(self, report=None, progress=None, tell=lambda text: None) -> tuple[
            dict, wasm.Module]:
        """The recording of the run, and the simulator that plays it. ``tell`` is called with
        BUILDING and BUILT (:mod:`.work`), around each time that simulators are built.

        Raises
        ------
        UserError, ConfigError, RunError, BuildError, ToolError
            What the parts of the run raise. A message about the text of a program begins with the
            name of its file, the line and the column.
        """
        if self.program is None:
            return self._record(report, progress, tell)
        with scratch.folder("program") as folder:
            file = folder / self.algorithm
            file.write_bytes(self.program.encode(errors="replace"))
            named = dataclasses.replace(self, algorithm=str(file), program=None)
            try:
                recording, module = named._record(report, progress, tell)
            except (UserError, ConfigError, SimulationError) as error:
                raise UserError(str(error).replace(str(file), self.algorithm)) from None
        recording["result"]["plan"] = recording["result"]["plan"].replace(str(file), self.algorithm)
        return recording | {"algorithm": self.algorithm, "command": recording["command"].replace(
            str(file), self.algorithm)}, module

    def _record(self, report, progress, tell):
        plan, config = self.plan, self.config
        wasm.page_config(config)
        plan.check(config)
        graph = self.load()
        tell(BUILDING)
        RecordingMachine(config, report=report).close()
        tell(BUILT)
        recording = record(config, plan, graph, report=report, progress=progress)
        tell(BUILDING)
        module = wasm.module(config, report)
        tell(BUILT)
        return {**recording, "command": self.command, "inside": module.inside,
                "schedule": plan.schedule, "algorithm": plan.algorithm}, module


def _file_name(text):
    """The name of a file with a program, by the syntax of its text. Raises UserError."""
    if len(text) > _MOST_TEXT:
        raise UserError(f"the program has {len(text):,} characters, may have {_MOST_TEXT:,}")
    return "program.gt" if re.search(r"^\s*func\s+main\b", text, re.MULTILINE) else "program.py"


# Pieces of work for the process of :class:`sw.show.live.work.PageWork`

def recorded(request) -> dict:
    """The recording of a request's run, and the path of the simulator's module."""
    try:
        recording, module = request.record(
            tell, lambda cycles: tell(f"recording: {cycles:,} cycles"), tell)
    except BuildError:
        return {"refused": "the simulator could not be built; `graphloom doctor` shows which tools "
                           "are used"}
    except (UserError, ConfigError, ToolError, SimulationError) as error:
        return {"refused": str(error).replace(request.path or "\0", request.graph)}
    return {"recording": recording, "module": module.path}


def check_upload(path) -> dict:
    """Whether a file that was sent is a graph that the page takes."""
    name = pathlib.PurePath(path).name
    try:
        check_graph(load(path))
    except UserError as error:
        return {"refused": one_line(str(error).replace(path, name))}
    except (ArithmeticError, LookupError, OSError, RecursionError, ValueError) as error:
        return {"refused": f"{name}: cannot be read as a graph: {one_line(error)}"}
    return {}
