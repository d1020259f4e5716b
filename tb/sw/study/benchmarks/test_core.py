"""The microbenchmarks run, on a small core, and notice a wrong result."""

import json

import pytest

from base.errors import RunError
from checks.campaign.machines import CONFIGS
from sim.native import NativeMachine
from sw.study.benchmarks.core import BENCHMARKS
from sw.cli.main import main


@pytest.mark.parametrize("name", BENCHMARKS)
def test_rates(name, optimized):
    """The rates of each part, also on the smallest core with two warps."""
    benchmark = BENCHMARKS[name]
    config = benchmark.configure(CONFIGS["tiny"])
    with NativeMachine(config) as machine:
        figure = benchmark.measure(machine)
        assert figure == benchmark.measure(machine)        # each measurement begins at power on
    assert 0.05 * figure.peak < figure.rate <= figure.peak
    if name == "gather":
        assert figure.rate > 0.95


def test_a_wrong_result_is_noticed():
    benchmark = BENCHMARKS["atomics"]
    with NativeMachine(CONFIGS["tiny"]) as machine:
        memory = machine.memory
        machine.memory = memory.copy()  # the device still writes to the old array
        with pytest.raises(RunError, match="atomics"):
            benchmark.measure(machine)


def test_command(tmp_path, capsys):
    path = tmp_path / "figures.json"
    assert main(["bench", "core", "alu", "--preset", "tiny", "--json", str(path)]) == 0
    record = json.loads(path.read_text())["benchmarks"]["alu"]
    assert f"{record['rate']:.3f}" in capsys.readouterr().out
    assert main(["bench", "core", "nothing", "--preset", "tiny"]) == 2
    assert "alu, copy, gather, local, atomics" in capsys.readouterr().err
    assert main(["bench", "core", "--preset", "tiny", "--set", "counters=false"]) == 2
