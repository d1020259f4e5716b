"""Options that several commands share, and their way from text to objects."""

import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from base.errors import UserError
from base.installation import need
from base.printable import one_line
from base import numbers as _numbers

from .completion import many, one


__all__ = ["GRAPH_ARGUMENT", "PLACE", "Algorithms", "Dram", "Folder", "Graph", "Jobs", "JobsIfAny",
           "Json", "Largest", "LaunchCycles", "Preset", "Results", "Set", "Simplify", "Sweeps",
           "Undirected", "Weights", "cluster_place", "executor", "fields", "flag", "folded",
           "graphs", "hardware", "memory", "names", "note", "numbers", "once", "option",
           "own_hardware", "parameter", "seeds", "with_cluster", "with_tls"]


_HARDWARE = "Hardware"
_GRAPH = "Graph"
_WORK = "Algorithm"
_FILES = "Files"
_CLUSTER = "Cluster"

GRAPH_ARGUMENT = typer.Argument(
    metavar="GRAPH", help="A file (an edge list or table of any name, .mtx .gr .graph .npz "
    ".graphml .gml .parquet and others, each also .gz, .bz2, .xz or .zst), a name of the "
    "catalogue, or a generator such as rmat:scale=12,degree=16,seed=1.",
    autocompletion=one("graphs"))
Graph = Annotated[str, GRAPH_ARGUMENT]
Preset = Annotated[str, typer.Option(
    "--preset", metavar="NAME", help="Hardware to start from: {presets}.",
    rich_help_panel=_HARDWARE, autocompletion=one("presets"))]
Set = Annotated[list[str] | None, typer.Option(
    "--set", metavar="FIELD=VALUE", help="Change a field of the preset, e.g. warps=4; may be "
    "repeated. docs/configuration.md lists the fields.", rich_help_panel=_HARDWARE,
    autocompletion=one("hardware"))]
Dram = Annotated[list[str] | None, typer.Option(
    "--dram", metavar="FIELD=VALUE", help="Change the simulated DRAM, e.g. latency=200, or "
    "model=hbm2; may be repeated. docs/configuration.md lists the fields.",
    rich_help_panel=_HARDWARE, autocompletion=one("dram"))]
LaunchCycles = Annotated[int | None, typer.Option(
    "--launch-cycles", metavar="N", min=0, help="Cycles of the host for each launch of a kernel "
    "and each operation of the SCU, in totals and speedups.", rich_help_panel=_HARDWARE,
    show_default="those of the host port, such as 36")]
Undirected = Annotated[bool, typer.Option(
    "--undirected", help="Add the reverse of each arc.", rich_help_panel=_GRAPH)]
Weights = Annotated[int | None, typer.Option(
    "--weights", metavar="N", min=1, help="Random weights from 1 to N for a graph without weights.",
    rich_help_panel=_GRAPH, show_default=False)]
Simplify = Annotated[bool, typer.Option(
    "--simplify", help="Drop self-loops and parallel arcs.", rich_help_panel=_GRAPH)]
Algorithms = Annotated[str, typer.Option(
    "--algorithms", metavar="A,B", rich_help_panel=_WORK, autocompletion=many("algorithms"))]
Sweeps = Annotated[int, typer.Option(
    "--iterations", metavar="N", min=1, help="Sweeps of pagerank.", rich_help_panel=_WORK)]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Processes.")]
JobsIfAny = Annotated[int | None, typer.Option(
    "--jobs", metavar="N", min=1, help="Processes.", show_default="as many as there are "
    "processors")]
Folder = Annotated[str | None, typer.Option(
    "--folder", metavar="DIR", help="Also run on the graphs that MANIFEST.tsv of this folder "
    "lists; a graph listed as undirected gets the reverse of each arc.", rich_help_panel=_GRAPH)]
Largest = Annotated[int, typer.Option(
    "--largest", metavar="N", min=1, help="Leave out graphs of the folder with more edges.",
    rich_help_panel=_GRAPH)]
Results = Annotated[str | None, typer.Option(
    "--results", metavar="FILE", help="Keep the figures in this file, a line of JSON for each run. "
    "Runs in the file are not repeated.", rich_help_panel=_FILES)]
Json = Annotated[str | None, typer.Option(
    "--json", metavar="FILE", help="Write configuration, results and every counter.",
    rich_help_panel=_FILES)]


def parameter(name, annotation, default: Any = inspect.Parameter.empty):
    """A parameter of a command, which is an argument if it has no default."""
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default,
                             annotation=annotation)


def flag(name):
    """``--max-cycles`` for ``max_cycles``, ``--list`` for ``list_``."""
    return f"--{name.rstrip('_').replace('_', '-')}"


def option(name, kind, panel, help_, *, flags=None, default=None, **settings):
    """A keyword parameter of a command: one of several options that become one object. Without
    ``flags`` its flag is ``--NAME``."""
    switch = kind is bool and flags is None
    return parameter(name, Annotated[kind if switch or default is not None else kind | None,
                                      typer.Option(flags or flag(name),
                                                   help=help_, rich_help_panel=panel, **settings)],
                      False if switch else default)


def folded(name, added, made: Callable | None = None) -> Any:
    """A decorator: a command with the options ``added`` in place of its parameter ``name``, which
    gets what ``made`` makes of their names and values; by default, a frozen record of them."""
    record = made or dataclasses.make_dataclass(name, [each.name for each in added], frozen=True)

    def changed(command):
        signature = inspect.signature(command)
        parameters: list[Any] = []
        for each in signature.parameters.values():
            parameters += added if each.name == name else [each]
        # What has no default is an argument, and comes first.
        parameters = sorted((each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
                             for each in parameters),
                            key=lambda each: each.default is not inspect.Parameter.empty)

        @functools.wraps(command)
        def called(**values):
            given = {each.name: values.pop(each.name) for each in added}
            return command(**values, **{name: record(**given)})

        vars(called)["__signature__"] = signature.replace(parameters=parameters)
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        return called

    return changed


#: The files of a cluster's TLS as options.
_TLS = (
    option("tls_ca", str, _CLUSTER, "Certificate of the authority of a cluster with TLS, in PEM "
           "form.", metavar="FILE"),
    option("tls_cert", str, _CLUSTER, "Own certificate, signed by this authority.", metavar="FILE"),
    option("tls_key", str, _CLUSTER, "Private key of this certificate.", metavar="FILE"),
)

#: The place of a cluster as options.
PLACE = (
    option("address", str, _CLUSTER, "Run on the workers of a cluster (`graphloom cluster`), not "
           "in processes of this machine.", flags="--cluster", metavar="ADDRESS"),
    *_TLS,
)


def _tls(tls_ca, tls_cert, tls_key):
    from sw.study.cluster.place import tls
    return tls(tls_ca, tls_cert, tls_key)


def cluster_place(address, **files_):
    """The ClusterPlace of the options :data:`PLACE`; None without ``--cluster``."""
    from sw.study.cluster.place import ClusterPlace
    tls = _tls(**files_)
    if address is not None:
        return ClusterPlace(address, tls)
    if tls is not None:
        raise UserError("--tls-ca, --tls-cert and --tls-key: are of a cluster: give --cluster as "
                        "well")
    return None


#: A decorator: a command with the options of a cluster's TLS in place of its parameter ``tls``,
#: which gets the :class:`~sw.study.cluster.place.Tls`; None if none is given.
with_tls = folded("tls", _TLS, _tls)

#: A decorator: a command with ``--cluster`` and the options of its TLS in place of its parameter
#: ``cluster``, which gets the :class:`~sw.study.cluster.place.ClusterPlace`; None without
#: ``--cluster``.
with_cluster = folded("cluster", PLACE, cluster_place)


def hardware(preset, set_, schedules=()):
    """The HardwareConfig of ``--preset`` and ``--set``. It gets the units that the named schedules
    need, unless the user set them (:func:`sw.compile.schedules.equip`). Raises UserError for an
    unknown schedule."""
    from hw.config import HardwareConfig
    config = HardwareConfig.parse(preset, set_ or ())
    if not schedules:
        return config
    from sw.compile.schedules import equip
    return equip(config, schedules, said(set_))


def said(assignments) -> set[str]:
    """The fields that ``--set`` names."""
    return {text.partition("=")[0].strip() for text in assignments or ()}


def own_hardware(config, plans, assignments) -> list:
    """For each plan, the configuration with the unit that hands out edges which the plan's schedule
    needs. If ``--set`` names the unit, this is the unit of the plans that do not need another; it
    stays if there are none."""
    from sw.compile.schedules import make, with_unit
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


def memory(assignments, config, graphless=None):
    """The simulated DRAM of ``--dram`` behind some hardware. Raises UserError for a slow region
    where no edges can lie in it: ``graphless`` names what runs."""
    from sim.memories import parse_memory
    found = parse_memory(assignments or (), config)
    if graphless is not None and found.has_slow:
        raise UserError(f"--dram slow_bytes_per_cycle: only edges of a graph lie in a slow "
                        f"region, and {graphless} has no graph")
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
        from sw.study.benchmarks.folder import listed
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
            raise UserError(f"{option} {text}: there is no {name!r}; there are {', '.join(legal)}")
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
    from sw.study.benchmarks.executors import Processes
    if cluster is None:
        return Processes(jobs or default or os.cpu_count() or 1)
    if jobs is not None:
        raise UserError("--jobs: the workers of a cluster say how many runs they take: give --jobs "
                        "to graphloom worker")
    need(f"{command} --cluster", "distributed")
    from sw.study.cluster.executor import Cluster as Machines
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
