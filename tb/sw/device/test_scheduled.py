"""Schedules of the scheduling language as plans (sw.compile.scheduled).

==================  ===============================================================
each choice         test_choices
whole runs          test_runs: each is compared with the interpreter
command line        test_apply
refused             test_refused
==================  ===============================================================
"""

import pytest

from base.errors import UserError
from hw.config import preset
from sw.cli.main import main
from sw.graph import load
from sw.lang import programs
from sw.lang.schedule import read_schedules
from sw.device import Device
from sw.compile.plan import Plan
from sw.compile.scheduled import scheduled


def plan(name, *texts, **given):
    return scheduled(Plan(name, **given), programs.find(name), read_schedules(list(texts)))


@pytest.mark.parametrize("name, texts, wanted", [
    ("bfs", ["s0:s1=vertex_based,push"], "bfs schedule=vm direction=push"),
    ("bfs", ["s0:s1=edge_only"], "bfs schedule=em"),
    ("sssp", ["s0:s1=cm,unfused_bitmap,no_dedup"],
     "sssp schedule=cm frontier=bitmap deduplicate=no"),
    ("sssp", ["s0:s1=wm,fused,dedup", "s0=delta:8"],
     "sssp(delta=8) schedule=wm frontier=queue deduplicate=yes"),
    ("bfs", ["s0:s1=strict,unfused_boolmap", "s0=fusion"],
     "bfs schedule=strict frontier=bytemap fusion=yes"),
    ("pagerank", ["s0:s1=etwc:blocked:64,pull"],
     "pagerank schedule=etwc format=csr:block=64 direction=pull"),
    ("bfs", ["s0:s1=twc,push | vertex_based,pull when input_vertexset_size>=0.15"],
     "bfs schedule=twc direction=push | bfs schedule=vm direction=pull when frontier>=0.15"),
    ("label_propagation", ["s0:s1=edge_only,pull"], "label_propagation schedule=em direction=pull"),
    ("bc", ["s0:s1=push", "s2:s3=pull,edge_only"],
     "bc s0:s1.direction=push s2:s3.schedule=em s2:s3.direction=pull"),
])
def test_choices(name, texts, wanted):
    assert plan(name, *texts).text == Plan.parse(wanted).text


def test_runs():
    graph = load("rmat:scale=6,degree=4,seed=3,weights=20")
    for name, texts in (
            ("bfs", ["s0:s1=twc,push | vertex_based,pull when input_vertexset_size>=0.1"]),
            ("bfs", ["s0:s1=wm,push,unfused_bitmap", "s0=fusion"]),
            ("sssp", ["s0:s1=wm,push,fused,dedup", "s0=delta:8"]),
            ("pagerank", ["s0:s1=etwc:blocked:16,pull"]), ("cc", ["s0:s1=cm,push"]),
            ("bc", ["s0:s1=twc,push", "s2:s3=edge_only,pull"])):
        with Device.functional(preset("tiny")) as device:
            assert device.run(plan(name, *texts), graph).verified


def test_apply(capsys, tmp_path):
    small, record = ["--preset", "tiny"], tmp_path / "run.json"
    assert main(["run", "bfs", "karate", *small, "--apply", "s0:s1=edge_only,pull", "--json",
                 str(record)]) == 0
    capsys.readouterr()
    assert "schedule=em direction=pull" in record.read_text()
    assert main(["run", "bfs", "karate", *small, "--apply", "s0:s1=wm", "--schedule", "vm"]) == 2
    assert "leave out --schedule vm" in capsys.readouterr().err
    assert main(["run", "gcn", "karate", *small, "--apply", "s0:s1=wm"]) == 2
    assert "gcn is no program of the language" in capsys.readouterr().err


@pytest.mark.parametrize("name, texts, message", [
    ("bfs", ["s9=push"], "no label 's9'"),
    ("bfs", ["s0:s1=push,dedup:bitmap"], "no choice of how vertices are known"),
    ("bfs", ["s0:s1=pull:bitmap"], "no choice of the form of the set that is pulled from"),
    ("bfs", ["s0:s1=push | pull when input_vertexset_size>=argv[3]"], "a number in place of argv"),
    ("bc", ["s0=fusion", "s2=no_fusion"], "under one plan, whose fusion is"),
    ("pagerank", ["s0=fusion"], "cannot be one kernel"),
])
def test_refused(name, texts, message):
    with pytest.raises(UserError, match=message):
        plan(name, *texts)
