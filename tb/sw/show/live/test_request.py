"""What a page offers and asks for: its fields, the plan, and the command line that repeats it."""

import json
import shlex

import numpy as np
import pytest

from base.errors import UserError
from hw.config import PRESETS
from hw.stalls import STALLS
from sw.compile import algorithms
from sw.graph import Graph
from sw.graph.catalogue import catalogue
from sw.graph.generators import GENERATORS
from sw.lang import programs
from sw.show.colours import CAUSES, SCHEDULES
from sw.show.live import recording
from sw.show.live.request import RACE, RunRequest, choices, offer


@pytest.mark.parametrize("fields, words", [
    ({}, "run bfs karate --preset tiny"),
    ({"schedule": "em", "direction": "pull", "format": "coo", "source": "3", "iterations": None,
      "preset": "default", "gather": "stream"},
     "run bfs karate --schedule em --direction pull --format coo --source 3 --preset default --set "
     "gather=stream"),
    ({"algorithm": "pagerank", "iterations": 0, "gather": "", "program": ""},
     "run pagerank karate --iterations 0 --preset tiny"),
    ({"algorithm": "sssp", "parameters": " delta = 3, ,source=hub "},
     "run sssp karate --preset tiny --delta 3 --source hub --weights 255"),
    ({"graph": "rmat:scale=3,degree=2,seed=1"}, "run bfs rmat:scale=3,degree=2,seed=1 --preset "
     "tiny")])
def test_command(fields, words):
    request = RunRequest.parse(json.dumps({"algorithm": "bfs", "graph": "karate"} | fields))
    assert shlex.split(request.command)[1:] == words.split()


def test_plan():
    request = RunRequest("sssp", "karate", schedule="em", direction="push", format="coo",
                         source="2", parameters="delta=5", gather="stream")
    assert request.plan.text == "sssp(delta=5,source=2) schedule=em format=coo direction=push"
    assert (request.config.gather, request.config.threads) == ("stream", PRESETS["tiny"].threads)
    assert RunRequest("bfs", "karate", schedule="graphpeg").config.gather == "graphpeg"
    assert RunRequest("pagerank", "karate", iterations=3).plan.text == (
        "pagerank(iterations=3)")
    for text in ("delta", "delta=", "=3, delta", "delta= "):
        with pytest.raises(UserError, match="must be NAME=VALUE"):
            _ = RunRequest("sssp", "karate", parameters=text).plan


def test_load():
    """Weights only where the algorithm uses them, and no graph that is too large for the page."""
    assert RunRequest("bfs", "road:side=3,seed=1").load().weights is None
    assert 255 >= RunRequest("sssp", "karate").load().weights.max() > 200
    assert RunRequest("sssp", "road:side=3,seed=1").load().weights.max() <= 16


def test_the_largest_graphs():
    """Parameters may say twice as many arcs: a road has fewer."""
    for vertices, arcs, legal in ((200_000, 400_000, True), (200_001, 5, False),
                                  (5, 400_001, False)):
        text = f"uniform:vertices={vertices},edges={arcs}"
        if legal:
            recording.check_text(text)
        else:
            with pytest.raises(UserError, match=(
                    f"{vertices:,} vertices and up to {arcs:,} arcs are too many for the page; it "
                    "takes at most 200,000 and 200,000")):
                recording.check_text(text)
    for vertices, arcs, words in ((200_000, 200_000, None), (200_001, 1, "200,001 vertices"),
                                  (1, 200_001, "200,001 arcs")):
        graph = Graph(vertices, *np.zeros((2, arcs), np.uint32))
        if words is None:
            recording.check_graph(graph)
        else:
            with pytest.raises(UserError, match=f"graph: {words} are too many for the page; it "
                                                "takes at most 200,000"):
                recording.check_graph(graph)


def test_choices():
    offered = choices()
    assert offered["preset"] == [name for name, config in PRESETS.items() if config.cores == 1]
    assert offered["parameters"] == {name: [
        each for each in ("source", "iterations") if each in algorithms.find(name).options]
        for name in algorithms.names()}
    assert offered["parameters"]["bfs"] == ["source"]
    assert offered["programs"].keys() == {*programs.names()} & {*algorithms.names()}
    assert offered["programs"]["bfs"] == programs.path("bfs").read_text()
    for text in offered["graph"]:
        assert text in catalogue() or text.partition(":")[0] in GENERATORS
        recording.check_text(text) if ":" in text else RunRequest("bfs", text).load()


def test_offer():
    offered = offer("static", {"graph": "karate"}, runs=3)
    assert (offered["mode"], offered["runs"]) == ("static", 3)
    assert offered["first"] == {"graph": "karate"}
    assert offer("live")["first"] == RACE
    colours = offered["colours"]
    assert len(colours) == 2 + len(STALLS) + len(SCHEDULES)
    assert colours["issued"] == CAUSES["issued"][1]
    assert {colours[f"state-{name}"] for name in STALLS} == {CAUSES[name][1] for name in STALLS}
    assert {colours[f"schedule-{name}"] for name in SCHEDULES} == {*SCHEDULES.values()}
