"""``graphloom bench tune``: trials and cycles that the strategies of the tuner need."""

import dataclasses
import os
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import need

from . import benches, options


__all__ = ["register"]


#: The file of the tables, if the user names none.
_RESULTS = os.path.join("results", "tables.jsonl")

#: A graph of each kind, small enough for every candidate to be run.
_GRAPHS = ("rmat:scale=9,degree=8,seed=1,weights=255", "uniform:vertices=512,edges=4096,seed=1,"
           "weights=255", "road:side=24,seed=1")

#: Sweeps of PageRank.
_ITERATIONS = 2


def register(app):
    """Add the command."""
    benches.add(app, "tune", _Options, _compare, epilog="Exit code: 0; 1 if a trial failed. "
                "Example: graphloom bench tune --results table.jsonl")


@dataclasses.dataclass(kw_only=True)
class _Options:
    graphs: Annotated[list[str] | None, typer.Argument(
        metavar="[GRAPH]...", help="Graphs; an R-MAT, a uniform and a road graph if left out.",
        show_default=False)] = None
    algorithms: options.Algorithms = "pagerank,bfs,sssp,cc"
    strategies: Annotated[str, typer.Option(
        "--strategies", metavar="A,B,...", help="Strategies to compare.")] = "tpe,random"
    within: Annotated[int, typer.Option(
        "--within", metavar="PERCENT", min=0, max=1000, help="A search ends when its best plan "
        "takes at most so much more than the best of all.")] = 5
    seeds: Annotated[int, typer.Option(
        "--seeds", metavar="N", min=1, help="Searches of each strategy, with seeds 1 to N.")] = 20
    tuned_options: Annotated[str, typer.Option(
        "--options", metavar="A,B|none", help="Whose options are tuned too: those of the "
        "schedule, of the format, or of none.")] = "schedule"
    only: Annotated[list[str] | None, typer.Option(
        "--only", metavar="AXIS=VALUE", help="Try only plans with this value; may be "
        "repeated.", show_default=False)] = None
    functional: Annotated[bool, typer.Option(
        "--functional", help="Count instructions on the functional simulator, not cycles "
        "of the RTL.")] = False
    preset: options.Preset = "default"
    set_: options.Set = None
    dram: options.Dram = None
    launch_cycles: options.LaunchCycles = None
    jobs: options.Jobs = os.cpu_count() or 1
    results: Annotated[str, typer.Option(
        "--results", metavar="FILE", help="Keep the tables of all candidates in this file. "
        "Trials in the file are not repeated.")] = _RESULTS
    json: Annotated[str | None, typer.Option(
        "--json", metavar="FILE", help="Write all figures.", show_default=False)] = None

    def target(self):
        """The machine of the trials. Raises UserError."""
        from sw.device.target import Target
        config = options.hardware(self.preset, self.set_)
        return Target(config, options.memory(self.dram, config), functional=self.functional,
                      launch_cycles=self.launch_cycles)


def _compare(asked):
    """Run every candidate once, and then compare the strategies on the tables of their cycles.

    The searches begin with the default plan, stop trials early, and simulate nothing. The table
    shows the median over all seeds.
    """
    target = asked.target()

    from sw.compile import algorithms as known
    from sw.graph.load import load
    from sw.study.tune import strategies as all_strategies
    from sw.study.tune.comparison import compare
    from sw.study.tune.results import ResultsFile

    from . import files
    from .execute import console, progress_display
    chosen = options.names(asked.algorithms, "--algorithms", known.names())
    names = options.names(asked.strategies, "--strategies", list(all_strategies.STRATEGIES))
    if "tpe" in names:
        need("graphloom bench tune --strategies tpe", "optuna")
    files.distinct({"--results": asked.results, "--json": asked.json}, asked.graphs or ())
    files.check(asked.results, default=_RESULTS)
    files.check(asked.json, (".json",))
    for graph in asked.graphs or ():
        load(graph, note=options.note)       # a slip is told before anything runs
    file, within = ResultsFile(asked.results), asked.within / 100
    files.make_folder(asked.results, _RESULTS)
    rows, failed = [], 0
    for graph in asked.graphs or _GRAPHS:
        for algorithm in chosen:
            table, wrong = _table(file, algorithm, graph, target, asked)
            failed += wrong
            with progress_display() as (show, _):
                show(f"{algorithm} on {graph}: searching with {asked.seeds} seeds")
                found = compare(table, names, asked.seeds, within)
            rows.append({
                "algorithm": algorithm, "graph": graph, "candidates": len(table.cycles),
                "within": table.within(within), "fewest": table.fewest,
                "worst": max(table.cycles.values()) / table.fewest, "strategies": found})
    console().print(_shown(rows, names, asked.within, asked.seeds))
    if asked.json is not None:
        files.write_json(asked.json, {
            "configuration": options.fields(target.config), "within": within, "seeds": asked.seeds,
            "unit": "instructions" if asked.functional else "cycles",
            "launch_cycles": target.device().launch_cycles, "rows": rows})
    return 1 if failed else 0


def _table(file, algorithm, graph, target, asked):
    """The table of an algorithm on a graph, and the number of trials that failed."""
    from sw.compile import algorithms
    from sw.study.benchmarks.executors import Processes
    from sw.graph.load import GraphSource
    from sw.study.tune.candidates import Planner
    from sw.study.tune.comparison import CandidateTable
    from sw.study.tune.results import header_of
    from sw.study.tune.runs import RunSetting
    from sw.study.tune.search import Tuner
    from sw.study.tune.space import Space
    from sw.study.tune.strategies import make

    from .tune import axis_values, options_of, reduce, run_trials
    kind = algorithms.find(algorithm)
    setting = RunSetting(GraphSource(graph).used_by(kind), target)
    loaded = setting.graph(note=options.note)
    given = {"iterations": _ITERATIONS, "source": loaded.hub}
    given = {name: value for name, value in given.items() if name in kind.options}
    planner = Planner(target.config, loaded)
    space = Space(algorithm, given, axis_values(asked.only), options_of(asked.tuned_options))
    reduce(space, planner)
    study = file.begin(header_of(algorithm, given, loaded, setting))
    search = Tuner(space, planner.ask, make("exhaustive", space), known=dict(study.trials),
                    stop=False)

    def keep(trial, record):
        file.keep(study, trial.candidate.plan.text,
                  record | {"digest": trial.candidate.digest, "by": "exhaustive 1"})

    run_trials(search, setting, Processes(asked.jobs), keep, f"{algorithm} on {graph}: ")
    cycles = {digest: record["cycles"] for digest, (_, record) in search.outcomes.items()
              if record["status"] == "done"}
    if not cycles:
        raise UserError(f"{algorithm} on {graph}: no candidate runs to its end")
    return CandidateTable(space, planner.ask, cycles), len(search.outcomes) - len(cycles)


def _shown(rows, names, within, seeds):
    table = benches.table(("algorithm", "graph"), (
        "candidates", f"within {within} %", "worst", *(
            f"{name} {what}" for name in names for what in ("trials", "cycles", "left"))))
    for row in rows:
        cells = [row["algorithm"], row["graph"].partition(":")[0], f"{row['candidates']:,}",
                 f"{row['within']:,}", f"{row['worst']:.2f}x"]
        for name in names:
            found = row["strategies"][name]
            missed = f" ({found['reached']} of {seeds})" * (found["reached"] < seeds)
            cells += ["none", "", ""] if found["trials"] is None else [
                f"{found['trials']:g}{missed}", f"{found['cycles']:,.0f}",
                f"{100 * found['left']:.0f} %"]
        table.add_row(*cells)
    return table
