"""Planted faults in the slow region of the DRAM, and in the place of the edges there."""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_REGION = "tb/sim/test_slow.py::"
_PROGRAMS = "tb/programs/test_slow.py::"
_BUFFERS = "tb/sw/runtime/test_buffers.py::"


MUTANTS = (
    Mutant("the-slow-region-has-the-latency-of-the-fast-one",
           "sim/native.py", "_timings",
           "dram.slow_latency_cycles", "dram.latency_cycles", (f"{_REGION}test_latency",)),
    Mutant("the-slow-bus-is-as-wide-as-the-fast-one",
           "sim/dram.py", "DramConfig.slow_occupancy",
           "self.slow_bytes_per_cycle", "self.bytes_per_cycle", (f"{_REGION}test_bandwidth",)),
    Mutant("no-line-becomes-slow",
           "sim/native.py", "NativeMachine.place_slow",
           "self._slow_address = address", "pass", (f"{_REGION}test_first_slow_line",)),
    Mutant("slow-bytes-are-those-of-all-lines",
           "sim/native.py", "NativeMachine.counters",
           "report.slow_lines_read", "report.lines_read", (f"{_REGION}test_counters",)),
    Mutant("the-slow-region-begins-at-its-last-array",
           "sw/runtime/buffers.py", "Buffers.place_edges",
           "waiting[0].address", "waiting[-1].address", (f"{_BUFFERS}test_arrays_of_edges",)),
    Mutant("weights-lie-in-fast-memory",
           "sw/formats/storage_format.py", "Layout.reserve_edges",
           'buffers.reserve(self.array("weights"), self.places, edges=True)',
           'buffers.reserve(self.array("weights"), self.places)',
           (f"{_BUFFERS}test_arrays_of_edges",)),
    Mutant("tasks-of-a-slow-device-are-planned-without-the-region",
           "sw/runtime/device.py", "Device.plan",
           "self.slow_edges", "False", (f"{_PROGRAMS}test_programs",)),
    Mutant("the-place-of-the-last-tasks-edges-stays",
           "sw/runtime/device.py", "Device.run_task",
           "self.slow_edges", "self.slow_edges and task.buffers.slow_address is not None",
           (f"{_PROGRAMS}test_tables_are_fast",)),
)
