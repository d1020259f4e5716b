"""Planted faults in the compiler of the simulator: nodes, order, conditions, marks."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_TESTS = "tb/sim/compiler/test_compiler.py::"
_RANDOM = tuple(f"{_TESTS}test_random_designs[{seed}]" for seed in range(10))
_LISTS = (f"{_TESTS}test_operations_on_lists[16-8]",)
_ROWS = (f"{_TESTS}test_operations_on_neighbours[9-8]",)
_DIRECT = tuple(f"{_TESTS}test_direct_inputs[{seed}]" for seed in range(4))
_EMIT = "sim/compiler/emit.py"
_OPTIMIZE = "sim/compiler/optimize.py"
_NEIGHBOURS = "sim/compiler/neighbours.py"
_ARRAYS = "sim/compiler/arrays.py"
_BLOCKS = "sim/compiler/blocks.py"
_WORDS = "sim/compiler/expressions.py"


MUTANTS = (
    # Parts that are evaluated
    Mutant("compiled-a-write-does-not-mark-readers",
           _EMIT, "_Emitter._write",
           "self._masks((self._part_of[reader] for reader in memory.reads))", "{}", _RANDOM),
    Mutant("compiled-marks-without-a-branch-are-of-one-bit",
           _EMIT, "_Emitter._changes", 'f"{array}{number} & "', '"1 & "', _RANDOM),
    Mutant("compiled-direct-inputs-never-change",
           _EMIT, "_Emitter._take", '"changed = true; "', '""', _DIRECT),
    Mutant("compiled-inputs-mark-readers-for-the-next-cycle",
           _EMIT, "_Emitter._take", 'self._changes(out, "active")', 'self._changes(out, "later")',
           _RANDOM),
    Mutant("compiled-all-registers-change-at-once",
           _EMIT, "_Emitter.__init__", "reader <= self._part_of[n]", "True", _RANDOM),
    Mutant("compiled-parts-evaluated-twice-change-registers-at-once",
           _EMIT, "_Emitter._evaluated_again", "return found", "return set()", _DIRECT),
    Mutant("compiled-marks-for-the-next-cycle-are-lost",
           _EMIT, "_Emitter._commit", 'f"s.active[{word}] |= s.later[{word}];"', '""', _RANDOM),
    Mutant("compiled-a-transparent-port-reads-once",
           _EMIT, "_Emitter._read", '[] if transparent else [f"s.reading[{slot}] = false;"]',
           '[f"s.reading[{slot}] = false;"]', _RANDOM),
    Mutant("compiled-a-transparent-port-has-the-old-row",
           _EMIT, "_Emitter._read", "w in transparent", "False", _RANDOM),
    Mutant("compiled-assertions-do-not-fail",
           _EMIT, "_Emitter._keep_check",
           'f"s.dirty[{index // MARKS}] |= u32{{s.failed{n}}} << {index % MARKS};"', '""',
           (f"{_TESTS}test_an_assertion_without_registers_fails",)),
    # Nodes
    Mutant("compiled-an-assignment-to-a-field-begins-at-its-first-bit",
           _OPTIMIZE, "_field", "cut(node.args[2 * index + 2], first - start, last - first)",
           "cut(node.args[2 * index + 2], 0, last - first)", _RANDOM),
    Mutant("compiled-fields-begin-with-the-value-of-the-first",
           _OPTIMIZE, "_field", "node.extra >> low & ((1 << width) - 1)",
           "node.extra & ((1 << width) - 1)", _RANDOM),
    Mutant("compiled-an-assignment-in-any-case-comes-first",
           _OPTIMIZE, "_folded_choose", "condition == constant(1, 1) and (not rest)",
           "condition == constant(1, 1)", _RANDOM),
    Mutant("compiled-shifts-by-constants-turn-around",
           _OPTIMIZE, "_shifted", "left", "not left", _RANDOM),
    Mutant("compiled-assertions-that-are-not-enabled-fail",
           _EMIT, "_Emitter._keep_check",
           'f"s.failed{n} = {values.word(enable)} ? ~{values.word(test)} & 1 : 0;"',
           'f"s.failed{n} = {values.word(enable)} ? ~{values.word(test)} & 1 : 1;"',
           (f"{_TESTS}test_an_assertion_without_registers_fails",)),
    Mutant("compiled-equal-operands-are-different",
           _OPTIMIZE, "_folded", 'constant(node.kind == "==", 1)', 'constant(node.kind != "==", 1)',
           _LISTS, occurrence=1),
    # Arrays
    Mutant("compiled-an-array-has-the-value-that-all-compare-with",
           _ARRAYS, "_Arrays._other", "other if one == key else one", "key", _LISTS),
    Mutant("compiled-a-mask-is-turned-around",
           _ARRAYS, "_Arrays._select", "joined((term.args[0][0] for term in terms))",
           "joined((term.args[0][0] for term in reversed(terms)))", _LISTS),
    Mutant("compiled-a-comparison-of-another-value-is-taken",
           _ARRAYS, "_Arrays._run", "compared and (not keys & args)", "False", _LISTS),
    Mutant("compiled-an-index-is-turned-around",
           _ARRAYS, "_Arrays._index", "reversed(conditions)", "conditions", _LISTS),
    Mutant("compiled-the-arms-of-a-tree-change-places",
           _ARRAYS, "_Arrays._index", "(each.args[2], each.args[1])",
           "(each.args[1], each.args[2])", _LISTS),
    Mutant("compiled-a-tree-has-the-conditions-of-its-first-choices",
           _ARRAYS, "_Arrays._index", "each.args[0] == level[0].args[0]", "True", _LISTS),
    Mutant("compiled-a-mask-chooses-one-value",
           "sim/harness/words.h", "", "for (; mask; mask &= mask - 1)",
           "for (; mask; mask = 0)", _LISTS),
    Mutant("compiled-registers-begin-with-the-value-of-the-first-lane",
           _NEIGHBOURS, "_Joiner._join_group", "node.extra << index * width", "node.extra", _ROWS),
    Mutant("compiled-next-values-of-lanes-are-turned-around",
           _NEIGHBOURS, "_Joiner._join_group", "(node.args[0] for node in nodes)",
           "(node.args[0] for node in reversed(nodes))", _ROWS),
    Mutant("compiled-all-operators-have-one-depth",
           _NEIGHBOURS, "_Joiner._levels", "levels.setdefault(depth[n], [])",
           "levels.setdefault(0, [])", _ROWS),
    Mutant("compiled-choices-have-the-condition-of-the-first-lane",
           _NEIGHBOURS, "_Joiner._classes",
           "_conditions(node.kind, len(args))", "()", _ROWS),
    Mutant("compiled-a-choice-by-a-mask-takes-one-arm",
           _NEIGHBOURS, "_Joiner._join_row", "(mask, yes)", "(mask, no)", _ROWS),
    Mutant("compiled-all-lanes-are-the-first",
           _NEIGHBOURS, "_Joiner._replace", "index * width // count", "0", _ROWS),
    # Conditions
    Mutant("compiled-a-block-takes-the-other-arm",
           _BLOCKS, "arms_of", "(2, condition, False)", "(2, condition, True)", _RANDOM),
    Mutant("compiled-a-shared-value-is-in-one-arm",
           _BLOCKS, "_assign_blocks", "_common(block, other)", "block", _RANDOM),
    # Expressions
    Mutant("compiled-comparisons-look-at-the-first-field-only",
           _WORDS, "ValueExpressions._differences", "places[1:]", "places[1:2]", _RANDOM),
    Mutant("compiled-repeated-bits-are-one-bit",
           _WORDS, "ValueExpressions.word", "ones(high - low)", "ones(1)", _RANDOM),
    Mutant("compiled-words-keep-bits-of-the-next-field",
           _WORDS, "ValueExpressions._bits", "has <= width", "True", _RANDOM),
    # Harness
    Mutant("compiled-a-failed-assertion-stops-nothing",
           "sim/harness/glue.h", "", "void failed(const char* what) { stop(what); }",
           "void failed(const char*) {}",
           (f"{_TESTS}test_an_assertion_without_registers_fails",)),
    Mutant("compiled-a-failed-assertion-of-a-core-is-lost",
           "sim/harness/models.h", "", "if (core.log.stopped()) return stop(core.log.text());",
           "if (false) return stop(core.log.text());",
           ("tb/sim/test_compiled.py::test_a_failed_assertion[2]",)),
    # Builds
    Mutant("compiled-bits-are-unchecked-after-elaboration",
           "hw/emit.py", "elaborating", "not _elaborating", "False",
           ("tb/hw/test_emit.py::test_elaboration",)),
    Mutant("compiled-the-reset-of-a-domain-stays-a-name",
           "hw/emit.py", "_parts",
           "() if kind in (ast.Const, ast.Signal, ast.AnyValue, ast.Initial) else None", "()",
           ("tb/hw/test_emit.py::test_values_stay_one",)),
    Mutant("compiled-values-of-verilog-are-shared-afterwards",
           "hw/emit.py", "elaborating", "_sharing.reset(before)", "pass",
           ("tb/hw/test_emit.py::test_values_stay_one",)),
    Mutant("compiled-all-values-of-a-kind-have-one-shape",
           "hw/emit.py", "_once", "self._graphloom_shape = shape(self)",
           "type(self)._graphloom_shape = shape(self)", ("tb/hw/test_emit.py::test_elaboration",)),
    Mutant("compiled-simulators-of-users-are-not-optimized",
           "sim/build.py", "fast", "level or 2", "level or 0",
           ("tb/sim/test_compiled.py::test_optimization_changes_no_cycle",)),
)
