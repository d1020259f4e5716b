"""Planted faults in fused loops: barrier of the device, sections of a kernel, cost of launches."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_LOOPS = "tb/sw/kernels/test_fusion.py::"
_RTL = "tb/programs/test_fusion.py::"
_BARRIER = (f"{_LOOPS}test_nobody_passes_the_barrier_early",)


MUTANTS = (
    # The barrier
    Mutant("barrier-keeps-stale-lines",
           "sw/kernels/barrier.py", "_meet_cores", "a.fence()", "pass",
           (f"{_RTL}test_stale_lines",)),
    Mutant("barrier-lets-all-cores-through",
           "sw/kernels/barrier.py", "_meet_cores", "a.bge(now, a.zero, top)", "pass", _BARRIER),
    Mutant("barrier-lets-one-core-through",
           "sw/kernels/barrier.py", "_meet_cores", "_UPPER - cores", "_UPPER - cores + 1",
           _BARRIER),
    Mutant("barrier-lets-other-warps-through",
           "sw/kernels/barrier.py", "meet", "k.barrier()", "pass", _BARRIER, occurrence=2),
    Mutant("barrier-announces-a-core-before-its-warps",
           "sw/kernels/barrier.py", "meet", "k.barrier()", "pass", _BARRIER, occurrence=1),

    # Loops
    Mutant("loop-has-no-barrier-between-kernels",
           "sw/kernels/fusion.py", "_Fused._step", "barrier.meet(self._k)", "pass",
           (f"{_LOOPS}test_same_results[cc-vm-2]",)),
    Mutant("loop-forgets-kernels-that-run-once",
           "sw/kernels/fusion.py", "_Fused.emit", "step.once", "False",
           (f"{_LOOPS}test_numbers_of_iterations[pull-twc]",)),
    Mutant("loop-has-one-turn",
           "sw/kernels/fusion.py", "_Fused._counted", "loop.turns[:others]", "loop.turns[:1]",
           (f"{_LOOPS}test_numbers_of_iterations",)),
    Mutant("loop-counts-supersteps-by-their-argument",
           "sw/kernels/fusion.py", "_Fused._until_empty",
           "frontier.number_at(self._k, a.argument, number)", "a.mv(number, a.argument)",
           (f"{_LOOPS}test_same_results[bfs-vm-1]",)),
    Mutant("loop-launches-the-shortcut-after-the-end",
           "sw/kernels/fusion.py", "Loop.drive",
           "self.then if more else ()", "self.then",
           (f"{_LOOPS}test_launches_are_as_declared",)),
    Mutant("loop-counts-added-vertices-in-two-words",
           "sw/kernels/frontiers/frontier.py", "CountedFrontier.proceed", "_COUNTS // 2", "1",
           (f"{_LOOPS}test_frontiers",)),
    Mutant("loop-goes-on-with-the-same-block",
           "sw/kernels/frontiers/queue.py", "Queue.proceed",
           "a.lw(argument, argument, 4 * self._NEXT)", "pass",
           (f"{_LOOPS}test_same_results[bfs-vm-1]",)),

    # Sections
    Mutant("sections-use-kept-registers",
           "sw/kernels/virtual.py", "VirtualAssembler.keep", "self._registers -= 1",
           "self._registers -= 0", ("tb/sw/kernels/test_virtual.py::test_sections",)),

    # The cost of launches
    Mutant("launches-wait-for-no-counters",
           "hw/control.py", "launch_cycles", "_LAUNCH_CYCLES + counting_cycles(config)",
           "_LAUNCH_CYCLES", ("tb/hw/test_gpu.py::test_launched_at_once",)),
    Mutant("launches-beside-the-scu-cost-half",
           "sw/runtime/device.py", "_Session._measure", "2 if unit == 'both' else 1", "1",
           (f"{_RTL}test_launch_cycles",)),
    Mutant("launches-are-free-in-totals",
           "sw/runtime/result.py", "Result.total_cycles", "self.cycles + self.launch_cycles",
           "self.cycles", (f"{_RTL}test_launch_cycles",)),
)
