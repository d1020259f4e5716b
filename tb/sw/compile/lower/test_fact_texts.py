"""Programs that hold facts, and programs that nearly do, on the instruction-set simulator.

======================  ===========================================================================
words                   test_texts, test_members_by_several_words_or_none: those of the
                        interpreter, with which ``Device.run`` compares each result, whatever the
                        turn of the warps
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


@pytest.mark.parametrize("test", ["uint(v) == turn",
                                  "parity[v] == turn & 1 and half[v] == turn & 1"])
def test_members_by_several_words_or_none(test, tmp_path):
    """Rows of one lane end at their first edge from a member, which no single word tells."""
    (tmp_path / "near.py").write_text(f"""
@program
def near(edges: edgeset):
    parity = vector(uint, lambda v: uint(v) & 1)
    half = vector(uint, lambda v: uint(v) >> 4)
    near = vector(uint, 0)
    times = vector(uint, 0)
    def clear(v):
        near[v] = 0
    def member(v):
        return {test}
    def mark(src, dst):
        near[dst] |= 1
    def count(v):
        times[v] += 1 + turn
    for turn in range(3):
        vertices.apply(clear)
        some = vertices.where(member)
        found = edges.from_(some).apply_modified(mark, near)
        found.apply(count)
    return near, times
""")
    with Device.functional(preset("tiny").replace(imem_bytes=1 << 14)) as device:
        device.run(str(tmp_path / "near.py"), graph(0, True), schedule="vm", direction="pull")
