"""Programs that hold facts, and programs that nearly do, on the instruction-set simulator.

======================  ===========================================================================
words                   test_texts: those of the interpreter, with which ``Device.run`` compares
                        each result, whatever the turn of the warps
======================  ===========================================================================
"""

import functools
import itertools

import pytest

from base.errors import UserError
from hw.config import preset
from sw.compile.schedules import equip
from sw.device import Device
from sw.graph import load
from sw.lang.reader import read_text
from tb.sw.lang.fact_programs import TEXTS


#: Schedule, cores and choices of a plan.
PLANS = [("vm", 1, {"direction": "push"}), ("vm", 2, {"direction": "pull"}),
         ("em", 2, {"direction": "push", "frontier": "counter"}),
         ("weaver", 1, {"direction": "pull"}), ("tile", 2, {"direction": "pull"}),
         ("vm", 2, {"direction": "pull", "fusion": "yes"}),
         ("weaver", 2, {"direction": "push", "fusion": "yes"}),
         ("vm", 1, {"direction": "pull", "format": "tigr:k=3"}),
         ("compact", 1, {"direction": "push"})]


@functools.cache
def graph(seed, undirected):
    found = load(f"rmat:scale=5,degree=4,seed={seed},weights=9")
    return found.undirected().simplify().weighted(9, seed) if undirected else found


@pytest.mark.parametrize("plan", range(len(PLANS)))
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.sample(24)
def test_texts(name, plan, tmp_path):
    path, (schedule, cores, choices) = tmp_path / "text.py", PLANS[plan]
    path.write_text(TEXTS[name].lstrip())
    config = equip(preset("tiny").replace(cores=cores, imem_bytes=1 << 17, local_bytes=1 << 13),
                   [schedule])
    for seed, undirected in itertools.product(range(2), (False, True)):
        if read_text(TEXTS[name]).needs and not undirected:
            continue
        with Device.functional(config, seed=seed) as device:
            try:
                task = device.plan(str(path), graph(seed, undirected), schedule=schedule,
                                   **choices)
            except UserError:
                return              # whatever is refused is refused by the plan
            device.run_task(task, max_cycles=400_000)
