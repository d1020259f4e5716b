"""Planted faults in the algorithm language and its machines."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_PASSES = "tb/sw/lang/test_passes.py"
_READER = "tb/sw/lang/test_reader.py"
_REFERENCE = "tb/sw/vm/test_reference.py"
_RTL = "tb/sw/vm/test_rtl.py::"


MUTANTS = (
    # Front end and passes
    Mutant("lang-stores-along-edges",
           "sw/lang/functions.py", "_Body._store",
           "isinstance(vertex, Local) and vertex.name == self._own", "True", (_READER,)),
    Mutant("lang-mixes-reductions",
           "sw/lang/functions.py", "_check_changes", "other != way", "False", (_READER,)),
    Mutant("lang-copies-nothing",
           "sw/lang/passes/races.py", "races", "reads & function.writes()", "set()",
           (f"{_RTL}test_reads_see_the_start",)),
    Mutant("lang-vertices-read-changed-words",
           "sw/lang/passes/races.py", "_read_elsewhere", "node.vector in stored", "True",
           (_PASSES, f"{_RTL}test_random_programs")),
    Mutant("lang-every-loop-is-a-fixpoint",
           "sw/lang/passes/fixpoint.py", "_is_fixpoint", "function.writes() != {edges.tracking}",
           "False", (_PASSES,)),

    # Interpreter and host
    Mutant("reference-sees-changes-at-once",
           "sw/vm/reference.py", "ReferenceMachine._call", "self._arrays[vector].copy()",
           "self._arrays[vector]", (_REFERENCE, f"{_RTL}test_reads_see_the_start")),
    Mutant("reference-sums-wrap",
           "sw/vm/evaluate.py", "Evaluator._binary", "np.minimum(both, _LAST)", "both & _LAST",
           (_REFERENCE, f"{_RTL}test_operations"), occurrence=1),
    Mutant("host-queue-takes-the-threshold-too",
           "sw/vm/reference.py", "ReferenceMachine.split", "self._arrays[vector][vset] < threshold",
           "self._arrays[vector][vset] <= threshold", ("tb/sw/vm/test_cpu.py::test_sets",)),
    Mutant("host-tries-one-fraction-bit-less",
           "sw/vm/host.py", "perform", "range(MOST_FRACTION_BITS if fixed else 0, -1, -1)",
           "range(MOST_FRACTION_BITS - 1 if fixed else 0, -1, -1)", (_REFERENCE,)),

    # The device
    Mutant("rtl-sums-wrap",
           "sw/vm/rtl/emitter.py", "Emitter._binary", "a.or_(into, into, passed)", "pass",
           (f"{_RTL}test_operations",)),
    Mutant("rtl-differences-wrap",
           "sw/vm/rtl/emitter.py", "Emitter._binary", "a.and_(into, into, below)", "pass",
           (f"{_RTL}test_operations",)),
    Mutant("rtl-products-wrap",
           "sw/vm/rtl/emitter.py", "Emitter._binary", "a.or_(into, into, upper)", "pass",
           (f"{_RTL}test_operations",)),
    Mutant("reference-quotients-wrap",
           "sw/vm/evaluate.py", "Evaluator._binary", "np.minimum(left * right, _LAST)",
           "left * right & _LAST", (f"{_REFERENCE}::test_words",)),
    Mutant("cpu-quotients-wrap",
           "sw/vm/c_code.py", "_SIMPLE", "'saturated((wide){} * {})'", "'({} * {})'",
           ("tb/sw/vm/test_cpu.py::test_quotients",)),
    Mutant("rtl-quotients-wrap",
           "sw/vm/rtl/emitter.py", "Emitter._binary", 'node.operation == "times"', "False",
           (f"{_RTL}test_reciprocals",)),
    Mutant("bc-source-is-between",
           "sw/lang/programs/bc.py", "bc", "level > 2", "level > 1",
           (f"{_REFERENCE}::test_bc",)),
    Mutant("mis-losers-win",
           "sw/lang/programs/mis.py", "mis.wins", "priority[v] >= rival[v]",
           "priority[v] <= rival[v]", (f"{_REFERENCE}::test_mis",)),
    Mutant("rtl-reciprocal-of-one-is-none",
           "sw/vm/rtl/emitter.py", "Emitter._reciprocal", "a.sub(into, into, exact)", "pass",
           (f"{_RTL}test_reciprocals",)),
    Mutant("rtl-reciprocals-of-powers-are-small",
           "sw/vm/rtl/emitter.py", "Emitter._reciprocal", "a.add(into, into, exact)", "pass",
           (f"{_RTL}test_reciprocals",)),
    Mutant("rtl-reads-the-side-that-is-not-chosen",
           "sw/vm/rtl/emitter.py", "Emitter._vertex", "self._guard is not None", "False",
           (f"{_RTL}test_operations",)),
    Mutant("rtl-largest-is-smallest",
           "sw/vm/rtl/emitter.py", "combine", "a.sltu(less, into, word)",
           "a.sltu(less, word, into)", (f"{_RTL}test_programs[mis-vm]",)),
    Mutant("rtl-padding-takes-part",
           "sw/vm/rtl/operators.py", "EdgeOperator._has_voids",
           "any(layout.voids for layout in task.layouts)", "False", (f"{_RTL}test_programs",)),
    Mutant("rtl-sums-are-not-cleared",
           "sw/vm/rtl/operators.py", "EdgeOperator.begin",
           "k.a.mv(self._sums[vector], k.full if node.operation == 'min' else k.a.zero)", "pass",
           (f"{_RTL}test_programs[label_propagation-vm]",)),
    Mutant("rtl-stores-for-vertices-of-earlier-supersteps",
           "sw/vm/rtl/operators.py", "EdgeOperator.finish",
           "not self.filters(k.task)", "True", (f"{_RTL}test_filtered_queues",)),
    Mutant("rtl-minimum-begins-at-zero",
           "sw/vm/rtl/operators.py", "EdgeOperator.begin",
           "k.full if node.operation == 'min' else k.a.zero", "k.a.zero",
           (f"{_RTL}test_programs[sssp-vm]",)),
    Mutant("rtl-supersteps-have-one-number",
           "sw/vm/rtl/machine.py", "RtlMachine.edges", "self._turns.get(number, -1) + 1", "0",
           (f"{_RTL}test_cores",)),
    Mutant("rtl-keeps-a-slot",
           "sw/vm/rtl/machine.py", "RtlMachine._set", "self._slots.get(slot) != word",
           "slot not in self._slots", (f"{_RTL}test_programs[bfs-vm]",)),
    Mutant("rtl-counts-grow",
           "sw/vm/rtl/kernels.py", "VertexKernels._output", "a.sw(a.zero, word, -4)", "pass",
           (f"{_RTL}test_sets",)),
    Mutant("rtl-sum-has-32-bits",
           "sw/vm/rtl/kernels.py", "VertexKernels._total", "a.amoadd_w(a.zero, high, place)",
           "pass", (f"{_RTL}test_long_sums",)),
)
