"""Records of sweeps: what is refused, with its place, and the points of the product.

======================  ========================================================
bad input               test_refused: the line and the path of a key
product                 test_points, test_tables
seeds                   test_seeds
======================  ========================================================
"""

import dataclasses

import pytest

from base.errors import UserError
from sw.study.sweep.points import SweepPoints
from sw.study.sweep.spec import SweepSpec, read

_HEAD = 'graphs = ["karate"]\nalgorithms = ["bfs"]\n'


@pytest.mark.parametrize("text, message", [
    (_HEAD + 'schedulez = ["vm"]', "line 3: schedulez: there is no such key; there are graphs"),
    (_HEAD + "[hardware]\nwheels = 4", "line 4: hardware.wheels: there is no such key; there are "),
    (_HEAD + "[plan]\nspeed = 4", "line 4: plan.speed: there is no such key; there are format"),
    (_HEAD + "[graph]\nundirectd = true", "line 4: graph.undirectd: there is no such key"),
    (_HEAD + "[dram]\nlaten = 4", "line 4: dram.laten: there is no such key"),
    (_HEAD + 'schedules = [\n  "vm",\n  "vmm"]', "line 3: schedules[1]: there is no schedule"),
    (_HEAD + "[hardware]\nl1_bytes = [512, 5]", "line 4: hardware.l1_bytes[1]: is 5, must be a "
     "power of two"),
    (_HEAD + "[[hardware]]\nl1_bytes = 512\n[[hardware]]\nl1_bytes = 7",
     "line 6: hardware[1].l1_bytes: is 7"),
    (_HEAD + '[hardware]\npreset = "tinny"', "line 4: hardware.preset: "),
    (_HEAD + "[dram]\nlatency = -1", "line 4: dram.latency: "),
    (_HEAD + '[plan]\ndirection = ["push", "up"]', "line 4: plan.direction[1]: "),
    (_HEAD + "[graph]\nundirected = 3", "line 4: graph.undirected: is 3, must be true or false"),
    (_HEAD + "[graph]\nweights = 2.5", "line 4: graph.weights: is 2.5, must be a whole number"),
    (_HEAD + "repeats = 0", "line 3: repeats: is 0, must be at least 1"),
    (_HEAD + "repeats = true", "line 3: repeats: is True, must be a whole number"),
    (_HEAD + "schedules = 'vm'", "line 3: schedules: is 'vm', must be a list of texts"),
    (_HEAD + "schedules = []", "line 3: schedules: is empty, so the sweep has no run"),
    (_HEAD + "[dram]\nlatency = []", "line 4: dram.latency: is empty, so the sweep has no run"),
    (_HEAD + "hardware = []", "line 3: hardware: is empty, so the sweep has no run"),
    (_HEAD + 'schedules = ["vm", "vm"]', "line 3: schedules[1]: vm is given twice"),
    ('graphs = ["karat"]\nalgorithms = ["bfs"]', "line 1: graphs[0]: karat: there is no such "),
    ('graphs = ["karate"]\nalgorithms = ["bfz"]', "line 2: algorithms[0]: "),
    ('graphs = ["karate"]', "algorithms is missing"),
    ("graphs = [", "is not TOML: "),
])
def test_refused(tmp_path, text, message):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        SweepSpec(*read(str(path)))
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_points():
    """The product of all lists; what no machine can be, or no plan, has its reason."""
    points = SweepPoints(SweepSpec({
        "graphs": ["karate"], "algorithms": ["bfs", "pagerank"], "schedules": ["vm", "compact"],
        "plan": {"direction": ["pull", "push"]},
        "hardware": {"preset": "tiny", "l1_bytes": [256, 1024], "l1_banks": [1, 4]},
        "dram": {"latency": [50, 100]}}))
    cases = points.grid.cases
    assert len(cases) + len(points.refused) == 2 * 2 * 2 * 2 * 2 * 2
    assert all("must be at least 2 in each of 4 banks" in reason
               for said, reason in points.refused if said["l1_banks"] == 4)
    assert any("direction pull" in reason for said, reason in points.refused
               if (said["schedule"], said["direction"]) == ("compact", "pull"))
    first = cases[0]
    assert (first.plan.text, first.target.config.l1_bytes, first.target.dram.latency) == (
        "bfs schedule=vm direction=pull", 256, 50)
    assert points.columns == {
        "graph": ["karate"], "algorithm": ["bfs", "pagerank"], "schedule": ["vm", "compact"],
        "direction": ["pull", "push"], "preset": ["tiny"], "l1_bytes": [256, 1024],
        "l1_banks": [1, 4], "dram.latency": [50, 100], "seed": [None]}


def test_zero():
    """An id, a seed or a cost of 0 is a value, in the records too."""
    case, = SweepPoints(SweepSpec({
        "graphs": ["road:side=3"], "algorithms": ["bfs"], "schedules": ["vm"],
        "launch_cycles": 0})).grid.cases
    assert (case.record()["seed"], case.record()["launch_cycles"]) == (0, 0)
    assert {"undirected": False, "weights": None}.items() <= case.record().items()
    assert "simplify" not in case.record() and "max_cycles" not in case.record()
    first = dataclasses.replace(case, source=dataclasses.replace(case.source, first=0))
    assert first.record()["first"] == 0 and first.record() != case.record()


def test_tables():
    """Several tables of hardware follow each other; a schedule has its own unit, unless it is said.
    """
    record = {"graphs": ["karate"], "algorithms": ["bfs"], "schedules": ["graphpeg"]}
    points = SweepPoints(SweepSpec(record | {"hardware": [
        {"preset": "tiny"}, {"preset": "tiny", "l1_bytes": [512, 2048]},
        {"preset": "tiny", "gather": "none"}]}))
    assert [(case.target.config.gather, case.target.config.l1_bytes)
            for case in points.grid.cases] == [
        ("graphpeg", 1024), ("graphpeg", 512), ("graphpeg", 2048)]
    (said, reason), = points.refused
    assert said["gather"] == "none" and "needs GraphPEG" in reason


def test_seeds():
    """Only what is drawn at random is run again, each time with another seed."""
    points = SweepPoints(SweepSpec({
        "graphs": ["karate", "rmat:scale=4,degree=2", "road:side=4,seed=1"],
        "algorithms": ["bfs", "sssp"], "schedules": ["vm"], "repeats": 2,
        "graph": {"weights": 9, "seed": 5}}))
    found = [(case.plan.algorithm, case.graph, dict(case.said)["seed"])
             for case in points.grid.cases]
    assert found == [
        ("bfs", "karate", None), ("sssp", "karate", 5), ("sssp", "karate", 6),
        ("bfs", "rmat:scale=4,degree=2,seed=5", 5), ("bfs", "rmat:scale=4,degree=2,seed=6", 6),
        ("sssp", "rmat:scale=4,degree=2,seed=5", 5), ("sssp", "rmat:scale=4,degree=2,seed=6", 6),
        ("bfs", "road:side=4,seed=1", None), ("sssp", "road:side=4,seed=1", 5),
        ("sssp", "road:side=4,seed=1", 6)]
