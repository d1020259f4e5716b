"""Pages of sweeps: every panel has the numbers of the rows, in the order of the sweep.

======================  ========================================================
panels                  test_bars, test_lines
tables                  test_tables
points                  test_bars: each has the command of its run
======================  ========================================================
"""

import statistics

import pytest

from sw.show import colours
from sw.show.report import inputs, sweeps
from sw.study.sweep import sweep
from tb.executors import InThisProcess
from tb.sw.show.report.shown import block


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "caches"
    result = sweep(["karate", "rmat:scale=4,degree=2"], ["bfs"], ["vm", "weaver", "compact"],
                   {"preset": "tiny", "l1_bytes": [512, 2048]}, 2, output=folder,
                   workers=InThisProcess(), plan={"direction": ["push", "pull"]})
    source, = inputs.find([str(folder)])
    assert source.kind == "sweep"
    # Lines are in the order of the ends, which is any.
    return result, sweeps.page([source.value[0], *source.value[:0:-1]], source.path)


def _cycles(result, **said):
    return statistics.fmean(row["total_cycles"] for row in result.rows if row["status"] == "done"
                            and all(row[name] == value for name, value in said.items()))


def test_bars(made):
    result, page = made
    variants = block(page, "Cycles by schedule").variants
    assert list(variants) == ["direction push, l1_bytes 512", "direction push, l1_bytes 2048",
                              "direction pull, l1_bytes 512", "direction pull, l1_bytes 2048"]
    drawn = variants["direction push, l1_bytes 2048"]
    assert [note["text"] for note in drawn["layout"]["annotations"]] == [
        "<b>bfs</b><br>karate", "<b>bfs</b><br>rmat:scale=4,degree=2"]
    for bars, graph in zip(drawn["data"], ("karate", "rmat:scale=4,degree=2")):
        assert bars["x"] == sorted(bars["x"]) and len(bars["x"]) == 3
        assert bars["x"] == pytest.approx([_cycles(
            result, graph=graph, schedule=name, direction="push", l1_bytes=2048)
            for name in bars["y"]])
        assert bars["text"][0].endswith(" fastest</b>") and "fastest" not in bars["text"][1]
        assert bars["marker"]["color"] == [colours.SCHEDULES[name] for name in bars["y"]]
    point = drawn["points"][0][0]
    assert point.command.startswith("./graphloom run karate --plan 'bfs")
    assert "--set l1_bytes=2048" in point.command
    assert len(variants["direction pull, l1_bytes 512"]["data"][0]["x"]) == 2    # one is refused


def test_lines(made):
    result, page = made
    drawn = block(page, "Cycles by l1_bytes").variants["direction push"]
    names = [trace["name"] for trace in drawn["data"]]
    assert names == 2 * ["vm", "weaver", "compact"]
    assert [trace["showlegend"] for trace in drawn["data"]] == 3 * [True] + 3 * [False]
    for trace in drawn["data"][3:]:
        assert trace["x"] == ["512", "2048"] and trace["xaxis"] == "x2"
        assert trace["y"] == pytest.approx([_cycles(
            result, graph="rmat:scale=4,degree=2", schedule=trace["name"], direction="push",
            l1_bytes=size) for size in (512, 2048)])


def test_tables(made):
    result, page = made
    assert page.title == "Sweep caches" and dict(page.facts) == {
        "runs": "30", "graphs": "2", "algorithms": "1", "without a result": "4"}
    refused = [cells for cells, _ in block(page, "Without a result").rows]
    assert len(refused) == 4 and all("direction pull" in cells[-1] for cells in refused)
    assert len(block(page, "All runs").rows) == 30
    gains = {cells[1]: cells[3] for cells, _ in block(page, "Speedup of each value").rows}
    assert gains["vm"] == gains["512"] == gains["push"] == "1.00x"
