"""Options that become records: machines, targets, outputs and workers; and every option declared.

====================  =================================================================
declared options      test_declared: kind, limits and default of each, in a text
machines              test_words, test_targets, test_boards, test_functional
plans                 test_bare
files                 test_outputs
lists                 test_names, test_numbers, test_seeds, test_once, test_graphs
workers               test_executors
====================  =================================================================
"""

import contextlib
import os
import pathlib
import types

import pytest
import typer

from base.errors import ConfigError, UserError
from hw.config import preset
from sim.dram import DramConfig
from sw.cli import options
from sw.cli.commands import _numbers
from sw.cli.main import app
from sw.cli.records import MachineOptions, Outputs, RunOptions, Workers, given_words
from sw.device import Device
from sw.device.target import Board, Target
from sw.graph.load import GraphSource
from tb import expected


def _declared(command, words):
    """A line for each option and argument of a command and of those below it."""
    for parameter in getattr(command, "params", ()):
        facts = {name: getattr(parameter, name, None) for name in (
            "required", "default", "multiple", "is_flag", "nargs", "metavar", "show_default",
            "rich_help_panel")}
        facts["numbers"] = _numbers(parameter)
        if parameter.name == "jobs" and facts["default"] is not None:
            facts["default"] = "processors"
        facts = {name: value for name, value in facts.items()
                 if value is not None and value is not False}
        yield " ".join([*words, "/".join([*parameter.opts, *parameter.secondary_opts]), *(
            f"{name}={value}" for name, value in facts.items())])
    for name, each in sorted(getattr(command, "commands", {}).items()):
        yield from _declared(each, [*words, name])


def test_declared():
    expected.check(pathlib.Path(__file__).parent / "outputs_options.txt", "options", "\n".join(
        line for line in _declared(typer.main.get_command(app), []) if "--help" not in line))


def test_words():
    assert given_words(a=None, b=False, c=[], d=True, e_f=[1, 2], list_=0, g="") == [
        "--d", "--e-f", "1", "--e-f", "2", "--list", "0", "--g", ""]
    assert MachineOptions().words() == MachineOptions("default").words() == []
    assert MachineOptions("tiny", ["warps=2", "cores=2"], ["latency=9"], launch_cycles=0).words() \
        == ["--preset", "tiny", "--set", "warps=2", "--set", "cores=2", "--dram", "latency=9",
            "--launch-cycles", "0"]


def test_targets():
    found = MachineOptions("tiny", ["warps=4"], ["latency=9"], max_cycles=7,
                           launch_cycles=5).target()
    assert found == Target(preset("tiny").replace(warps=4, name=found.config.name),
                           DramConfig(latency=9), None, False, 7, 5)
    assert MachineOptions(functional=True).target().functional
    assert MachineOptions().config() == preset("default")
    assert MachineOptions().config(preset="fpga") == preset("fpga")
    plans = [types.SimpleNamespace(sides={"push": types.SimpleNamespace(schedule="graphpeg")})]
    assert MachineOptions("tiny").target(plans).config.gather == "graphpeg"
    for limit in (0, -1):
        with pytest.raises(UserError, match=f"--time-limit {limit}: must be above 0"):
            MachineOptions(time_limit=limit).target()
    with pytest.raises(UserError, match="--time-limit applies to boards only"):
        MachineOptions(time_limit=0.5).target()


def test_boards(monkeypatch):
    """A board has its own hardware, unless the user names one."""
    asked = []

    def serial(port, *, baud):
        asked.append((port, baud))
        return contextlib.nullcontext(types.SimpleNamespace(config="its own"))
    monkeypatch.setattr(Device, "serial", serial)
    monkeypatch.setattr("sw.device.target.dram_of", lambda changes, config: None)
    found = MachineOptions(device="serial:/dev/x", max_cycles=3).target()
    assert (found.config, found.board, found.max_cycles) == ("its own", Board("/dev/x"), 3)
    assert asked == [("/dev/x", Board("/dev/x").baud)]
    found = MachineOptions(device="serial:/dev/x@y@9600", time_limit=2.5, set_=["warps=2"]).target()
    assert found.board == Board("/dev/x@y", 9600, 2.5)
    assert found.config.replace(name="fpga", warps=preset("fpga").warps) == preset("fpga")
    assert MachineOptions("tiny", device="serial:a@1073741823").target().config == preset("tiny")
    assert len(asked) == 1
    for device in ("board", "serial", "serial:", "serial:@5", "usb:/dev/x", "serial:a@0",
                   "serial:a@1073741824", "serial:a@x"):
        with pytest.raises(UserError, match=f"--device {device}: must be simulator"):
            MachineOptions(device=device).target()
    for given, more, name in (({"dram": ["latency=9"]}, {}, "dram"),
                              ({"functional": True}, {}, "functional"),
                              ({}, {"wave": "a.vcd", "trace": None}, "wave")):
        with pytest.raises(UserError, match=f"--{name} applies to simulations only"):
            MachineOptions(device="serial:a", **given).target(**more)


def test_functional():
    """What the functional simulator cannot do is refused."""
    for given, more in (({"dram": ["latency=9"]}, {}), ({"max_cycles": 3}, {}),
                        ({"launch_cycles": 0}, {}), ({}, {"phases": True}), ({}, {"wave": "a"})):
        MachineOptions(**given).check(**more)
        name = next(iter({**given, **more})).replace("_", "-")
        with pytest.raises(UserError, match=f"--{name}: the functional simulator"):
            MachineOptions(functional=True, **given).check(**more)
    MachineOptions(functional=True, dram=[]).check(phases=False, wave=None)


def test_machines_as_records():
    config = preset("tiny")
    assert Target(config, functional=True).record() == {"functional": True}
    assert Target(config, functional=True).unit == "instructions"
    assert Target(config).record()["dram"]["latency"] == 100 and Target(config).unit == "cycles"
    assert Target(config, board=Board("/dev/x", 9600)).record() == {
        "board": {"port": "/dev/x", "baud": 9600}}
    assert Target(config, max_cycles=3).on(preset("fpga")) == Target(
        preset("fpga"), Target(config).dram, max_cycles=3)


def test_bare():
    """A plan for machines that choose for themselves."""
    source = GraphSource("karate")
    assert RunOptions("sssp(delta=3)", {}, {"source": "2"}, source).bare("--vm cpu", "cpu").text \
        == "sssp(delta=3,source=2)"
    with pytest.raises(UserError, match="--vm cpu: the plan 'bfs schedule=em' chooses how the "
                                        "device works; only 'bfs' is for cpu"):
        RunOptions("bfs", {"schedule": "em"}, {}, source).bare("--vm cpu", "cpu")


def test_outputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("in.el").write_text("0 1\n")
    Outputs("a.npz", "b.json", "c.vcd", "d.txt").check(["in.el", "karate"])
    with pytest.raises(ConfigError, match=r"'c\.txt': its name must end in \.fst or \.vcd"):
        Outputs(wave="c.txt").check([])
    for outputs, more, words in (
            (Outputs("a.txt"), {}, "npz"), (Outputs(json="in.el"), {}, "is an input as well"),
            (Outputs(wave="no/c.vcd"), {}, "no/c.vcd"),
            (Outputs(json="no/b.json"), {}, "no/b.json"),
            (Outputs("a.npz"), {"--more": "a.npz"}, "--more a.npz: the file is the file of "
             "--output as well"),
            (Outputs(json="x", trace="x"), {}, "--trace x: the file is the file of --json"),
            (Outputs(wave="x.vcd", trace="./x.vcd"), {}, "--trace ./x.vcd")):
        with pytest.raises(UserError) as caught:
            outputs.check(["in.el"], more)
        assert words in str(caught.value)


def test_names():
    assert options.names(" a, b ", "--x") == ["a", "b"]
    for text, legal, words in (("", None, "--x: name at least one"), (" , ", "ab", "one of a, b"),
                               ("a,,b", None, "--x a,,b: there is an empty name between"),
                               ("a,c", "ab", "--x a,c: there is no 'c'; there are a, b"),
                               ("a,b,a", "ab", "--x a,b,a: a is given twice")):
        with pytest.raises(UserError, match=words):
            options.names(text, "--x", legal)


def test_numbers():
    assert options.numbers("0x10, 2", "--x") == [16, 2]
    for text, words in (("1,", "must be numbers, as in 1,2,4"), ("1,1", "1 is given twice")):
        with pytest.raises(UserError, match=f"--x {text}: {words}"):
            options.numbers(text, "--x")


def test_seeds():
    assert options.seeds("1,2147483647") == [1, 2147483647]
    for seed in (0, -1, 2147483648):
        with pytest.raises(UserError, match=f"{seed} is no seed; a seed is a number from 1 to "
                                            "2147483647"):
            options.seeds(f"3,{seed}")


def test_once():
    assert options.once("abc", "here") == ["a", "b", "c"] and options.once([], "here") == []
    with pytest.raises(UserError, match="here: b is given twice"):
        options.once("abcb", "here")


def test_graphs(monkeypatch, tmp_path, capsys):
    (tmp_path / "a.el").write_text("0 1\n")
    path = str(tmp_path / "a.el")
    assert options.graphs(None, None, 7) == [] and options.graphs([], None, 7) == []
    assert options.graphs([path, "karate"], None, 7) == [(path, False), ("karate", False)]
    with pytest.raises(UserError, match="no such graph"):
        options.graphs(["karate", "none"], None, 7)
    monkeypatch.setattr("sw.study.benchmarks.folder.listed", lambda folder, largest: [
        types.SimpleNamespace(path=f"{folder}/{largest}", undirected=undirected)
        for undirected in (False, True)])
    assert options.graphs(["karate"], "of", 7) == [("karate", False), ("of/7", False),
                                                   ("of/7", True)]
    options.note("odd\nword")
    assert capsys.readouterr().err == "graphloom: note: odd word\n"


def test_memory():
    config = preset("tiny")
    assert options.memory(None, config) == DramConfig()
    assert options.memory(["latency=9"], config, "a bench") == DramConfig(latency=9)
    slow = ["slow_bytes_per_cycle=8"]
    assert options.memory(slow, config).has_slow
    with pytest.raises(UserError, match="--dram slow_bytes.*, and a bench has no graph"):
        options.memory(slow, config, "a bench")
    assert options.said(["warps = 2", "cores=3"]) == {"warps", "cores"} and not options.said(None)
    assert options.fields(config)["warps"] == config.warps


def test_executors(monkeypatch, tmp_path):
    """Processes here, or the workers of a cluster, which read the same files."""
    monkeypatch.setattr("sw.study.benchmarks.executors.Processes", lambda jobs: ("here", jobs))
    monkeypatch.setattr("sw.study.cluster.executor.Cluster",
                        lambda place, *, read, note: (place, read, note))
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert Workers(None, None).executor("it") == ("here", 6)
    assert Workers(None, None).executor("it", default=2) == ("here", 2)
    assert Workers(3, None).executor("it", default=2) == ("here", 3)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert Workers(None, None).executor("it") == ("here", 1)
    path = tmp_path / "a.el"
    path.write_text("")
    assert Workers(None, "place").executor("it", read=["karate", str(path)]) == (
        "place", [str(path)], options.note)
    with pytest.raises(UserError, match="--jobs: the workers of a cluster say"):
        Workers(3, "place").executor("it")
    assert options.cluster_place(None, tls_ca=None, tls_cert=None, tls_key=None) is None
    assert options.cluster_place("here:9", tls_ca=None, tls_cert=None, tls_key=None).address
