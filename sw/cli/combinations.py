"""Combinations of algorithm, format and the other axes, for ``graphloom list``."""

import collections
import math
import time

from base.errors import UserError

from . import options


__all__ = ["only", "print_all", "print_number", "run", "to_json"]


#: Runs for each line of progress, if there is no terminal.
_EVERY = 100


def only(assignments) -> dict:
    """The values of each axis that ``--only`` names. Raises UserError."""
    from sw.study.benchmarks.combinations import OWN
    from sw.study.combinations import ASKED, AXES, FURTHER, HARDWARE
    known, found = AXES | FURTHER | ASKED | HARDWARE, {}
    for text in assignments or ():
        axis, equals, value = text.partition("=")
        if not equals or axis not in known:
            raise UserError(f"--only {text}: must be AXIS=VALUE; there are the axes "
                            f"{', '.join(known)}")
        legal = {each or OWN: each for each in known[axis]()}
        if axis == "algorithm" and value not in legal and value.partition(":")[0].endswith(
                (".py", ".gt")):
            from sw.compile import algorithms
            algorithms.find(value)
            legal[value] = value
        if value not in legal:
            raise UserError(f"--only {text}: there is no {axis} {value!r}; there are "
                            f"{', '.join(legal)}")
        found.setdefault(axis, []).append(legal[value])
    return found


def print_number():
    """Print how many combinations there are, without planning them."""
    from .execute import console
    from sw.study.combinations import axes
    counts = {axis: len(values()) for axis, values in axes().items()}
    console().say(f"combinations of {' x '.join(counts)}: {math.prod(counts.values())}; "
                  "`graphloom list combinations` says which work", style="bold")


def print_all(combined, each):
    """Print the numbers of combinations and, with ``each``, a line for each combination, the
    reasons, and at the end how many work and how many are refused."""
    from .execute import console
    out = console()
    if each:
        _print_lines(combined)
    axes = " x ".join(combined[0].choice)
    out.say(f"combinations of {axes}: {len(combined)}, of which {_working(combined)} work",
            style="bold")
    every = collections.Counter(combination.choice["algorithm"] for combination in combined)
    working = collections.Counter(combination.choice["algorithm"] for combination in combined
                                  if combination.works)
    for algorithm, count in every.items():
        out.say(f"  {algorithm}: {working[algorithm]} of {count}")
    from sw.study.reproduce.grassembler.published import AXES, PRODUCT
    out.say(f"  GRAssembler's options for an algorithm, valid or not: {PRODUCT:,} = "
            + " x ".join(f"{count} {axis}" for axis, count in AXES.items()))
    if each:
        reasons = collections.Counter(combination.reason for combination in combined
                                      if combination.reason is not None)
        for reason, count in reasons.most_common():
            out.say(f"  {count} do not: {reason}")
    for combination in combined:
        if combination.fault is not None:
            words = " ".join(value or "own" for value in combination.choice.values())
            out.say(f"FAULT {words}: {combination.fault}")
    out.say(f"{len(combined)} combinations: {_working(combined)} work, {_refused(combined)} are "
            f"refused, {_faults(combined)} faults", style="bold")


def _print_lines(combined):
    """A line for each combination. There are tens of thousands, for which Rich's tables take most
    of a minute."""
    rows = [tuple(combined[0].choice), *(tuple(value or "its own" for value in each.choice.values())
                                         for each in combined)]
    reasons = ["", *(each.reason or each.fault or "works" for each in combined)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["   ".join([*(word.ljust(width) for word, width in zip(row, widths)), reason]).rstrip()
             for row, reason in zip(rows, reasons)]
    print("\n".join([lines[0], "─" * (sum(widths) + 3 * len(widths) + 5), *lines[1:], ""]))


def _working(combined):
    return sum(combination.works for combination in combined)


def _refused(combined):
    return sum(combination.reason is not None for combination in combined)


def _faults(combined):
    return sum(combination.fault is not None for combination in combined)


def to_json(config, combined) -> dict:
    """The combinations, for JSON."""
    return {"configuration": options.fields(config), "combinations": [
        combination.choice | {"works": combination.works, "reason": combination.reason,
                              "fault": combination.fault} for combination in combined],
        "count": len(combined), "working": _working(combined), "refusals": _refused(combined),
        "faults": _faults(combined)}


def run(config, combined, asked, executor, results, hardware):
    """Run combinations that work, and show the progress and the failures.

    Parameters
    ----------
    config : HardwareConfig
    combined : list of Combination
        Combinations, of which those that work are run.
    asked : record
        The options ``functional``, ``sample`` and ``seed`` of ``graphloom list``.
    executor : Executor
    results : str or None
        The file of records.
    hardware : list of str
        The options that name the hardware, for the command lines that repeat failed runs.

    Returns
    -------
    dict
        For JSON: the runs, each with its result, and the number of failures.
    """
    from sim.memories import dram_of
    from sw.study.benchmarks.combinations import batch, draw, trials

    from .execute import console
    from .progress import progress
    functional, seed = asked.functional, None
    if asked.sample is not None:
        seed = 1 if asked.seed is None else asked.seed
        combined = draw(combined, asked.sample, seed)
    cases = trials(combined, functional)
    if not cases:
        raise UserError("none of these combinations works, so nothing can be run; "
                        "without --run the list gives their reasons")
    work = batch(cases, config, dram_of({}, config), results)
    done = len(work.records)
    if executor.here and done < len(cases):
        # The functional simulator is the same for all hardware.
        needed = [config] if functional else [case.hardware(config) for case in cases]
        for each in dict.fromkeys(needed):
            _prepare(each, functional)
    began = time.perf_counter()

    def outcome(record):
        if "error" in record:
            return f"failed: {record['error']}"
        return f"refused: {record['refused']}" if "refused" in record else "passed"

    out = console()
    with progress(len(cases), done, lambda case: case.describe(), outcome, _EVERY) \
            as (begun, ended, aside):
        def report(case, record, done, total):
            ended(case, record)
            if "error" in record:
                with aside():
                    out.say(f"FAILED {case.describe()}: {record['error']}")
                    out.say(f"  repeat: {case.command(hardware)}")

        work.run(executor, report, begun)
    _print_sum(out, config, work, functional, done, time.perf_counter() - began)
    return {"runs": [_run_json(case, work.records[case], hardware) for case in cases],
            "failed": _count(work, "error"), "refused": _count(work, "refused"),
            "functional": functional, "sample": asked.sample, "seed": seed}


def _prepare(config, functional):
    """Build the simulator, once and before several processes need it."""
    from sw.device import Device

    from .execute import progress_display
    with progress_display() as (show, tell):
        show("preparing the hardware")
        make = Device.functional if functional else Device.simulate
        with make(config, report=tell) as device:
            _ = device.machine


def _count(work, name):
    """The runs whose record has this entry: ``"error"`` or ``"refused"``."""
    return sum(name in record for record in work.records.values())


def _print_sum(out, config, work, functional, before, seconds):
    failed, refused, total = _count(work, "error"), _count(work, "refused"), len(work.cases)
    grounds = list(dict.fromkeys(case.ground for case in work.cases))
    what = "instructions" if functional else "cycles"
    amount = sum(record["counters"][what] for record in work.records.values()
                 if "counters" in record)
    out.say(f"{total} runs on {'the functional simulator' if functional else 'the RTL'} "
            f"of {config.name}: {total // len(grounds)} combinations on {len(grounds)} graphs "
            f"({', '.join(grounds)}); {total - failed - refused} bit-identical to golden, "
            f"{failed} failed" + f", {refused} whose program does not fit" * bool(refused) +
            f"; {amount:,} {what}, {seconds:.0f} s"
            + (f" ({before} runs were there)" if before else ""), style="bold")


def _run_json(case, record, hardware):
    found = dict(case.choice) | {"ground": case.ground, "graph": case.graph,
                                 "options": case.plan.format, "plan": case.plan.text,
                                 "command": case.command(hardware)}
    names = ("cycles", "supersteps", "checksum", "verified", "refused", "error", "traceback")
    if case.functional:
        names = names[1:]
        if "counters" in record:
            found["instructions"] = record["counters"]["instructions"]
    return found | {name: record[name] for name in names if name in record}
