"""``graphloom run --vm``: a program of the language on a GraphVM other than the device."""

import time
from fractions import Fraction
from typing import Any

import numpy as np

from sw.errors import UserError
from sw.printable import PIECE, printable

from . import files, options
from .execute import console, loading, seeded_spec


__all__ = ["program_of", "run_program"]


def program_of(vm, name) -> Any:
    """The class and the program of a name or a file, without choices of any schedule. Raises
    UserError if it is no program of the language."""
    from sw import algorithms
    from sw.lang import programs
    kind = algorithms.find(name)
    if getattr(kind, "program", None) is None:
        raise UserError(f"--vm {vm}: {name} is no program of the language; there are "
                        f"{', '.join(programs.names())}")
    file, _, which = name.partition(".py:")
    return kind, programs.open_program(f"{file}.py" if which else name, which or None)[0]


def run_program(vm, plan, spec, *, apply, json, output, seed, weights, verify, **graph_options):
    """Run the program of a plan, check its results, and print them.

    Parameters
    ----------
    vm : str
        A name of :data:`sw.vm.machines.NAMES`.
    plan : Plan
        Names the program and its parameters. Its other fields are the device's.
    spec : str
        The user's text for the graph.
    apply : list of str
        Schedules of the scheduling language, ``LABEL=SCHEDULE``.
    json, output : str or None
        Files to write.
    verify : bool
        Whether to compare with the interpreter, and to make the algorithm's own check.
    seed, weights, **graph_options
        As of :class:`~sw.cli.execute.Job`.

    Raises
    ------
    UserError
        The plan chooses something of the device, the program does not exist, or it cannot run.
    """
    from sw.graph.load import load
    from sw.lang.schedule import applied, read_schedules
    from sw.lang.types import Type
    from sw.runtime.plan import Plan
    from sw.runtime.result import checksum, verdict
    from sw.vm import reach, reference
    from sw.vm.arguments import arguments, moved
    from sw.vm.machines import NAMES, run_on

    if vm not in NAMES:
        raise UserError(f"--vm {vm}: there is no such GraphVM; there are rtl, {', '.join(NAMES)}")
    bare = Plan(plan.algorithm, plan.parameters)
    if plan != bare:
        raise UserError(f"--vm {vm}: the plan {plan.text!r} chooses how the device works; only "
                        f"{bare.text!r} is for {vm}")
    kind, program = program_of(vm, plan.algorithm)
    program = applied(program, read_schedules(apply))
    files.distinct({"--output": output, "--json": json}, [spec])
    files.check(json)
    files.check(output, (".npz",))
    spec = seeded_spec(spec, seed, weights)
    graph = load(spec, note=options.note, seed=seed, weights=weights,
                 **loading(kind, **graph_options))
    given = kind.numbers_of(graph, dict(plan.parameters))
    # The first run also builds the machine.
    options.note(f"{program.name} on {vm}")
    result = run_on(vm, program, graph, **given)
    began = time.perf_counter()
    if vm != "reference":
        result = run_on(vm, program, graph, bits=result.fraction_bits, **given)
    seconds = time.perf_counter() - began
    if verify and vm != "reference":
        expected = reference.run(program, graph, bits=result.fraction_bits, **given)
        for name, words in expected.outputs.items():
            wrong = np.flatnonzero(words != result.outputs[name])
            if len(wrong):
                raise UserError(f"{vm}: {name} differs from the interpreter's at {len(wrong)} of "
                                f"{len(words)} vertices: at vertex {wrong[0]} it is "
                                f"{result.outputs[name][wrong[0]]}, must be {words[wrong[0]]}")
    values = arguments(program, given, graph)
    checked = kind.check.way if verify and kind.check is not None else None
    if checked and (fault := kind.fault_of(graph, values, result.outputs, result.fraction_bits)):
        raise UserError(f"{vm}: the result is wrong {checked}: {fault}")
    reached = reach.reached(program, result.outputs, result.fraction_bits or 0)
    notes = moved(program, given, values) + reach.notes(program, values, reached, graph)
    if output is not None:
        more = {} if result.fraction_bits is None else {
            "fraction_bits": np.int64(result.fraction_bits)} | {
            f"{name}_float": result.decimal(name) for name in result.outputs
            if program.vector(name).type is Type.FIXED}
        files.write_results(output, result.outputs | more, graph)
    record = {"vm": vm, "program": program.name, "plan": plan.text,
              "graph": {"spec": spec, "vertices": graph.num_vertices, "arcs": graph.num_edges},
              "operators": result.operators, "fraction_bits": result.fraction_bits,
              "parameters": {name: float(value) if isinstance(value, Fraction) else value
                             for name, value in values.items()},
              "starts": reach.starts(program, values), "reached": reached, "notes": notes,
              "verified": verify and vm != "reference", "checked": checked,
              "checksum": checksum(result.outputs),
              "wall_seconds": round(seconds, 6)}
    if json is not None:
        files.write_json(json, record)
    out = console()
    out.print(f"{program.name} on {printable(graph.name, PIECE)}: {graph.num_vertices:,} vertices, "
              f"{graph.num_edges:,} arcs; GraphVM {vm}")
    timing = "" if vm == "reference" else f", {seconds * 1000:.3g} ms the second time"
    out.print(f"{result.operators} operators{timing}")
    for name, vertex in record["starts"].items():
        out.print(f"{name}: {vertex}")
    if reached is not None:
        out.print(f"vertices reached: {reached:,} of {graph.num_vertices:,}")
    for note in notes:
        out.print(f"note: {note}", soft_wrap=True)
    judged = verdict("by the interpreter" if vm == "reference" else
                     f"bit-identical to {kind.MODEL}" if verify else "not compared", checked)
    out.print(f"{', '.join(result.outputs)}: {judged} (checksum {record['checksum'][:16]})")
