"""The decoder against the instruction table.

====================  ==========================================================
every row             each_row: all operand fields, random
illegal words         random_words: also words one bit away from a legal word
a unit is absent      both, without Weaver, with EGHW, without divider, with floats
====================  ==========================================================
"""

import random

import cocotb
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cocotb.triggers import Timer

from hw.config import preset
from hw.core.decode import Decoder, Predecoder, decoded_layout
from hw.isa import FLOAT_CSRS, INSTRUCTIONS, Cause, Csr, decode
from hw.operations import AluOp, Format, Unit, WarpOp
from tb import runner
from tb.clocking import integer
from tb.streams import unpack


class Both(wiring.Component):
    """Both steps of decoding, one behind the other."""
    def __init__(self, config):
        self._config = config
        super().__init__({"word": In(32), "decoded": Out(decoded_layout(config))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.predecoder = predecoder = Predecoder(self._config)
        m.submodules.decoder = decoder = Decoder(self._config)
        m.d.comb += [
            predecoder.word.eq(self.word), decoder.predecoded.eq(predecoder.predecoded),
            self.decoded.eq(decoder.decoded),
        ]
        return m


def sign(value, bits):
    """``bits`` wide two's complement as a 32-bit word."""
    return (value - (1 << bits) if value >> bits - 1 else value) & 0xFFFF_FFFF


def immediate(row, word):
    """The immediate operand, as the RISC-V specification draws it; None if there is none."""
    def bits(high, low):
        return word >> low & (1 << high - low + 1) - 1
    match row.format:
        case Format.I:
            return sign(bits(31, 20), 12)
        case Format.SH:
            return bits(24, 20)
        case Format.S:
            return sign(bits(31, 25) << 5 | bits(11, 7), 12)
        case Format.B:
            return sign(bits(31, 31) << 12 | bits(7, 7) << 11 | bits(30, 25) << 5
                        | bits(11, 8) << 1, 13)
        case Format.U:
            return bits(31, 12) << 12
        case Format.J:
            return sign(bits(31, 31) << 20 | bits(19, 12) << 12 | bits(20, 20) << 11
                        | bits(30, 21) << 1, 21)
        case Format.AMO:
            return 0
    return None


def expected(row, word):
    """The fields that matter for a word that encodes the instruction of a row."""
    rd, rs1, rs2, rs3 = (word >> shift & 31 for shift in (7, 15, 20, 27))
    imm = immediate(row, word)
    needs = {rd} if row.writes else set()
    needs |= {register for source, register in (("1", rs1), ("2", rs2), ("3", rs3))
              if source in row.named}
    fields = {
        "unit": row.unit.value, "op": row.op.value, "branch": row.branch,
        "writes": int(row.writes and rd != 0),
        # What has no result but flags keeps its warp from fetching.
        "changes": int(row.control or (row.is_float and rd == 0)),
        "needs": sum(1 << register for register in needs - {0}),
        "rd": rd, "rs1": rs1, "rs2": rs2, "rs3": rs3,
        "imm": word if imm is None else imm, "csr": word >> 20,
    }
    if row.format in (Format.CSR, Format.CSI) and word >> 20 in FLOAT_CSRS:
        fields["needs"] = 0xFFFF_FFFE
    if row.unit in (Unit.ALU, Unit.BRANCH):
        # A branch compares registers; its immediate goes to the PC.
        fields["use_imm"] = int(row.format is Format.CSI
                                or (imm is not None and row.format is not Format.B))
    if "d" in row.reads or row.unit is Unit.ALU:
        fields["rs3"] = rd
    if row.unit is Unit.FLOAT and "3" not in row.reads:
        fields["rs3"] = rs2 if "2" in row.reads else rs1
    if row.unit is Unit.LSU:
        fields |= {"size": row.size, "signed": int(row.signed),
                   "once": int(row.once)}
    if row.amo is not None:
        fields["amo"] = row.amo
    if row.op is WarpOp.TRAP:
        fields["csr"] = Cause.ECALL if row.name == "ecall" else Cause.BREAKPOINT
    return fields


def forbidden(config, row, word):
    """Whether an instruction accesses a CSR in a way that is not legal."""
    if row.format not in (Format.CSR, Format.CSI):
        return False
    writes, csr = row.op is AluOp.CSRRW or word >> 15 & 31, word >> 20
    floats = set(FLOAT_CSRS) if config.floats else set()
    return (csr not in set(Csr) - set(FLOAT_CSRS) | floats
            or (writes and csr not in {Csr.PHASE} | floats))


def expected_illegal(word):
    return {"unit": Unit.WARP.value, "op": WarpOp.TRAP.value, "csr": Cause.ILLEGAL, "imm": word,
            "changes": 1, "writes": 0, "needs": 0}


async def check(dut, word):
    """Decode a word and compare with the table. Returns whether it is legal."""
    row = decode(word)
    absent, unit, floats = (runner.parameters()[name] for name in ("absent", "unit", "float"))
    config = configuration(absent, unit, floats)
    if row is not None and ((absent and row.unit is Unit[absent] and not row.is_float)
                            or (row.is_float and floats == "none") or forbidden(config, row, word)
                            or (row.variants and unit not in row.variants)):
        row = None
    dut.word.value = word
    await Timer(1, "ns")
    decoded = unpack(decoded_layout(config), integer(dut.decoded))
    want = expected(row, word) if row is not None else expected_illegal(word)
    got = {name: decoded[name] for name in want}
    got["unit"] = getattr(got["unit"], "value", got["unit"])
    assert got == want, f"{word:#010x} ({row and row.name}): got {got}, expected {want}"
    return row is not None


@cocotb.test()
async def each_row(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    for row in INSTRUCTIONS:
        for operands in (0, 0xFFFF_FFFF, *(rng.getrandbits(32) for _ in range(30))):
            await check(dut, row.match | operands & ~row.mask)


@cocotb.test()
async def csrs(dut):
    """Each CSR and its neighbours, read and written in every way."""
    for row in INSTRUCTIONS:
        if row.format in (Format.CSR, Format.CSI):
            legal = [await check(dut, row.match | number << 20 | source << 15 | 5 << 7)
                     for csr in Csr for number in (csr, csr ^ 1, csr ^ 1 << 11)
                     for source in (0, 1, 31)]
            assert any(legal) and not all(legal)


@cocotb.test()
async def random_words(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    legal = 0
    words = [0, 0xFFFF_FFFF, 0x0000_0001, *(rng.getrandbits(32) for _ in range(2000))]
    for row in INSTRUCTIONS:
        words += [row.match ^ 1 << bit for bit in range(32) if row.mask >> bit & 1]
        words += [(row.match | rng.getrandbits(32) & ~row.mask) ^ 1 << rng.randrange(32)
                  for _ in range(20)]
    for word in words:
        legal += await check(dut, word)
    assert 0 < legal < len(words)


def configuration(absent, unit, floats):
    return preset("tiny").replace(gather=unit, float=floats,
                                  **{"divider": "none"} if absent == "DIV" else {})


@pytest.mark.parametrize("absent, unit, floats", [
    (None, "fsm", "none"), (None, "eghw", "full"), ("GATHER", "none", "none"),
    ("DIV", "fsm", "half")])
@pytest.mark.sample(2)
def test_decoder(simulator, absent, unit, floats):
    runner.run_bench(Both(configuration(absent, unit, floats)), "decoder", __name__,
                     simulator=simulator,
                     parameters={"absent": absent, "unit": unit, "float": floats})
