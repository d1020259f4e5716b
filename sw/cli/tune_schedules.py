"""``graphloom tune --vm cpu``: the schedules with the least time for a program on this computer."""

import shlex

from base.errors import UserError
from base.installation import PROGRAM

from . import files, options, tables
from .execute import console, progress_display
from .run_program import Checked, program_of


__all__ = ["tune_schedules"]


#: Rows of the table of the best.
_ROWS = 10

#: Pairs of the last comparison, for each of a trial's.
_LAST = 5


def tune_schedules(work, search, rounds, json):
    """Search, print the outcome, and write it.

    Parameters
    ----------
    work : sw.cli.records.RunOptions
        Names the program, its parameters, and the graph.
    search : sw.cli.tune.SearchOptions
    rounds : int
        Pairs of runs of a trial.
    json : str or None
        The file to write.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
    """
    from sw.study.tune.schedules import PairedTimes, ScheduleSpace
    plan = work.bare("--vm cpu", "cpu")
    kind, program = program_of("cpu", plan.algorithm)
    files.distinct({"--json": json}, [work.source.spec])
    files.check(json, (".json",))
    graph = work.source.seeded().used_by(kind).load(options.note)
    given = kind.numbers_of(graph, dict(plan.parameters))
    space = ScheduleSpace(program, graph, search.values)
    tuner = search.tuner(space, space.ask, starts=[space.default])
    with progress_display() as (show, tell):
        show(f"{program.name} without schedules")
        times = PairedTimes(program, graph, given, rounds)
        checked = Checked(kind, program, graph, given, times.result)
        if checked.fault:
            raise UserError(f"the result is wrong {kind.check.way}: {checked.fault}")

        def measure(trial):
            show(f"{len(tuner.outcomes)} trials; running {trial.candidate.plan.text}")
            record = times.measure(trial)
            if record["status"] == "failed":
                tell(f"FAILED {trial.candidate.plan.text}: {record['error']}")
            return record

        tuner.run(measure)
        done = sorted(((record["cycles"], plan) for plan, record in tuner.outcomes.values()
                       if record["status"] == "done"), key=lambda pair: pair[0])
        ratio, pairs = times.compare(done[0][1], _LAST * rounds) if done else (1, [])
    failed = sum(record["status"] == "failed" for _, record in tuner.outcomes.values())
    if not done:
        console().print("no trial ran to its end")
        return 1
    best, words = done[0][1], work.source.words()
    line = shlex.join([PROGRAM, "run", "--plan", plan.text, words[0], "--vm", "cpu", *words[1:],
                       *(word for text in best.texts for word in ("--apply", text))])
    _print(tuner, done, checked.notes, (ratio, pairs), line)
    files.write_json(json, {
        "program": program.name, "graph": work.source.spec, "base": times.base,
        "unit": times.unit, "trials": [{"schedules": plan.texts} | record
                                       for plan, record in tuner.outcomes.values()],
        "reached": checked.reached, "notes": checked.notes, "best": best.texts,
        "ratio": ratio, "pairs": pairs, "command": line, "failed": failed,
        "refused": dict(tuner.refused)})
    return 1 if failed else 0


def _print(tuner, done, notes, compared, line):
    """Print the best schedules, and how much the best brings."""
    (ratio, pairs), quarter, out = compared, len(compared[1]) // 4, console()
    out.print(_table(done))
    outcomes = tuner.outcomes.values()
    failed = sum(record["status"] == "failed" for _, record in outcomes)
    out.say(f"{len(outcomes)} trials, {len(outcomes) - len(done) - failed} stopped after two "
            f"pairs of runs, {failed} failed; {tuner.refused.total():,} refused")
    out.notes(notes)
    out.say(f"The best schedule, in {len(pairs)} more pairs: {1 / ratio:.2f} times as fast as "
            f"without schedules (middle half of the pairs {1 / pairs[-1 - quarter]:.2f} to "
            f"{1 / pairs[quarter]:.2f})", style="bold")
    out.say(f"  {line}")


def refuse(**values):
    """Refuse options that are for the device only. Raises UserError naming the first given."""
    for name, value in values.items():
        if value:
            raise UserError(f"--{name.replace('_', '-')}: only for the device; --vm cpu measures "
                            "wall time on this computer")


def _table(done):
    table = tables.FittedTable(">ms", ">of the best", "<schedules")
    for cost, plan in done[:_ROWS]:
        table.add_row(f"{cost / 1e6:.3f}", f"{cost / done[0][0]:.2f}x", plan.text)
    return table
