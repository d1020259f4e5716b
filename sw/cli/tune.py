"""``graphloom tune``: the best schedule, format and further options for an algorithm on a graph."""

import dataclasses
import os
import shlex
from typing import Annotated

import typer

from base.errors import UserError
from base.installation import PROGRAM, need

from . import options
from .commands import app
from .parameters import ProgramCommand
from .options import folded, option
from .records import given_words, with_machine, with_parameters, with_workers
from .tuned import DEFAULT, settled


__all__ = ["axis_values", "options_of", "run_trials"]


#: Trials of a strategy that would go on for long.
_TRIALS = 60

#: Plans of the nearest graph that are tried first.
_STARTS = 5

#: Without a terminal, a line is printed for one trial in so many.
_EVERY = 20

#: Pairs of runs of a trial by wall time.
_ROUNDS = 7

_SEARCH = "Search"


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """How plans are searched, as the options say."""
    trials: int | None
    strategy: str
    only: list | None
    tuned: str
    stop: bool
    from_: str | None
    vm: str
    rounds: int | None
    search_seed: int

    @property
    def most(self):
        """The number of trials after which the search ends, or None."""
        return self.trials or (None if self.strategy == "exhaustive" else _TRIALS)

    @property
    def values(self):
        """The values of each axis that ``--only`` names. Raises UserError."""
        return axis_values(self.only)

    def tuner(self, space, ask, **settings):
        """The :class:`~sw.study.tune.search.Tuner`."""
        from sw.study.tune import strategies
        from sw.study.tune.search import Tuner
        return Tuner(space, ask, strategies.make(self.strategy, space, self.search_seed),
                     trials=self.most, stop=self.stop, **settings)


_OPTIONS = (
    option("trials", int, _SEARCH, "End after N plans have been simulated.", metavar="N", min=1,
           show_default=f"{_TRIALS}; with exhaustive, all"),
    option("strategy", str, _SEARCH, "Choice of the next plan. tpe: a model of the trials so far "
           "(Optuna). random: at random, each plan once. exhaustive: every plan. coordinate: one "
           "axis after another, from the default plan.", default="tpe",
           metavar="tpe|random|exhaustive|coordinate"),
    option("only", list[str], _SEARCH, "Try only plans with this value, e.g. format=csr or "
           "vwc:width=4; may be repeated.", metavar="AXIS=VALUE"),
    option("tuned", str, _SEARCH, "Whose options are tuned too: those of the schedule, of the "
           "format, or of none.", flags="--options", default="schedule,format", metavar="A,B|none"),
    option("stop", bool, _SEARCH, "Whether a trial is stopped when it takes more cycles than the "
           "best so far.", flags="--stop/--no-stop", default=True),
    option("from_", str, _SEARCH, f"Try first the {_STARTS} best plans of the nearest graph in "
           "these results.", metavar="FILE"),
    option("vm", str, _SEARCH, "Machine: plans of the device, or schedules of a program of the "
           "language on the CPU, by wall time.", default="rtl", metavar="rtl|cpu"),
    option("rounds", int, _SEARCH, "With --vm cpu: pairs of runs of a trial.", metavar="N", min=1,
           show_default=f"{_ROUNDS}"),
    option("search_seed", int, _SEARCH, "Seed of the strategy.", default=1, metavar="N", min=0,
           max=(1 << 32) - 1),
)


@app.command("tune", cls=ProgramCommand, epilog="Exit code: 0; 1 if a trial failed. Examples: "
             "graphloom tune bfs rmat:scale=10,degree=8,seed=1; graphloom run bfs "
             "rmat:scale=10,degree=8,seed=1 --schedule tuned")
@with_parameters
@with_workers("Processes. With 1, the same command gives the same trials.", _SEARCH)
@with_machine("dram", "functional", "max_cycles", "launch_cycles")
@folded("search", _OPTIONS, SearchOptions)
def _tune(
        work,
        search,
        workers,
        machine,
        results: Annotated[str, typer.Option(
            metavar="FILE", help="Keep each trial in this file, a line of JSON. Trials in the file "
            "are not repeated.", rich_help_panel="Files")] = DEFAULT,
        json: Annotated[str | None, typer.Option(
            metavar="FILE", help="Write the outcome of the search.",
            rich_help_panel="Files")] = None):
    """Find the plan with the fewest cycles: schedule, format, direction, frontier and options.

    Every trial is a whole run, whose result is checked. After an interruption, the same
    command continues. `graphloom run ... --schedule tuned` takes the best plan of the results.
    """
    if search.vm != "rtl":
        return _on_the_cpu(work, search, machine, workers.cluster, results, json)
    if search.rounds is not None:
        raise UserError("--rounds: only with --vm cpu; the device's cycles are exact")
    plan, target = work.bare("graphloom tune", "the tuner"), machine.target()

    from sw.compile import algorithms
    from sw.study.benchmarks.measurement import inputs
    from sw.study.tune import strategies
    from sw.study.tune.candidates import Planner
    from sw.study.tune.runs import RunSetting

    from . import files
    strategies.check(search.strategy)
    _check_installed(search)
    files.distinct({"--results": results, "--json": json},
                   [work.source.spec, *([search.from_] if search.from_ not in (None, results)
                                        else [])])
    files.check(results, default=DEFAULT)
    files.check(json, (".json",))
    setting = RunSetting(work.source.seeded().used_by(algorithms.find(plan.algorithm)),
                         dataclasses.replace(target, max_cycles=None))
    with workers.executor("graphloom tune", [_file_of(plan.algorithm),
                                             *inputs(plan, work.source.spec)]) as executor:
        loaded = setting.graph(note=options.note)
        header = _header(plan, setting, loaded, work.source)
        found = _searched(search, Planner(target.config, loaded), setting, executor, header,
                          results, target.max_cycles)
    given = work.source.words() + machine.words()
    return _show(found, target, lambda plan: shlex.join(
        [PROGRAM, "run", "--plan", plan.text, *given]), results, json, header)


def _check_installed(search):
    if search.strategy == "tpe":
        need("graphloom tune --strategy tpe", "optuna")


def _on_the_cpu(work, search, machine, cluster, results, json):
    """Tune schedules of the language on this computer. Returns the exit code."""
    from .tune_schedules import refuse, tune_schedules
    if search.vm != "cpu":
        raise UserError(f"--vm {search.vm}: must be rtl or cpu")
    if cluster is not None:
        raise UserError("--cluster: --vm cpu measures wall times, which mean nothing on other "
                        "machines: leave out --cluster")
    refuse(set=machine.set_, dram=machine.dram, max_cycles=machine.max_cycles,
           launch_cycles=machine.launch_cycles, functional=machine.functional,
           preset=machine.preset != "default", results=results != DEFAULT, **{"from": search.from_})
    _check_installed(search)
    return tune_schedules(work, search, search.rounds or _ROUNDS, json)


def _header(plan, setting, loaded, source):
    """The header of the study, with the words of the graph as it was given."""
    from sw.study.tune.results import header_of
    parameters = settled(plan.kind, loaded, plan.parameters)
    return header_of(plan.algorithm, parameters, loaded, setting) | {
        "arguments": source.words() + given_words(launch_cycles=setting.target.launch_cycles)}


def _searched(search, planner, setting, executor, header, results, limit):
    """Run the search, and keep its trials in the file of results. Returns the Tuner."""
    from sw.study.tune.results import ResultsFile, identity
    from sw.study.tune.space import Space

    from . import files
    file = ResultsFile(results)
    near = _plans_of_the_nearest(search.from_, header)
    space = Space(header["algorithm"], header["parameters"], search.values,
                  options_of(search.tuned))
    reduce(space, planner)
    files.make_folder(results, DEFAULT)
    study = file.begin(header)
    by = f"{search.strategy} {search.search_seed}"
    # One process repeats its choices, and finds the trials of an interrupted search in the file.
    # With several, the order of the ends is another each time: the strategy is told them first.
    before = [*(() if executor.in_order else study.by(by)), *near]
    starts = [point for plan in before if (point := space.point_of(plan)) is not None]
    tuner = search.tuner(space, planner.ask, starts=[*starts, space.default],
                         known=dict(study.trials), limit=limit)

    def keep(trial, record):
        file.keep(study, trial.candidate.plan.text,
                  record | {"digest": trial.candidate.digest, "by": by})

    try:
        run_trials(tuner, setting, executor, keep)
    except KeyboardInterrupt:
        kept = ResultsFile(results).studies[identity(header)].trials
        options.note(f"{len(kept)} trials are in {results}; the same command goes on")
        raise
    return tuner


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


def options_of(text) -> list:
    """The axes that ``--options`` names. Raises UserError."""
    from sw.study.tune.space import WITH_OPTIONS
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
    from sw.compile.plan import Plan
    from sw.study.tune.results import ResultsFile
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
    from sw.study.tune.runs import measure
    from sw.study.tune.search import whole

    from .execute import progress_display
    with progress_display() as (show, tell):
        if executor.here and not setting.target.functional:
            show("preparing the hardware")
            with setting.target.device(tell=tell) as device:
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
            best = f"{search.fewest:,} {setting.target.unit}" if search.fewest else "none"
            tell(f"{title}{len(search.outcomes)} trials, best so far: {best}{running}")

        def begun(trial):
            progress(show, f"; running {trial.candidate.plan.text}")

        executor.work(orders(), ended, begun)


def _show(search, target, command, path, json, header):
    """Print the outcome, and write it to a file. Returns the exit code."""
    from sw.study.benchmarks.batch import notes_of
    from sw.study.tune.points import spelled
    from sw.study.tune.worth import worth

    from . import files
    from .execute import console
    outcomes = list(search.outcomes.values())
    by_status = {status: [(record["cycles"], plan) for plan, record in outcomes
                          if record["status"] == status] for status in ("done", "stopped")}
    failed = len(outcomes) - sum(map(len, by_status.values()))
    done = sorted(by_status["done"], key=lambda pair: pair[0])
    simulated = sum(cycles for found in by_status.values() for cycles, _ in found)
    out, found = console(), worth(search.space, outcomes) if done else ()
    if done:
        out.print(_best_table(search.space, done, target.unit))
        if found:
            out.print()
            out.print(_worth_table(found, target.unit))
        out.print()
    out.say(f"{len(outcomes)} trials, {search.repeated} of them in {path} before; {simulated:,} "
            f"{target.unit}; {len(by_status['stopped'])} stopped early "
            f"({100 * len(by_status['stopped']) / max(1, len(outcomes)):.0f} %), {failed} failed; "
            f"{search.merged} plans equal to another, {search.refused.total():,} refused")
    notes = notes_of(record for _, record in outcomes)
    out.notes(notes)
    if done:
        out.print("The best plan:", style="bold")
        out.print(f"  {command(done[0][1])}", soft_wrap=True)     # in one piece, to be copied
    else:
        out.print("no trial ran to its end")
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
                  for each in found]})
    return 1 if failed or not done else 0


#: The fields of a trial's record in --json.
_SHOWN = ("status", "cycles", "launch_cycles", "supersteps", "checksum", "reached", "error")

#: Plans in the table of the best.
_ROWS = 10


def _best_table(space, done, unit):
    from sw.study.tune.points import spelled

    from .tables import FittedTable
    points = [dict(space.point_of(plan) or ()) for _, plan in done[:_ROWS]]
    # An axis of an option is in the column of its axis, and a value that all share is left out.
    axes = [axis.name for axis in space.axes if axis.under is None
            and axis.name not in ("schedule", "format")
            and len({point.get(axis.name) for point in points}) > 1]
    table = FittedTable(f">{unit}", ">of the best", "<schedule", "<format",
                        *(f"<{axis}" for axis in axes))
    for (cycles, plan), point in zip(done, points):
        table.add_row(f"{cycles:,}", f"{cycles / done[0][0]:.2f}x", plan.schedule, plan.format,
                      *(spelled(point.get(axis)) for axis in axes))
    return table


def _worth_table(found, unit):
    from sw.study.tune.points import spelled

    from .tables import FittedTable
    table = FittedTable("<axis", "<best value", "<next best", f">{unit}", "<")
    for each in found:
        table.add_row(each.axis, spelled(each.value), spelled(each.other),
                      f"{'over ' * each.bound}{each.ratio:.2f}x",
                      "" if each.alone else "with other changes")
    return table
