"""Planted faults in the functional simulator: its C++, the decoding, the machine, the commands."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_MODEL = "sim/functional/model/"
_PROGRAMS = "tb/sim/functional/test_programs.py::"
_INSTRUCTIONS = "tb/sim/functional/test_instructions.py::test_random_instructions"
_RANDOM = f"{_PROGRAMS}test_random_programs"
_ERRORS = f"{_PROGRAMS}test_errors"
_MACHINE = "tb/sim/functional/test_machine.py::"
_GATHER = "tb/sim/functional/test_gather.py::test_any_order_of_operations"
_SCU = "tb/sim/functional/test_scu.py::test_random_operations"
_COMMANDS = "tb/cli/test_functional.py::"


MUTANTS = (
    # Instructions
    Mutant("functional-sra-shifts-zeros-in",
           f"{_MODEL}execute.h", "", "(Vector)(SIGNED(FIRST) >> SIGNED(SECOND & 31))",
           "FIRST >> (SECOND & 31)", (f"{_RANDOM}[tiny]",)),
    Mutant("functional-division-by-zero-gives-zero",
           f"{_MODEL}lanes.h", "", "second ? first / second : ~0u", "second ? first / second : 0u",
           (f"{_INSTRUCTIONS}[16]",)),
    Mutant("functional-all-lanes-are-blended-too",
           f"{_MODEL}warp.h", "", "mask == full ?", "false ?", (f"{_INSTRUCTIONS}[4]",),
           survives="equivalent: the blend with all lanes active is the value"),
    Mutant("functional-mulhsu-is-mulh",
           f"{_MODEL}execute.h", "", "high_product<i32, u32>", "high_product<i32, i32>",
           (f"{_RANDOM}[tiny]",)),
    Mutant("functional-amomin-is-unsigned",
           f"{_MODEL}execute.h", "", "static_cast<i32>(value) < static_cast<i32>(old)",
           "value < old", (f"{_RANDOM}[large]",)),
    Mutant("functional-atomics-return-the-new-value",
           f"{_MODEL}execute.h", "", "result[lane] = old;", "result[lane] = value;",
           (f"{_INSTRUCTIONS}[4]",)),
    Mutant("functional-instret-counts-itself",
           f"{_MODEL}execute.h", "", "instructions - 1 - m_start", "instructions - m_start",
           (f"{_MACHINE}test_instret",)),
    Mutant("functional-shuffles-read-lanes-that-are-not-there",
           f"{_MODEL}execute.h", "", "reads &= (Vector)(from < V::all(m_config.threads));", ";",
           (f"{_INSTRUCTIONS}[4]", f"{_INSTRUCTIONS}[8]")),
    Mutant("functional-join-never-returns-to-all-lanes",
           f"{_MODEL}execute.h", "", "set_mask(warp, top.mask);", "set_mask(warp, warp.mask);",
           (f"{_RANDOM}[tiny]",)),
    Mutant("functional-barriers-wait-for-one-warp-more",
           f"{_MODEL}execute.h", "", "arrived >= wanted", "arrived > wanted",
           (f"{_RANDOM}[tiny]",)),
    # Errors
    Mutant("functional-stack-is-one-entry-deeper",
           f"{_MODEL}execute.h", "", "depth == m_stack_entries", "depth > m_stack_entries",
           (f"{_ERRORS}[test_stack]",)),
    Mutant("functional-local-memory-has-a-byte-more",
           f"{_MODEL}machine.h", "", "in_local < local_bytes", "in_local <= local_bytes",
           (f"{_ERRORS}[test_memory]",)),
    Mutant("functional-deadlock-is-told-behind-the-bar",
           f"{_MODEL}core.h", "", "warp.waits_pc,", "warp.pc,", (f"{_ERRORS}[test_deadlock]",)),
    Mutant("functional-a-failing-lane-is-not-told",
           f"{_MODEL}core.h", "", "warp.number, trap.lane,", "warp.number, 0,",
           (f"{_ERRORS}[test_memory]",)),
    # Units that hand out edges
    Mutant("functional-stream-always-begins-with-the-first-row",
           f"{_MODEL}weavers.h", "", "m_turn = number + 1;", "m_turn = 0;",
           (f"{_GATHER}[stream-0-0]", f"{_GATHER}[stream-12-0]")),
    Mutant("functional-waiting-lanes-are-counted",
           f"{_MODEL}execute.h", "", "lanes -= warp.active;", ";",
           (f"{_GATHER}[stream-0-0]",)),
    Mutant("functional-eghw-stores-weights-over-neighbours",
           f"{_MODEL}readers.h", "", "row = warp * (weights ? 2 : 1);", "row = warp;",
           (f"{_RANDOM}[eghw]", f"{_PROGRAMS}test_units[eghw]")),
    Mutant("functional-graphpeg-hands-out-vertices-without-edges",
           f"{_MODEL}readers.h", "", "if (edge != end) m_entries", "m_entries",
           (f"{_PROGRAMS}test_units[graphpeg]",)),
    Mutant("functional-fsm-forgets-the-rest-of-a-row",
           f"{_MODEL}weavers.h", "", "m_left = m_taken.valid;",
           "m_left = m_taken.valid & -m_taken.valid;", (f"{_PROGRAMS}test_units[fsm]",)),
    Mutant("functional-scan-skips-entries-not-begun",
           f"{_MODEL}weavers.h", "", "if (m_divided && among(",
           "if (!m_window.empty() && among(", (f"{_GATHER}[scan-0-0]",)),
    Mutant("functional-fsm-loads-entries-that-were-replaced",
           f"{_MODEL}weavers.h", "", "if (row == m_row) m_left &= ~mask;", ";",
           (f"{_GATHER}[fsm-0-0]",)),
    Mutant("functional-late-tables-have-no-rows-under-way",
           "sim/functional/library.py", "Shape.of", "min(rows, config.table_latency)", "0",
           (f"{_GATHER}[scan-0-10]", f"{_GATHER}[stream-0-10]")),
    # The SCU
    Mutant("functional-scu-replaces-the-first-way",
           f"{_MODEL}scu.h", "", "(k & (m_ways - 1)) * m_entry", "0", (_SCU,)),
    Mutant("functional-scu-keeps-an-equal-cost",
           f"{_MODEL}scu.h", "", "costs[k] < entry[1]", "costs[k] <= entry[1]", (_SCU,)),
    Mutant("functional-scu-counts-bits-as-words",
           f"{_MODEL}scu.h", "", "if (m_bits) room *= 32;", ";", (_SCU,)),
    # Order, decoding, machine and commands
    Mutant("functional-registers-begin-as-they-were",
           f"{_MODEL}library.cpp", "", "if (m_seed) scramble();", ";",
           (f"{_MACHINE}test_orders_differ",)),
    Mutant("functional-amocas-compares-with-0",
           "sim/functional/decode.py", "_fields", "rs3 = rd", "rs3 = 0",
           (f"{_MACHINE}test_decoding",)),
    Mutant("functional-auipc-is-lui",
           "sim/functional/decode.py", "_fields",
           "row.format in (Format.B, Format.J) or row.op is AluOp.AUIPC",
           "row.format in (Format.B, Format.J)", (f"{_MACHINE}test_decoding",)),
    Mutant("functional-any-csr-can-be-written",
           "sim/functional/decode.py", "_fields",
           "csr not in _CSRS or (writes and csr != Csr.PHASE)", "csr not in _CSRS",
           (f"{_ERRORS}[test_illegal]",)),
    Mutant("functional-launches-after-an-error-keep-registers",
           "sim/functional/machine.py", "FunctionalSimulator.start",
           "self._library.fn_power_on(self._handle)", "pass",
           (f"{_MACHINE}test_an_error_is_a_power_on",)),
    Mutant("functional-limit-is-a-slice-late",
           "sim/functional/machine.py", "FunctionalSimulator.launch",
           "min(_SLICE, max_cycles - done)", "_SLICE", (f"{_MACHINE}test_limit",)),
    Mutant("functional-results-have-cycles",
           "sw/runtime/result.py", "Result.timed", "'cycles' in self.counters", "True",
           (f"{_COMMANDS}test_json",)),
    Mutant("functional-takes-options-that-need-cycles",
           "sw/cli/options.py", "cycleless", "value != []", "False",
           (f"{_COMMANDS}test_refused",)),
    Mutant("functional-states-are-not-compared",
           "campaign/functional.py", "compare", "pair.check(f'launch {index}')", "pass",
           (f"{_PROGRAMS}test_a_difference_is_told",)),
)
