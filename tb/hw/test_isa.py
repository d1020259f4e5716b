"""The instruction table: comparison with published encodings; encode, decode and operands."""

import enum

import pytest
from hypothesis import example, given, settings, strategies as st

from hw import operations
from hw.config import LEGAL
from hw.isa import (BY_NAME, CAUSE_DOCS, CSR_DOCS, INSTRUCTIONS, PHASES, UNMAPPED, Cause, Csr,
                    MemoryMap, decode, encode)
from hw.operations import AluOp, Format, Unit
from hw.disassembler import REGISTER_NAMES, disassemble, operands


registers = st.integers(0, 31)

#: Immediates that :func:`hw.isa.encode` takes, by format.
IMMEDIATES = {
    Format.I: st.integers(-2048, 2047),
    Format.S: st.integers(-2048, 2047),
    Format.SH: st.integers(0, 31),
    Format.B: st.integers(-2048, 2047).map(lambda n: 2 * n),
    Format.J: st.integers(-(1 << 19), (1 << 19) - 1).map(lambda n: 2 * n),
    Format.U: st.integers(0, (1 << 20) - 1),
    Format.CSI: st.integers(0, 31),
}


@st.composite
def instructions(draw, rows=INSTRUCTIONS):
    """A row of the table, and operands for the row as keywords of encode."""
    row = draw(st.sampled_from(rows))
    given = {}
    if row.writes:
        given["rd"] = draw(registers)
    for key in row.named.replace("d", ""):
        given[f"rs{key}"] = draw(registers)
    if row.format in IMMEDIATES and row.name != "fence":
        given["imm"] = draw(IMMEDIATES[row.format])
    if row.format in (Format.CSR, Format.CSI):
        given["csr"] = draw(st.integers(0, 0xFFF))
    if row.rounds:
        given["rm"] = draw(st.sampled_from([mode.value for mode in operations.RoundingMode]))
    return row, given


def test_table_is_consistent():
    assert len(BY_NAME) == len(INSTRUCTIONS)
    for row in INSTRUCTIONS:
        assert row.match & ~row.mask == 0, row.name
        assert row.doc and set(row.reads) <= set("123d")
        assert decode(row.match) is row
    assert set(CAUSE_DOCS) == set(Cause) and set(CSR_DOCS) == set(Csr) and len(PHASES) == 6


def test_operations_have_codes_of_their_own():
    """No two members of an enumeration have the same value."""
    kinds = [kind for kind in vars(operations).values()
             if isinstance(kind, type) and issubclass(kind, enum.Enum)]
    assert {AluOp, Unit} <= set(kinds)
    for kind in kinds:
        assert [member.name for member in kind] == list(kind.__members__)


def test_destinations():
    second = operands(encode("weaver.dec", rd=10, rs2=11))
    assert second.destinations == (10, 11)
    assert operands(encode("weaver.dec", rd=0, rs2=11)).destinations == (0, 11)
    assert operands(encode("weaver.dec", rd=10, rs2=0)).destinations == (10, 0)
    assert operands(encode("weaver.dec", rd=10, rs2=10)).destinations == (10, 0)
    assert operands(encode("add", rd=10, rs1=11, rs2=12)).destinations == (10, 0)
    assert operands(encode("sw", rs1=11, rs2=12)).destinations == (0, 0)


def test_instructions_with_two_destinations():
    """No source is written. The core fetches nothing behind such an instruction until it has
    resumed the warp, and the scoreboard relies on this."""
    for row in INSTRUCTIONS:
        assert not row.writes_rs2 or (row.writes and row.control and "2" not in row.reads), row.name


def test_no_configuration_maps_the_unmapped_word():
    for first, sizes in ((MemoryMap.GLOBAL, "memory_bytes"), (MemoryMap.LOCAL, "local_bytes"),
                         (MemoryMap.INSTRUCTION, "imem_bytes")):
        largest = first + LEGAL[sizes].values[-1]
        assert largest <= 1 << 32 and not first <= UNMAPPED < largest
    assert not UNMAPPED % 4


def test_no_two_rows_match_the_same_word():
    for i, one in enumerate(INSTRUCTIONS):
        for other in INSTRUCTIONS[:i]:
            assert (one.match ^ other.match) & one.mask & other.mask, (one.name, other.name)


@settings(max_examples=400, deadline=None)
@given(instructions())
def test_encode_and_operands_are_inverse(case):
    row, given = case
    word = encode(row.name, **given)
    assert 0 <= word < 1 << 32 and decode(word) is row
    fields = operands(word)
    assert fields.row is row
    for key, value in given.items():
        assert getattr(fields, key) == value, key


@settings(max_examples=400, deadline=None)
@given(st.integers(0, (1 << 32) - 1))
@example(0x00010F0F)                     # FENCE, whose operands are ignored
@example(0xFFFF8F8F)
def test_any_word_decodes_to_what_encodes_to_it(word):
    fields = operands(word)
    if fields is None:
        assert decode(word) is None and disassemble(word) == f".word {word:#010x}"
        return
    row = fields.row
    again = encode(row.name, rd=fields.rd if row.writes else 0, rs1=fields.rs1, rs2=fields.rs2,
                   rs3=fields.rs3, imm=fields.imm, csr=fields.csr, rm=fields.rm)
    ignored = 0x3 << 25 if row.format is Format.AMO else ~row.mask if row.name == "fence" else 0
    assert again == word & ~ignored


#: A word of each instruction, from sources other than the table.
KNOWN_WORDS = [
    # Standard RISC-V, worked out by hand from the specification's bit layouts.
    ("addi a0, a1, -1", 0xFFF58513), ("lui t0, 0x80000", 0x800002B7),
    ("add a0, a1, a2", 0x00C58533),
    ("sub s1, s2, s3", 0x413904B3), ("srai t6, t5, 31", 0x41FF5F93), ("lw a5, 8(sp)", 0x00812783),
    ("lbu a5, -1(a4)", 0xFFF74783), ("sw ra, 12(sp)", 0x00112623), ("sb t1, -3(t2)", 0xFE638EA3),
    ("beq a0, a1, 0x110", 0x00B50863), ("bne a0, zero, 0xfc", 0xFE051EE3),
    ("jal ra, 0x900", 0x001000EF), ("jalr zero, 0(ra)", 0x00008067),
    ("mulhu a0, a1, a2", 0x02C5B533), ("amoadd.w a0, a2, (a1)", 0x00C5A52F),
    ("amomaxu.w zero, t0, (s0)", 0xE054202F), ("fence", 0x0000000F), ("ecall", 0x00000073),
    ("div a0, a1, a2", 0x02C5C533), ("divu t0, t1, t2", 0x027352B3),
    ("rem s0, s1, a0", 0x02A4E433), ("remu zero, ra, sp", 0x0220F033),
    ("amocas.w a0, a2, (a1)", 0x28C5A52F),
    ("ebreak", 0x00100073), ("csrrs a0, mscratch, zero", 0x34002573),
    ("csrrwi zero, phase, 3", 0x7C01D073),
    # Standard RISC-V, from LLVM's assembler.
    ("auipc t0, 0x12345", 0x12345297), ("blt a0, a1, 0x110", 0x00B54863),
    ("bge a0, a1, 0x110", 0x00B55863), ("bltu a0, a1, 0xfc", 0xFEB56EE3),
    ("bgeu a0, a1, 0xfc", 0xFEB57EE3), ("lb a5, -1(a4)", 0xFFF70783),
    ("lh a5, 2(a4)", 0x00271783), ("lhu a5, 2(a4)", 0x00275783), ("sh t1, -2(t2)", 0xFE639F23),
    ("slti a0, a1, -5", 0xFFB5A513), ("sltiu a0, a1, 5", 0x0055B513),
    ("xori a0, a1, -1", 0xFFF5C513), ("ori a0, a1, 7", 0x0075E513),
    ("andi a0, a1, 255", 0x0FF5F513), ("slli t6, t5, 31", 0x01FF1F93),
    ("srli t6, t5, 31", 0x01FF5F93), ("sll a0, a1, a2", 0x00C59533),
    ("slt a0, a1, a2", 0x00C5A533), ("sltu a0, a1, a2", 0x00C5B533),
    ("xor a0, a1, a2", 0x00C5C533), ("srl a0, a1, a2", 0x00C5D533),
    ("sra a0, a1, a2", 0x40C5D533), ("or a0, a1, a2", 0x00C5E533), ("and a0, a1, a2", 0x00C5F533),
    ("mul a0, a1, a2", 0x02C58533), ("mulh a0, a1, a2", 0x02C59533),
    ("mulhsu a0, a1, a2", 0x02C5A533), ("csrrw a0, phase, a1", 0x7C059573),
    ("csrrc a0, mscratch, a1", 0x3405B573), ("csrrsi a0, phase, 3", 0x7C01E573),
    ("csrrci a0, phase, 3", 0x7C01F573), ("amoswap.w a0, a2, (a1)", 0x08C5A52F),
    ("amoxor.w a0, a2, (a1)", 0x20C5A52F), ("amoor.w a0, a2, (a1)", 0x40C5A52F),
    ("amoand.w a0, a2, (a1)", 0x60C5A52F), ("amomin.w a0, a2, (a1)", 0x80C5A52F),
    ("amomax.w a0, a2, (a1)", 0xA0C5A52F), ("amominu.w a0, a2, (a1)", 0xC0C5A52F),
    ("fmadd.s a0, a1, a2, a3", 0x68C5F543), ("fmsub.s t0, t1, t2, s0, rtz", 0x407312C7),
    ("fnmsub.s s1, s2, s3, s4", 0xA13974CB), ("fnmadd.s t6, zero, ra, sp, rup", 0x10103FCF),
    ("fadd.s a0, a1, a2", 0x00C5F553), ("fsub.s a0, a1, a2, rne", 0x08C58553),
    ("fmul.s s0, s1, a0, rdn", 0x10A4A453), ("fdiv.s t3, t4, t5, rmm", 0x19EECE53),
    ("fsqrt.s a0, a1", 0x5805F553), ("fsgnj.s a0, a1, a2", 0x20C58553),
    ("fsgnjn.s a0, a1, a2", 0x20C59553), ("fsgnjx.s a0, a1, a2", 0x20C5A553),
    ("fmin.s a0, a1, a2", 0x28C58553), ("fmax.s a0, a1, a2", 0x28C59553),
    ("fle.s a0, a1, a2", 0xA0C58553), ("flt.s a0, a1, a2", 0xA0C59553),
    ("feq.s a0, a1, a2", 0xA0C5A553), ("fclass.s a0, a1", 0xE0059553),
    ("fcvt.w.s a0, a1, rtz", 0xC0059553), ("fcvt.wu.s a0, a1", 0xC015F553),
    ("fcvt.s.w a0, a1", 0xD005F553), ("fcvt.s.wu a0, a1, rne", 0xD0158553),
    # Ours: LOAD's layout and funct3 in custom-1.
    ("lw.nt a5, 8(sp)", 0x008127AB), ("lbu.nt a5, -1(a4)", 0xFFF747AB),
    ("lhu.nt a5, 2(a4)", 0x002757AB),
    # SIMT words of Vortex 2.x: custom-0, funct7 = 0; Weaver words of SparseWeaver, table 4.2.
    ("tmc a0", 0x0005000B), ("split a1, a0", 0x0005258B), ("join a1", 0x0005B00B),
    ("bar a0, a1", 0x00B5400B), ("pred a0, a1", 0x00B5500B),
    ("vote.all a0, a1", 0x0205850B), ("vote.any a0, a1", 0x0205950B),
    ("vote.uni a0, a1", 0x0205A50B), ("vote.ballot a0, a1", 0x0205B50B),
    ("shfl.up a0, a1, a2", 0x02C5C50B), ("shfl.down a0, a1, a2", 0x02C5D50B),
    ("shfl.bfly a0, a1, a2", 0x02C5E50B), ("shfl.idx a0, a1, a2", 0x02C5F50B),
    ("weaver.reg a0, a1, a2, 0", 0x62B5002B),
    ("weaver.reg a0, a1, a2, 5", 0x62B502AB), ("weaver.skip a0", 0x0405002B),
    ("weaver.dec_id a0", 0x0E00050B), ("weaver.dec_loc a0", 0x1000050B),
    ("weaver.dec a0, a1", 0x18B0050B), ("gather.set a0, 3", 0x000501AB),
    ("graphpeg.push_vert a0", 0x0605002B), ("graphpeg.neighbor a0", 0x1200050B),
    ("graphpeg.weight a0", 0x1400050B), ("graphpeg.pop_vert a0", 0x1600050B),
]


@pytest.mark.parametrize("text, word", KNOWN_WORDS)
def test_known_words(text, word):
    assert disassemble(word, pc=0x100) == text
    assert decode(word) is BY_NAME[text.split()[0]]


def test_every_instruction_has_a_known_word():
    assert {text.split()[0] for text, _ in KNOWN_WORDS} == {*BY_NAME}


@pytest.mark.parametrize("word", [
    0x00000000, 0xFFFFFFFF, 0x0415C533, 0x30200073, 0x0000100F, 0x1005A52F, 0x0005100B,
    0x0005008B, 0x0015000B, 0x0E15050B, 0x2805302F, 0x00200073, 0x00003503, 0x00053023,
    0x02C5850B, 0x0405850B, 0x00C5D553, 0x00C5E553, 0x02C5F553, 0x5815F553, 0xC025F553,
    0x6AC5F543,
])
def test_illegal_words(word):
    # Zero, all ones, div with funct7 = 2, mret, fence.i, lr.w with an operand, custom-0 funct3 = 1,
    # tmc with an rd, tmc with an rs2, dec_id with a source, amocas.d, uret, ld, sd, vote.all with
    # an rs2, custom-0 with funct7 = 2; fadd.s in the reserved rounding modes 5 and 6, fadd.d,
    # fsqrt.s with an rs2, fcvt.l.s, fmadd.d.
    assert decode(word) is None


@pytest.mark.parametrize("name, operand, message", [
    ("fadd.s", {"rm": 5}, "fadd.s: rounding mode 5 is not 0 to 4, or 7 for that of frm"),
    ("addi", {"imm": 2048}, "addi: immediate 2048 does not fit in 12 bits"),
    ("addi", {"imm": -2049}, "does not fit"), ("slli", {"imm": 32}, "not in 0..31"),
    ("beq", {"imm": 3}, "is odd"), ("beq", {"imm": 4096}, "does not fit"),
    ("jal", {"imm": 1 << 20}, "does not fit"), ("lui", {"imm": 1 << 20}, "does not fit"),
    ("jal", {"imm": 5}, "is odd"), ("beq", {"imm": -4098}, "does not fit"),
    ("lui", {"imm": -(1 << 19) - 1}, "does not fit in 20 bits"), ("srai", {"imm": -1}, "0..31"),
    ("csrrci", {"imm": -1}, "0..31"), ("addi", {"rs1": -1}, "rs1 is -1"),
    *((row.name, {"imm": imm}, f"number {imm} is not in 0..31") for row in INSTRUCTIONS
      if row.numbered for imm in (-1, 32)),
    ("add", {"rs2": 32}, "rs2 is 32"), ("csrrwi", {"imm": 32}, "not in 0..31"),
])
def test_encode_refuses(name, operand, message):
    with pytest.raises(ValueError, match=message):
        encode(name, **operand)


def test_encode_refuses_an_unknown_name():
    with pytest.raises(KeyError):
        encode("divw")


def test_control_instructions_hold_back_the_fetch():
    changes_flow = {row.name for row in INSTRUCTIONS if row.control}
    assert {"beq", "jal", "jalr", "tmc", "split", "join", "bar", "pred", "ecall", "ebreak",
            "weaver.dec_id"} <= changes_flow
    assert all(row.control for row in INSTRUCTIONS if row.unit is Unit.WARP)
    assert not any(row.control for row in INSTRUCTIONS if row.unit is Unit.LSU)
    assert BY_NAME["add"].op is AluOp.ADD


def test_register_names():
    assert len(set(REGISTER_NAMES)) == 32
    assert [REGISTER_NAMES.index(name) for name in ("sp", "s0", "a0", "s2", "t3", "t6")] == [
        2, 8, 10, 18, 28, 31]


def test_join_with_nothing_to_join():
    """The table agrees with tb/programs/test_errors.py on JOIN with x0 and an empty stack."""
    doc = BY_NAME["join"].doc
    assert "nothing if the stack has rs1 entries, as with x0 and an empty stack" in doc
    assert "rs1 other than 0" in CAUSE_DOCS[Cause.STACK_UNDERFLOW]
