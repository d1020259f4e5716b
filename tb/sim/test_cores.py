"""The native machine with several cores. Each core is a model of its own.

====================  ==========================================================
threads               test_threads_change_nothing
errors                test_assertion_in_a_core, test_path_through_the_gpu
waves                 test_wave
====================  ==========================================================

Programs on several cores are tested in tb/programs/test_cores.py.
"""

import re

import numpy as np
import pytest

from base.output import Output
from hw.config import preset
from hw.isa import Csr, encode
from sim import build
from sim.dram_device import DramDevice
from sim.errors import SimulationError
from sim.native import NativeMachine


CONFIG = preset("tiny").replace(name="pair", cores=2)

#: A small configuration, for tests that have to build once more.
SMALL = CONFIG.replace(name="small", warps=1, threads=1, gather="none", divider="none")
GLOBAL = 0x8000_0000
END = encode("tmc", rs1=0)

#: Every lane of every core adds its core's number + 1, again and again, to the word at the address
#: in the argument.
ADD = [
    encode("csrrs", rd=1, csr=Csr.MSCRATCH, rs1=0),
    encode("csrrs", rd=2, csr=Csr.CORE_ID, rs1=0),
    encode("addi", rd=2, rs1=2, imm=1),
    encode("addi", rd=3, rs1=0, imm=500),
    encode("amoadd.w", rd=4, rs1=1, rs2=2),
    encode("addi", rd=3, rs1=3, imm=-1),
    encode("bne", rs1=3, rs2=0, imm=-8),
    END,
]


def observe(threads):
    """Everything that can be observed of a run."""
    with NativeMachine(CONFIG, DramDevice.of("hbm2", channels=2), threads=threads) as machine:
        assert machine.threads == min(threads, 2)
        machine.load_program(ADD)
        for launch in range(2):
            machine.launch(0, GLOBAL + 64 * launch)
        machine.flush()
        words = machine.memory.view(np.uint32)
        assert words[0] == words[16] == 500 * 8 * (1 + 2)
        return machine.cycles, machine.core_counters(), machine.counters(), \
            machine.phase_cycles().tolist()


def test_threads_change_nothing():
    # The run is long enough that the threads try both ways of working.
    alone = observe(1)
    assert alone[0] > 10_000
    assert observe(2) == alone
    assert observe(3) == alone


def changed(part, old, new):
    """The Verilog, with a change in the GPU (0) or the core (1)."""
    texts = list(build.gpu_verilog(SMALL))
    texts[part], count = re.subn(old, new, texts[part], count=1)
    assert count == 1
    return tuple(texts)


@pytest.mark.parametrize("threads", (1, 2))
def test_assertion_in_a_core(threads):
    verilog = changed(1, r"(?s)(\nmodule graphloom_core\(.*?\n)(endmodule)",
                      r'\1always @(posedge clk) if (launch) begin\n'
                      r'$write("core %d failed", number);\nassert (!number);\nend\n\2')
    with NativeMachine(SMALL, verilog=verilog, threads=threads) as machine:
        machine.load_program([END])
        with pytest.raises(SimulationError, match="core 1 failed") as caught:
            machine.launch(0, GLOBAL)
        assert caught.value.kind == "assertion"
        assert "core 0" not in str(caught.value)


def test_path_through_the_gpu():
    """The inputs of a core may not depend on the core's outputs of the same cycle."""
    verilog = changed(0, r"(?s)(\nmodule graphloom_gpu\(.*?)\.core_0__halt\(core_0__halt\)"
                      r"(.*?\n)(endmodule)",
                      r"\1.core_0__halt()\2assign core_0__halt = core_1__busy;\n\3")
    with pytest.raises(SimulationError, match="core 0: halt depends on what the cores do"):
        NativeMachine(SMALL, verilog=verilog)    # the cores are busy after reset


def test_wave(tmp_path):
    path = tmp_path / "out.vcd"
    with NativeMachine(SMALL, wave=Output(path)) as machine:
        machine.load_program([END])
        machine.launch(0, GLOBAL)
        end = machine.cycles
    text = path.read_text()
    assert [name for name in ("gpu", "core_0", "core_1")
            if re.search(rf"\$scope module {name} \$end", text)] == ["gpu", "core_0", "core_1"]
    times = [int(time) for time in re.findall(r"(?m)^#(\d+)$", text)]
    assert times == sorted(set(times)) and times[-1] == 10 * end
