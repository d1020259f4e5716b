"""Options that several commands share, and their way from text to objects."""

import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from hw import numbers as _numbers
from hw.config import PRESETS
from hw.link.frames import BAUD
from sw.errors import UserError
from sw.installation import need
from sw.printable import one_line


__all__ = ["Algorithm", "Algorithms", "BoardPreset", "Device", "Dram", "Folder",
           "Functional", "Graph", "GraphIfAny", "Jobs", "JobsIfAny", "Json", "Largest",
           "LaunchCycles", "MaxCycles", "Output", "Preset", "Results", "Seed", "Set", "Simplify",
           "Sweeps", "TimeLimit", "Trace", "TraceCycles", "Undirected", "Wave", "Weights", "asked",
           "cycleless", "executor", "graphs", "hardware", "memory", "names", "note", "numbers",
           "once", "place", "seeds", "with_cluster", "with_parameters", "with_plan",
           "with_reading", "with_tls"]


_HARDWARE = "Hardware"
_GRAPH = "Graph"
_WORK = "Algorithm"
_FILES = "Files"
_CLUSTER = "Cluster"

Algorithm = Annotated[str, typer.Argument(
    metavar="ALGORITHM", help="Algorithm: pagerank, bfs, sssp, cc, gcn or another program of "
    "`graphloom lang list`, or a file with a program: NAME.py or NAME.gt.", show_default=False)]
_GRAPH_ARGUMENT = typer.Argument(
    metavar="GRAPH", help="A file (.mtx .el .wel .gr .graph .npz .adjlist or an edge list of any "
    "name, each also .gz, .bz2 or .xz), a name of the catalogue, or a generator such as "
    "rmat:scale=12,degree=16,seed=1.",
    show_default=False)
Graph = Annotated[str, _GRAPH_ARGUMENT]
#: Left out if --plan is given, as the first argument is the graph then.
GraphIfAny = Annotated[str | None, _GRAPH_ARGUMENT]
Preset = Annotated[str, typer.Option(
    "--preset", metavar="NAME", help=f"Hardware to start from: {', '.join(PRESETS)}.",
    rich_help_panel=_HARDWARE)]
BoardPreset = Annotated[str | None, typer.Option(
    "--preset", metavar="NAME", help=f"Hardware to start from: {', '.join(PRESETS)}.",
    rich_help_panel=_HARDWARE, show_default="default; with a board, its own")]
Device = Annotated[str, typer.Option(
    "--device", metavar="simulator|serial:PORT", help="Where to run: on the simulator, or on a "
    "board at a serial port, such as serial:/dev/ttyUSB0. serial:PORT@BAUD sets another rate than "
    f"{BAUD}.", rich_help_panel=_HARDWARE)]
Set = Annotated[list[str] | None, typer.Option(
    "--set", metavar="FIELD=VALUE", help="Change a field of the preset, e.g. warps=4; may be "
    "repeated. docs/configuration.md lists the fields.",
    rich_help_panel=_HARDWARE, show_default=False)]
Dram = Annotated[list[str] | None, typer.Option(
    "--dram", metavar="FIELD=VALUE", help="Change the simulated DRAM, e.g. latency=200; may be "
    "repeated.", rich_help_panel=_HARDWARE, show_default=False)]
TimeLimit = Annotated[float | None, typer.Option(
    "--time-limit", metavar="SECONDS", help="Stop a run on a board with an error after this many "
    "seconds.", rich_help_panel=_HARDWARE, show_default="3600")]
Functional = Annotated[bool, typer.Option(
    "--functional", help="Run on the functional simulator: the same results, hundreds of times as "
    "fast, and instructions but no cycles (docs/functional.md).", rich_help_panel=_HARDWARE)]
MaxCycles = Annotated[int | None, typer.Option(
    "--max-cycles", metavar="N", min=1, help="Stop with an error after this many cycles.",
    rich_help_panel=_HARDWARE, show_default=False)]
LaunchCycles = Annotated[int | None, typer.Option(
    "--launch-cycles", metavar="N", min=0, help="Cycles of the host for each launch of a kernel "
    "and each operation of the SCU, in totals and speedups.", rich_help_panel=_HARDWARE,
    show_default="those of the host port, such as 36")]
Undirected = Annotated[bool, typer.Option(
    "--undirected", help="Add the reverse of each arc.", rich_help_panel=_GRAPH)]
Weights = Annotated[int | None, typer.Option(
    "--weights", metavar="N", min=1, help="Random weights from 1 to N for a graph without "
    "weights.", rich_help_panel=_GRAPH, show_default=False)]
Simplify = Annotated[bool, typer.Option(
    "--simplify", help="Drop self-loops and parallel arcs.", rich_help_panel=_GRAPH)]
Algorithms = Annotated[str, typer.Option(
    "--algorithms", metavar="A,B", rich_help_panel=_WORK)]
Sweeps = Annotated[int, typer.Option(
    "--iterations", metavar="N", min=1, help="Sweeps of pagerank.", rich_help_panel=_WORK)]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Processes.")]
JobsIfAny = Annotated[int | None, typer.Option(
    "--jobs", metavar="N", min=1, help="Processes.",
    show_default="as many as there are processors")]
Folder = Annotated[str | None, typer.Option(
    "--folder", metavar="DIR", help="Also run on the graphs that MANIFEST.tsv of this folder "
    "lists; a graph listed as undirected gets the reverse of each arc.", rich_help_panel=_GRAPH,
    show_default=False)]
Largest = Annotated[int, typer.Option(
    "--largest", metavar="N", min=1, help="Leave out graphs of the folder with more edges.",
    rich_help_panel=_GRAPH)]
Results = Annotated[str | None, typer.Option(
    "--results", metavar="FILE", help="Keep the figures in this file, a line of JSON for each run. "
    "Runs in the file are not repeated.", rich_help_panel=_FILES, show_default=False)]
Seed = Annotated[int | None, typer.Option(
    "--seed", metavar="N", min=0, help="Seed for a generator whose text has none, and for "
    "--weights.",
    rich_help_panel=_GRAPH, show_default=False)]
Json = Annotated[str | None, typer.Option(
    "--json", metavar="FILE", help="Write configuration, results and every counter.",
    rich_help_panel=_FILES, show_default=False)]
Output = Annotated[str | None, typer.Option(
    "--output", metavar="FILE.npz", help="Write the arrays the algorithm computed.",
    rich_help_panel=_FILES, show_default=False)]
Wave = Annotated[str | None, typer.Option(
    "--wave", metavar="FILE.fst|.vcd", help="Write waveforms of the whole run; slow and large.",
    rich_help_panel=_FILES, show_default=False)]
Trace = Annotated[str | None, typer.Option(
    "--trace", metavar="FILE.txt|.json", help="Write the activity of each warp, cycle by cycle: "
    "as text, or as a timeline for ui.perfetto.dev.", rich_help_panel=_FILES, show_default=False)]
TraceCycles = Annotated[str | None, typer.Option(
    "--trace-cycles", metavar="FROM:TO", help="Cycles to write, counted over all launches one "
    "after another; 200,000 at most.", rich_help_panel=_FILES,
    show_default="the first launch, up to 20,000 cycles")]


def _option(name, kind, *words, panel=_WORK, **settings):
    """A keyword parameter of a command: one of several options that become one object."""
    flag = kind is bool and "/" not in words[0]
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False if flag else None,
        annotation=Annotated[kind if flag else kind | None,
                             typer.Option(*words, rich_help_panel=panel, **settings)])


#: How a file is read (:class:`sw.graph.reading.Reading`) as options.
_READING = (
    _option("input_format", str, "--input-format", panel=_GRAPH, metavar="NAME", help="Format of "
            "the file: mtx, el, wel, gr, npz, metis, cites, edges (an edge list), counted (one "
            "behind its numbers of vertices and arcs), adjlist (lines of neighbours) or matrix.",
            show_default="by its suffix, else by its contents"),
    _option("columns_", str, "--columns", panel=_GRAPH, metavar="SRC,DST[,WEIGHT]", help="Names or "
            "numbers of an edge list's columns.", show_default="by names, else in this order"),
    _option("number_ids", bool, "--number-ids", panel=_GRAPH, help="The vertices are the ids in "
            "the file, numbered in ascending order; an id may be any word."),
    _option("weight_scale", float, "--weight-scale", panel=_GRAPH, metavar="X", show_default=False,
            help="Multiply the file's weights by X and round to the nearest; 1 only rounds."),
    _option("no_weights", bool, "--no-weights", panel=_GRAPH, help="Drop the graph's weights; the "
            "weights of a file are not read."),
)


#: The fields of a plan (:class:`sw.runtime.plan.Plan`) as options.
_FIELDS = (
    _option("plan", str, "--plan", metavar="TEXT", help="A whole plan as text, in place of "
            "ALGORITHM, such as 'bfs(source=3) schedule=vm direction=push'. Other options change "
            "it.", show_default=False),
    _option("format", str, "--format", metavar="NAME", help="Storage format of the graph.",
            show_default="csr"),
    _option("direction", str, "--direction", metavar="pull|push|auto", help="Gather from "
            "in-neighbours, push to out-neighbours, or (bfs) choose before each superstep.",
            show_default="the algorithm's own"),
    _option("split", str, "--split", metavar="static|counter", help="How warps and cores share "
            "the work. static: each takes its parts in turn. counter: each asks a counter in "
            "memory for its next part.", show_default="static"),
    _option("warps", int, "--warps", metavar="N", min=1, help="Warps of each core that take part.",
            show_default="all"),
    _option("frontier", str, "--frontier", metavar="NAME", help="Form of the frontier that a "
            "superstep leaves to the next: a queue, a bitmap, a bytemap, or only a counter.",
            show_default="the algorithm's own"),
    _option("fusion", bool, "--fusion/--no-fusion", help="Whether one launch runs all supersteps, "
            "with a barrier of the device between them.", show_default="no"),
    _option("deduplicate", bool, "--dedup/--no-dedup", help="Whether the frontier keeps a vertex "
            "only once that is added several times.", show_default="the frontier's own"),
)

#: The algorithms' parameters as options.
_PARAMETERS = (
    _option("source", str, "--source", metavar="VERTEX|hub", help="Vertex at which bfs, sssp "
            "or bc starts; hub is the vertex with the most out-arcs.",
            show_default="the first with arcs to others"),
    _option("delta", str, "--delta", metavar="N|auto", help="Step of the threshold between near "
            "and far vertices; sssp works on the near vertices first.", show_default=False),
    _option("iterations", int, "--iterations", metavar="N", min=1, help="Sweeps of pagerank.",
            show_default="the algorithm's own"),
    _option("tolerance", float, "--tolerance", metavar="X", help="Stop pagerank when the sum of "
            "the changes of all ranks is below X; X is above 0.", show_default=False),
    _option("dimension", int, "--dimension", metavar="N", help="Columns of gcn's weight matrix, 1 "
            "to 64.", show_default="those of the file's matrix, or 16"),
    _option("features", str, "--features", metavar="FILE", help="Features of the vertices for gcn, "
            "an .npz or .content file, and its weight matrix where the file has one. Others are "
            "drawn at random.",
            show_default=False),
    _option("columns", int, "--feature-columns", metavar="N", help="Features that are drawn "
            "for gcn.", show_default="64"),
    _option("density", float, "--density", metavar="X", help="Share of these features that a "
            "vertex has, 0 to 1.", show_default="0.1"),
    _option("matrix_seed", int, "--matrix-seed", metavar="N", help="Seed of what is drawn for gcn.",
            show_default="0"),
    _option("together", str, "--together", metavar="yes|no", help="Whether the lanes of a warp do "
            "the work of an edge of gcn together, under schedules that hand out edges.",
            show_default="yes if it pulls"),
    _option("coefficients", str, "--coefficients", metavar="stored|computed", help="Whether gcn's "
            "coefficients come from a table, or kernels compute them from degrees.",
            show_default="stored"),
)


#: The files of a cluster's TLS as options.
_TLS = (
    _option("tls_ca", str, "--tls-ca", metavar="FILE", help="Certificate of the authority of a "
            "cluster with TLS, in PEM form.", panel=_CLUSTER, show_default=False),
    _option("tls_cert", str, "--tls-cert", metavar="FILE", help="Own certificate, signed by this "
            "authority.", panel=_CLUSTER, show_default=False),
    _option("tls_key", str, "--tls-key", metavar="FILE", help="Private key of this certificate.",
            panel=_CLUSTER, show_default=False),
)

#: The place of a cluster as options.
_PLACE = (
    _option("address", str, "--cluster", metavar="ADDRESS", help="Run on the workers of a cluster "
            "(`graphloom cluster`), not in processes of this machine.", panel=_CLUSTER,
            show_default=False),
    *_TLS,
)


def _in_place_of(name, added, command, made: Callable = dict):
    """A command with several options in place of its parameter ``name``, which gets what ``made``
    makes of their names and values."""
    signature = inspect.signature(command)
    parameters = []
    for parameter in signature.parameters.values():
        parameters += ([each.replace(kind=parameter.kind) for each in added]
                       if parameter.name == name else [parameter])

    @functools.wraps(command)
    def called(**values):
        folded = made(**{option.name: values.pop(option.name) for option in added})
        return command(**values, **{name: folded})

    vars(called)["__signature__"] = signature.replace(parameters=parameters)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def with_plan(command):
    """A command with the options of a plan in place of its parameter ``choices``, which gets a dict
    of them."""
    return _in_place_of("choices", _FIELDS + _PARAMETERS, command)


def with_parameters(command):
    """As :func:`with_plan`, with the algorithms' parameters only."""
    return _in_place_of("choices", _PARAMETERS, command)


def with_tls(command):
    """A command with the options of a cluster's TLS in place of its parameter ``tls``, which gets
    the :class:`~sw.cluster.place.Tls`; None if none is given."""
    return _in_place_of("tls", _TLS, command, _tls)


def with_cluster(command):
    """A command with ``--cluster`` and the options of its TLS in place of its parameter
    ``cluster``, which gets the :class:`~sw.cluster.place.ClusterPlace`; None without
    ``--cluster``."""
    return _in_place_of("cluster", _PLACE, command, _place)


def _tls(tls_ca, tls_cert, tls_key):
    from sw.cluster.place import tls
    return tls(tls_ca, tls_cert, tls_key)


def _place(address, **files):
    from sw.cluster.place import ClusterPlace
    files = _tls(**files)
    if address is not None:
        return ClusterPlace(address, files)
    if files is not None:
        raise UserError("--tls-ca, --tls-cert and --tls-key: are of a cluster: give --cluster as "
                        "well")
    return None


def with_reading(command):
    """A command with the options of reading a graph's file in place of its parameter ``reading``: a
    dict of keyword arguments of :func:`sw.graph.load.load`."""
    return _in_place_of("reading", _READING, command, _reading)


def _reading(columns_, **others):
    return {"columns": columns_, **others}


def asked(algorithm, graph, choices):
    """The plan that the arguments ALGORITHM and GRAPH and the options of a plan ask for, and the
    graph's text. Raises UserError."""
    from sw.runtime.plan import as_plan
    text = choices.pop("plan")
    if text is not None:
        if graph is not None:
            raise UserError(f"--plan {text} names the algorithm: give GRAPH alone, not {algorithm} "
                            f"{graph}")
        algorithm, graph = text, algorithm
    elif graph is None:
        raise UserError("Missing argument 'GRAPH'.")
    return as_plan(algorithm, **choices), graph


def hardware(preset, assignments, schedules=()):
    """The HardwareConfig of ``--preset`` and ``--set``. It gets the units that the named schedules
    need, unless the user set them (:func:`sw.schedules.equip`). Raises UserError for an unknown
    schedule."""
    from hw.config import HardwareConfig
    config = HardwareConfig.parse(preset, assignments or ())
    if not schedules:
        return config
    from sw.schedules import equip
    return equip(config, schedules, said(assignments))


def said(assignments) -> set[str]:
    """The fields that ``--set`` names."""
    return {text.partition("=")[0].strip() for text in assignments or ()}


def own_hardware(config, plans, assignments) -> list:
    """For each plan, the configuration with the unit that hands out edges which the plan's schedule
    needs. If ``--set`` names the unit, this is the unit of the plans that do not need another; it
    stays if there are none."""
    from sw.schedules import make, with_unit
    sides = [[make(side.schedule) for side in plan.sides.values()] for plan in plans]
    if "gather" in said(assignments) and all(
            schedule.needs_unit for each in sides for schedule in each):
        return [config for _ in plans]
    found = []
    for each in sides:
        own = config
        for schedule in each:
            own = with_unit(own, schedule)
        found.append(own)
    return found


def place(device, preset, assignments, plans, *, time_limit=None, **simulated):
    """The ``board`` of :class:`sw.cli.execute.Job` that ``--device`` names, and the HardwareConfig
    there, which can run the plans. A board is asked for its configuration unless the user gives
    one.

    Raises UserError for a device there is not, for an option of simulations (``simulated``) that
    was given for a board, and for a time limit that was given for a simulation or is none.
    """
    if time_limit is not None and time_limit <= 0:
        raise UserError(f"--time-limit {time_limit:g}: must be above 0")
    if device == "simulator":
        if time_limit is not None:
            raise UserError("--time-limit applies to boards only; for a simulation give "
                            "--max-cycles")
        return None, hardware("default" if preset is None else preset, assignments,
                              [side.schedule for plan in plans for side in plan.sides.values()])
    kind, colon, port = device.partition(":")
    port, at, baud = port.rpartition("@") if "@" in port else (port, "", str(BAUD))
    baud = _numbers.integer(baud)
    if kind != "serial" or not port or baud is None or not 0 < baud < 1 << 30:
        raise UserError(f"--device {device}: must be simulator, serial:PORT or serial:PORT@BAUD")
    for option, value in simulated.items():
        if value:
            raise UserError(f"--{option} applies to simulations only, not to --device {device}")
    from sw.link import TIME_LIMIT
    where = port, baud, TIME_LIMIT if time_limit is None else time_limit
    if preset is not None or assignments:
        return where, hardware("fpga" if preset is None else preset, assignments)
    from sw.runtime import Device
    with Device.serial(port, baud=baud) as board:
        return where, board.config


def cycleless(functional, **given):
    """Refuse options that need cycles beside ``--functional``. Raises UserError.

    Parameters
    ----------
    functional : bool
        Whether ``--functional`` was given.
    **given
        What was given for each of the other options, by its name with underscores.
    """
    for name, value in given.items():
        if functional and value is not None and value is not False and value != []:
            raise UserError(f"--{name.replace('_', '-')}: the functional simulator (--functional) "
                            "has no cycles; leave out one of the two")


def memory(assignments, graphless=None):
    """The DramConfig of ``--dram``. Raises UserError for a slow region where no edges can lie in
    it: ``graphless`` names what runs."""
    from sim.dram import DramConfig
    found = DramConfig.parse(assignments or ())
    if graphless is not None and found.has_slow:
        raise UserError(f"--dram slow_bytes_per_cycle={found.slow_bytes_per_cycle}: only edges of "
                        f"a graph lie in a slow region, and {graphless} has no graph")
    return found


def once(items, where) -> list:
    """``items`` as a list. Raises UserError, which begins with ``where``, for a repeated item."""
    seen = dict.fromkeys(items, 0)
    for item in items:
        seen[item] += 1
        if seen[item] > 1:
            raise UserError(f"{where}: {item} is given twice")
    return list(items)


def graphs(named, folder, largest) -> list:
    """The graphs of a bench: those of the command line, and those of ``--folder`` with at most
    ``largest`` edges. Each is a pair: its text, and whether the reverse of its arcs is added.
    Raises UserError for a graph that cannot be loaded."""
    from sw.graph.load import load
    for graph in named or ():
        load(graph, note=note)         # a slip is told before anything runs
    found = [(graph, False) for graph in named or ()]
    if folder is not None:
        from sw.benchmarks.folder import listed
        found += [(graph.path, graph.undirected) for graph in listed(folder, largest)]
    return found


def names(text, option, legal=None) -> list:
    """The names of a list ``A,B,...``. Raises UserError for an empty or repeated name. If the legal
    names are given, also for a name that is not legal."""
    choice = f" of {', '.join(legal)}" if legal is not None else ""
    if not text.strip(" ,"):
        raise UserError(f"{option}: name at least one{choice}")
    found = [name.strip(" ") for name in text.split(",")]
    for name in found:
        if not name:
            raise UserError(f"{option} {text}: there is an empty name between the commas")
        if legal is not None and name not in legal:
            raise UserError(f"{option} {text}: there is no {name!r}; there are "
                            f"{', '.join(legal)}")
    return once(found, f"{option} {text}")


def numbers(text, option) -> list:
    """The numbers of a list ``1,2,...``. Raises UserError for an item that is no number, and for a
    repeated number."""
    found = [_numbers.integer(part.strip(" ")) for part in text.split(",")]
    if None in found:
        raise UserError(f"{option} {text}: must be numbers, as in 1,2,4")
    return once(found, f"{option} {text}")


def executor(command, cluster, jobs, *, read=(), default=None):
    """The executor of ``--cluster`` or ``--jobs``.

    Parameters
    ----------
    command : str
        The command, as users write it.
    cluster : ClusterPlace or None
        Where a cluster is.
    jobs : int or None
        Processes of this machine.
    read : iterable of str
        Names that the runs load. Those that are files must be the same on the cluster's machines.
    default : int, optional
        Processes if neither is given; by default as many as there are processors.

    Raises
    ------
    UserError
        Both are given, the extra is not installed, or no worker of the cluster can be used.
    """
    from sw.benchmarks.executors import Processes
    if cluster is None:
        return Processes(jobs or default or os.cpu_count() or 1)
    if jobs is not None:
        raise UserError("--jobs: the workers of a cluster say how many runs they take: give --jobs "
                        "to graphloom worker")
    need(f"{command} --cluster", "distributed")
    from sw.cluster.executor import Cluster as Machines
    return Machines(cluster, read=[name for name in read if os.path.isfile(name)], note=note)


def seeds(text) -> list:
    """``--seeds`` of nextpnr. Raises UserError."""
    found = numbers(text, "--seeds")
    for seed in found:
        if not 0 < seed < 1 << 31:
            raise UserError(f"--seeds {text}: {seed} is no seed; a seed is a number from 1 to "
                            f"{(1 << 31) - 1}")
    return found


def note(text):
    """Print a warning on standard error, about input that looks odd but may be right."""
    print(f"graphloom: note: {one_line(text)}", file=sys.stderr)


def fields(config) -> dict:
    """A configuration as a dict, for JSON."""
    return dataclasses.asdict(config)
