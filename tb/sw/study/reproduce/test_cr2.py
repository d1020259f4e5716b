"""The figures of CR2: the paper's numbers as the paper states them, and ours from known records."""

import numpy as np
import pytest

from base.errors import UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.compile import formats
from sw.study import reproduce
from sw.graph.load import load
from sw.study.reproduce.cr2 import published
from sw.study.reproduce.cr2.frameworks import frameworks
from sw.study.reproduce.cr2.runs import ALGORITHMS, directed
from sw.study.benchmarks.grid import CaseRecords
from sw.study.reproduce.setting import GraphChoice, Setting, choices, mean
from tb.sw.study.reproduce.figures import comparisons_of, stands_a_failure_of_all


_GRAPHS = (GraphChoice("karate", "karate", undirected=False),
           GraphChoice("one way", "rmat:scale=6,degree=8,seed=1", undirected=False,
                       symmetric=False))
SETTING = Setting(preset("baseline"), DramConfig(), simulated=_GRAPHS, wide=_GRAPHS,
                  stored=_GRAPHS, repeat=3)
CR2 = reproduce.find("cr2")


def _measured(figure, cycles=lambda case: 100):
    """Results of a figure. Figures of the host are measured; cycles are those that ``cycles``
    gives."""
    return CaseRecords({case: {"cycles": value} if case.simulates and (value := cycles(case))
                        else {"error": "told to fail"} if case.simulates
                        else case.run(SETTING.config, SETTING.dram)
                        for case in figure.cases(SETTING)})


@pytest.mark.parametrize("over, algorithm, stated", [
    ("VWC-CSR", "pagerank", 1.65), ("VWC-CSR", "bfs", 13.29), ("VWC-CSR", "cc", 8.22),
    ("VWC-CSR", "sssp", 6.83), ("Tigr", "pagerank", 1.43), ("Tigr", "bfs", 1.69),
    ("Tigr", "cc", 2.12), ("Tigr", "sssp", 1.01)])
def test_table_3_5_has_the_means_of_the_prose(over, algorithm, stated):
    assert published.speedup(over, algorithm) == pytest.approx(stated, abs=0.01)


def test_the_papers_other_numbers_agree_with_each_other():
    assert published.speedup("Tigr") == pytest.approx(1.53, abs=0.005)        # section 3.6
    assert published.build_ratio(2, 0) == pytest.approx(published.BUILD_MEANS["csr"], abs=0.05)
    assert published.build_ratio(2, 1) == pytest.approx(published.BUILD_MEANS["tigr"], abs=0.005)
    for graphs in (*published.TIMES.values(), published.BUILD):
        assert set(graphs) == set(published.GRAPHS)


@pytest.mark.parametrize("figure", CR2.figures, ids=lambda figure: figure.name)
@pytest.mark.sample(2)
def test_every_figure_stands_a_failure_of_all(figure):
    stands_a_failure_of_all(figure, SETTING)


def test_memory():
    figure = CR2.find("fig3.8")
    outcome = figure.outcome(SETTING, _measured(figure))
    expected = {}
    for choice in _GRAPHS:
        graph = load(choice.graph)
        nbytes = {text: formats.build_image(graph, text).nbytes for text in figure.formats}
        for text in figure.formats:
            expected.setdefault(text, {})[choice.label] = nbytes[text] / nbytes["csr"]
    assert outcome.data["of_csr"] == expected
    mean = (expected["cr2"]["karate"] * expected["cr2"]["one way"]) ** 0.5
    assert outcome.data["means"]["cr2"] == pytest.approx(mean)
    compared = comparisons_of(outcome)
    assert compared["CR2, of CSR's bytes"] == ("0.88x", f"{mean:.2f}x")
    # Karate has 4.6 arcs a vertex, and the other graph has 8.
    assert compared["CR2, of CSR's bytes, 16 arcs a vertex or more"] == ("0.88x", "-")


def test_the_expand_lists_share():
    figure = CR2.find("fig3.10")
    outcome = figure.outcome(SETTING, _measured(figure))
    image = formats.build_image(load("karate"), "cr2")
    assert outcome.data["share"]["cr2"]["karate"] == image.expand_nbytes / image.nbytes > 0


def test_theory():
    """Formulas by hand: karate has 34 vertices and 156 arcs."""
    figure = CR2.find("table3.1")
    found = figure.outcome(SETTING, _measured(figure)).data["graphs"]["karate"]
    assert found["csr"]["theory"] == found["csr"]["fact"] == 4 * (156 + 34 + 1)
    assert found["g-shards"]["theory"] == 8 * 156
    assert found["g-shards"]["fact"] == 8 * 156 + 8 and found["g-shards"]["scratch"] == 4 * 156
    degrees = load("karate").out_degrees
    virtual = int((-(-degrees // 8)).sum())
    assert found["tigr"]["theory"] == 4 * (156 + virtual)
    assert found["tigr"]["fact"] == 4 * (156 + 2 * virtual + 1)
    assert found["tigr"]["formula"].endswith(f"f = {(virtual - 34) / 34:.2f}")
    # All edges are inside one cluster: 2 bytes each, and a record for each 1 bit of a degree.
    records = sum(int(degree).bit_count() for degree in degrees)
    assert found["cr2"]["theory"] == 2 * 156 + 4 * records
    assert found["cr2"]["fact"] == 2 * 156 + 2 * records + 6 * 2 * 4
    assert "r = 0.50" in found["cr2"]["formula"]


def test_build_times():
    figure = CR2.find("fig3.11")
    cases = figure.cases(SETTING)
    record = {"vertices": 10, "arcs": 200_000,
              "seconds": {"csr": [2.0, 1.0, 9.0], "tigr": [4.0, 4.0, 1.0], "cr2": [8.0, 5.0, 6.0]}}
    few = {"vertices": 10, "arcs": 20,
           "seconds": {"csr": [1.0], "tigr": [100.0], "cr2": [100.0]}}
    outcome = figure.outcome(SETTING, CaseRecords(zip(cases, (record, few))))
    assert outcome.data["means"] == {"csr": 1.0, "tigr": pytest.approx(2.0),
                                     "cr2": pytest.approx(3.0)}       # medians; `few` is left out
    assert comparisons_of(outcome) == {"CR2, of CSR's time": ("3.00x", "3.00x"),
                                  "CR2, of Tigr's time": ("1.05x", "1.50x")}
    measured = cases[0].run(None, None)
    assert {text: len(seconds) for text, seconds in measured["seconds"].items()} == {
        "csr": 3, "tigr": 3, "cr2": 3}


@pytest.mark.parametrize("threads, widths", [(2, [2]), (16, [2, 4, 8, 16]),
                                             (32, [2, 4, 8, 16, 32])])
def test_virtual_warps_are_as_wide_as_there_are_lanes(threads, widths):
    config = SETTING.config.replace(threads=threads)
    setting = Setting(config, SETTING.dram, (), (), ())
    for name, listed in (("VWC-CSR", True), ("VWC-CSR, no list", False)):
        assert frameworks(setting)[name] == [("csr", f"vwc:width={width}", listed)
                                             for width in widths]


def test_only_searches_that_push_may_do_without_a_list():
    for algorithm in ALGORITHMS:
        cases = directed(SETTING.simulated[0], algorithm, "vwc:width=2", "csr", listed=False)
        assert {way: case.plan.frontier for way, case in cases.items()} == {
            "pull": None, "push": "counter" if algorithm in ("bfs", "sssp") else None}


def test_frameworks():
    """The best width, schedule and direction of each framework is taken."""
    def cycles(case):
        name = case.plan.format.partition(":")[0]
        value = {("csr", "vwc:width=4"): 600, ("tigr", "vm"): 300, ("cr2", "em"): 150,
                 ("cr2", "vm"): 100, ("cr2", "weaver"): 50}.get((name, case.plan.schedule), 5000)
        if case.plan.schedule == "vwc:width=8":
            return None                           # one way fails, and the others count
        return value if case.plan.direction == "push" else 2 * value

    figure = CR2.find("table3.5")
    outcome = figure.outcome(SETTING, _measured(figure, cycles))
    compared = comparisons_of(outcome)
    assert compared["BFS: CR2 over VWC-CSR"] == ("13.29x", "6.00x")
    assert compared["all four: CR2 over VWC-CSR"] == ("6.47x, its table 5.92x", "6.00x")
    assert compared["all four: CR2 over Tigr"] == ("1.55x, its table 1.53x", "3.00x")
    assert compared["all four: CR2, Weaver over CR2"] == ("-", "2.00x")
    found = outcome.data["sssp"]["karate"]
    assert found["VWC-CSR"] == {"cycles": 600, "way": ("csr", "vwc:width=4", "push")}
    assert found["CR2"]["cycles"] == 100 and found["CR2"]["way"][1] == "vm"
    assert found["CR2 em"]["cycles"] == 150 and found["CR2, Weaver"]["cycles"] == 50
    row = outcome.tables[0].rows[0]
    assert row[:4] == ("karate", "600 (push, 4)", "300 (push)", "100 (push, vm)")
    assert row[-2:] == ("6.00x", "3.00x")
    means = outcome.tables[0].rows[-1]
    assert means[1:4] == ("1.00x", "2.00x", "6.00x")
    weighted = {case.plan.algorithm for case in figure.cases(SETTING) if case.weights}
    assert weighted == {"sssp"}


def test_the_expand_list():
    figure = CR2.find("fig3.9")
    outcome = figure.outcome(SETTING, _measured(figure, lambda case: (
        {"em": 500, "vm": 300}.get(case.plan.schedule, 90)
        * (3 if "expand=no" in case.plan.format else 1)
        + (case.plan.direction == "pull"))))
    assert comparisons_of(outcome) == {"speedup by the expand list": ("1.72x", "3.00x")}
    assert outcome.tables[0].rows[0][1:4] == ("900 (push, vm)", "300 (push, vm)", "3.00x")


def test_directions():
    """The figure has symmetric graphs only."""
    figure = CR2.find("sec3.5.5")
    outcome = figure.outcome(SETTING, _measured(
        figure, lambda case: 50 if case.plan.direction == "push" else 200))
    assert [row[0] for row in outcome.tables[0].rows] == ["karate"]
    assert outcome.data["em"] == {"karate": {"push_of_pull": 0.25, "intra_share": 1.0}}
    compared = comparisons_of(outcome)
    assert compared["push of pull under em, 70 % or more of the edges inside clusters"][1] \
        == "25.0 %"
    assert compared["push of pull under em, less of the edges inside clusters"][1] == "-"


def test_blocking():
    figure = CR2.find("fig2.9")
    outcome = figure.outcome(SETTING, _measured(figure, lambda case: {
        "coo": 400, "coo:block=1024": 200, "coo:block=4096": 100,
        "g-shards:shard=1024": 800}.get(case.plan.format)))
    assert comparisons_of(outcome) == {
        "the largest speedup of Block-COO over COO": ("4.53x", "4.00x")}
    assert outcome.tables[0].rows[0] == ("karate", "400", "100 (4096)", "800 (1024)", "4.00x",
                                         "0.50x")


def test_small_graphs_are_not_in_means():
    graphs = [GraphChoice("a", "a"), GraphChoice("b", "b"), GraphChoice("c", "c", counts=False)]
    assert mean(graphs, [1, 4, 100]) == pytest.approx(2)
    assert mean(graphs, [None, None, 100]) is None
    with pytest.raises(ValueError):
        mean(graphs, [1, 4])


def test_choices():
    for large in (False, True):
        found = choices(large)
        assert set(found) == {"simulated", "wide", "brief", "skewed", "stored", "tuned",
                              "crossed", "timed", "ranked"}
        for graphs in found.values():
            assert len({choice.label for choice in graphs}) == len(graphs)


def test_graphs_are_symmetric_where_they_say_so():
    for choice in choices(False)["simulated"]:
        graph = load(choice.graph, undirected=choice.undirected)
        key = graph.src.astype(np.uint64) << 32 | graph.dst
        turned = graph.dst.astype(np.uint64) << 32 | graph.src
        assert choice.symmetric == np.array_equal(np.sort(key), np.sort(turned))


def test_papers_are_found():
    assert reproduce.names() == ["cr2", "graphpeg", "grassembler", "ranking", "sage", "scu",
                                 "sparseweaver", "ugf"]
    with pytest.raises(UserError, match="no paper 'cr3'; there are cr2, graphpeg, grassembler, "
                                        "ranking, sage, scu, sparseweaver, ugf"):
        reproduce.find("cr3")
    names = [figure.name for figure in CR2.figures]
    assert len(set(names)) == len(names) == 8
