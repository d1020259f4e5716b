"""Options that become one record: each is declared here once, and a command gets the record.

A decorator replaces a parameter of a command by options. :func:`with_graph` folds the options of a
graph into a :class:`~sw.graph.load.GraphSource`, :func:`with_work` those of a plan on a graph into
a :class:`RunOptions`, :func:`with_machine` those of the hardware into a :class:`MachineOptions`,
and :func:`with_outputs` the files of a run into :class:`Outputs`.
"""

import dataclasses
from typing import Annotated, Any

import typer

from base.errors import UserError
from base import numbers
from hw.link.frames import BAUD
from sw.graph.load import GraphSource
from sw.graph.readers import FORMATS

from . import files, options
from .completion import one
from .options import flag, folded, option, parameter
from .parameters import given_parameters


__all__ = ["MachineOptions", "Outputs", "RunOptions", "Workers", "given_words", "with_config",
           "with_graph", "with_machine", "with_outputs", "with_parameters", "with_work",
           "with_workers"]


_HARDWARE = "Hardware"
_GRAPH = "Graph"
_WORK = "Algorithm"
_FILES = "Files"


def _given(values) -> dict:
    """The options that were given, of options whose default is None or False."""
    return {name: value for name, value in values.items()
            if not (value is None or value is False or value == [])}


def given_words(**values) -> list:
    """Options as words of a command line; those that are None, False or an empty list are left
    out."""
    found = []
    for name, value in _given(values).items():
        for each in value if isinstance(value, list) else [value]:
            found += [flag(name), *([] if each is True else [str(each)])]
    return found


# A graph

#: The fields of a :class:`GraphSource` as options, but for its text.
_SOURCE = (
    parameter("weights", options.Weights, None),
    option("input_format", str, _GRAPH, f"Format of the file: {', '.join(FORMATS)}. edges is an "
           "edge list, counted one behind its numbers of vertices and arcs, adjlist has lines of "
           "neighbours.", metavar="NAME", show_default="by its suffix, else by its contents"),
    option("columns", str, _GRAPH, "Names or numbers of the columns of an edge list or Parquet "
           "file.", metavar="SRC,DST[,WEIGHT]", show_default="by names, else in this order"),
    option("first", int, _GRAPH, "Id of vertex 0 in an edge list or adjacency list.", metavar="N",
           min=0, show_default="0"),
    option("relabel", bool, _GRAPH, "Number the ids that occur in ascending order, which closes "
           "gaps; an id may be any word."),
    option("weight_scale", float, _GRAPH, "Multiply the file's weights by X and round to the "
           "nearest; 1 only rounds.", metavar="X"),
    option("no_weights", bool, _GRAPH, "Drop the graph's weights; the weights of a file are not "
           "read."),
    parameter("undirected", options.Undirected, False),
    parameter("simplify", options.Simplify, False),
    option("seed", int, _GRAPH, "Seed for a generator whose text has none, for --weights, and for "
           "a program with the parameter seed.", metavar="N", min=0),
)

#: Those of a graph that is only looked at or converted.
_READ = tuple(each for each in _SOURCE if each.name not in ("weights", "seed"))


#: A decorator: a command with GRAPH and the options of its file in place of its parameter
#: ``source``, which gets the :class:`GraphSource`.
with_graph = folded("source", [parameter("spec", options.Graph), *_READ], GraphSource)


# A plan on a graph

_ALGORITHM = parameter("algorithm", Annotated[str, typer.Argument(
    metavar="ALGORITHM", help="Algorithm: pagerank, bfs, sssp, cc, gcn or another program of "
    "`graphloom lang list`, or a file with a program: NAME.py or NAME.gt. `ALGORITHM --help` lists "
    "its parameters, which are options.", autocompletion=one("algorithms"))])

#: Left out if --plan is given, as the first argument is the graph then.
_GRAPH_IF_ANY = parameter("graph", Annotated[str | None, options.GRAPH_ARGUMENT], None)

#: The fields of a plan (:class:`sw.compile.plan.Plan`) as options.
_FIELDS = (
    option("plan", str, _WORK, "A whole plan as text, in place of ALGORITHM, such as "
           "'bfs(source=3) schedule=vm direction=push'. Other options change it.", metavar="TEXT"),
    option("format", str, _WORK, "Storage format of the graph: {formats}.", metavar="NAME",
           show_default="csr", autocompletion=one("formats")),
    option("direction", str, _WORK, "Gather from in-neighbours, push to out-neighbours, or (bfs) "
           "choose before each superstep.", metavar="pull|push|auto", show_default="the "
           "algorithm's own", autocompletion=lambda: ["pull", "push", "auto"]),
    option("split", str, _WORK, "How warps and cores share the work. static: each takes its parts "
           "in turn. counter: each asks a counter in memory for its next part.",
           metavar="static|counter", show_default="static", autocompletion=one("splits")),
    option("atomics", str, _WORK, "What reductions in memory do. reduce: a lane takes the old word "
           "only where it needs it. return: each waits for it, as on a GPU that checks sums. test: "
           "likewise, and only if a word that it reads first would change.",
           metavar="reduce|return|test", show_default="reduce", autocompletion=one("atomics")),
    option("warps", int, _WORK, "Warps of each core that take part.", metavar="N", min=1,
           show_default="all"),
    option("frontier", str, _WORK, "Form of the frontier that a superstep leaves to the next: "
           "{frontiers}.", metavar="NAME", show_default="the algorithm's own",
           autocompletion=one("frontiers")),
    option("fusion", bool, _WORK, "Whether one launch runs all supersteps, with a barrier of the "
           "device between them.", flags="--fusion/--no-fusion", show_default="no"),
    option("deduplicate", bool, _WORK, "Whether the frontier keeps a vertex only once that is "
           "added several times.", flags="--dedup/--no-dedup", show_default="the frontier's own"),
)

_SCHEDULE = option("schedule", str, _WORK, "Distribution of the work to lanes: {schedules}; "
                   "`graphloom list schedules` describes them. tuned: the whole plan that "
                   "`graphloom tune` has found.", metavar="NAME", show_default="weaver",
                   autocompletion=one("schedules"))

_PHASES = option("phases", bool, _FILES, "Print the share of each phase in the warps' time. The "
                 "kernels then mark every phase, which costs cycles.")


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """An algorithm with its choices, on a graph."""
    algorithm: str  #: Its name or file, or the text of a plan.
    fields: dict  #: Fields of the plan, and parameters of the algorithm, that options give.
    parameters: dict  #: Fields of the plan, and parameters of the algorithm, that options give.
    source: GraphSource

    def plan(self) -> Any:
        """The Plan or Hybrid. Raises UserError."""
        from sw.compile.plan import as_plan
        return as_plan(self.algorithm, **self.fields, parameters=self.parameters)

    def bare(self, asked, whom) -> Any:
        """The Plan, which only names the algorithm and its parameters. Raises UserError if it
        chooses anything else; ``asked`` is the option for it, and ``whom`` the plan is for."""
        from sw.compile.plan import Plan
        plan = self.plan()
        bare = Plan(plan.algorithm, plan.parameters)
        if plan != bare:
            raise UserError(f"{asked}: the plan {plan.text!r} chooses how the device works; "
                            f"only {bare.text!r} is for {whom}")
        return bare


def _work(context, algorithm, graph, plan=None, **values):
    """The :class:`RunOptions` of a command line. A seed is the program's too, if it has such a
    parameter and its plan gives none."""
    if plan is not None and graph is not None:
        raise UserError(f"--plan {plan} names the algorithm: give GRAPH alone, not {algorithm} "
                        f"{graph}")
    if plan is not None:
        algorithm, graph = plan, algorithm
    elif graph is None:
        raise UserError("Missing argument 'GRAPH'.")
    source = GraphSource(graph, **{each.name: values.pop(each.name) for each in _SOURCE})
    # --no-fusion and --no-dedup choose something; phases are not asked for without the option.
    fields = {name: value for name, value in values.items()
              if value is not None and (name, value) != ("phases", False)}
    program = given_parameters(context)
    work = RunOptions(algorithm, fields, program.given, source)
    if source.seed is None or "seed" not in program.known:
        return work
    if "seed" not in dict(dataclasses.replace(work, fields={}).plan().parameters):
        work.parameters["seed"] = source.seed
    return work if source.draws else dataclasses.replace(
        work, source=dataclasses.replace(source, seed=None))


_CONTEXT = parameter("context", typer.Context)


def with_work(*fields):
    """A decorator: a command with ALGORITHM, GRAPH, the options of a plan and those of a graph in
    place of its parameter ``work``. ``fields`` are further fields of the plan: ``"schedule"``,
    ``"phases"``."""
    more = [each for each in (_SCHEDULE, _PHASES) if each.name in fields]
    return folded("work", [_CONTEXT, _ALGORITHM, _GRAPH_IF_ANY, *_FIELDS, *more, *_SOURCE], _work)


#: As :func:`with_work`, without fields of the plan.
with_parameters = folded(
    "work", [_CONTEXT, _ALGORITHM, parameter("graph", options.Graph), *_SOURCE], _work)


# A machine

#: The options of a :class:`MachineOptions`, by its fields.
_MACHINE = {each.name: each for each in (
    option("device", str, _HARDWARE, "Where to run: on the simulator, or on a board at a serial "
           f"port, such as serial:/dev/ttyUSB0. serial:PORT@BAUD sets another rate than {BAUD}.",
           default="simulator", metavar="simulator|serial:PORT"),
    parameter("preset", options.Preset, "default"),
    parameter("set_", options.Set, None),
    parameter("dram", options.Dram, None),
    option("functional", bool, _HARDWARE, "Run on the functional simulator: the same results, "
           "hundreds of times as fast, and instructions but no cycles (docs/functional.md)."),
    option("max_cycles", int, _HARDWARE, "Stop with an error after this many cycles.", metavar="N",
           min=1),
    parameter("launch_cycles", options.LaunchCycles, None),
    option("time_limit", float, _HARDWARE, "Stop a run on a board with an error after this many "
           "seconds.", metavar="SECONDS", show_default="3600"),
)}

_BOARD_PRESET = option("preset", str, _HARDWARE, "Hardware to start from: {presets}.",
                       metavar="NAME", show_default="default; with a board, its own",
                       autocompletion=one("presets"))


@dataclasses.dataclass(frozen=True)
class MachineOptions:
    """The machine that options ask for. A field is None, False or empty if its option was not
    given."""
    preset: str | None = None
    set_: list | None = None
    dram: list | None = None
    device: str = "simulator"
    functional: bool = False
    max_cycles: int | None = None
    launch_cycles: int | None = None
    time_limit: float | None = None

    def check(self, **given):
        """Refuse options that need cycles, those of the machine and ``given`` ones, on the
        functional simulator. Raises UserError."""
        given |= {name: getattr(self, name) for name in ("dram", "max_cycles", "launch_cycles")}
        for name in _given(given) if self.functional else ():
            raise UserError(f"{flag(name)}: the functional simulator (--functional) "
                            "has no cycles; leave out one of the two")

    def config(self, schedules=(), preset="default"):
        """The HardwareConfig, with the units that the named schedules need."""
        return options.hardware(self.preset or preset, self.set_, schedules)

    def memory(self, config, graphless=None):
        """The simulated DRAM (:func:`sw.cli.options.memory`)."""
        return options.memory(self.dram, config, graphless)

    def target(self, plans=(), **simulated):
        """The :class:`~sw.device.target.Target`, which can run the plans. A board is asked for its
        configuration unless the user gives one.

        Raises UserError for a device there is not, for an option of simulations (``simulated``)
        that was given for a board, and for a time limit that was given for a simulation or is none.
        """
        from sw.device.target import Target
        if self.time_limit is not None and self.time_limit <= 0:
            raise UserError(f"--time-limit {self.time_limit:g}: must be above 0")
        limits = {name: getattr(self, name)
                  for name in ("functional", "max_cycles", "launch_cycles")}
        if self.device != "simulator":
            return Target(**limits, **self._board(simulated))
        if self.time_limit is not None:
            raise UserError("--time-limit applies to boards only; for a simulation give "
                            "--max-cycles")
        schedules = [side.schedule for plan in plans for side in plan.sides.values()]
        config = self.config(schedules)
        return Target(config, self.memory(config), **limits)

    def _board(self, simulated):
        """The board and its configuration."""
        from sw.device import Device
        from sw.device.target import Board
        kind, colon, port = self.device.partition(":")
        port, at, rate = port.rpartition("@") if "@" in port else (port, "", str(BAUD))
        baud = numbers.integer(rate)
        if kind != "serial" or not port or baud is None or not 0 < baud < 1 << 30:
            raise UserError(f"--device {self.device}: must be simulator, serial:PORT or "
                            "serial:PORT@BAUD")
        for name in _given({"dram": self.dram, **simulated, "functional": self.functional}):
            raise UserError(f"--{name} applies to simulations only, not to --device {self.device}")
        board = Board(port, baud) if self.time_limit is None else Board(port, baud, self.time_limit)
        if self.preset is not None or self.set_:
            return {"board": board, "config": self.config(preset="fpga")}
        with Device.serial(port, baud=baud) as found:
            return {"board": board, "config": found.config}

    def words(self) -> list:
        """The hardware as words of a command line, as it was given."""
        return given_words(preset=None if self.preset == "default" else self.preset,
                           set=self.set_, dram=self.dram, launch_cycles=self.launch_cycles)


def with_machine(*fields, preset="default", **own):
    """A decorator: a command with options of the hardware in place of its parameter ``machine``,
    which gets the :class:`MachineOptions`.

    Parameters
    ----------
    *fields : str
        The fields with options besides ``preset`` and ``set_``.
    preset : str
        The preset by default.
    **own
        Annotations of options, by their fields, that mean something else in this command.
    """
    first = (_BOARD_PRESET if "device" in fields else _MACHINE["preset"].replace(default=preset))
    added = [first, *(_MACHINE[name] for name in ("set_", *fields)),
             *(parameter(name, annotation, None) for name, annotation in own.items())]
    return folded("machine", added, MachineOptions)


def with_config(preset="default"):
    """A decorator: a command with ``--preset`` and ``--set`` in place of its parameter ``config``,
    which gets the HardwareConfig."""
    added = [_MACHINE["preset"].replace(default=preset), _MACHINE["set_"]]
    return folded("config", added, options.hardware)


# The files of a run

@dataclasses.dataclass(frozen=True)
class Outputs:
    """The files that a run writes; None for those that it does not."""
    output: str | None = None
    json: str | None = None
    wave: str | None = None
    trace: str | None = None
    trace_cycles: str | None = None

    def check(self, inputs, more=None):
        """Refuse what cannot be written, or is read as well. ``more`` are further files to write,
        by their options, that are checked elsewhere."""
        files.distinct({f"--{name}": getattr(self, name)
                        for name in ("output", "json", "wave", "trace")} | (more or {}), inputs)
        files.check(self.output, (".npz",))
        files.check(self.json)
        if self.wave is not None:
            from sim.native import wave_format
            wave_format(self.wave)
            files.check(self.wave)


_OUTPUTS = (
    option("output", str, _FILES, "Write the arrays the algorithm computed.", metavar="FILE.npz"),
    parameter("json", options.Json, None),
    option("wave", str, _FILES, "Write waveforms of the whole run; slow and large.",
           metavar="FILE.fst|.vcd"),
    option("trace", str, _FILES, "Write the activity of each warp, cycle by cycle: as text, or as "
           "a timeline for ui.perfetto.dev.", metavar="FILE.txt|.json"),
    option("trace_cycles", str, _FILES, "Cycles to write, counted over all launches one after "
           "another; 200,000 at most.", metavar="FROM:TO", show_default="the first launch, up to "
           "20,000 cycles"),
)


def with_outputs(*names):
    """A decorator: a command with the options of these files in place of its parameter ``outputs``,
    which gets the :class:`Outputs`."""
    return folded("outputs", [each for each in _OUTPUTS if each.name in names], Outputs)


# What does the runs

@dataclasses.dataclass(frozen=True)
class Workers:
    """What does the runs: so many processes of this machine, or a cluster (a ClusterPlace)."""
    jobs: int | None
    cluster: Any

    def executor(self, command, read=(), default=None):
        """The executor (:func:`sw.cli.options.executor`) for a command."""
        return options.executor(command, self.cluster, self.jobs, read=read, default=default)


def with_workers(what="Processes.", panel=None, default="as many as there are processors"):
    """A decorator: a command with ``--jobs`` and the options of a cluster in place of its parameter
    ``workers``, which gets the :class:`Workers`. ``what`` is the help of ``--jobs``, and
    ``default`` says what it is if left out."""
    jobs = option("jobs", int, panel, what, metavar="N", min=1, show_default=default)
    return folded("workers", [jobs, *options.PLACE],
                  lambda jobs, **place: Workers(jobs, options.cluster_place(**place)))
