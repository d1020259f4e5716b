"""What Nsight Compute prints, as fields of a record; and ways."""

import pytest

from sw.study.benchmarks import ranking
from sw.study.benchmarks.ranking import BALANCES, WAYS
from sw.vm import cuda


METRICS = ("dram__bytes.sum", "gpu__time_duration.sum", "lts__t_sectors_op_atom.sum",
           "lts__t_sectors_op_red.sum", "smsp__inst_executed.sum",
           "smsp__thread_inst_executed.sum")

ROWS = (("ID", "Kernel Name", *METRICS),
        ("", "", "byte", "ns", "sector", "sector", "inst", "inst"),
        ("0", "kernel<each>", "1,024", "2,000", "0", "0", "10", "320"),
        ("1", "kernel<each>", "2,048", "3,000", "1", "2", "20", "640"),
        ("2", "kernel<em>", "4,096", "4,000", "3", "4", "40", "1,000"))

PRINTED = "\n".join(["==PROF== Connected to process 7", "kernels of a way: 3 2",
                     "==PROF== Disconnected from process 7",
                     *(",".join(f'"{cell}"' for cell in row) for row in ROWS)])


def test_the_counters_of_kernels():
    marks, kernels = ranking._parts(PRINTED)
    assert marks == [(3, 2)] and len(kernels) == 3
    assert ranking._summed(kernels[1:]) == pytest.approx(
        {"dram_bytes": 6144, "kernel_seconds": 7e-6, "l2_atomics": 10, "instructions": 60,
         "lane_instructions": 1640})


def test_nothing_was_counted():
    assert ranking._parts("==ERROR== no counters\nkernels of a way: 3 2\n") == ([(3, 2)], [])


def test_ways():
    """Every load balance of the GPU has a schedule of the RTL, in both directions."""
    assert sorted(BALANCES.values()) == sorted(cuda.SCHEDULES)
    assert len(set(WAYS)) == 2 * len(BALANCES)
