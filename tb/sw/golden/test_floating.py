"""Floating-point instructions of the simulator: the right operation, lanes, flags and modes.

The arithmetic itself is compared with SoftFloat in tb/hw/float/test_floats.py.
"""

import struct

import pytest

from hw.isa import INSTRUCTIONS, Cause, Csr, encode
from sw.golden.floating import BY_ZERO, INEXACT, INVALID
from sw.golden.simulator import CoreError, Simulator
from tb.sw.golden.test_simulator_instructions import CONFIG


FLOATS = CONFIG.replace(float="full")
ONE, TWO, THREE, MINUS_TWO, NAN = 0x3F80_0000, 0x4000_0000, 0x4040_0000, 0xC000_0000, 0x7FC0_0000


def word(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def started(*words, config=FLOATS):
    """A simulator with 1.0, -2.0 and 3.0 in all lanes of x1, x2 and x3 of both warps."""
    simulator = Simulator(config)
    simulator.load_program([*words, encode("tmc")])
    simulator.start(0)
    simulator.registers[:, 1], simulator.registers[:, 2] = ONE, MINUS_TWO
    simulator.registers[:, 3] = THREE
    return simulator


#: Of 1.0, -2.0 and 3.0.
RESULTS = {
    "fmadd.s": word(1.0), "fmsub.s": word(-5.0), "fnmsub.s": word(5.0), "fnmadd.s": word(-1.0),
    "fadd.s": word(-1.0), "fsub.s": word(3.0), "fmul.s": word(-2.0), "fdiv.s": word(-0.5),
    "fsqrt.s": word(1.0), "fsgnj.s": word(-1.0), "fsgnjn.s": word(1.0), "fsgnjx.s": word(-1.0),
    "fmin.s": word(-2.0), "fmax.s": word(1.0), "fle.s": 0, "flt.s": 0, "feq.s": 0,
    "fclass.s": 1 << 6, "fcvt.w.s": 1, "fcvt.wu.s": 1, "fcvt.s.w": word(float(ONE)),
    "fcvt.s.wu": word(float(ONE)),
}


@pytest.mark.parametrize("row", [row for row in INSTRUCTIONS if row.is_float],
                         ids=lambda row: row.name)
def test_each_instruction(row):
    sources = {f"rs{source}": int(source) for source in row.reads}
    simulator = started(encode(row.name, rd=4, **sources))
    assert simulator.step(0).values == (RESULTS[row.name],) * 4
    assert simulator.warps[0].fcsr == 0
    simulator = started(encode(row.name, rd=4, **sources), config=CONFIG)
    with pytest.raises(CoreError) as caught:
        simulator.step(0)
    assert caught.value.cause == Cause.ILLEGAL


def test_only_active_lanes_write_and_raise_flags():
    simulator = started(encode("fdiv.s", rd=4, rs1=1, rs2=2))
    simulator.set_mask(simulator.warps[0], 0b0110)
    simulator.registers[0, 2] = [0, THREE, MINUS_TWO, NAN - 1]
    simulator.registers[0, 4] = 7
    assert simulator.step(0).values == (7, word(1 / 3), word(-0.5), 7)
    assert simulator.warps[0].fcsr == INEXACT and simulator.warps[1].fcsr == 0


def test_flags_gather_also_without_a_destination():
    simulator = started(encode("fdiv.s", rd=0, rs1=1, rs2=0), encode("fsqrt.s", rd=0, rs1=2),
                        encode("csrrwi", rd=4, imm=0, csr=Csr.FFLAGS),
                        encode("csrrs", rd=5, csr=Csr.FFLAGS))
    for _ in range(3):
        commit = simulator.step(0)
    assert commit.values == (BY_ZERO | INVALID,) * 4
    assert simulator.step(0).values == (0,) * 4


def test_rounding_modes():
    """A mode of the instruction, and that of FRM; the reserved modes round to nearest."""
    third = encode("fdiv.s", rd=4, rs1=1, rs2=3)
    simulator = started(encode("fdiv.s", rd=4, rs1=1, rs2=3, rm=3), encode("csrrwi", imm=1,
                        csr=Csr.FRM), third, encode("csrrwi", imm=3, csr=Csr.FRM), third,
                        encode("csrrwi", imm=5, csr=Csr.FRM), third)
    up, down = word(1 / 3), word(1 / 3) - 1
    found = [simulator.step(0).values for _ in range(7)]
    assert found[::2] == [(value,) * 4 for value in (up, down, up, up)]


def test_fields_of_the_fcsr():
    simulator = started(encode("csrrw", rd=4, rs1=5, csr=Csr.FCSR),
                        encode("csrrs", rd=4, csr=Csr.FRM), encode("csrrs", rd=4, csr=Csr.FFLAGS),
                        encode("csrrci", rd=4, imm=2, csr=Csr.FRM),
                        encode("csrrsi", rd=4, imm=4, csr=Csr.FFLAGS),
                        encode("csrrs", rd=4, csr=Csr.FCSR))
    simulator.registers[0, 5] = 0xFFFF_FF00 | 0b011_10001
    found = [simulator.step(0).values[0] for _ in range(6)]
    assert found == [0, 0b011, 0b10001, 0b011, 0b10001, 0b001_10101]
    simulator.start(0)
    assert simulator.warps[0].fcsr == 0
