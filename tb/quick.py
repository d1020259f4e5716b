"""The quick part of the tests: ``./graphloom test --quick``.

Each file of tests gives at most :data:`MOST` of its test functions, spread evenly over the file,
and of each function the first case, that is, the function with the first of its parameters. A file
of ``tb/hw`` or ``tb/programs`` gives one, because each bench and each configuration has a simulator
of its own. The functions of :data:`SLOW` are left out before.
"""

__all__ = ["FEWER", "FOLDERS", "MOST", "SLOW", "chosen"]


#: Test functions of a file, and of a file of :data:`FOLDERS`.
MOST, FEWER = 3, 1
FOLDERS = ("tb/hw/", "tb/programs/")


def chosen(tests) -> set[str]:
    """The tests of the quick part, among tests in their order (pytest's node ids)."""
    first = {}
    for test in tests:
        first.setdefault(test.partition("[")[0], test)
    files = {}
    for function, test in first.items():
        file, _, name = function.partition("::")
        if name.rpartition("::")[2] not in SLOW.get(file, ()):
            files.setdefault(file, []).append(test)
    return {test for file, all_ in files.items()
            for test in _spread(all_, FEWER if file.startswith(FOLDERS) else MOST)}


def _spread(tests, most):
    """At most so many of the tests, from the first to the last."""
    count = min(most, len(tests))
    return [tests[index * (len(tests) - 1) // max(1, count - 1)] for index in range(count)]


#: {file: slow test functions}: with one case and builds in the cache, they took more than two
#: seconds of a processor, or they need what few others need and takes some ten seconds: the first
#: start of Yosys (proofs, placement), the simulator of the page, that of the board, a list of all
#: combinations, a model of a configuration of their own.
SLOW: dict[str, tuple[str, ...]] = {
    "tb/sw/study/benchmarks/test_batch.py": (
        "test_a_line_cut_off_is_done_again", "test_a_failure_loses_no_other_run",
        "test_a_direction_that_a_schedule_does_not_have_is_no_failure"),
    "tb/sw/study/benchmarks/test_cores.py": (
        "test_command", "test_limits_are_shares_of_what_there_is"),
    "tb/sw/study/benchmarks/test_system.py": ("test_a_batch_runs_them_on_their_own",),
    "tb/checks/campaign/test_campaign.py": (
        "test_differences", "test_a_defect_of_the_host", "test_configurations",
        "test_a_process_that_dies"),
    "tb/checks/campaign/test_fuzz.py": ("test_corpus",),
    "tb/checks/campaign/test_mutants.py": ("test_command",),
    "tb/cli/test_launcher.py": ("test_launcher", "test_extras"),
    "tb/cli/test_new.py": ("test_check",),
    "tb/cli/test_prove.py": ("test_timeout", "test_proof", "test_refuted"),
    "tb/cli/test_reproduce.py": ("test_a_figure_on_a_system_of_its_own",),
    "tb/cli/test_runs.py": (
        "test_verilog", "test_compare_without_a_named_unit",
        "test_compare_builds_the_unit_that_a_schedule_needs", "test_compare_leaves_out"),
    "tb/cli/test_synth.py": ("test_unit", "test_budgets", "test_no_place", "test_overhead"),
    "tb/cli/test_tune.py": ("test_bad_graphs", "test_all_strategies_find_the_best"),
    "tb/checks/course/test_course.py": ("test_unsolved", "test_solved", "test_faults"),
    "tb/examples/test_hash_lookup.py": ("test_it_prints_a_table",),
    "tb/examples/test_notebook.py": ("test_cycles", "test_pictures"),
    "tb/examples/test_widest_path.py": ("test_it_runs",),
    "tb/checks/formal/test_mutants.py": ("test_mutant_is_refuted",),
    "tb/checks/formal/test_proofs.py": (
        "test_proof", "test_covers", "test_a_cover_that_is_not_reached"),
    "tb/checks/formal/test_streams.py": ("test_not_kept", "test_refuted_by_structure"),
    "tb/hw/gather/test_stream_random.py": ("test_seeds",),
    "tb/hw/link/test_framing.py": ("test_receiver",),
    "tb/hw/link/test_link.py": ("test_link",),
    "tb/hw/scu/test_scu.py": ("test_scu",),
    "tb/hw/test_top.py": ("test_parts",),
    "tb/programs/test_algorithms.py": ("test_results_are_the_same_on_every_shape",),
    "tb/programs/test_compaction.py": ("test_results_are_those_of_other_schedules",),
    "tb/programs/test_eghw.py": ("test_ids_are_seen",),
    "tb/programs/test_exchange.py": (
        "test_algorithms", "test_the_edges_of_one_core", "test_dealt_lists", "test_no_exchange",
        "test_fused_loops"),
    "tb/programs/test_frontiers.py": ("test_pairs", "test_reverse_queues"),
    "tb/programs/test_fusion.py": ("test_units", "test_launch_cycles"),
    "tb/programs/test_graphpeg.py": ("test_edges_of_a_list",),
    "tb/programs/test_lockstep.py": ("test_random_programs",),
    "tb/programs/test_scu.py": ("test_operations",),
    "tb/programs/test_slow.py": ("test_programs",),
    "tb/sim/test_board_simulator.py": (
        "test_algorithms", "test_machine", "test_board_command", "test_run", "test_limit",
        "test_reset", "test_unplugged", "test_other_board"),
    "tb/sim/test_children.py": ("test_programs",),
    "tb/sim/test_compiled.py": (
        "test_runs_are_equal", "test_traces_are_equal", "test_a_limit_ends_both_in_the_same_cycle",
        "test_optimization_changes_no_cycle"),
    "tb/sim/test_cores.py": ("test_wave", "test_assertion_in_a_core", "test_path_through_the_gpu"),
    "tb/sim/test_gpu.py": ("test_wave",),
    "tb/sw/study/cluster/test_cluster.py": (
        "test_a_killed_worker", "test_a_worker_that_joins_later", "test_a_piece_that_loses_workers",
        "test_the_scheduler_ends", "test_another_version", "test_a_plain_worker",
        "test_cycles_are_those_of_local_runs"),
    "tb/sw/study/cluster/test_commands.py": (
        "test_list", "test_tune", "test_reproduce", "test_mutants",
        "test_an_interruption_keeps_what_is_done", "test_the_end_of_servers", "test_no_worker"),
    "tb/sw/show/figures/test_results.py": (
        "test_a_recorded_run_gives_the_same_cycles", "test_a_run_that_fails"),
    "tb/sw/show/live/test_machine.py": (
        "test_figures", "test_parts", "test_state_machine", "test_other_words", "test_other_cycles",
        "test_other_counters", "test_outside_memory"),
    "tb/sw/show/live/test_page.py": (
        "test_budgets", "test_default", "test_steps", "test_a_message_moves_no_button", "test_keys",
        "test_race", "test_again", "test_command", "test_differs", "test_widths", "test_live",
        "test_scu", "test_dropped_file", "test_drawn_graph", "test_size", "test_what_is_refused"),
    "tb/sw/show/report/test_pages.py": ("test_every_page",),
    "tb/sw/study/reproduce/test_graphpeg_runs.py": (
        "test_a_run_exchanges_edges", "test_a_run_counts_phases"),
    "tb/sw/study/test_combinations.py": (
        "test_some_on_the_rtl", "test_what_is_listed_is_what_runs",
        "test_a_trial_is_its_combination", "test_no_further_value_helps", "test_drawn",
        "test_with_the_fewest_registers", "test_some_on_every_unit_and_several_cores",
        "test_the_command_that_repeats_it", "test_some_in_one_launch", "test_a_failure_is_told"),
    "tb/synth/test_budgets.py": ("test_memory_intentions",),
    "tb/synth/test_estimate.py": ("test_carry", "test_path", "test_memory", "test_xor"),
    "tb/synth/test_flow.py": (
        "test_wrapper", "test_units", "test_failure", "test_area", "test_ecp5",
        "test_without_placement", "test_memories", "test_mapped", "test_collisions", "test_arrays",
        "test_kept", "test_deleted_in_part"),
    "tb/synth/test_gates.py": ("test_block_ram", "test_weaver"),
    "tb/synth/test_place.py": ("test_place", "test_does_not_fit", "test_bad_constraints"),
    "tb/test_modules.py": ("test_alone",),
    "tb/test_quick.py": ("test_some_cases_run",),
}
