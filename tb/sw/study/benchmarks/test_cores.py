"""The benchmark of many cores: its runs, and the limit that it reports."""

import json

import pytest

from checks.campaign.machines import CORES
from hw.config import ConfigError, preset
from hw.control import launch_cycles
from sim.dram import DramConfig
from sim.memories import dram_of
from sw.study.benchmarks.batch import total_cycles
from sw.study.benchmarks.cores import LIMITS, grid, in_step, limits
from sw.cli.main import main
from sw.device import Device
from tb.sw.graphs import random_graph


def test_cases():
    found = grid({"graph": [("karate", False)], "algorithm": ["pagerank", "bfs"],
                  "schedule": ["vm", "weaver"], "split": ["static", "counter"]}, 3).cases
    assert len(set(found)) == len(found) == 8
    assert {(case.plan.algorithm, case.plan.direction) for case in found} == {
        ("pagerank", "pull"), ("bfs", "push")}
    assert all(dict(case.plan.parameters) in ({"iterations": 3}, {"source": "hub"})
               for case in found)


def test_limits_are_shares_of_what_there_is():
    config = CORES["pair"]
    with Device.simulate(config) as device:
        counters = device.run("pagerank", random_graph(60, 400, 3), iterations=1).counters
    shares = limits(counters, config, DramConfig())
    assert list(shares) == list(LIMITS)
    assert all(0 <= share <= 1 for share in shares.values())
    # If each line takes one more cycle, the bus is busier in proportion.
    narrow = limits(counters, config, DramConfig(bytes_per_cycle=8))
    assert narrow["DRAM"] == pytest.approx(2 * shares["DRAM"])
    # Slow lines take another bus.
    slow = counters | {f"slow_bytes_{way}": counters[f"dram_bytes_{way}"]
                       for way in ("read", "written")}
    assert limits(slow | {"slow_bytes_written": 0}, config, DramConfig())["DRAM"] == pytest.approx(
        shares["DRAM"] * counters["dram_bytes_written"]
        / (counters["dram_bytes_read"] + counters["dram_bytes_written"]))
    assert limits(slow, config, DramConfig())["DRAM"] == 0


@pytest.mark.parametrize("cores, banks, ports, size, ratio", [
    (1, 1, 1, 1 << 17, "25/8"), (2, 2, 1, 1 << 18, "25/16"), (16, 16, 8, 1 << 21, "25/16")])
def test_in_step(cores, banks, ports, size, ratio):
    """A core of preset ``gpu`` has a bank, half a port and 128 KiB; a port has a channel."""
    gpu = preset("gpu")
    config, dram = in_step(gpu, dram_of({}, gpu), cores)
    assert config == gpu.replace(cores=cores, l2_banks=banks, memory_ports=ports, l2_bytes=size,
                                 name="gpu")
    assert dram == dram_of({"ratio": ratio}, gpu)
    assert dram.peak_bytes(config) == pytest.approx(0.16 * 32 * cores)


def test_in_step_not_legal():
    with pytest.raises(ConfigError, match="l2_bytes = 393216: must be 0 or a power of two"):
        in_step(preset("gpu"), DramConfig(), 3)


def _with(command, option, value):
    """A command line with a different value of an option."""
    if option not in command:
        return [*command, option, value]
    place = command.index(option)
    return [*command[:place + 1], value, *command[place + 2:]]


def test_command(tmp_path, capsys):
    path = tmp_path / "figures.jsonl"
    command = ["bench", "cores", "karate", "--preset", "tiny", "--cores", "1,2", "--schedules",
               "weaver", "--algorithms", "bfs", "--jobs", "1", "--results", str(path)]
    assert main(command) == 0
    lines = path.read_text().splitlines()
    cost = launch_cycles(preset("tiny"))
    cycles = {(json.loads(json.loads(line)["key"])[1]["cores"], json.loads(line)["case"]["split"]):
              total_cycles(json.loads(line), cost) for line in lines}
    assert set(cycles) == {(1, "static"), (2, "static"), (1, "counter"), (2, "counter")}
    table = capsys.readouterr().out
    for split in ("static", "counter"):
        assert f"{cycles[1, split] / cycles[2, split]:.2f}x" in table
    assert main(command) == 0                       # all runs are in the file
    assert path.read_text().splitlines() == lines
    for option, message in (("--cores", "must be numbers"), ("--splits", "static, counter")):
        assert main(_with(command, option, "many")) == 2
        assert message in capsys.readouterr().err
    assert main([*command, "--in-step"]) == 0       # one core is as before, two have more
    assert len(path.read_text().splitlines()) == 6
    assert main(_with(command, "--cores", "17")) == 2
    assert "cores = 17: must be 1 to 16" in capsys.readouterr().err


def test_folder(tmp_path, capsys):
    """A folder's graphs up to ``--largest`` edges; one listed as undirected has both arcs."""
    for name, arcs in (("few", "0 1\n1 2\n"), ("many", "0 1\n1 2\n2 3\n")):
        (tmp_path / f"{name}.el").write_text(arcs)
    (tmp_path / "MANIFEST.tsv").write_text(
        "file\tdirected\tweighted\tedges\nfew.el\tno\tno\t2\nmany.el\tyes\tno\t3\n")
    path = tmp_path / "figures.jsonl"
    command = ["bench", "cores", "--folder", str(tmp_path), "--largest", "2", "--preset", "tiny",
               "--cores", "1", "--schedules", "vm", "--splits", "static", "--algorithms", "bfs",
               "--jobs", "1", "--results", str(path)]
    assert main(command) == 0
    record, = map(json.loads, path.read_text().splitlines())
    assert (record["case"]["undirected"], record["arcs"], record["verified"]) == (True, 4, True)
    assert main(_with(command, "--folder", str(tmp_path / "nowhere"))) == 2
    assert "MANIFEST.tsv" in capsys.readouterr().err
