"""What ``run`` and ``compare`` share."""

import pytest

from hw.config import preset
from sim.dram import DramConfig
from sw.cli.execute import Job
from sw.cli.main import main
from sw.errors import UserError
from sw.kernels.assembler import Assembler
from sw.runtime.device import Device, Task


@pytest.fixture
def counts(monkeypatch):
    """How often a task is planned and a program finished, on a device that is not RTL."""
    found = {"plans": 0, "programs": 0}
    plan, finish = Task.plan.__func__, Assembler.finish

    def planned(*arguments, **named):
        found["plans"] += 1
        return plan(*arguments, **named)

    def finished(assembler):
        found["programs"] += 1
        return finish(assembler)

    monkeypatch.setattr(Task, "plan", classmethod(planned))
    monkeypatch.setattr(Assembler, "finish", finished)
    monkeypatch.setattr(Device, "simulate",
                        lambda config, **settings: Device.functional(config))
    return found


def job(schedules, **changes):
    values = dict(config=preset("tiny"), dram=DramConfig(), format="csr", settings={}, weights=None,
                  undirected=False, simplify=False, seed=None, max_cycles=None, json=None)
    return Job("bfs", "karate", schedules, **values | changes)


def test_each_schedule_is_planned_once(counts):
    """What was planned to find out whether it works is what is run."""
    names = ["vm", "em", "weaver"]
    found = job(names, settings={"source": 3, "split": "counter"})
    assert counts == {"plans": 3, "programs": 3}
    results = [found.run(name) for name in names]
    assert counts == {"plans": 3, "programs": 3}
    assert [result.schedule for result in results] == names
    assert all(result.verified and result.split == "counter" and result.format == "csr"
               and result.parameters["source"] == 3 for result in results)


def test_command_plans_once(counts, capsys):
    assert main(["run", "cc", "karate", "--preset", "tiny", "--schedule", "vwc:width=2"]) == 0
    assert counts == {"plans": 1, "programs": 1}
    assert "vwc:width=2" in capsys.readouterr().out


def test_a_program_that_does_not_fit_is_refused_before_any_run(monkeypatch):
    """Also that of a schedule whose turn is later."""
    sizes = iter([100] + 9 * [1 << 20])
    monkeypatch.setattr("sw.kernels.program.Program.size", property(lambda program: next(sizes)))
    with pytest.raises(UserError, match="schedule em and format csr takes 1048576 bytes"):
        job(["vm", "em"])
