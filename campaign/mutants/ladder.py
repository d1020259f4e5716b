"""Which tests ought to notice a fault in a source file: a ladder whose first rungs are cheap.

The first rung is the test that mirrors the file, and the tests that :data:`NEAR` names. Benches of
units run on Icarus Verilog there, which builds sooner. The next rungs are the tests that exercise
the file's room (:data:`WIDE`), and for a unit its benches on Verilator. A mutant climbs until a
test fails. So few mutants need the upper rungs, which take a minute or more.
"""

import fnmatch
import functools

from campaign.mutants.mutant import ROOT


__all__ = ["NEAR", "WIDE", "rungs"]


#: (files; tests for the first rung) where the mirror is missing or is not all.
NEAR = (
    ("hw/board_system.py hw/sdram/pins.py",
     "tb/synth/test_ulx3s.py tb/synth/test_board_command.py"),
    ("hw/registers.py hw/stalls.py hw/operations.py hw/counters.py",
     "tb/hw/test_control.py tb/hw/test_isa.py tb/cli/test_docs.py"),
    ("hw/units.py", "tb/hw/test_emit.py tb/cli/test_runs.py::test_verilog"),
    ("hw/core/combine.py hw/core/access.py hw/core/banks.py",
     "tb/hw/core/test_coalescer.py tb/hw/core/test_local.py tb/hw/core/test_loads.py"),
    ("hw/core/lsu.py hw/core/coalescer.py", "tb/hw/core/test_l1.py"),
    ("hw/core/multiplier.py", "tb/hw/core/test_alu.py"),
    ("hw/gather/fsm/* hw/gather/scan/* hw/gather/table.py hw/gather/unit.py",
     "tb/hw/gather/test_fsm.py tb/hw/gather/test_scan.py tb/hw/gather/test_rounds_random.py"),
    ("hw/gather/stream/*", "tb/hw/gather/test_stream_random.py"),
    ("hw/gather/delay.py", "tb/hw/gather/test_rounds_random.py"),
    ("hw/gather/variant.py hw/gather/interface.py", "tb/hw/gather/test_fsm.py"),
    ("hw/gather/graphpeg/*", "tb/hw/gather/test_exchange.py"),
    ("hw/link/flat.py hw/link/linked_gpu.py", "tb/hw/link/test_flat.py tb/hw/link/test_link.py"),
    ("hw/memory/amo.py hw/memory/port.py", "tb/hw/memory/test_l2_bank.py"),
    ("hw/memory/crossbar.py hw/memory/merge.py hw/memory/port.py", "tb/hw/memory/test_l2.py"),
    ("hw/scu/filtering.py hw/scu/search.py hw/scu/grouping.py hw/scu/hashing.py "
     "hw/scu/serializer.py", "tb/hw/scu/test_filter_group.py tb/hw/scu/test_filter_banks.py"),
    ("hw/scu/dispatch.py hw/scu/collect.py",
     "tb/hw/scu/test_banks_ways.py tb/hw/scu/test_filter_banks.py"),
    ("hw/scu/coalescer.py", "tb/hw/scu/test_fetch.py"),
    ("hw/scu/fork.py hw/scu/rows.py hw/scu/costs.py hw/scu/pairs.py hw/scu/lines.py "
     "hw/scu/address.py", "tb/hw/scu/test_streaming.py"),
    ("hw/scu/registers.py hw/scu/interface.py hw/scu/checks.py",
     "tb/hw/scu/test_checks.py tb/sw/golden/test_scu.py"),
    ("hw/sdram/*", "tb/hw/sdram/test_controller.py"),
    ("sim/compiler/* sim/compiled.py sim/harness/words.h",
     "tb/sim/compiler/test_compiler.py tb/sim/test_compiled.py"),
    ("sim/harness/heap.h", "tb/sim/test_heap.py"),
    ("sim/harness/dram.h", "tb/sim/test_dram.py"),
    ("sim/harness/models.h sim/sdram.py", "tb/sim/test_slow.py"),
    ("sim/harness/sdram.h sim/harness/board* sim/board_simulator.py",
     "tb/sim/test_board_simulator.py"),
    ("sim/harness/page.* sim/wasm.py", "tb/sw/live/test_machine.py"),
    ("sim/build.py sim/bench.py sim/interface.py sim/machine.py sim/memory.py sim/wrapper.py "
     "sim/harness/*", "tb/sim/test_native.py tb/sim/test_gpu.py tb/sim/test_cores.py"),
    ("sim/trace.py sim/harness/trace.h", "tb/sw/trace/test_trace.py"),
    ("sim/native.py", "tb/hw/core/test_trace.py"),
    ("sw/golden/results/*", "tb/sw/golden/results/test_results.py"),
    ("sw/vm/arguments.py sw/vm/reach.py", "tb/sw/vm/test_starts.py"),
    ("sim/functional/*", "tb/sim/functional/test_instructions.py "
     "tb/sim/functional/test_machine.py tb/sim/functional/test_programs.py"),
    ("sim/functional/model/scu.h", "tb/sim/functional/test_scu.py"),
    ("sim/functional/model/units/* sim/functional/model/weaver.h sim/functional/model/reader.h "
     "sim/functional/model/gather.h", "tb/sim/functional/test_gather.py"),
    ("sw/algorithms/gcn/*", "tb/sw/algorithms/test_gcn.py tb/sw/golden/test_gcn.py"),
    ("sw/benchmarks/*", "tb/benchmarks"),
    ("sw/benchmarks/formats.py", "tb/sw/formats/test_images.py"),
    ("sw/benchmarks/combinations.py", "tb/sw/runtime/test_combinations.py"),
    ("sw/benchmarks/folder.py", "tb/cli/test_reproduce.py"),
    ("sw/cli/*", "tb/cli/test_files.py"),
    ("sw/cli/parameters.py sw/cli/records.py", "tb/cli/test_parameters.py tb/cli/test_errors.py"),
    ("sw/cli/bench*", "tb/benchmarks tb/cli/test_commands.py"),
    ("sw/cli/bench_tune.py sw/cli/tune*", "tb/cli/test_tune.py"),
    ("sw/cli/campaign.py sw/cli/lockstep.py", "tb/campaign/test_campaign.py"),
    ("sw/cli/fuzz.py", "tb/campaign/test_fuzz.py"),
    ("sw/cli/mutants.py", "tb/campaign/test_mutants.py"),
    ("sw/cli/cluster.py", "tb/sw/cluster/test_commands.py"),
    ("sw/cli/combinations.py sw/cli/listing.py sw/cli/tables.py", "tb/cli/test_listing.py"),
    ("sw/cli/compare.py sw/cli/run.py sw/cli/run_program.py sw/cli/verilog.py sw/cli/tracing.py "
     "sw/cli/program.py", "tb/cli/test_runs.py tb/cli/test_vm.py tb/cli/test_exec.py"),
    ("sw/cli/course.py", "tb/course/test_course.py"),
    ("sw/cli/graph*", "tb/cli/test_graph_files.py tb/sw/graph/test_files.py"),
    ("sw/cli/live.py", "tb/sw/live/test_server.py tb/sw/live/test_export.py"),
    ("sw/cli/synth*", "tb/cli/test_synth.py tb/synth/test_board_command.py"),
    ("sw/cli/simulated_board.py", "tb/sim/test_board_simulator.py"),
    ("sw/cli/report.py", "tb/sw/report/test_command.py"),
    ("sw/cli/tests.py sw/cli/packages.py sw/cli/main.py", "tb/cli/test_commands.py"),
    ("sw/cli/pages.py sw/cli/placements.py", "tb/cli/test_docs.py"),
    ("sw/cluster/*", "tb/sw/cluster"),
    ("sw/compaction/*", "tb/sw/compaction/test_algorithms.py"),
    ("sw/course/*", "tb/course/test_course.py"),
    ("sw/formats/cr2/*", "tb/sw/formats/test_cr2.py tb/sw/formats/test_images.py"),
    ("sw/formats/*", "tb/sw/formats/test_images.py tb/sw/formats/test_runs.py"),
    ("sw/golden/semantics.py sw/golden/lane_memory.py sw/golden/machine.py "
     "sw/golden/lockstep.py sw/golden/cores.py sw/golden/simulator.py",
     "tb/sw/golden/test_simulator.py tb/sw/golden/test_simulator_instructions.py "
     "tb/sw/golden/test_simulator_errors.py"),
    ("sw/golden/gather/*", "tb/sw/golden/gather"),
    ("sw/graph/archive.py sw/graph/metis.py sw/graph/readers.py sw/graph/save.py "
     "sw/graph/text.py sw/graph/weights.py sw/graph/load.py",
     "tb/sw/graph/test_files.py tb/sw/graph/test_foreign.py tb/sw/graph/test_source.py"),
    ("sw/graph/gorder.py sw/graph/sage.py sw/graph/order.py", "tb/sw/graph/test_order.py"),
    ("sw/graph/compress.py", "tb/sw/formats/test_images.py"),
    ("sw/graph/describe.py sw/graph/catalogue.py",
     "tb/sw/graph/test_graph.py tb/sw/graph/test_generators.py tb/cli/test_graph_files.py"),
    ("sw/hashing/*", "tb/sw/hashing/test_table.py tb/sw/hashing/test_lookup.py"),
    ("sw/kernels/bins.py", "tb/sw/schedules/test_twc.py"),
    ("sw/kernels/tiles.py sw/kernels/resident_tiles.py sw/kernels/distribution.py",
     "tb/sw/schedules/test_tile.py"),
    ("sw/kernels/frontiers/*", "tb/sw/kernels/test_frontiers.py"),
    ("sw/kernels/frontiers/lists.py sw/kernels/gathering.py sw/kernels/vertices.py",
     "tb/sw/schedules/test_graphpeg.py"),
    ("sw/kernels/barrier.py", "tb/sw/kernels/test_fusion.py"),
    ("sw/kernels/local_sums.py sw/kernels/rows.py", "tb/sw/schedules/test_weaver.py"),
    ("sw/kernels/colouring.py", "tb/sw/kernels/test_virtual.py"),
    ("sw/kernels/options.py sw/kernels/registry.py", "tb/sw/runtime/test_plan.py"),
    ("sw/kernels/disassembler.py", "tb/hw/test_isa.py tb/sw/kernels/test_assembler.py"),
    ("sw/lang/graphit*", "tb/sw/lang/test_graphit.py"),
    ("sw/lang/*", "tb/sw/lang/test_reader.py"),
    ("sw/lang/passes/*", "tb/sw/lang/test_passes.py tb/sw/vm/test_forms.py"),
    ("sw/lang/programs/*", "tb/sw/vm/test_reference.py"),
    ("sw/link/*", "tb/sw/link"),
    ("sw/live/*", "tb/sw/live/test_server.py tb/sw/live/test_export.py"),
    ("sw/report/*", "tb/sw/report"),
    ("sw/reproduce/cr2/*", "tb/sw/reproduce/test_cr2.py"),
    ("sw/reproduce/graphpeg/*",
     "tb/sw/reproduce/test_graphpeg.py tb/sw/reproduce/test_graphpeg_runs.py"),
    ("sw/reproduce/grassembler/* sw/reproduce/space.py", "tb/sw/reproduce/test_grassembler.py"),
    ("sw/reproduce/sage/*", "tb/sw/reproduce/test_sage.py"),
    ("sw/reproduce/scu/*", "tb/sw/reproduce/test_scu.py"),
    ("sw/reproduce/sparseweaver/* sw/reproduce/area.py",
     "tb/sw/reproduce/test_sparseweaver.py"),
    ("sw/reproduce/ugf/* sw/reproduce/space.py", "tb/sw/reproduce/test_ugf.py"),
    ("sw/reordering/*", "tb/sw/reordering/test_sampling.py"),
    ("sw/runtime/task.py sw/runtime/planning.py sw/runtime/programs.py sw/runtime/memory.py "
     "sw/runtime/local.py", "tb/sw/runtime/test_plan.py"),
    ("sw/runtime/result.py sw/runtime/device.py",
     "tb/sw/runtime/test_device.py tb/cli/test_functional.py"),
    ("sw/schedules/scu* sw/schedules/compact.py", "tb/sw/compaction/test_algorithms.py"),
    ("sw/schedules/works.py sw/schedules/wm.py", "tb/sw/schedules/test_weaver.py"),
    ("sw/schedules/twce.py sw/schedules/etwc.py", "tb/sw/schedules/test_twc.py"),
    ("sw/trace/*", "tb/sw/trace/test_trace.py tb/sw/report/test_timeline.py"),
    ("sw/tune/*", "tb/sw/tune tb/sw/report/test_tuning.py"),
    ("sw/vm/cpu/* sw/vm/c_code.py sw/vm/loop_code.py sw/vm/choices.py", "tb/sw/vm/test_cpu.py"),
    ("sw/vm/cuda/*", "tb/sw/vm/test_cuda.py"),
    ("sw/vm/evaluate.py sw/vm/host.py",
     "tb/sw/vm/test_reference.py tb/sw/vm/test_rtl.py::test_operations"),
    ("sw/vm/rtl/*", "tb/sw/vm/test_rtl.py tb/sw/vm/test_forms.py"),
    ("base/bootstrap.py", "tb/cli/test_launcher.py"),
    ("base/input.py", "tb/cli/test_errors.py tb/cli/test_files.py"),
    ("synth/devices.py synth/netlist.py synth/logic.py synth/rtlil.py synth/parallel.py",
     "tb/synth/test_estimate.py tb/synth/test_gates.py tb/synth/test_flow.py"),
    ("synth/overhead.py synth/units.py", "tb/cli/test_synth.py tb/synth/test_budgets.py"),
    ("synth/pll.py synth/sdram_clock.py",
     "tb/synth/test_ulx3s.py tb/synth/test_board_command.py"),
    ("synth/wrapper.py", "tb/synth/test_flow.py tb/synth/test_place.py"),
)

_RANDOM = "--quick tb/programs/test_random.py"
_PROGRAMS = ("tb/programs/test_instructions.py tb/programs/test_errors.py "
             "tb/programs/test_features.py")
_GPU = "--quick tb/programs/test_counters.py tb/programs/test_cores.py tb/hw/test_gpu.py"
_COUNTERS = "tb/programs/test_counters.py"
_UNITS = ("--quick tb/programs/test_eghw.py tb/programs/test_graphpeg.py "
          "tb/programs/test_exchange.py")
_KERNELS = ("tb/sw/kernels/test_programs.py tb/sw/kernels/test_frontiers.py",
            "tb/sw/schedules", "--quick tb/sw/vm tb/programs/test_algorithms.py")
_LANGUAGE = ("tb/sw/lang tb/sw/vm/test_reference.py", "--quick tb/sw/vm",
             "tb/sw/kernels/test_programs.py")
_COMMANDS = ("--quick tb/cli", "tb/cli/test_runs.py tb/cli/test_commands.py")

#: (files; the rungs above the first).
WIDE = (
    ("hw/*.py hw/core/*",
     (_RANDOM, _PROGRAMS, _GPU, _COUNTERS, "tb/programs/test_lockstep.py --quick")),
    ("hw/config.py hw/isa.py hw/numbers.py", ("--quick tb/hw tb/sw/kernels",)),
    ("hw/core/gathering.py hw/gather/*", (_UNITS, "tb/sw/schedules/test_weaver.py")),
    ("hw/exchange.py hw/core/access.py hw/core/coalescer.py hw/core/loads.py hw/core/lsu.py",
     (_UNITS,)),
    ("hw/memory/*", (_RANDOM, _PROGRAMS, _GPU, _COUNTERS, "tb/sim/test_slow.py")),
    ("hw/scu/*", ("--quick tb/programs/test_scu.py tb/programs/test_compaction.py",
                  "--quick tb/hw/scu/test_scu.py")),
    ("hw/link/*", ("tb/sw/link",)),
    ("hw/sdram/* hw/link/flat.py hw/link/linked_gpu.py",
     ("--quick tb/sim/test_board_simulator.py",)),
    ("sim/compiler/* sim/harness/* sim/*.py",
     ("tb/sim/test_native.py tb/sim/test_compiled.py tb/sim/test_slow.py", "--quick tb/sim",
      _RANDOM, _PROGRAMS)),
    ("sim/functional/*", ("tb/sim/functional", "tb/cli/test_functional.py")),
    ("sw/algorithms/*", ("tb/sw/kernels/test_programs.py",)),
    ("sw/benchmarks/* sw/cluster/* sw/tune/* sw/reproduce/*",
     ("--quick tb/sw/tune tb/sw/reproduce tb/benchmarks tb/sw/report",
      "tb/sw/reproduce/test_study.py tb/cli/test_reproduce.py")),
    ("sw/cli/*", _COMMANDS), ("sw/*.py", _COMMANDS), ("base/*", _COMMANDS),
    ("sw/compaction/* sw/hashing/*",
     ("tb/sw/hashing tb/sw/runtime", "--quick tb/programs/test_compaction.py")),
    ("sw/formats/*", ("tb/sw/kernels/test_programs.py", "--quick tb/sw/runtime tb/sw/vm")),
    ("sw/golden/*", ("tb/sw/golden", "--quick tb/programs/test_random.py "
                     "tb/programs/test_lockstep.py tb/sw/runtime")),
    ("sw/graph/*", ("tb/sw/graph", "--quick tb/cli tb/sw/formats")),
    ("sw/kernels/* sw/schedules/*", _KERNELS),
    ("sw/lang/*", _LANGUAGE), ("sw/vm/*", _LANGUAGE),
    ("sw/link/* sw/trace/* sw/live/* sw/report/* sw/course/*",
     ("--quick tb/sw/live tb/sw/report tb/cli",)),
    ("sw/runtime/*", ("tb/sw/runtime", "tb/sw/kernels/test_programs.py", "--quick tb/cli")),
    ("synth/*", ("tb/synth", "tb/cli/test_synth.py")),
)


@functools.cache
def rungs(file) -> tuple[tuple[str, ...], ...]:
    """Arguments for pytest, a tuple for each call, for faults in a source file."""
    folder, _, name = file.rpartition("/")
    stem = name.rpartition(".")[0]
    parent, _, package = folder.rpartition("/")
    # A folder may have one test for all its files.
    mirror = next((path for at, last in ((folder, stem), (parent, package))
                   for path in (f"tb/{each}/test_{last}.py"
                                for each in (at, at.removeprefix("sw/")))
                   if (ROOT / path).exists()), None)
    first = [mirror] if mirror else []
    for tests in _matching(NEAR, file, nearest=True):
        first += tests.split()
    first = list(dict.fromkeys(first))
    wide = [rung.split() for tests in _matching(WIDE, file) for rung in tests]
    found = [first, *wide]
    if file.startswith("hw/"):               # Icarus first, Verilator last
        found = [[*first, "-k", "not verilator"], *wide, [*first, "-k", "not icarus"]]
    return tuple(tuple(rung) for rung in found if any(word.startswith("tb/") for word in rung))


def _matching(table, file, *, nearest=False):
    """Entries of a table for a file, in its order, or the longest patterns first."""
    found = [(max(len(glob) for glob in globs.split() if _is(file, glob)), tests)
             for globs, tests in table if any(_is(file, glob) for glob in globs.split())]
    if nearest:
        found.sort(key=lambda entry: -entry[0])
    return [tests for _, tests in found]


def _is(file, glob):
    """Whether a file is one of a pattern. ``sw/*.py`` has the files of the folder alone."""
    if glob.endswith("/*.py"):
        return file.rpartition("/")[0] == glob.removesuffix("/*.py")
    return fnmatch.fnmatchcase(file, glob)
