"""The figure that docs/reproduce.md adds works as printed there."""

import re

from sw.benchmarks.executors import Processes
from sw.cli.tests import ROOT
from sw.reproduce.paper import Paper
from sw.reproduce.study import Study

from .test_study import SETTING


def test_the_example(tmp_path):
    text = (ROOT / "docs" / "reproduce.md").read_text()
    code, = re.findall(r"(?s)```python\n(.*?)```", text)
    names = {}
    exec(code, names)

    class Extra(Paper):
        paper, title, source = "extra", "Extra", "nowhere"
        figures = (names["BytesAndCycles"](),)

    outcomes = []
    study = Study(Extra, Extra.figures, SETTING, tmp_path, lambda figure: "make it")
    study.run(Processes(1), lambda case: None, lambda case, record: None,
              lambda figure, outcome, failures: outcomes.append((outcome, failures)))
    (outcome, failures), = outcomes
    assert not failures
    assert outcome.data["bytes"] == [1388 / 764] and outcome.data["cycles"][0] > 0
    assert (tmp_path / "extra1.png").stat().st_size > 1000
