"""``graphloom list``."""

import json

import pytest

from hw.config import preset
from sw import algorithms, formats, schedules
from sw.cli.main import main
from sw.errors import UserError
from sw.graph.load import load
from sw.kernels.frontiers import FRONTIERS
from sw.runtime import Device, combinations


def test_everything(capsys):
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for name in (*algorithms.names(), *schedules.names(), *formats.image_names(), *FRONTIERS):
        assert f"  {name} " in text
    for words in ("Vertex mapping: a lane a vertex", "Compressed sparse rows", ":k=8",
                  "parameters: source", "combinations of algorithm x format x schedule"):
        assert words in text


@pytest.mark.parametrize("what, there, elsewhere", [
    ("algorithms", "pagerank", "weaver"), ("schedules", "weaver", "pagerank"),
    ("formats", ":cluster_bits=16", "pagerank"), ("frontiers", "bytemap", "cluster_bits")])
def test_one_part(capsys, what, there, elsewhere):
    assert main(["list", what]) == 0
    text = capsys.readouterr().out
    assert there in text and elsewhere not in text


def _combinations(tmp_path, *arguments):
    path = tmp_path / "combinations.json"
    assert main(["list", "combinations", *arguments, "--json", str(path)]) == 0
    return json.loads(path.read_text())


def test_combinations(capsys, tmp_path):
    found = _combinations(tmp_path)
    every = found["combinations"]
    assert found["count"] == len(every) == (len(algorithms.names()) * len(formats.image_names())
                                            * len(schedules.names()) * 3 * (len(FRONTIERS) + 1))
    working = [each for each in every if each["works"]]
    assert found["working"] == len(working)
    text = capsys.readouterr().out
    assert f"{len(every)}, of which {len(working)} work" in text
    assert text.count(" works ") == len(working)
    # Whatever the format, CSR works with all that the default hardware has.
    csr = [each for each in every if each["format"] == "csr"
           and each["schedule"] in ("vm", "em", "weaver") and each["direction"] != "auto"
           and each["frontier"] is None]
    assert len(csr) == len(algorithms.names()) * 3 * 2 and all(each["works"] for each in csr)
    assert all((each["reason"] is None) == each["works"] for each in every)


def test_a_combination_is_what_a_run_says(tmp_path):
    """On hardware without a Weaver: its reason is the one that a run gives."""
    found = _combinations(tmp_path, "--set", "weaver=none")
    each = next(each for each in found["combinations"]
                if each["schedule"] == "weaver" and each["format"] == "csr")
    device = Device.functional(preset("default").replace(weaver="none"))
    with pytest.raises(UserError) as error:
        device.run(each["algorithm"], load("karate", weights=3), schedule="weaver",
                   direction=each["direction"])
    assert each["reason"].partition(",")[0] == str(error.value).partition(",")[0]
    assert not any(each["works"] for each in found["combinations"] if each["schedule"] == "weaver")


def test_a_further_axis(monkeypatch):
    before = list(combinations.combinations(preset("tiny")))
    monkeypatch.setitem(combinations.AXES, "split", lambda: ["static", "counter", "no such"])
    after = list(combinations.combinations(preset("tiny")))
    assert len(after) == 3 * len(before)
    assert {each.choice["split"] for each in after if each.reason is None} == {"static", "counter"}


def test_errors(capsys, tmp_path):
    for arguments, words in ((["words"], "there is no list of 'words'; there are algorithms"),
                             (["--json", "list.txt"], "must end in .json"),
                             (["--set", "threads=3"], "threads")):
        assert main(["list", *arguments]) == 2
        text = capsys.readouterr().err
        assert words in text and text.count("\n") == 1
