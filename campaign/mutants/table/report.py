"""Planted faults in reports, whose plots would show wrong numbers."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_RESOURCES = "tb/sw/report/test_resources.py"
_RUNS = "tb/sw/report/test_runs.py"
_TIMELINE = "tb/sw/report/test_timeline.py"
_SYNTHESIS = "tb/sw/report/test_synthesis.py"
_FOLDER = "tb/sw/report/test_folder.py"
_INPUTS = "tb/sw/report/test_inputs.py"


MUTANTS = (
    Mutant("report-issue-slots-of-one-core",
           "sw/report/resources.py", "resources",
           "launch * config.cores", "launch", (_RESOURCES,)),
    Mutant("report-dram-has-no-queue",
           "sw/report/resources.py", "line_cycles",
           "(1 + dram.latency_cycles) / dram.queue", "0", (_RESOURCES,)),
    Mutant("report-supersteps-have-the-stalls-of-the-whole-run",
           "sw/report/runs.py", "_supersteps",
           "issue_slots(counters, run.config)", "issue_slots(run.counters, run.config)", (_RUNS,)),
    Mutant("report-phases-of-the-last-core",
           "sw/report/runs.py", "_phases",
           "core == 0", "True", (_RUNS,)),
    Mutant("report-roofline-swaps-its-axes",
           "sw/report/roofline.py", "plot",
           "issued / accesses", "accesses / issued", (_RUNS,)),
    Mutant("report-timeline-shows-the-rarest-state",
           "sw/report/timeline.py", "_columns",
           "counts.argmax(axis=0)", "counts.argmin(axis=0)", (_TIMELINE,)),
    Mutant("timeline-phase-begins-with-its-first-instruction",
           "sw/trace/timeline.py", "_phases",
           "runs.append((phase, place))",
           "runs.append((phase, int(issues['cycle'][index]) if runs else begin))", (_TIMELINE,)),
    Mutant("report-front-keeps-what-is-beaten",
           "sw/report/trade.py", "front",
           "run.total < found[-1][0].total", "True", (_SYNTHESIS,)),
    Mutant("report-counts-idle-units",
           "sw/report/trade.py", "units_of",
           "run.counters.get(\"weaver_decodes\")", "run.config.gather", (_SYNTHESIS,)),
    Mutant("report-replaces-any-folder",
           "sw/report/folder.py", "_check_report",
           "not own", "False", (_FOLDER,)),
    Mutant("report-takes-mixed-sources",
           "sw/report/inputs.py", "_same_sources",
           "source.sources != first.sources", "False", (_INPUTS,)),
    Mutant("sets-have-the-counters-since-the-start",
           "sw/runtime/device.py", "_Session.launch",
           "value - before[counter]", "value",
           ("tb/sw/runtime/test_device.py::test_cycles_of_each_set",)),
)
