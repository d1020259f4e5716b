"""Which tests ought to notice a fault in a source file: a ladder whose first rungs are cheap.

The first rung is the test that mirrors the file, and the tests that :data:`NEAR` names. Benches of
units run on Icarus Verilog there, which builds sooner. The next rungs are the tests that exercise
the file's room (:data:`WIDE`); a few files begin with the first of these. The last rung of a unit
has its benches on Verilator, where they do more turns. A mutant climbs until a test fails. So few
mutants need the upper rungs, which take a minute or more.
"""

import fnmatch
import functools

from checks.campaign.mutants.mutant import ROOT


__all__ = ["NEAR", "WIDE", "rungs"]


#: (files; tests for the first rung) where the mirror is missing or is not all.
NEAR = (
    ("hw/board_system.py hw/sdram/pins.py",
     "tb/synth/test_ulx3s.py tb/synth/test_board_command.py"),
    ("hw/registers.py hw/stalls.py hw/operations.py hw/counters.py",
     "tb/hw/test_control.py tb/hw/test_isa.py tb/cli/test_docs.py"),
    ("hw/config.py hw/isa.py hw/registers.py hw/counters.py hw/stalls.py hw/scu/registers.py "
     "hw/scu/interface.py hw/gather/interface.py sim/dram.py "
     "sim/dram_device.py sim/dram_parts.py",
     "tb/cli/test_commands.py::test_docs_are_up_to_date"),
    ("hw/units.py hw/flat_ports.py", "tb/hw/test_emit.py tb/cli/test_runs.py::test_verilog "
     "tb/sw/show/unit tb/hw/test_units.py::test_bench"),
    ("hw/instruction.py hw/gather/instructions.py",
     "tb/hw/test_isa.py tb/hw/core/test_decode.py tb/sw/compile/asm/test_assembler.py "
     "tb/cli/test_commands.py::test_docs_are_up_to_date"),
    ("hw/inside.py", "tb/sim/test_inside.py"), ("hw/gather/variants.py", "tb/cli/test_new.py"),
    ("hw/core/errors.py hw/core/interface.py hw/core/registers.py hw/core/stages.py hw/timing.py",
     "tb/hw/core/test_core.py"),
    ("hw/core/gathering.py", "tb/programs/test_graphpeg.py tb/programs/test_eghw.py"),
    ("hw/core/combine.py hw/core/access.py hw/core/banks.py hw/core/passes.py hw/core/related.py",
     "tb/hw/core/test_coalescer.py tb/hw/core/test_local.py tb/hw/core/test_loads.py"),
    ("hw/core/lsu.py hw/core/coalescer.py", "tb/hw/core/test_l1.py"),
    ("hw/core/multiplier.py", "tb/hw/core/test_alu.py"),
    ("hw/gather/fsm/* hw/gather/scan/* hw/gather/table.py hw/gather/unit.py",
     "tb/hw/gather/test_fsm.py tb/hw/gather/test_scan.py tb/hw/gather/test_rounds_random.py"),
    ("hw/float/*", "tb/hw/float/test_floats.py tb/hw/float/test_warps.py "
     "tb/sw/golden/test_floating.py"),
    ("hw/gather/stream/*", "tb/hw/gather/test_stream_random.py"),
    ("hw/gather/delay.py", "tb/hw/gather/test_rounds_random.py"),
    ("hw/gather/variant.py hw/gather/interface.py",
     "tb/hw/gather/test_fsm.py tb/hw/gather/test_exchange.py"),
    ("hw/gather/graphpeg/*", "tb/hw/gather/test_exchange.py "
     "tb/hw/gather/test_graphpeg.py::test_random[verilator-one-least]"),
    ("hw/link/flat.py hw/link/linked_gpu.py", "tb/hw/link/test_flat.py tb/hw/link/test_link.py"),
    ("hw/memory/amo.py hw/memory/port.py", "tb/hw/memory/test_l2_bank.py"),
    ("hw/memory/crossbar.py hw/memory/merge.py hw/memory/port.py hw/memory/turns.py",
     "tb/hw/memory/test_l2.py"),
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
    ("sim/compiler/*", "tb/sim/compiler/test_sizes.py"),
    ("sim/compiler/* sim/compiled.py sim/harness/words.h",
     "tb/sim/compiler/test_compiler.py tb/sim/test_compiled.py"),
    ("sim/harness/heap.h", "tb/sim/test_heap.py"),
    ("sim/harness/dram.h", "tb/sim/test_dram.py"),
    ("sim/harness/dram_*.h sim/dram_parts.py sim/memories.py", "tb/sim/test_dram_device.py"),
    ("sim/harness/models.h sim/sdram.py", "tb/sim/test_slow.py"),
    ("sim/harness/sdram.h sim/harness/board* sim/board_simulator.py",
     "tb/sim/test_board_simulator.py"),
    ("sim/harness/page.* sim/wasm.py", "tb/sw/show/live/test_machine.py"),
    ("sim/build.py sim/bench.py sim/interface.py sim/machine.py sim/memory.py sim/wrapper.py "
     "sim/harness/*", "tb/sim/test_native.py tb/sim/test_gpu.py tb/sim/test_cores.py"),
    ("sim/trace.py sim/harness/trace.h", "tb/sw/device/trace/test_trace.py"),
    ("sim/native.py", "tb/hw/core/test_trace.py"),
    ("sw/golden/floating.py",
     "tb/hw/float/test_floats.py::test_the_model_of_the_instructions"),
    ("sw/golden/results/*", "tb/sw/golden/results/test_results.py"),
    ("sw/vm/arguments.py sw/vm/reach.py", "tb/sw/vm/test_starts.py"),
    ("sim/functional/*", "tb/sim/functional/test_instructions.py "
     "tb/sim/functional/test_machine.py tb/sim/functional/test_programs.py"),
    ("sim/functional/model/scu.h", "tb/sim/functional/test_scu.py"),
    ("sim/functional/model/units/* sim/functional/model/weaver.h sim/functional/model/reader.h "
     "sim/functional/model/gather.h", "tb/sim/functional/test_gather.py"),
    ("sw/compile/algorithms/gcn/*",
     "tb/sw/compile/algorithms/test_gcn.py tb/sw/golden/test_gcn.py"),
    ("sw/study/benchmarks/*", "tb/sw/study/benchmarks tb/cli/test_whole.py"),
    ("sw/study/sweep/*", "tb/sw/study/sweep tb/sw/show/report/test_whole.py"),
    ("sw/study/benchmarks/grid.py sw/study/benchmarks/schedules.py",
     "tb/sw/study/reproduce/test_outcomes.py"),
    ("sw/study/benchmarks/formats.py",
     "tb/sw/compile/formats/test_images.py tb/cli/test_commands.py::test_bench_formats"),
    ("sw/study/benchmarks/combinations.py", "tb/sw/study/test_combinations.py"),
    ("sw/study/benchmarks/folder.py", "tb/cli/test_reproduce.py"),
    ("sw/cli/*", "tb/cli/test_files.py tb/cli/test_whole.py tb/cli/test_whole_tools.py "
     "tb/cli/test_whole_checks.py tb/cli/test_whole_language.py tb/cli/test_records.py"),
    ("sw/cli/listing.py sw/cli/lang.py sw/cli/new.py sw/cli/run_program.py "
     "sw/cli/tune_schedules.py", "tb/cli/test_whole_language.py"),
    ("sw/cli/doctor.py sw/cli/packages.py sw/cli/prove.py sw/cli/campaign.py "
     "sw/cli/combinations.py sw/cli/course.py sw/cli/cluster.py sw/cli/docs.py sw/cli/lint.py "
     "sw/cli/bench_co*.py sw/cli/progress.py sw/cli/live.py sw/cli/report.py "
     "sw/cli/simulated_board.py sw/cli/synth_board.py sw/cli/placements.py sw/cli/tests.py "
     "sw/cli/execute.py", "tb/cli/test_whole_checks.py"),
    ("sw/cli/program.py sw/device/places.py sw/device/stacks.py sw/device/elf.py "
     "sw/device/host.py", "tb/cli/test_whole_exec.py"),
    ("sw/show/diff.py", "tb/cli/test_diff.py tb/cli/test_whole_tools.py"),
    ("sw/cli/parameters.py sw/cli/records.py sw/cli/options.py",
     "tb/cli/test_records.py tb/cli/test_parameters.py tb/cli/test_errors.py"),
    ("sw/cli/bench_ranking.py", "tb/cli/test_whole_checks.py"),
    ("sw/cli/bench*", "tb/sw/study/benchmarks tb/cli/test_commands.py"),
    ("sw/cli/bench_tune.py sw/cli/tune*", "tb/cli/test_tune.py"),
    ("sw/cli/campaign.py sw/cli/lockstep.py", "tb/checks/campaign/test_campaign.py"),
    ("sw/cli/fuzz.py", "tb/checks/campaign/test_fuzz.py"),
    ("sw/cli/mutants.py", "tb/checks/campaign/test_mutants.py"),
    ("sw/cli/cluster.py", "tb/sw/study/cluster/test_commands.py"),
    ("sw/cli/combinations.py sw/cli/listing.py", "tb/cli/test_listing.py"),
    ("sw/cli/completion.py", "tb/cli/test_completion.py"),
    ("sw/cli/tables.py", "tb/cli/test_tables.py"),
    ("sw/cli/compare.py sw/cli/run.py sw/cli/run_program.py sw/cli/verilog.py sw/cli/tracing.py "
     "sw/cli/program.py", "tb/cli/test_runs.py tb/cli/test_vm.py tb/cli/test_exec.py"),
    ("sw/cli/course.py", "tb/checks/course/test_course.py"),
    ("sw/cli/graph*", "tb/cli/test_graph_files.py tb/sw/graph/test_files.py"),
    ("sw/cli/live.py", "tb/sw/show/live/test_server.py tb/sw/show/live/test_export.py"),
    ("sw/cli/synth*", "tb/cli/test_synth.py tb/synth/test_board_command.py"),
    ("sw/cli/simulated_board.py", "tb/sim/test_board_simulator.py"),
    ("sw/cli/report.py", "tb/sw/show/report/test_command.py"),
    ("sw/cli/files.py", "tb/cli/test_main.py"),
    ("sw/cli/tests.py sw/cli/packages.py sw/cli/main.py", "tb/cli/test_commands.py"),
    ("sw/cli/pages.py", "tb/cli/test_commands.py::test_docs_are_up_to_date"),
    ("sw/cli/pages.py sw/cli/placements.py", "tb/cli/test_docs.py"),
    ("sw/study/cluster/*", "tb/sw/study/cluster"),
    ("sw/study/cluster/place.py", "tb/sw/study/cluster/test_members.py"),
    ("sw/compile/compaction/*", "tb/sw/compile/compaction/test_algorithms.py"),
    ("checks/course/*", "tb/checks/course/test_course.py"),
    ("sw/compile/formats/cr2/*",
     "tb/sw/compile/formats/test_cr2.py tb/sw/compile/formats/test_images.py"),
    ("sw/compile/formats/*",
     "tb/sw/compile/formats/test_images.py tb/sw/compile/formats/test_runs.py"),
    ("sw/golden/semantics.py sw/golden/lane_memory.py sw/golden/machine.py "
     "sw/golden/cores.py sw/golden/simulator.py",
     "tb/sw/golden/test_simulator.py tb/sw/golden/test_simulator_instructions.py "
     "tb/sw/golden/test_simulator_errors.py"),
    ("sw/golden/gather/*", "tb/sw/golden/gather"),
    ("sw/graph/load.py sw/graph/weights.py sw/graph/reading.py", "tb/sw/graph/test_load.py"),
    ("sw/golden/lockstep.py", "tb/programs/test_lockstep.py"),
    ("sw/golden/scu.py", "tb/sim/functional/test_scu.py"),
    ("sw/graph/archive.py sw/graph/metis.py sw/graph/readers.py sw/graph/save.py "
     "sw/graph/text.py sw/graph/weights.py sw/graph/load.py",
     "tb/sw/graph/test_files.py tb/sw/graph/test_foreign.py tb/sw/graph/test_source.py"),
    ("sw/graph/gorder.py sw/graph/sage.py sw/graph/order.py", "tb/sw/graph/test_order.py"),
    ("sw/graph/compress.py", "tb/sw/compile/formats/test_images.py"),
    ("sw/graph/describe.py sw/graph/catalogue.py",
     "tb/sw/graph/test_graph.py tb/sw/graph/test_generators.py tb/cli/test_graph_files.py"),
    ("sw/operators/hashing/*",
     "tb/sw/operators/hashing/test_table.py tb/sw/operators/hashing/test_lookup.py"),
    ("sw/compile/kernels/bins.py", "tb/sw/compile/schedules/test_twc.py"),
    ("sw/compile/kernels/tiles.py sw/compile/kernels/resident_tiles.py "
     "sw/compile/kernels/distribution.py sw/compile/kernels/row_search.py",
     "tb/sw/compile/schedules/test_tile.py"),
    ("sw/compile/frontiers/*", "tb/sw/compile/frontiers/test_frontiers.py"),
    ("sw/compile/frontiers/unit_lists.py sw/compile/kernels/gathering.py "
     "sw/compile/kernels/vertices.py", "tb/sw/compile/schedules/test_graphpeg.py"),
    ("sw/compile/kernels/barrier.py", "tb/sw/compile/kernels/test_fusion.py"),
    ("sw/compile/kernels/local_sums.py sw/compile/kernels/rows.py",
     "tb/sw/compile/schedules/test_weaver.py"),
    ("sw/compile/asm/colouring.py", "tb/sw/compile/asm/test_virtual.py"),
    ("sw/compile/options.py sw/compile/registry.py", "tb/sw/compile/test_plan.py"),
    ("sw/compile/schedules/* sw/compile/formats/* sw/compile/options.py "
     "sw/graph/generators.py", "tb/sw/compile/test_contract.py"),
    ("hw/disassembler.py", "tb/hw/test_isa.py tb/sw/compile/asm/test_assembler.py"),
    ("sw/cc/*", "tb/sw/cc tb/cli/test_cc.py tb/checks/campaign/test_c_lanes.py"),
    ("sw/lang/passes/* sw/lang/fact*.py sw/lang/flow.py sw/lang/predicates.py "
     "sw/lang/effects.py", "tb/sw/lang/test_graph_ir.py tb/sw/compile/lower/test_decisions.py"),
    ("sw/compile/* sw/lang/passes/* sw/lang/fact*.py sw/lang/flow.py sw/lang/predicates.py "
     "sw/lang/effects.py", "tb/sw/compile/test_instructions.py"),
    ("sw/lang/graphit*", "tb/sw/lang/test_graphit.py tb/sw/lang/test_graphit_forms.py"),
    ("sw/lang/*", "tb/sw/lang/test_graph_ir.py tb/sw/lang/test_reader.py"),
    ("sw/lang/passes/*", "tb/sw/lang/test_passes.py tb/sw/compile/lower/test_texts.py"),
    ("sw/lang/passes/normal/*", "tb/sw/lang/test_normal.py tb/checks/metamorphic"),
    ("sw/lang/programs/*", "tb/sw/vm/test_reference.py"),
    ("sw/device/link/*", "tb/sw/device/link"),
    ("sw/show/live/*", "tb/sw/show/live/test_server.py tb/sw/show/live/test_export.py"),
    ("sw/show/unit/*", "tb/sw/show/unit"),
    ("sw/show/report/*", "tb/sw/show/report/test_whole.py tb/sw/show/report "
     "--ignore=tb/sw/show/report/test_pages.py"),
    ("sw/study/reproduce/*", "tb/sw/study/reproduce/test_outcomes.py"),
    ("sw/study/reproduce/cr2/*", "tb/sw/study/reproduce/test_cr2.py"),
    ("sw/study/reproduce/graphpeg/*",
     "tb/sw/study/reproduce/test_graphpeg.py tb/sw/study/reproduce/test_graphpeg_runs.py"),
    ("sw/study/reproduce/grassembler/* sw/study/reproduce/space.py",
     "tb/sw/study/reproduce/test_grassembler.py"),
    ("sw/study/reproduce/sage/*", "tb/sw/study/reproduce/test_sage.py"),
    ("sw/study/reproduce/scu/*", "tb/sw/study/reproduce/test_scu.py"),
    ("sw/study/reproduce/sparseweaver/* sw/study/reproduce/area.py",
     "tb/sw/study/reproduce/test_sparseweaver.py"),
    ("sw/study/reproduce/ugf/* sw/study/reproduce/space.py", "tb/sw/study/reproduce/test_ugf.py"),
    ("sw/operators/reordering/*", "tb/sw/operators/reordering/test_sampling.py"),
    ("sw/compile/task.py sw/compile/planning.py sw/compile/programs.py sw/compile/memory.py "
     "sw/compile/local.py", "tb/sw/compile/test_plan.py"),
    ("sw/device/result.py sw/device/results.py", "tb/sw/device/test_whole.py"),
    ("sw/device/result.py sw/device/device.py",
     "tb/sw/device/test_device.py tb/cli/test_functional.py"),
    ("sw/compile/schedules/scu* sw/compile/schedules/compact.py "
     "sw/compile/schedules/edge_lists.py",
     "tb/sw/compile/compaction/test_algorithms.py"),
    ("sw/compile/schedules/works.py sw/compile/schedules/wm.py",
     "tb/sw/compile/schedules/test_weaver.py"),
    ("sw/compile/schedules/twce.py sw/compile/schedules/etwc.py",
     "tb/sw/compile/schedules/test_twc.py"),
    ("sw/device/trace/*", "tb/sw/device/trace/test_trace.py tb/sw/show/report/test_timeline.py"),
    ("sw/study/tune/*", "tb/sw/study/tune tb/cli/test_whole.py "
     "tb/sw/show/report/test_tuning.py"),
    ("sw/vm/cpu/* sw/vm/c_code.py sw/vm/c_program.py sw/vm/loop_code.py sw/vm/operator_facts.py "
     "sw/vm/choices.py", "tb/sw/vm/test_cpu.py tb/sw/vm/test_threads.py"),
    ("sw/vm/cuda/*", "tb/sw/vm/test_cuda.py"),
    ("sw/vm/evaluate.py sw/vm/host.py",
     "tb/sw/vm/test_reference.py tb/sw/vm/test_rtl.py::test_operations"),
    ("sw/compile/lower/*", "tb/sw/compile/lower/test_decisions.py "
     "tb/sw/compile/test_instructions.py tb/sw/compile/test_lowered.py "
     "tb/sw/vm/test_rtl.py tb/sw/compile/lower/test_texts.py"),
    ("sw/compile/lowered.py sw/compile/lowering.py", "tb/sw/compile/test_lowered.py"),
    ("base/bootstrap.py", "tb/cli/test_launcher.py"),
    ("base/numbers.py", "tb/hw/test_numbers.py"),
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
_KERNELS = ("tb/sw/compile/kernels/test_programs.py tb/sw/compile/frontiers/test_frontiers.py",
            "tb/sw/compile/schedules", "--quick tb/sw/vm tb/programs/test_algorithms.py")
_LANGUAGE = ("tb/sw/lang tb/sw/vm/test_reference.py",
             "tb/sw/compile/test_instructions.py tb/sw/compile/test_lowered.py "
             "tb/sw/compile/lower", "--quick tb/sw/vm")
_MACHINES = ("--quick tb/sw/vm", "tb/sw/vm/test_threads.py tb/sw/vm/test_limits.py "
             "tb/sw/vm/test_endless.py tb/cli/test_vm.py")
_COMMANDS = ("--quick tb/cli", "tb/cli/test_runs.py tb/cli/test_commands.py "
             "tb/cli/test_errors.py tb/cli/test_listing.py tb/cli/test_parameters.py "
             "tb/cli/test_diff.py tb/cli/test_sweep.py tb/cli/test_vm.py")


#: Tests that take half a minute or more: the last ones of a first rung, in this order.
_LONG = ("tb/sw/compile/test_instructions.py", "tb/sw/compile/test_lowered.py",
         "tb/sw/vm/test_rtl.py", "tb/checks/metamorphic")

#: Files whose benches take longer on Icarus Verilog than programs take on a simulator of the GPU,
#: which then come first.
_SLOW_BENCHES = ("hw/gather/graphpeg/* hw/memory/l2* hw/core/l1.py hw/core/lsu.py "
                 "hw/core/core.py hw/gpu.py")


def _counts(*names):
    """The counters of random programs on configurations."""
    return (" ".join(f"tb/programs/test_random.py::test_counts[{name}]" for name in names),)


#: (files; the rungs above the first).
WIDE = (
    ("hw/*.py hw/core/*", _counts("tiny", "long")),
    ("hw/gather/table.py hw/gather/unit.py hw/gather/fsm/* hw/gather/delay.py",
     _counts("tiny", "late")),
    *((f"hw/gather/{name}/*", _counts(name)) for name in ("scan", "stream", "eghw", "graphpeg")),
    ("hw/core/gathering.py", _counts("stream", "graphpeg")),
    ("hw/memory/*", (f"{_counts('tiny')[0]} tb/programs/test_cores.py::test_counts",)),
    ("hw/scu/*", ("tb/programs/test_scu.py::test_counts",)),
    ("sim/harness/* sim/*.py", _counts("tiny")),
    ("hw/*.py hw/core/*",
     (_RANDOM, _PROGRAMS, _GPU, _COUNTERS, "tb/programs/test_lockstep.py --quick")),
    ("hw/config.py hw/isa.py", ("--quick tb/hw tb/sw/compile/kernels",)),
    ("hw/core/gathering.py hw/gather/*", (_UNITS,)),
    ("hw/core/gathering.py hw/gather/*.py hw/gather/fsm/* hw/gather/scan/* hw/gather/stream/*",
     ("tb/sw/compile/schedules/test_weaver.py",)),
    ("hw/exchange.py hw/core/access.py hw/core/coalescer.py hw/core/passes.py hw/core/related.py "
     "hw/core/loads.py hw/core/lsu.py",
     (_UNITS,)),
    ("hw/memory/*", (_RANDOM, _PROGRAMS, _GPU, _COUNTERS, "tb/sim/test_slow.py")),
    ("hw/scu/*", ("--quick tb/programs/test_scu.py tb/programs/test_compaction.py",
                  "--quick tb/hw/scu/test_scu.py")),
    ("hw/link/*", ("tb/sw/device/link",)),
    ("hw/sdram/* hw/link/flat.py hw/link/linked_gpu.py",
     ("--quick tb/sim/test_board_simulator.py",)),
    ("sim/compiler/*", ("tb/sim/test_native.py tb/sim/test_slow.py", _RANDOM)),
    ("sim/harness/* sim/*.py",
     ("tb/sim/test_native.py tb/sim/test_compiled.py tb/sim/test_slow.py", "--quick tb/sim",
      _RANDOM, _PROGRAMS)),
    ("sim/functional/*", ("tb/sim/functional", "tb/cli/test_functional.py")),
    ("sw/study/reproduce/*",
     ("--quick tb/sw/study/reproduce tb/sw/show/report/test_whole.py",
      "tb/sw/study/reproduce/test_study.py tb/cli/test_reproduce.py")),
    ("sw/study/benchmarks/* sw/study/*.py",
     ("--quick tb/sw/study tb/sw/show/report/test_whole.py", "tb/cli/test_reproduce.py")),
    ("sw/study/tune/* sw/study/sweep/*",
     ("--quick tb/sw/study/tune tb/sw/study/sweep", "tb/cli/test_tune.py tb/cli/test_sweep.py")),
    ("sw/cli/*", _COMMANDS), ("sw/*.py", _COMMANDS), ("base/*", _COMMANDS),
    ("sw/compile/compaction/* sw/operators/*",
     ("tb/sw/operators tb/sw/device", "--quick tb/programs/test_compaction.py")),
    ("sw/golden/scu.py", ("--quick tb/hw/scu/test_scu.py tb/hw/scu/test_checks.py",)),
    ("sw/golden/gather/*", ("--quick tb/hw/gather tb/programs/test_eghw.py "
                            "tb/programs/test_graphpeg.py",)),
    ("sw/golden/*", ("tb/sw/golden", "--quick tb/programs/test_random.py "
                     "tb/programs/test_lockstep.py tb/sw/device")),
    ("sw/graph/*", ("tb/sw/graph", "--quick tb/cli tb/sw/compile/formats")),
    ("sw/compile/lower/*", _LANGUAGE[1:]), ("sw/compile/*", _KERNELS),
    ("sw/lang/* sw/vm/*.py", _LANGUAGE),
    ("sw/vm/adversary/* sw/vm/cpu/* sw/vm/cuda/*", _MACHINES),
    ("sw/show/unit/*", ("tb/cli/test_runs.py::test_verilog tb/hw/test_units.py",)),
    ("sw/show/report/*", ("tb/sw/show/report/test_pages.py", "--quick tb/cli")),
    ("sw/show/*.py sw/show/live/*", ("--quick tb/sw/show/live tb/cli",)),
    ("sw/device/link/* sw/device/trace/* checks/course/*",
     ("--quick tb/sw/show/live tb/sw/show/report tb/cli",)),
    ("sw/device/*", ("tb/sw/device", "tb/sw/compile/kernels/test_programs.py", "--quick tb/cli")),
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
    first = sorted(dict.fromkeys(first),
                   key=lambda test: _LONG.index(test) + 1 if test in _LONG else 0)
    wide = [rung.split() for tests in _matching(WIDE, file) for rung in tests]
    found = [first, *wide]
    if file.startswith("hw/"):               # Icarus first, Verilator last
        found = [[*first, "-k", "not verilator"], *wide, [*first, "-k", "not icarus"]]
        if _matching(((_SLOW_BENCHES, ""),), file):
            found[:2] = found[1::-1]
    return tuple(tuple(rung) for rung in _each_once(found)
                 if any(word.startswith("tb/") for word in rung))


def _each_once(found):
    """The rungs without tests that an earlier rung has run, all of them or in the same way; also
    where the later rung has a folder of them."""
    done = set()
    for rung in found:
        way = tuple(word for word in rung if not word.startswith("tb/"))
        left = [word for word in rung if {((), word), (way, word)}.isdisjoint(done)]
        whole = sorted(word for each, word in done if not each and word.endswith(".py"))
        yield left + [f"--ignore={file}" for file in whole
                      if any(file.startswith(f"{word}/") for word in left)]
        done |= {(way, word) for word in rung if word.startswith("tb/")}


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
