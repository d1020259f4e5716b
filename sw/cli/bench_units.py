"""``graphloom bench units``: the units against the best of software."""

import dataclasses
import pathlib
from typing import Annotated

import typer

from base.errors import UserError
from sw.study.benchmarks.units import ALGORITHMS, SOFTWARE, UNITS
from sw.compile.kernels.split import SPLITS

from . import benches, options


__all__ = ["register"]


_ALGORITHMS, _SOFTWARE = ",".join(ALGORITHMS), ",".join(SOFTWARE)

_GROUPS = {"skewed": "skewed graphs", "others": "other graphs", "all": "all graphs"}
_TITLES = {"pagerank": "PageRank", "bfs": "BFS", "sssp": "SSSP", "cc": "CC", "gcn": "GCN",
           "all": "all"}


def register(app):
    """Add the command."""
    benches.add(app, "units", _Options, _units, epilog="Exit code: 0; 1 if a run failed. Example: "
                "graphloom bench units --set l1_banks=4 --results figures.jsonl")


@dataclasses.dataclass(kw_only=True)
class _Options(benches.ManyRuns):
    graphs: Annotated[list[str] | None, typer.Argument(
        metavar="[GRAPH]...", help="Graphs to run on; three skewed graphs, a road and a "
        "uniform graph if no graph is given.", show_default=False)] = None
    units: Annotated[str, typer.Option(
        "--units", metavar="A,B,...", help=f"Units to measure: {', '.join(UNITS)}. The "
        "SCU runs on the large and the small system of its paper.",
        rich_help_panel="Hardware")] = "fsm,stream"
    algorithms: options.Algorithms = _ALGORITHMS
    schedules: Annotated[str, typer.Option(
        "--schedules", metavar="A,B,...", help="Rivals of the units that hand out edges.",
        rich_help_panel="Algorithm")] = _SOFTWARE
    splits: Annotated[str, typer.Option(
        "--splits", metavar="A,B", help="How warps and cores share the work: static, counter, "
        "or the better of both.", rich_help_panel="Algorithm")] = "static"
    weights: options.Weights = 255
    json: Annotated[str | None, typer.Option(
        "--json", metavar="FILE", help="Write all figures.", rich_help_panel="Files",
        show_default=False)] = None


def _units(asked):
    """Run the units and all software schedules, check each result, and print who is faster.

    All have the same hardware, but for the unit. Each schedule has the best of its directions and
    splits on each graph. Searches start at the vertex with the most out-arcs. The means are
    geometric.
    """
    from sw.study.benchmarks import units as comparison
    from sw.study.benchmarks.batch import Batch, notes_of
    from sw.study.benchmarks.executors import Processes
    from sw.study.benchmarks.system import System
    from sw.graph.load import load

    from . import files
    from .execute import console
    from .progress import progress

    named = options.names(asked.units, "--units", UNITS)
    rivals = options.names(asked.schedules, "--schedules")
    chosen = asked.chosen
    if any(text.partition("=")[0].strip() == "gather" for text in asked.set_ or ()):
        raise UserError("--set gather: bench units sets this field; name the unit with --units")
    for name in rivals:
        if name.partition(":")[0] == "weaver":
            raise UserError(f"--schedules {asked.schedules}: {name} is no rival of the Weaver")
    config, memory = asked.machine(counters_for="bench units")
    asked.check_files(asked.graphs, json=asked.json)
    files.check(asked.json, (".json",))
    pairs = asked.pairs(asked.graphs, comparison.GRAPHS)
    grids = comparison.grids(
        {"graph": pairs, "algorithm": chosen, "schedule": rivals,
         "split": options.names(asked.splits, "--splits", SPLITS)}, named, System(config, memory),
        asked.iterations, asked.weights)
    cases = [case for grid in grids.values() for case in grid.cases]
    if not cases:
        raise UserError(f"--units {asked.units}: the SCU's comparison has no {asked.algorithms}")
    kinds = {(graph, undirected): comparison.skewed(load(graph, undirected=undirected))
             for graph, undirected in pairs}
    batch = Batch(cases, config, memory, asked.results)
    with progress(len(batch.cases), len(batch.records), _describe, benches.outcome) \
            as (begun, ended, _):
        batch.run(Processes(asked.jobs), lambda case, record, done, total: ended(case, record),
                  begun)
    figures = _figures({name: comparison.fewest(grid.found(batch.records))
                        for name, grid in grids.items()}, named, rivals, chosen, kinds)
    out = console()
    _print(out, figures)
    for note in notes_of(batch.records.values()):
        out.print(f"note: {note}", soft_wrap=True)
    if asked.json is not None:
        files.write_json(asked.json, {"configuration": options.fields(config),
                                      "dram": options.fields(memory)} | figures)
    failed = [case for case, record in batch.records.items() if "error" in record]
    for case in failed:
        console(stderr=True).print(f"failed: {_describe(case)}: {batch.records[case]['error']}",
                                   soft_wrap=True)
    return 1 if failed else 0


def _describe(case):
    plan, where = case.plan, case.system.name
    split = f" {plan.split}" * (plan.split != "static")
    return (f"{plan.algorithm} {plan.direction} {plan.schedule}{split} on "
            f"{_name(case.graph, case.undirected)} ({where})")


def _name(graph, undirected):
    return pathlib.Path(graph).name + " (u)" * undirected


def _figures(places, units, rivals, algorithms, kinds):
    """All figures, as JSON can hold them, from the best runs at each place of each system."""
    from sw.study.benchmarks import units as comparison
    found = {
        "graphs": [{"graph": graph, "undirected": undirected, "skewed": kind}
                   for (graph, undirected), kind in kinds.items()],
        "algorithms": algorithms,
        "cycles": {system: [
            {"graph": graph, "undirected": undirected, "algorithm": algorithm, "schedules": {
                column: {"failed": best.failed, "cycles": best.cycles,
                         "direction": best.case and best.case.plan.direction,
                         "split": best.case and best.case.plan.split}
                for column, best in columns.items()}}
            for ((graph, undirected), algorithm), columns in some.items()]
            for system, some in places.items()},
        "weaver": {}, "resources": {}, "compaction": {}}
    for unit in units:
        if unit != comparison.SCU:
            found["weaver"][unit] = comparison.over_software(places[""], unit, rivals, algorithms,
                                                             kinds)
            found["resources"][unit] = comparison.resources(places[""], unit)
    for system in set(places) - {""}:
        found["compaction"][system] = comparison.compaction(places[system], algorithms, kinds)
    return found


def _print(out, figures):
    from sw.study.benchmarks import units as comparison
    from sw.study.benchmarks.cores import LIMITS
    for system, rows in figures["cycles"].items():
        out.print(f"\nCycles{f', {system} system' * bool(system)}:")
        out.print(_cycles(rows))
    titles = [*figures["algorithms"], "all"]
    for unit, over in figures["weaver"].items():
        out.print(f"\nSpeedup of {comparison.weaver(unit)}:")
        out.print(_summaries("over", titles, (
            ("best software" if rival == "best" else rival, group, over[rival][group])
            for rival in over for group in _GROUPS)))
        rows = figures["resources"][unit]
        if rows:
            out.print(f"\nPageRank by {comparison.weaver(unit)}, shares of all cycles:")
            out.print(_resources(rows))
    if figures["weaver"]:
        for name, text in LIMITS.items():
            out.print(f"  {name:8} {text}")
    for system, over in sorted(figures["compaction"].items()):
        out.print(f"\nSpeedup of the SCU over compaction by the cores, {system} system:")
        out.print(_summaries("schedule", [title for title in titles if title in over["best"]], (
            ("best of these" if name == "best" else name, "all", summaries)
            for name, summaries in over.items())))


def _cycles(rows):
    columns = list(rows[0]["schedules"])
    table = benches.table(("graph", "algorithm"), columns)
    for row in rows:
        table.add_row(_name(row["graph"], row["undirected"]), row["algorithm"], *(
            "failed" if each["failed"] else "-" if each["cycles"] is None
            else f"{each['cycles']:,}" for each in row["schedules"].values()))
    return table


def _summaries(title, algorithms, rows):
    """A table of three rows for each (name, group, summaries by algorithm)."""
    table = benches.table((title, "graphs", ""), [_TITLES[name] for name in algorithms])
    for name, group, summaries in rows:
        found = [summaries[algorithm] for algorithm in algorithms]
        if not any(found):
            continue
        for what, show in (
                ("mean", lambda each: f"{each['mean']:.2f}x"),
                ("smallest", lambda each: f"{each['smallest']:.2f}x"),
                ("slower", lambda each: f"{each['slower']} of {each['places']}")):
            first = (name, _GROUPS[group]) if what == "mean" else ("", "")
            table.add_row(*first, what, *(show(each) if each else "-" for each in found))
    return table


def _resources(rows):
    from sw.study.benchmarks.cores import LIMITS
    table = benches.table(("graph", "direction"),
                          ("cycles", "binding", *LIMITS, "in front of the L1"))
    for row in rows:
        cause, share = max(row["l1_waits"].items(), key=lambda item: item[1])
        table.add_row(_name(row["graph"], row["undirected"]), row["direction"],
                      f"{row['cycles']:,}", row["binding"],
                      *(f"{100 * share:.0f} %" for share in row["limits"].values()),
                      f"{cause} {100 * share:.0f} %")
    return table
