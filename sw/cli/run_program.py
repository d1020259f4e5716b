"""``graphloom run --vm``: a program of the language on a GraphVM other than the device."""

import time
from fractions import Fraction
from typing import Any

import numpy as np

from base.errors import UserError
from base.printable import PIECE, printable

from . import files, options
from .execute import console


__all__ = ["Checked", "program_of", "run_program"]


def program_of(vm, name) -> Any:
    """The class and the program of a name or a file, without choices of any schedule. Raises
    UserError if it is no program of the language."""
    from sw.compile import algorithms
    from sw.lang import programs
    kind = algorithms.find(name)
    if getattr(kind, "program", None) is None:
        raise UserError(f"--vm {vm}: {name} is no program of the language; there are "
                        f"{', '.join(programs.names())}")
    file, _, which = name.partition(".py:")
    return kind, programs.open_program(f"{file}.py" if which else name, which or None)[0]


class Checked:
    """The result of a program, and what is known of it.

    Parameters
    ----------
    kind, program : type, GraphProgram
        Of :func:`program_of`.
    graph : Graph
    given : dict
        The parameters that are given, as numbers.
    result : sw.vm.reference.ProgramResult
    """

    def __init__(self, kind, program, graph, given, result):
        from sw.vm import reach
        from sw.vm.arguments import arguments, moved
        self.kind, self.program, self.graph = kind, program, graph
        self.given, self.result = given, result
        self.values = arguments(program, given, graph)
        self.reached = reach.reached(program, result.outputs, result.fraction_bits or 0)
        self.notes = [*program.notes, *moved(program, given, self.values), *reach.notes(
            program, self.values, self.reached, graph)]
        self.starts = reach.starts(program, self.values)

    @property
    def fault(self):
        """What is wrong with the result by the algorithm's own check; None if there is nothing."""
        return self.kind.fault_of(self.graph, self.values, self.result.outputs,
                                  self.result.fraction_bits)

    def compare(self, vm):
        """Raise UserError, which names ``vm``, if the interpreter has another result."""
        from sw.vm import reference
        expected = reference.run(self.program, self.graph, bits=self.result.fraction_bits,
                                 **self.given)
        for name, words in expected.outputs.items():
            found = self.result.outputs[name]
            wrong = np.flatnonzero(words != found)
            if len(wrong):
                raise UserError(f"{vm}: {name} differs from the interpreter's at {len(wrong)} of "
                                f"{len(words)} vertices: at vertex {wrong[0]} it is "
                                f"{found[wrong[0]]}, must be {words[wrong[0]]}")

    def arrays(self):
        """The arrays of the result, for a file."""
        from sw.lang.types import Type
        result = self.result
        if result.fraction_bits is None:
            return result.outputs
        return result.outputs | {"fraction_bits": np.int64(result.fraction_bits)} | {
            f"{name}_float": result.decimal(name) for name in result.outputs
            if self.program.vector(name).type is Type.FIXED}


def run_program(vm, work, outputs, *, apply, verify):
    """Run the program of a plan, check its results, and print them.

    Parameters
    ----------
    vm : str
        A name of :data:`sw.vm.machines.NAMES`.
    work : sw.cli.records.RunOptions
        Names the program, its parameters, and the graph. The other choices are the device's.
    outputs : sw.cli.records.Outputs
    apply : list of str
        Schedules of the scheduling language, ``LABEL=SCHEDULE``.
    verify : bool
        Whether to compare with the interpreter, and to make the algorithm's own check.

    Raises
    ------
    UserError
        The plan chooses something of the device, the program does not exist, or it cannot run.
    """
    from sw.lang.schedule import applied, read_schedules
    from sw.vm.machines import NAMES, run_on

    if vm not in NAMES:
        raise UserError(f"--vm {vm}: there is no such GraphVM; there are rtl, {', '.join(NAMES)}")
    plan = work.bare(f"--vm {vm}", vm)
    kind, program = program_of(vm, plan.algorithm)
    program = applied(program, read_schedules(apply))
    outputs.check([work.source.spec])
    source = work.source.seeded()
    graph = source.used_by(kind).load(options.note)
    given = kind.numbers_of(graph, dict(plan.parameters))
    # The first run also builds the machine.
    options.note(f"{program.name} on {vm}")
    result = run_on(vm, program, graph, **given)
    began = time.perf_counter()
    if vm != "reference":
        result = run_on(vm, program, graph, bits=result.fraction_bits, **given)
    seconds = time.perf_counter() - began
    checked = Checked(kind, program, graph, given, result)
    if verify and vm != "reference":
        checked.compare(vm)
    way = kind.check.way if verify and kind.check is not None else None
    if way and checked.fault:
        raise UserError(f"{vm}: the result is wrong {way}: {checked.fault}")
    if outputs.output is not None:
        files.write_results(outputs.output, checked.arrays(), graph)
    record = _record(vm, plan, source, checked, verify, way) | {"wall_seconds": round(seconds, 6)}
    files.write_json(outputs.json, record)
    _print(checked, record, seconds, verify)


def _record(vm, plan, source, checked, verify, way):
    """What ``--json`` writes, without times."""
    from sw.device.result import checksum
    result, graph = checked.result, checked.graph
    return {"vm": vm, "program": checked.program.name, "plan": plan.text,
            "graph": {"spec": source.spec, "vertices": graph.num_vertices,
                      "arcs": graph.num_edges},
            "operators": result.operators, "fraction_bits": result.fraction_bits,
            "parameters": {name: float(value) if isinstance(value, Fraction) else value
                           for name, value in checked.values.items()},
            "starts": checked.starts, "reached": checked.reached, "notes": checked.notes,
            "verified": verify and vm != "reference", "checked": way,
            "checksum": checksum(result.outputs)}


def _print(checked, record, seconds, verify):
    """Print the result in some lines."""
    from sw.device.head import heads
    from sw.device.result import verdict

    from . import tables
    out, vm, graph = console(), record["vm"], checked.graph
    out.print(f"{checked.program.name} on {printable(graph.name, PIECE)}: "
              f"{graph.num_vertices:,} vertices, {graph.num_edges:,} arcs; GraphVM {vm}")
    timing = "" if vm == "reference" else f", {seconds * 1000:.3g} ms the second time"
    out.print(f"{record['operators']} operators{timing}")
    for name, vertex in record["starts"].items():
        out.print(f"{name}: {vertex}")
    if record["reached"] is not None:
        out.print(f"vertices reached: {record['reached']:,} of {graph.num_vertices:,}")
    out.notes(record["notes"])
    tables.print_heads(out, heads(checked.program, checked.result.outputs, checked.arrays(),
                                  graph.names))
    out.print()
    judged = verdict("by the interpreter" if vm == "reference" else
                     f"bit-identical to {checked.kind.MODEL}" if verify else "not compared",
                     record["checked"])
    out.print(f"{', '.join(checked.result.outputs)}: {judged} (checksum {record['checksum'][:16]})")
