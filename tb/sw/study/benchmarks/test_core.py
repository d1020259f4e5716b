"""The microbenchmarks run, on a small core, and notice a wrong result."""

import json
import pathlib

import numpy as np
import pytest

from base.errors import RunError
from checks.campaign.machines import CONFIGS
from hw.config import preset
from hw.registers import COUNTERS
from sim.dram import DramConfig
from sim.native import NativeMachine
from sw.compile.asm.assembler import Assembler
from sw.study.benchmarks.core import BENCHMARKS
from sw.cli.main import main
from tb import expected
from tb.told import number


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


@pytest.mark.parametrize("config", [preset("tiny"), preset("baseline"), preset("gpu")],
                         ids=lambda config: config.name)
def test_programs(config):
    """What is measured, word by word; the hardware, what is counted, and the peak."""
    lines, dram = [], DramConfig(bytes_per_cycle=24)
    for name, benchmark in BENCHMARKS.items():
        own, assembler = benchmark.configure(config), Assembler()
        check = benchmark.build(assembler, own)
        assembler.end_warp()
        words = assembler.finish().words
        changed = {field: getattr(own, field) for field in ("cores", "warps", "weaver_entries")
                   if getattr(own, field) != getattr(config, field)}
        counted = benchmark.count({counter: number(counter) for counter in (
            *COUNTERS, "dram_bytes_read", "dram_bytes_written")}, own)
        wrong = check(np.zeros(own.memory_bytes // 4, np.uint32))
        lines.append(f"{name}: {len(words)} words, {expected.digest(list(map(int, words)))}; "
                     f"{changed}; counts {counted}, at most {benchmark.peak(own, dram):g}; "
                     f"{bool(wrong)}")
    expected.check(pathlib.Path(__file__).parent / "core.txt", config.name, "\n".join(lines))


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
