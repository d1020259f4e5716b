"""``graphloom tune``: the best schedule, format and further options for an algorithm on a graph."""

import dataclasses
import os
import shlex
from typing import Annotated

import typer

from sw.errors import UserError
from sw.installation import PROGRAM, need

from . import options
from .tuned import DEFAULT, settled


__all__ = ["axis_values", "options_of", "register", "run_trials"]


#: Trials of a strategy that would go on for long.
_TRIALS = 60

#: Plans of the nearest graph that are tried first.
_STARTS = 5

#: Without a terminal, a line is printed for one trial in so many.
_EVERY = 20

#: Pairs of runs of a trial by wall time.
_ROUNDS = 7

_SEARCH = "Search"


def register(app):
    """Add the command."""
    app.command("tune", epilog="Exit code: 0; 1 if a trial failed. Examples: graphloom tune bfs "
                "rmat:scale=10,degree=8,seed=1; graphloom run bfs rmat:scale=10,degree=8,seed=1 "
                "--schedule tuned")(_tune)


@options.with_parameters
@options.with_cluster
@options.with_reading
def _tune(
        algorithm: options.Algorithm,
        graph: options.Graph,
        *,
        choices,
        trials: Annotated[int | None, typer.Option(
            "--trials", metavar="N", min=1, help="End after N plans have been simulated.",
            rich_help_panel=_SEARCH, show_default=f"{_TRIALS}; with exhaustive, all")] = None,
        strategy: Annotated[str, typer.Option(
            "--strategy", metavar="tpe|random|exhaustive|coordinate", help="Choice of the next "
            "plan. tpe: a model of the trials so far (Optuna). random: at random, each plan once. "
            "exhaustive: every plan. coordinate: one axis after another, from the default plan.",
            rich_help_panel=_SEARCH)] = "tpe",
        only: Annotated[list[str] | None, typer.Option(
            "--only", metavar="AXIS=VALUE", help="Try only plans with this value, e.g. format=csr "
            "or vwc:width=4; may be repeated.", rich_help_panel=_SEARCH,
            show_default=False)] = None,
        tuned_options: Annotated[str, typer.Option(
            "--options", metavar="A,B|none", help="Whose options are tuned too: those of the "
            "schedule, of the format, or of none.", rich_help_panel=_SEARCH)] = "schedule,format",
        stop: Annotated[bool, typer.Option(
            "--stop/--no-stop", help="Whether a trial is stopped when it takes more cycles than "
            "the best so far.", rich_help_panel=_SEARCH)] = True,
        from_: Annotated[str | None, typer.Option(
            "--from", metavar="FILE", help=f"Try first the {_STARTS} best plans of the nearest "
            "graph in these results.", rich_help_panel=_SEARCH, show_default=False)] = None,
        vm: Annotated[str, typer.Option(
            "--vm", metavar="rtl|cpu", help="Machine: plans of the device, or schedules of a "
            "program of the language on the CPU, by wall time.", rich_help_panel=_SEARCH)] = "rtl",
        rounds: Annotated[int | None, typer.Option(
            "--rounds", metavar="N", min=1, help="With --vm cpu: pairs of runs of a trial.",
            rich_help_panel=_SEARCH, show_default=f"{_ROUNDS}")] = None,
        search_seed: Annotated[int, typer.Option(
            "--search-seed", metavar="N", min=0, max=(1 << 32) - 1, help="Seed of the strategy.",
            rich_help_panel=_SEARCH)] = 1,
        jobs: Annotated[int | None, typer.Option(
            "--jobs", metavar="N", min=1, help="Processes. With 1, the same command gives the "
            "same trials.", rich_help_panel=_SEARCH,
            show_default="as many as there are processors")] = None,
        cluster=None,
        functional: Annotated[bool, typer.Option(
            "--functional", help="Count instructions on the functional simulator, not cycles of "
            "the RTL.", rich_help_panel=_SEARCH)] = False,
        weights: options.Weights = None,
        reading,
        undirected: options.Undirected = False,
        simplify: options.Simplify = False,
        seed: options.Seed = None,
        preset: options.Preset = "default",
        set_: options.Set = None,
        dram: options.Dram = None,
        max_cycles: Annotated[int | None, typer.Option(
            "--max-cycles", metavar="N", min=1, help="Stop every trial after this many cycles.",
            rich_help_panel="Hardware", show_default=False)] = None,
        launch_cycles: options.LaunchCycles = None,
        results: Annotated[str, typer.Option(
            "--results", metavar="FILE", help="Keep each trial in this file, a line of JSON. "
            "Trials in the file are not repeated.", rich_help_panel="Files")] = DEFAULT,
        json: Annotated[str | None, typer.Option(
            "--json", metavar="FILE", help="Write the outcome of the search.",
            rich_help_panel="Files", show_default=False)] = None):
    """Find the plan with the fewest cycles: schedule, format, direction, frontier and options.

    Every trial is a whole run, whose result is checked. After an interruption, the same
    command continues. `graphloom run ... --schedule tuned` takes the best plan of the results.
    """
    graph_options = _given(weights=weights, **reading, undirected=undirected, simplify=simplify,
                           seed=seed)
    if vm != "rtl":
        from .tune_schedules import refuse, tune_schedules
        if vm != "cpu":
            raise UserError(f"--vm {vm}: must be rtl or cpu")
        if cluster is not None:
            raise UserError("--cluster: --vm cpu measures wall times, which mean nothing on other "
                            "machines: leave out --cluster")
        refuse(set=set_, dram=dram, max_cycles=max_cycles, launch_cycles=launch_cycles,
               functional=functional, preset=preset != "default",
               results=results != DEFAULT, **{"from": from_})
        if strategy == "tpe":
            need("graphloom tune --strategy tpe", "optuna")
        return tune_schedules(
            _plan_of(algorithm, choices), graph, strategy=strategy,
            trials=trials or (None if strategy == "exhaustive" else _TRIALS),
            only=axis_values(only), stop=stop, search_seed=search_seed, rounds=rounds or _ROUNDS,
            seed=seed, weights=weights, json=json, command=graph_options, undirected=undirected,
            simplify=simplify, **reading)
    if rounds is not None:
        raise UserError("--rounds: only with --vm cpu; the device's cycles are exact")
    config, memory = options.hardware(preset, set_), options.memory(dram)

    from sw import algorithms
    from sw.benchmarks.measurement import inputs
    from sw.tune import strategies
    from sw.tune.candidates import Planner
    from sw.tune.results import ResultsFile, header_of, identity
    from sw.tune.runs import RunSetting
    from sw.tune.search import Tuner
    from sw.tune.space import Space

    from . import files
    from .execute import loading, seeded_spec
    strategies.check(strategy)
    if strategy == "tpe":
        need("graphloom tune --strategy tpe", "optuna")
    files.distinct({"--results": results, "--json": json},
                   [graph, *filter(None, [from_ if from_ != results else None])])
    files.check(results, default=DEFAULT)
    files.check(json, (".json",))
    kind = algorithms.find(algorithm)
    plan = _plan_of(algorithm, choices)
    setting = RunSetting(seeded_spec(graph, seed, weights), tuple(loading(
        kind, weights=weights, seed=seed, undirected=undirected, simplify=simplify,
        **reading).items()),
        config, memory, functional, launch_cycles)
    with options.executor("graphloom tune", cluster, jobs,
                          read=[_file_of(algorithm), *inputs(plan, graph)]) as executor:
        loaded = setting.graph(note=options.note)
        parameters = settled(kind, loaded, plan.parameters)
        header = header_of(algorithm, parameters, loaded, setting) | {
            "arguments": [graph, *graph_options, *_given(launch_cycles=launch_cycles)]}
        file = ResultsFile(results)
        near = _plans_of_the_nearest(from_, header)
        space = Space(algorithm, parameters, axis_values(only), options_of(tuned_options))
        planner = Planner(config, loaded)
        reduce(space, planner)
        starts = [*(point for plan in near if (point := space.point_of(plan)) is not None),
                  space.default]
        files.make_folder(results, DEFAULT)
        study = file.begin(header)
        by = f"{strategy} {search_seed}"
        # One process repeats its choices, and finds the trials of an interrupted search in the
        # file. With several, the order of the ends is another each time: the strategy is told them
        # first.
        before = [point for plan in (() if executor.in_order else study.by(by))
                  if (point := space.point_of(plan)) is not None]
        search = Tuner(space, planner.ask, strategies.make(strategy, space, search_seed),
                       trials=trials or (None if strategy == "exhaustive" else _TRIALS),
                       starts=[*before, *starts], known=dict(study.trials), limit=max_cycles,
                       stop=stop)

        def keep(trial, record):
            file.keep(study, trial.candidate.plan.text,
                      record | {"digest": trial.candidate.digest, "by": by})

        try:
            run_trials(search, setting, executor, keep)
        except KeyboardInterrupt:
            kept = ResultsFile(results).studies[identity(header)].trials
            options.note(f"{len(kept)} trials are in {results}; the same command goes on")
            raise
    command = _run_command(graph, graph_options + _given(
        preset=preset, set=set_, dram=dram, launch_cycles=launch_cycles))
    return _show(search, setting, command, results, json, header)


def reduce(space, planner):
    """Drop the values that cannot work, which may take a minute, and show at which axis it is."""
    from .execute import steps_display
    with steps_display() as heard:
        space.reduce(planner.ask, lambda axis: heard("looking for the values that can work here",
                                                     axis))


def _file_of(algorithm):
    """The file of an algorithm that is in a file, of which a part may be named."""
    file, colon, _ = algorithm.partition(".py:")
    return f"{file}.py" if colon else algorithm


def _plan_of(algorithm, choices):
    from sw.runtime.plan import as_plan
    return as_plan(algorithm, **choices)


def options_of(text) -> list:
    """The axes that ``--options`` names. Raises UserError."""
    from sw.tune.space import WITH_OPTIONS
    return [] if text == "none" else options.names(text, "--options", list(WITH_OPTIONS))


def axis_values(assignments) -> dict:
    """The values of each axis that ``--only`` names. Raises UserError."""
    found = {}
    for text in assignments or ():
        axis, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--only {text}: must be AXIS=VALUE")
        found.setdefault(axis, []).append(value)
    return found


def _plans_of_the_nearest(path, header):
    """The best plans of the nearest graph in a file."""
    if path is None:
        return []
    from sw.runtime.plan import Plan
    from sw.tune.results import ResultsFile
    if not os.path.exists(path):
        raise UserError(f"--from {path}: there is no such file")
    studies = ResultsFile(path).nearest(header)
    if not studies:
        raise UserError(f"--from {path}: has no trial of {header['algorithm']} that ran to its end")
    return [Plan.parse(text) for _, text in studies[0].best(_STARTS)]


def run_trials(search, setting, executor, keep, title=""):
    """Run the trials, and show the progress.

    Parameters
    ----------
    search : Tuner
    setting : RunSetting
    executor : Executor
    keep : callable
        Called with (trial, record) at the end of each trial.
    title : str
        Beginning of the lines of progress.
    """
    from sw.tune.runs import measure
    from sw.tune.search import whole

    from .execute import progress_display
    with progress_display() as (show, tell):
        if executor.here and not setting.functional:
            show("preparing the hardware")
            from sw.runtime import Device
            with Device.simulate(setting.config, report=tell) as device:
                _ = device.machine

        def orders():
            for trial in search.trials():
                yield trial and (trial, (measure, (setting, trial.candidate.plan.text,
                                                   trial.limit)))

        def ended(trial, record):
            record = whole(record)
            keep(trial, record)         # first, as an interruption may come at any time
            search.ended(trial, record)
            if record["status"] == "failed":
                tell(f"FAILED {trial.candidate.plan.text}: {record['error']}")
            elif len(search.outcomes) % _EVERY == 0:
                progress(tell)

        def progress(tell, running=""):
            best = f"{search.fewest:,} {setting.unit}" if search.fewest else "none"
            tell(f"{title}{len(search.outcomes)} trials, best so far: {best}{running}")

        def begun(trial):
            progress(show, f"; running {trial.candidate.plan.text}")

        executor.work(orders(), ended, begun)


def _given(**values):
    """The options that are not as they are by default, as they are given on a command line."""
    found = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            found.append(option)
        elif value is not None and value is not False and (name, value) != ("preset", "default"):
            for each in value if isinstance(value, list) else [value]:
                found += [option, str(each)]
    return found


def _run_command(graph, given):
    """A function that gives the command line that runs a plan."""
    return lambda plan: shlex.join([PROGRAM, "run", "--plan", plan.text, graph, *given])


def _show(search, setting, command, path, json, header):
    """Print the outcome, and write it to a file. Returns the exit code."""
    from sw.benchmarks.batch import notes_of
    from sw.tune.points import spelled
    from sw.tune.worth import worth

    from . import files
    from .execute import console
    outcomes = list(search.outcomes.values())
    by_status = {status: [(record["cycles"], plan) for plan, record in outcomes
                          if record["status"] == status] for status in ("done", "stopped")}
    failed = len(outcomes) - sum(map(len, by_status.values()))
    done = sorted(by_status["done"], key=lambda pair: pair[0])
    simulated = sum(cycles for found in by_status.values() for cycles, _ in found)
    out = console()
    if done:
        out.print(_best_table(search.space, done, setting.unit))
        found = worth(search.space, outcomes)
        if found:
            out.print()
            out.print(_worth_table(found, setting.unit))
        out.print()
    out.print(f"{len(outcomes)} trials, {search.repeated} of them in {path} before; "
              f"{simulated:,} {setting.unit}; {len(by_status['stopped'])} stopped early "
              f"({100 * len(by_status['stopped']) / max(1, len(outcomes)):.0f} %), {failed} "
              f"failed; {search.merged} plans equal to another, {search.refused.total():,} "
              "refused", soft_wrap=True)
    notes = notes_of(record for _, record in outcomes)
    for note in notes:
        out.print(f"note: {note}", soft_wrap=True)
    if done:
        out.print("The best plan:", style="bold")
        out.print(f"  {command(done[0][1])}", soft_wrap=True)
    else:
        out.print("no trial ran to its end")
    if json is not None:
        files.write_json(json, {
            "study": header, "trials": [
                {"plan": plan.text} | {name: record[name] for name in _SHOWN if name in record}
                for plan, record in outcomes],
            "best": done[0][1].text if done else None,
            "command": command(done[0][1]) if done else None, "notes": notes,
            "simulated": simulated, "stopped": len(by_status["stopped"]), "failed": failed,
            "merged": search.merged, "refused": dict(search.refused),
            "worth": [dataclasses.asdict(each) | {"value": spelled(each.value),
                                                  "other": spelled(each.other)}
                      for each in (worth(search.space, outcomes) if done else ())]})
    return 1 if failed or not done else 0


#: The fields of a trial's record in --json.
_SHOWN = ("status", "cycles", "launch_cycles", "supersteps", "checksum", "reached", "error")

#: Plans in the table of the best.
_ROWS = 10


def _best_table(space, done, unit):
    from rich import box
    from rich.table import Table

    from sw.tune.points import spelled
    points = [dict(space.point_of(plan) or ()) for _, plan in done[:_ROWS]]
    # An axis of an option is in the column of its axis, and a value that all share is left out.
    axes = [axis.name for axis in space.axes if axis.under is None
            and axis.name not in ("schedule", "format")
            and len({point.get(axis.name) for point in points}) > 1]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(unit, justify="right", no_wrap=True)
    table.add_column("of the best", justify="right", no_wrap=True)
    for title in ("schedule", "format", *axes):
        table.add_column(title, no_wrap=True)
    for (cycles, plan), point in zip(done, points):
        table.add_row(f"{cycles:,}", f"{cycles / done[0][0]:.2f}x", plan.schedule, plan.format,
                      *(spelled(point.get(axis)) for axis in axes))
    return table


def _worth_table(found, unit):
    from rich import box
    from rich.table import Table

    from sw.tune.points import spelled
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("axis", "best value", "next best"):
        table.add_column(title, no_wrap=True)
    table.add_column(unit, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for each in found:
        table.add_row(each.axis, spelled(each.value), spelled(each.other),
                      f"{'over ' * each.bound}{each.ratio:.2f}x",
                      "" if each.alone else "with other changes")
    return table
