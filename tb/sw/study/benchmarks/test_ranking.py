"""What Nsight Compute prints, as fields of a record; ways, and how they are measured."""

import types

import pytest

from base.errors import UserError
from sim.errors import ToolError
from sw.graph.load import load
from sw.lang.programs import find
from sw.study.benchmarks import ranking
from sw.study.benchmarks.ranking import BALANCES, WAYS
from sw.vm import cuda, reference


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


def _done(stdout="", code=0, stderr=""):
    return lambda command, **options: types.SimpleNamespace(
        stdout=stdout, stderr=stderr, returncode=code)


def test_the_gpu_is_described(monkeypatch):
    monkeypatch.setattr(cuda, "available", lambda: None)
    monkeypatch.setattr(ranking.nvcc, "multiprocessors", lambda: 132)
    for text, release in (("a\nCuda 12, release 12.4 \nb", "Cuda 12, release 12.4"), ("x", "x")):
        monkeypatch.setattr(ranking.nvcc, "nvcc", lambda text=text: types.SimpleNamespace(
            version=text))
        monkeypatch.setattr(ranking.subprocess, "run", _done("A GPU, 5.1, 1980\nB, 5.1, 7\n"))
        assert ranking.described() == {"device": "A GPU", "driver": "5.1", "clock": 1_980_000_000,
                                       "multiprocessors": 132, "nvcc": release}
    for text in ("", "A GPU, 5.1\n", "A GPU, 5.1, fast\n"):
        monkeypatch.setattr(ranking.subprocess, "run", _done(text))
        with pytest.raises(UserError, match="nvidia-smi does not describe the GPU"):
            ranking.described()
    monkeypatch.setattr(cuda, "available", lambda: "no GPU")
    with pytest.raises(UserError, match="^no GPU$"):
        ranking.described()


class _Times:
    """Of a machine that is the interpreter; each run takes a second more."""

    def __init__(self, program, graph, machine, given):
        self.result, self.seconds = reference.run(find("bfs"), graph, **given), []
        machine.spoil(self.result)

    def run(self):
        self.seconds.append(len(self.seconds) + 1.0)


@pytest.fixture
def machine(monkeypatch):
    """The machines of ways have as many kernels as they are long; one may have a wrong result."""
    wrong = {}

    def make(program, graph, balance, direction, every):
        assert every == [(BALANCES[way.schedule], way.direction) for way in WAYS]
        return types.SimpleNamespace(
            kernels=len(balance), transfers=len(direction), spoil=wrong.get(
                (balance, direction), lambda result: None))
    monkeypatch.setattr(ranking.cuda, "CudaMachine", make)
    monkeypatch.setattr(ranking.machines, "Times", _Times)
    return wrong


GRAPH = "rmat:scale=5,degree=4,seed=1"


def test_ways_are_measured(machine):
    graph = load(GRAPH)
    found = list(ranking.measured(GRAPH, "bfs", 9, 3, WAYS[2:5]))
    assert [way for way, _ in found] == list(WAYS[2:5])
    operators = reference.run(find("bfs"), graph, source=graph.hub).operators
    for way, record in found:
        assert record == {
            "graph": GRAPH, "vertices": 32, "arcs": 128, "weights": None, "algorithm": "bfs",
            "parameters": {"source": graph.hub}, "quantile": graph.hub / 32,
            "schedule": way.schedule, "direction": way.direction, "seconds": [1.0, 2.0, 3.0],
            "operators": operators, "kernels": len(BALANCES[way.schedule]),
            "transfers": len(way.direction)}
    asked = ranking._Asked(GRAPH, "sssp", 9)
    assert asked.weights == 9 and asked.graph.weights.max() <= 9


def test_a_wrong_way(machine):
    """The first result is checked by itself, and the others by the first."""
    def spoil(result):
        result.outputs["depth"][3] ^= 1
    machine[BALANCES["wm"], "pull"] = spoil
    assert [way for way, _ in _until(ranking.measured(GRAPH, "bfs", 9, 1),
                                     f"bfs on {GRAPH}, wm pull: vector 'depth' differs from that "
                                     "of vm push")] == list(WAYS[:3])
    machine[BALANCES["vm"], "push"] = spoil
    assert _until(ranking.measured(GRAPH, "bfs", 9, 1), f"bfs on {GRAPH}, vm push: ") == []


def _until(found, words):
    """What a generator gives before its error."""
    kept = []
    with pytest.raises(RuntimeError) as caught:
        kept.extend(found)
    assert words in str(caught.value)
    return kept


def test_the_counters_of_ways(monkeypatch):
    """Each way has the kernels of its last run."""
    wanted = {"bfs": list(WAYS[:1]), "cc": list(WAYS[1:2])}
    printed = PRINTED.replace("kernels of a way: 3 2", "kernels of a way: 2 1\n"
                              "kernels of a way: 1 1")
    monkeypatch.setattr(ranking.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(ranking.subprocess, "run", _done(printed))
    found = ranking.counted(GRAPH, 9, wanted)
    assert {name: list(ways) for name, ways in found.items()} == wanted
    assert found["bfs"][WAYS[0]]["instructions"] == 20
    assert found["cc"][WAYS[1]]["instructions"] == 40
    for text, code, words in (
            (printed, 1, "ncu cannot read the counters"), ("", 0, "ncu cannot read the counters"),
            (printed.replace("kernels of a way: 1 1", ""), 0, "ncu cannot read the counters"),
            (printed.replace("way: 2 1", "way: 1 1"), 0, "ncu has counted 3 kernels; the runs "
             "asked for 2")):
        monkeypatch.setattr(ranking.subprocess, "run", _done(text, code))
        with pytest.raises(ToolError, match=words):
            ranking.counted(GRAPH, 9, wanted)
    monkeypatch.setattr(ranking.shutil, "which", lambda name: None)
    with pytest.raises(ToolError, match="there is no ncu on PATH"):
        ranking.counted(GRAPH, 9, wanted)
