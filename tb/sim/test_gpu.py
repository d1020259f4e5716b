"""The native machine with the real GPU, on programs of a few words.

====================  ==========================================================
launch                test_every_warp_stores, test_power_on_repeats
errors                test_errors, test_limit
waves                 test_wave
====================  ==========================================================
"""

import numpy as np
import pytest

from base.output import Output
from hw.config import preset
from hw.isa import Csr, encode
from hw.registers import CORE_COUNTERS
from sim.errors import SimulationError
from sim.native import NativeMachine


CONFIG = preset("tiny")
GLOBAL = 0x8000_0000
END = encode("tmc", rs1=0)

#: Every warp and lane stores its number, 4 x warp + lane, at its place in the argument's array.
STORE = [
    encode("csrrs", rd=1, csr=Csr.MSCRATCH, rs1=0),
    encode("csrrs", rd=2, csr=Csr.WARP_ID, rs1=0),
    encode("csrrs", rd=3, csr=Csr.THREAD_ID, rs1=0),
    encode("slli", rd=2, rs1=2, imm=2),
    encode("add", rd=2, rs1=2, rs2=3),
    encode("slli", rd=3, rs1=2, imm=2),
    encode("add", rd=1, rs1=1, rs2=3),
    encode("sw", rs1=1, rs2=2, imm=0),
    END,
]


@pytest.fixture
def machine():
    with NativeMachine(CONFIG) as machine:
        yield machine


def test_every_warp_stores(machine):
    machine.memory[:] = 0xFF
    machine.load_program([END, *STORE])
    machine.launch(4, GLOBAL + 64)
    machine.flush()
    words = machine.memory.view(np.uint32)
    assert (words[16:24] == np.arange(8)).all()
    assert (words[:16] == 0xFFFF_FFFF).all() and (words[24:] == 0xFFFF_FFFF).all()
    assert machine.counters()["instructions"] == 2 * len(STORE)


def test_power_on_repeats(machine):
    results = []
    for _ in range(3):
        machine.power_on()
        machine.load_program(STORE)
        for _ in range(2):
            machine.launch(0, GLOBAL)
        machine.flush(invalidate=True)
        results.append(machine.counters())
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("words, text", [
    ([0], "at PC 0x00000000: illegal instruction, or the configuration lacks the "
          "instruction's unit (0x00000000)"),
    ([encode("lw", rd=1, rs1=0, imm=0)], "a load from an unmapped address (address "
                                         "0x00000000)"),
    ([encode("ecall")], "at PC 0x00000000: ECALL"),
])
def test_errors(machine, words, text):
    machine.load_program(words)
    with pytest.raises(SimulationError) as caught:
        machine.launch(0, 0)
    assert caught.value.kind == "device"
    assert str(caught.value).startswith("core 0, warp ") and str(caught.value).endswith(text)
    machine.load_program([END])
    machine.launch(0, 0)


def test_limit(machine):
    machine.load_program([encode("jal", rd=0, imm=0)])
    with pytest.raises(SimulationError, match="after 1000 cycles") as caught:
        machine.launch(0, 0, max_cycles=1000)
    # A counter is brought up to date in its turn, at most so many cycles later.
    late = len(CORE_COUNTERS) + 2
    assert 1000 - late <= caught.value.counters["cycles"] <= 1060
    machine.load_program(STORE)
    machine.launch(0, GLOBAL)
    machine.flush()
    assert (machine.memory.view(np.uint32)[:8] == np.arange(8)).all()


@pytest.mark.parametrize("name", ["out.vcd", pytest.param("out.fst", marks=pytest.mark.full)])
def test_wave(tmp_path, name):
    # The build of tb/cli/test_runs.py.
    config, cycles = preset("tiny").replace(trace=True), []
    for wave in (None, Output(tmp_path / name)):
        with NativeMachine(config, wave=wave) as machine:
            machine.load_program(STORE)
            machine.launch(0, GLOBAL)
            cycles.append(machine.counters()["cycles"])
    assert cycles[0] == cycles[1]
    assert (tmp_path / name).stat().st_size > 10_000
