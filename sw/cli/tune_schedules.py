"""``graphloom tune --vm cpu``: the schedules with the least time for a program on this computer."""

import shlex

from sw.errors import UserError
from sw.installation import PROGRAM

from . import files, options
from .execute import console, loading, progress_display, seeded_spec
from .run_program import program_of


__all__ = ["tune_schedules"]


#: Rows of the table of the best.
_ROWS = 10

#: Pairs of the last comparison, for each of a trial's.
_LAST = 5


def tune_schedules(plan, spec, *, strategy, trials, only, stop, search_seed, rounds,
                   seed, weights, json, command, **graph_options):
    """Search, print the outcome, and write it.

    Parameters
    ----------
    plan : Plan
        Names the program and its parameters.
    spec : str
        The graph's text.
    strategy, trials, only, stop, search_seed, rounds, seed, weights, json
        As on the command line; ``only`` is a dict.
    command : list of str
        The options of the graph as they were given.
    **graph_options
        As of :func:`~sw.cli.execute.loading`.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
    """
    from sw.graph.load import load
    from sw.tune import strategies
    from sw.tune.schedules import PairedTimes, ScheduleSpace
    from sw.tune.search import Tuner
    from sw.vm import reach
    from sw.vm.arguments import arguments, moved
    kind, program = program_of("cpu", plan.algorithm)
    files.distinct({"--json": json}, [spec])
    files.check(json, (".json",))
    graph = load(seeded_spec(spec, seed, weights), note=options.note, seed=seed, weights=weights,
                 **loading(kind, **graph_options))
    given = kind.numbers_of(graph, dict(plan.parameters))
    space = ScheduleSpace(program, graph, only)
    search = Tuner(space, space.ask, strategies.make(strategy, space, search_seed), trials=trials,
                   starts=[space.default], stop=stop)
    with progress_display() as (show, tell):
        show(f"{program.name} without schedules")
        times = PairedTimes(program, graph, given, rounds)
        values = arguments(program, given, graph)
        fault = kind.fault_of(graph, values, times.result.outputs, times.result.fraction_bits)
        if fault:
            raise UserError(f"the result is wrong {kind.check.way}: {fault}")

        def measure(trial):
            show(f"{len(search.outcomes)} trials; running {trial.candidate.plan.text}")
            record = times.measure(trial)
            if record["status"] == "failed":
                tell(f"FAILED {trial.candidate.plan.text}: {record['error']}")
            return record

        search.run(measure)
        done = sorted(((record["cycles"], plan) for plan, record in search.outcomes.values()
                       if record["status"] == "done"), key=lambda pair: pair[0])
        ratio, pairs = times.compare(done[0][1], _LAST * rounds) if done else (1, [])
    failed = sum(record["status"] == "failed" for _, record in search.outcomes.values())
    out = console()
    if not done:
        out.print("no trial ran to its end")
        return 1
    out.print(_table(done))
    best, quarter = done[0][1], len(pairs) // 4
    line = shlex.join([PROGRAM, "run", "--plan", plan.text, spec, "--vm", "cpu", *command,
                       *(word for text in best.texts for word in ("--apply", text))])
    stopped = len(search.outcomes) - len(done) - failed
    out.print(f"{len(search.outcomes)} trials, {stopped} stopped after two pairs of runs, {failed} "
              f"failed; {search.refused.total():,} refused", soft_wrap=True)
    reached = reach.reached(program, times.result.outputs, times.result.fraction_bits or 0)
    notes = moved(program, given, values) + reach.notes(program, values, reached, graph)
    for note in notes:
        out.print(f"note: {note}", soft_wrap=True)
    out.print(f"The best schedule, in {len(pairs)} more pairs: {1 / ratio:.2f} times as fast as "
              f"without schedules (middle half of the pairs {1 / pairs[-1 - quarter]:.2f} to "
              f"{1 / pairs[quarter]:.2f})", style="bold", soft_wrap=True)
    out.print(f"  {line}", soft_wrap=True)
    if json is not None:
        files.write_json(json, {
            "program": program.name, "graph": spec, "base": times.base, "unit": times.unit,
            "trials": [{"schedules": plan.texts} | record
                       for plan, record in search.outcomes.values()],
            "reached": reached, "notes": notes, "best": best.texts, "ratio": ratio,
            "pairs": pairs, "command": line, "failed": failed, "refused": dict(search.refused)})
    return 1 if failed else 0


def refuse(**values):
    """Refuse options that are for the device only. Raises UserError naming the first given."""
    for name, value in values.items():
        if value:
            raise UserError(f"--{name.replace('_', '-')}: only for the device; --vm cpu measures "
                            "wall time on this computer")


def _table(done):
    from rich import box
    from rich.table import Table
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("of the best", justify="right", no_wrap=True)
    table.add_column("schedules", no_wrap=True)
    for cost, plan in done[:_ROWS]:
        table.add_row(f"{cost / 1e6:.3f}", f"{cost / done[0][0]:.2f}x", plan.text)
    return table
