"""Groups of warps as the scope of schedules, on the RTL.

========================  ===========================================================
one core and several      test_groups, test_fused
on the simulator, refused tb/sw/compile/kernels/test_scope.py
each instruction          tb/programs/test_lockstep.py
========================  ===========================================================

``Device.run`` compares every result with the golden model.
"""

import pytest

from sw.compile.kernels.split import SPLITS
from tb.programs.algorithms import run
from tb.sw.graphs import random_graph


GRAPH = random_graph(60, 400, 5).weighted(9)

#: Warps of a group on a machine of 4 warps, and of two cores of 2 warps.
GROUPS = {"late": 2, "pair": 1}

SCHEDULES = ("cm", "twc:core=9:warp=3", "twce:core=9:warp=3", "etwc")

each = pytest.mark.parametrize("schedule", SCHEDULES)


@pytest.mark.parametrize("name", GROUPS)
@each
@pytest.mark.parametrize("algorithm, direction", [("bfs", "pull"), ("sssp", "push"),
                                                  ("pagerank", "pull")])
@pytest.mark.sample(9)
def test_groups(name, algorithm, direction, schedule):
    for split in SPLITS:
        run(name, GRAPH, algorithm, f"{schedule}:group={GROUPS[name]}", direction=direction,
            split=split)


@each
@pytest.mark.sample(2)
def test_fused(schedule):
    run("pair", GRAPH, "bfs", f"{schedule}:group=1", direction="push", fusion=True)
