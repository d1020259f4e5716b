"""Tests of the parts that ``run`` and ``compare`` share."""

import io
import itertools
import json
import sys

import pytest

from base.errors import UserError
from hw.config import preset
from sw.cli.execute import Job, console, progress_display
from sw.cli.main import main
from sw.cli.records import Outputs
from sw.graph.load import GraphSource
from sw.compile.asm.assembler import Assembler
from sw.device import Device, as_plan
from sw.compile import planning
from sw.device.target import Target


@pytest.fixture
def counts(monkeypatch):
    """Numbers of tasks planned and of programs finished, on a device that is not RTL."""
    found = {"plans": 0, "programs": 0}
    plan, finish = planning.make, Assembler.finish

    def planned(*arguments, **named):
        found["plans"] += 1
        return plan(*arguments, **named)

    def finished(assembler):
        found["programs"] += 1
        return finish(assembler)

    monkeypatch.setattr(planning, "make", planned)
    monkeypatch.setattr(Assembler, "finish", finished)
    monkeypatch.setattr(Device, "simulate",
                        lambda config, **settings: Device.functional(config))
    return found


def job(schedules, **choices):
    return Job([as_plan("bfs", schedule=name, **choices) for name in schedules],
               GraphSource("karate"), Target(preset("tiny")), Outputs())


def test_each_schedule_is_planned_once(counts):
    """The plan that shows whether a schedule works is the plan that runs."""
    names = ["vm", "em", "weaver"]
    found = job(names, source=3, split="counter")
    assert counts == {"plans": 3, "programs": 3}
    results = [found.run() for _ in names]
    assert counts == {"plans": 3, "programs": 3}
    assert [result.schedule for result in results] == names
    assert all(result.verified and result.split == "counter" and result.format == "csr"
               and result.parameters["source"] == 3 for result in results)


def test_a_plan_is_its_options(counts, tmp_path):
    """The plan's text, options, and options that change a text give the same results."""
    words = [["bfs", "karate", "--source", "hub", "--schedule", "vm", "--warps", "1",
              "--split", "counter", "--direction", "auto"],
             ["karate", "--plan", "bfs(source=hub) schedule=vm split=counter warps=1 "
              "direction=auto"],
             ["karate", "--plan", "bfs schedule=em direction=push | bfs direction=pull when "
              "frontier>=0.05", "--schedule", "vm", "--source", "33", "--split", "counter",
              "--warps", "1"]]
    found = []
    for number, each in enumerate(words):
        path = tmp_path / f"{number}.json"
        assert main(["run", *each, "--preset", "tiny", "--json", str(path)]) == 0
        found.append(json.loads(path.read_text())["results"][0])
    plans = [result.pop("plan") for result in found]
    assert found[0] == found[1] == found[2] and found[0]["direction"] == "auto"
    assert plans[0] == plans[1] == plans[2].replace("source=33", "source=hub")
    again = tmp_path / "again.json"
    assert main(["run", "karate", "--plan", plans[0], "--preset", "tiny", "--json",
                 str(again)]) == 0
    assert json.loads(again.read_text())["results"] == [found[0] | {"plan": plans[0]}]


def test_compared_schedules_change_the_plan(counts, tmp_path):
    path = tmp_path / "found.json"
    assert main(["compare", "karate", "--plan", "bfs schedule=em warps=1", "--schedules",
                 "vm,weaver", "--preset", "tiny", "--json", str(path)]) == 0
    assert [result["plan"] for result in json.loads(path.read_text())["results"]] == [
        f"bfs{schedule} direction=push frontier=queue deduplicate=yes warps=1"
        for schedule in (" schedule=vm", "")]


def test_command_plans_once(counts, capsys):
    assert main(["run", "cc", "karate", "--preset", "tiny", "--schedule", "vwc:width=2"]) == 0
    assert counts == {"plans": 1, "programs": 1}
    assert "vwc:width=2" in capsys.readouterr().out


def test_a_program_that_does_not_fit_is_refused_before_any_run(monkeypatch):
    """A schedule whose turn is later is refused beforehand too."""
    sizes = itertools.chain([100], itertools.repeat(1 << 20))
    monkeypatch.setattr("sw.compile.asm.program.Program.size",
                        property(lambda program: next(sizes)))
    with pytest.raises(UserError, match="schedule=em direction=push frontier=counter "
                                        "deduplicate=no takes 1048576 bytes"):
        job(["vm", "em"])


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_console_prints_no_control_characters(capsys):
    """This holds in lines and in tables. The width of a column is the width of the printed text."""
    from rich.table import Table
    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("x", no_wrap=True)
    table.add_row("a\x1b[31m", "1")
    console().print("b\x07\nc [red]\udcff")
    console().print(table)
    assert capsys.readouterr().out.splitlines() == [
        "b\\x07", "c [red]\\xff", "name       x", "a\\x1b[31m  1"]


@pytest.mark.parametrize("stream", [io.StringIO, _Terminal])
def test_progress_shows_text_as_it_is(monkeypatch, stream):
    """The text is not read as markup, and takes no more than a line."""
    monkeypatch.setattr("sys.stderr", stream())
    with progress_display() as (show, tell):
        for text in ("a [/] b", "[red]\x1b[31m\udcff", "c\nd", "e" * 1_000_000):
            show(text)
            tell(text)
    shown = sys.stderr.getvalue()
    assert len(shown) < 10_000
    if stream is io.StringIO:
        assert shown.splitlines()[:3] == ["graphloom: a [/] b", "graphloom: [red]\\x1b[31m\\xff",
                                          "graphloom: c d"]
