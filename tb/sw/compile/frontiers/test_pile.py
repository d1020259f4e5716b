"""Near and far vertices of queues with a delta, on the instruction-set simulator.

=====================  ===========================================================================
results                ``test_results``, ``test_hybrids``, ``test_first_vertices``
the order of work      ``test_the_order_of_work``, ``test_keys_far_apart_take_few_moves``,
                       ``test_the_pile_holds_a_vertex_once``, ``test_functions_of_near_vertices``,
                       ``test_fewer_vertices_are_worked_on``
numbers                ``test_the_threshold_does_not_wrap``, ``test_numbers_without_room``
queues without a pile  ``test_no_pile``
the delta              ``test_choice_of_delta``
=====================  ===========================================================================
"""

import numpy as np
import pytest

from base.errors import UserError
from sw.compile.frontiers.pile import Pile
from sw.compile.frontiers.pool import Fields
from sw.compile.kernels.split import SPLITS
from sw.compile.lower.queues import choose_delta
from sw.compile.schedules import equip
from sw.device import Device
from sw.graph import Graph
from tb.sw.compile.frontiers.test_frontiers import Recorder
from tb.sw.compile.kernels.test_programs import GRAPHS, check, config
from tb.sw.graphs import random_graph


def kernels(result):
    return [name for name, _ in result.set_cycles]


def run(program, graph, seed=None, **options):
    with Device.functional(config(2, 4), seed=seed) as device:
        result = device.run(program, graph, **{"schedule": "vm", "direction": "push"} | options)
    assert result.verified
    return result


@pytest.mark.parametrize("schedule, frontier", [
    ("vm", None), ("vm", "counter"), ("vm", "bitmap/queue"), ("em", None), ("em", "bytemap/queue"),
    ("strict", None), ("weaver", None), ("graphpeg", None), ("scu-stream", None),
    ("vm", "bitmap"), ("weaver", "queue/bytemap")])
@pytest.mark.parametrize("delta", [1, 40])
def test_results(schedule, frontier, delta):
    for seed, graph in enumerate((GRAPHS["sparse"], random_graph(40, 160, 5))):
        hardware = equip(config(2, 4, cores=1 + seed % 2), [schedule])
        result = check(hardware, "sssp", graph, schedule, "push", seed=seed, delta=delta,
                       frontier=frontier)
        maps = frontier in ("bitmap", "queue/bytemap")
        assert maps or set(kernels(result)) <= {"edges0", "advance_queue", "leap_queue"}
        assert maps or result.deduplicated
    with pytest.raises(UserError, match="the far pile has room for each vertex once"):
        run("sssp", graph.weighted(9), delta=40, deduplicate=False)


@pytest.mark.parametrize("direction", ["auto", "pull"])
@pytest.mark.parametrize("schedule", ["vm", "weaver"])
@pytest.mark.parametrize("split", SPLITS)
def test_hybrids(direction, schedule, split):
    """A pull tests the near vertices by their stamps, which far vertices must not have."""
    check(config(2, 4), "sssp", random_graph(60, 200, 1), schedule, direction, seed=1, delta=30,
          split=split)


def test_the_order_of_work():
    """A stale entry is dropped. The threshold stops just behind the least distance of the pile."""
    stale = Graph(3, [0, 0, 1], [1, 2, 2], [5, 100, 1], name="stale")
    ladder = Graph(3, [0, 0, 1], [1, 2, 2], [1000, 5000, 10], name="ladder")
    edges, advance, leap = "edges0", "advance_queue", "leap_queue"
    assert kernels(run("sssp", stale, delta=10)) == [edges, edges, edges, advance]
    assert kernels(run("sssp", ladder, delta=1)) == [
        edges, advance, leap, edges, advance, leap, edges]


def test_keys_far_apart_take_few_moves():
    step = 300_000_000
    graph = Graph(12, np.arange(11), np.arange(1, 12), np.full(11, step), name="path")
    result = run("sssp", graph, delta=1)
    assert result.outputs["distance"].tolist() == [step * i for i in range(12)]
    assert result.supersteps == 12 and result.launches - result.supersteps <= 2 * 11


def test_the_pile_holds_a_vertex_once(monkeypatch):
    sizes, size = [], Pile.size
    monkeypatch.setattr(Pile, "size", lambda *given: sizes.append(size(*given)) or sizes[-1])
    graph = random_graph(30, 600, 8).weighted(10_000, 1)
    for seed in range(4):
        run("sssp", graph, seed, delta=200)
    assert 0 < max(sizes) < graph.num_vertices


def test_fewer_vertices_are_worked_on():
    """A vertex pushes only when its distance is final, or nearly."""
    graph = random_graph(300, 4000, 6).weighted(255, 2)
    worked = []
    for delta in (None, 20):
        with Device.functional(config(4, 8)) as device:
            recorder = Recorder(device)
            recorder.run("sssp", graph, schedule="weaver", delta=delta)
        worked.append(sum(recorder.sizes))
    assert worked[1] < 0.8 * worked[0]


@pytest.mark.parametrize("delta", [1, 1 << 31, (1 << 32) - 3, (1 << 32) - 2])
def test_the_threshold_does_not_wrap(delta):
    """Distances of up to 2**32 - 2, edges of weight 0, and detours that pass 32 bits."""
    most = (1 << 32) - 2
    graph = Graph(7, [0, 0, 1, 2, 2, 3, 4, 4, 5, 5, 6], [1, 2, 2, 3, 4, 5, 5, 3, 6, 1, 2],
                  [most - 7, most, 7, 0, 0, 0, most, 0, 0, most, most], name="edge")
    for seed in range(3):
        result = run("sssp", graph, seed, schedule="weaver", delta=delta)
        assert result.outputs["distance"].tolist() == [0, most - 7, *[most] * 5]


def test_numbers_without_room(monkeypatch):
    """The numbers of supersteps begin again, and no vertex is added more or less often."""
    graph = random_graph(60, 400, 2).weighted(200, 1)
    before = run("sssp", graph, delta=200)
    monkeypatch.setattr(Fields, "most", 2)
    after = run("sssp", graph, delta=200)
    assert "restamp_queue" in kernels(after) and "restamp_queue" not in kernels(before)
    assert [name for name in kernels(after) if name != "restamp_queue"] == kernels(before)


_TEXT = """
@program
def text(edges: edgeset, one: vertex = 0, other: vertex = 0, late: uint = 0,
         delta: uint = infinity):
    distance = vector(uint, infinity)
    seen = vector(uint, 0)

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)

    def see(v):
        seen[v] += 1

    queue = PriorityQueue(distance, one, other, delta=delta)
    distance[one] = 0
    distance[other] = late
    while queue:
        near = queue.dequeue()
        near.apply(see)
        edges.from_(near).apply_update_priority(relax, queue)
    return distance
"""


def written(tmp_path, text):
    path = tmp_path / "text.py"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("late", [39, 40])
def test_first_vertices(tmp_path, late):
    """The first vertices are near or far by their words when the device begins."""
    graph = random_graph(60, 200, 3).weighted(90, 1)
    for one, other in ((0, 9), (9, 0), (5, 5)):
        run(written(tmp_path, _TEXT), graph, one=one, other=other, late=late, delta=40)


def test_functions_of_near_vertices(tmp_path):
    """A function of the near vertices is performed on the device, from the first on."""
    text = _TEXT.replace("seen[v] += 1", "seen[v] = 1").replace(
        "return distance", "return distance, seen")
    result = run(written(tmp_path, text), random_graph(60, 200, 3).weighted(90, 1), delta=40)
    reached = result.outputs["distance"].view(np.uint32) != (1 << 32) - 1
    assert (result.outputs["seen"] == reached).all()


@pytest.mark.parametrize("change", [
    ("    while queue:", "    again = 0\n    while len(queue) > 0 and again < 100:\n"
                         "        again += 1"),
    ("see(v):\n        seen[v] += 1", "see(v):\n        distance[v] = distance[v]")])
def test_no_pile(tmp_path, change):
    """What the host asks of the queue, or does to its words, no pile can answer."""
    program = written(tmp_path, _TEXT.replace(*change))
    result = run(program, random_graph(40, 100, 3).weighted(90, 1), delta=40)
    assert "split_distance" in kernels(result)


def test_choice_of_delta():
    def delta(vertices, arcs, weight):
        numbers = np.arange(arcs) % vertices
        return choose_delta(Graph(vertices, numbers, numbers, np.full(arcs, weight)))
    assert delta(10, 160, 100) == 200                   # 32 x 100 / 16
    assert delta(10, 160, 0) == 1
    assert delta(100, 1, (1 << 32) - 1) == (1 << 32) - 1
    assert choose_delta(Graph(3, [], [], [])) == 1
    graph = random_graph(40, 100, 1).weighted(50, 1)
    assert run("sssp", graph, delta="auto").parameters["delta"] == choose_delta(graph)
    assert run("sssp", graph, delta=None).parameters["delta"] is None
    for wrong in (0, 1 << 32):
        with pytest.raises(UserError, match="must be from 1 to"):
            run("sssp", graph, delta=wrong)
