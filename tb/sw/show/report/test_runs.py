"""Pages of runs and comparisons: every plot has the numbers of the file.

======================  ========================================================
cycles                  test_cycles
facts                   test_facts
resources, roofline     test_resources, test_roofline: by hand;
                        test_the_nearest_roof: sentence and table agree
stalls                  test_stalls: by kernel and by superstep, against counters
phases, counters        test_phases, test_counters
points                  test_points: each has its command and configuration
special files           test_failure, test_fused, test_older: without what newer
                        files have
======================  ========================================================
"""

import copy

import pytest

from hw.isa import PHASES
from sw.show import colours
from sw.show.report import runs
from sw.show.report.results import runs_of
from tb.sw.show.report.shown import block, mark_texts, series


def test_cycles(made):
    page = runs.page(made.compare, "compare.json")
    first, second = made.compare["results"]
    shown = block(page, "Cycles")
    ranked = sorted((first, second), key=lambda record: record["total_cycles"])
    drawn = shown.variants[""]
    assert series(drawn, "x") == {
        "cycles of the device": [record["cycles"] for record in ranked],
        "cycles of the host for launches": [record["launch_cycles"] for record in ranked],
        "total": [record["total_cycles"] for record in ranked]}
    # The fastest is marked; a bar has the colour of its schedule.
    assert drawn["data"][2]["text"] == [f"<b>{ranked[0]['total_cycles']:,} fastest</b>",
                                        f"{ranked[1]['total_cycles']:,}"]
    assert drawn["data"][0]["marker"]["color"] == [
        colours.SCHEDULES[record["schedule"]] for record in ranked]
    assert shown.variants[""]["layout"]["barmode"] == "stack"       # parts of the total
    best = min((first, second), key=lambda record: record["total_cycles"])
    assert shown.finding.startswith(
        f"{best['schedule']} is the fastest with {best['total_cycles']:,} cycles")
    assert [row[0][3] for row in shown.rows] == [f"{record['total_cycles']:,}"
                                                 for record in ranked]
    assert ("fastest", best["schedule"]) in page.facts and page.kind == "compare"
    assert page.title == "pagerank on karate" and not page.notes


def test_resources(made):
    page = runs.page(made.run, "run.json")
    counters = made.run["results"][0]["counters"]
    found = block(page, "Which resource binds").variants[""]
    values = dict(zip(found["data"][0]["y"], found["data"][0]["x"]))
    assert found["layout"]["barmode"] == "group"                    # side by side
    cycles = counters["cycles"]
    # Lines of 16 bytes on a bus of 32: the queue of 64 binds, with a latency of 50.
    assert values == pytest.approx({
        "issue slots": 100 * counters["instructions"] / cycles,
        "L1": 100 * counters["l1_accesses"] / cycles,
        "L2": 100 * counters["l2_accesses"] / cycles,
        "DRAM": 100 * (counters["dram_reads"] + counters["dram_writes"]) / cycles})
    assert "Latency binds" in block(page, "Which resource binds").finding


def test_roofline(made):
    page = runs.page(made.run, "run.json")
    counters = made.run["results"][0]["counters"]
    drawn = block(page, "Roofline").variants["whole runs"] if len(
        block(page, "Roofline").variants) > 1 else next(iter(
            block(page, "Roofline").variants.values()))
    *roofs, marks = drawn["data"]
    lines = counters["dram_reads"] + counters["dram_writes"]
    assert marks["x"] == pytest.approx([counters["instructions"] / number for number in
                                        (counters["l1_accesses"], counters["l2_accesses"], lines)])
    assert marks["y"] == pytest.approx([counters["instructions"] / counters["cycles"]] * 3)
    assert [roof["name"] for roof in roofs] == ["issue: 1 a cycle", "L1: 1 lines a cycle",
                                                "L2: 1 lines a cycle", "DRAM: 1 lines a cycle"]
    for roof in roofs[1:]:              # one line a cycle: as many instructions as for each line
        assert roof["x"] == pytest.approx(roof["y"])
    assert drawn["layout"]["xaxis"]["type"] == drawn["layout"]["yaxis"]["type"] == "log"
    assert roofs[0]["x"][1] > max(marks["x"]) and roofs[0]["y"] == [1, 1]
    for roof in roofs:                  # from the left end of the plot to the issue slots
        assert roof["x"][0] < min(marks["x"]) and roof["y"][1] == pytest.approx(1)


@pytest.mark.parametrize("level, counter", [("L1", "l1_accesses"), ("L2", "l2_accesses"),
                                            ("DRAM", "dram_reads"), ("the issue slots", None)])
def test_the_nearest_roof(made, level, counter):
    """The sentence has the largest share of the table, also where the SCU works alone for a while:
    its cycles count."""
    value = copy.deepcopy(made.compare) | {"dram": made.run["dram"]}    # a line a cycle
    first, second = (record["counters"] for record in value["results"])
    second |= {"cycles": 3000, "scu_cycles": 1200, "scu_beside": 200, "instructions": 1000,
               "l1_accesses": 500, "l2_accesses": 500, "dram_reads": 250, "dram_writes": 0}
    first["cycles"] *= 100
    second |= {counter: 3700} if counter else {"instructions": 3700}
    shown = block(runs.page(value, ""), "Roofline")
    shares = {cells[0]: cells[-1] for cells, _ in shown.rows}
    assert shown.finding == f"weaver is nearest to its roof, {level}: it reaches 92.5 % of it."
    assert max(shares.values(), key=lambda text: float(text[:-2])) == "92.5 %"
    assert shares[f"weaver, {level if counter else 'L1'}"] == "92.5 %"
    speeds = {cells[0]: cells[2] for cells, _ in shown.rows}
    assert speeds["weaver, L2"] == ("0.250" if counter else "0.925")


def test_facts(made):
    """The figures at the head of a page, from the counters."""
    record, = made.run["results"]
    counters = record["counters"]
    assert 0 < counters["l1_load_hits"] < counters["l1_loads"]
    busy, loads = counters["coalescer_busy"], counters["loads_under_way"]
    assert 0 < busy < counters["cycles"] < loads
    assert dict(runs.page(made.run, "").facts) == {
        "cycles": f"{record['total_cycles']:,}", "vertices reached": "34",
        "supersteps": str(record["supersteps"]),
        "instructions a cycle": f"{counters['instructions'] / record['cycles']:.3f}",
        "active lanes, of 4": f"{counters['lanes'] / counters['instructions']:.1f}",
        "L1 hit rate": f"{100 * counters['l1_load_hits'] / counters['l1_loads']:.1f} %",
        "mean loads under way": f"{loads / counters['cycles']:.1f}",
        "coalescer busy": f"{100 * busy / counters['cycles']:.1f} %",
        "DRAM bytes": f"{counters['dram_bytes_read'] + counters['dram_bytes_written']:,}"}
    value = copy.deepcopy(made.compare)
    for record, cycles in zip(value["results"], (900, 300)):
        record["total_cycles"] = cycles
    assert dict(runs.page(value, "").facts) == {
        "runs": "2", "fastest": "weaver", "its cycles": "300", "speed over vm": "3.00x"}


def test_stalls(made):
    page = runs.page(made.compare, "compare.json")
    results = made.compare["results"]
    drawn = block(page, "Stalls by kernel").variants[""]
    for cause, counter in (("an instruction issued", "instructions"), ("memory", "stall_memory"),
                           ("unit that hands out edges", "stall_weaver")):
        values = dict(zip(drawn["data"][0]["y"], series(drawn, "x")[cause]))
        assert values == {f"{record['schedule']}: {name}": step[counter] for record in results
                          for name, step in record["steps"].items()}
    variants = block(page, "Stalls by superstep").variants
    assert list(variants) == ["vm", "weaver"]
    for record in results:
        shown = series(variants[record["schedule"]], "y")
        assert shown["memory"] == [counters.get("stall_memory", 0)
                                   for counters in record["set_counters"]]
        assert sum(map(sum, shown.values())) == record["counters"]["cycles"]
        assert [sum(column) for column in zip(*shown.values())] == [
            cycles for _, cycles in record["set_cycles"]]


def test_phases(made):
    page = runs.page(made.run, "run.json")
    warps = made.run["results"][0]["phases"][0]
    sums = [sum(column) for column in zip(*warps)]
    found = series(block(page, "Phases").variants[""], "x")
    assert found == {phase: pytest.approx([100 * sums[index] / sums[-1]])
                     for index, phase in enumerate(PHASES) if sums[index]}
    assert block(page, "Phases").note == ""             # all phases are marked
    assert "--phases" in block(runs.page(made.compare, ""), "Phases").note


def test_phases_of_cores(made):
    value = copy.deepcopy(made.run)
    record = value["results"][0]
    record["phases"] = [[[10, 0, 0, 30, 0, 0, 40]], [[5, 5, 0, 0, 0, 0, 10]]]
    value["configuration"]["cores"] = 2
    found = block(runs.page(value, ""), "Phases").variants[""]
    assert found["data"][0]["y"] == ["weaver", "weaver, core 0", "weaver, core 1"]
    assert series(found, "x") == {"init": pytest.approx([30, 25, 50]),
                                  "registration": pytest.approx([10, 0, 50]),
                                  "edge access": pytest.approx([60, 75, 0])}


def test_counters(made):
    shown = block(runs.page(made.compare, ""), "Counters")
    values = {cells[0]: cells[1:3] for cells, _ in shown.rows}
    first, second = (record["counters"] for record in made.compare["results"])
    assert values == {name: (f"{first[name]:,}", f"{second[name]:,}") for name in first
                      if first[name] or second[name] or name.startswith("dram_bytes")}


def test_points(made):
    page = runs.page(made.compare, "")
    commands = {run.command for run in runs_of(made.compare)}
    seen = set()
    for shown in page.blocks:
        for drawn in shown.variants.values():
            for marks in filter(None, drawn["points"]):
                for mark in filter(None, marks):
                    assert mark.command in commands and "2 warps x 4 lanes" in mark.configuration
                    seen.add(mark.command)
            for text in mark_texts(drawn):
                assert "./graphloom run karate" in text.replace("<br>", " ").replace("<i>", "")
    assert seen == commands


def test_failure(made):
    value = copy.deepcopy(made.compare) | {
        "failure": {"schedule": "em", "plan": "pagerank schedule=em", "error": "no luck",
                    "counters": {}}, "skipped": {"scu": "there is no SCU"}}
    page = runs.page(value, "")
    assert page.notes == ("scu was left out: there is no SCU",
                          "The run of pagerank schedule=em failed: no luck")
    page = runs.page(value | {"results": []}, "x.json")
    assert page.title == "A run that failed: x.json" and not page.blocks


def test_fused(made):
    """One launch has no sets; a file of an older version has no counters of them."""
    value = copy.deepcopy(made.run)
    value["results"][0] |= {"set_cycles": [], "set_counters": []}
    assert "Stalls by superstep" not in [each.title for each in runs.page(value, "").blocks]
    del value["results"][0]["set_counters"], value["results"][0]["set_cycles"]
    assert "Stalls by superstep" not in [each.title for each in runs.page(value, "").blocks]


def test_names(made):
    """Two plans with the same schedule have names of their own."""
    value = copy.deepcopy(made.compare)
    value["results"].append(copy.deepcopy(value["results"][0]))
    assert [run.name for run in runs_of(value)] == ["vm", "weaver", "vm (2)"]
