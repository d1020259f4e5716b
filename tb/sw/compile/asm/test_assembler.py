"""The structured assembler: encodings, registers, labels, and control flow run on the simulator."""

import numpy as np
import pytest

from hw.config import HardwareConfig
from hw.isa import INSTRUCTIONS, Csr, MemoryMap, encode
from hw.operations import Format
from sw.golden.simulator import Simulator
from sw.compile.asm.assembler import Assembler, AssemblyError, Condition
from hw.disassembler import disassemble


THREADS = 8


def run(write, threads=THREADS):
    """Assemble the code that ``write(a, out)`` adds and run it. ``out`` holds the address of a word
    for each lane; the result is the list of these words."""
    a = Assembler()
    a.entry("main")
    out, lane = a.regs("out", "lane")
    a.li(out, MemoryMap.GLOBAL)
    a.csrr(lane, Csr.THREAD_ID)
    with a.scope("offset") as (offset,):
        a.slli(offset, lane, 2)
        a.add(out, out, offset)
    write(a, out, lane)
    a.end_warp()
    program = a.finish()
    simulator = Simulator(HardwareConfig(warps=1, threads=threads, memory_bytes=1 << 16))
    simulator.load_program(program.words)
    simulator.start(program.entries["main"])
    simulator.run(limit=10_000)
    return simulator.memory[:4 * threads].view(np.uint32).tolist()


@pytest.mark.parametrize("row", INSTRUCTIONS, ids=lambda row: row.name)
def test_every_instruction_is_a_method(row):
    a = Assembler()
    name = row.name.replace(".", "_")
    method = getattr(a, name + "_" if name in ("and", "or") else name)
    first, second, third = a.regs("x", "y", "z")
    registers = {"rd": first, "rs1": second, "rs2": third, "rs3": first}
    fields = {}
    if row.writes:
        fields["rd"] = first
    for digit in row.named.replace("d", ""):
        fields[f"rs{digit}"] = registers[f"rs{digit}"]
    match row.format:
        case Format.I | Format.S if row.name != "fence":
            fields["imm"] = -12
        case Format.SH | Format.CSI:
            fields["imm"] = 5
        case Format.B | Format.J:
            fields["imm"] = 16
        case Format.U:
            fields["imm"] = 0xABCDE
    if row.format in (Format.CSR, Format.CSI):
        fields["csr"] = Csr.PHASE
    order = {Format.AMO: ("rd", "rs2", "rs1"), Format.S: ("rs2", "rs1", "imm"),
             Format.CSR: ("rd", "csr", "rs1"), Format.CSI: ("rd", "csr", "imm")}.get(
                 row.format, ("rd", "rs1", "rs2", "rs3", "imm"))
    target = a.label("target")
    operands = [fields[field] for field in order if field in fields]
    if row.format in (Format.B, Format.J):
        operands[-1] = target
    method(*operands)
    for _ in range(3):
        a.nop()
    a.place(target)
    expected = encode(row.name, **{field: getattr(value, "number", value)
                                   for field, value in fields.items()})
    assert a.finish().words[0] == expected


def test_wrong_operands_are_refused():
    a = Assembler()
    x = a.reg("x")
    with pytest.raises(AssemblyError, match="add takes rd, rs1, rs2; 2 given"):
        a.add(x, x)
    with pytest.raises(AssemblyError, match="rs1 is 5, not a register"):
        a.add(x, 5, x)
    a.addi(x, x, 4000)
    with pytest.raises(AssemblyError, match="0x0000: addi x, x, 4000: .*4000 does not fit"):
        a.finish()


def test_registers_are_scoped():
    a = Assembler()
    outer = a.reg("outer")
    with a.scope("inner") as (inner,):
        assert inner.number != outer.number
    with pytest.raises(AssemblyError, match="'inner' \\(rs1\\) was freed"):
        a.mv(outer, inner)
    with a.scope("again") as (again,):
        assert again.number == inner.number
    with pytest.raises(AssemblyError, match="not allocated"):
        a.free(again)


def test_running_out_of_registers_names_who_has_them():
    a = Assembler()
    a.regs(*(f"r{i}" for i in range(31)))
    assert a.most_registers == 31
    with pytest.raises(AssemblyError, match="no register left for 'more'.*r0, r1.*r30"):
        a.reg("more")


def test_labels():
    a = Assembler()
    first, second = a.label("loop"), a.label("loop")
    assert (first.name, second.name) == ("loop", "loop_2")
    a.j(first)
    with pytest.raises(AssemblyError, match="'loop' is used but has no place"):
        a.finish()
    a.place(first)
    with pytest.raises(AssemblyError, match="'loop' is placed twice"):
        a.place(first)
    a.entry("kernel")
    with pytest.raises(AssemblyError, match="two kernels are named 'kernel'"):
        a.entry("kernel")
    program = a.finish()
    assert program.entries == {"kernel": 4} and program.labels["loop"] == 4


def test_listing_agrees_with_the_disassembler():
    a = Assembler()
    a.entry("main")
    x = a.reg("x")
    a.li(x, 0x12345678)
    a.amoadd_w(a.zero, x, x)
    a.end_warp()
    program = a.finish()
    listing = program.listing().splitlines()
    assert listing[0] == "main:" and len(listing) == 1 + len(program.words)
    assert [disassemble(word).split()[0] for word in program.words] == \
        ["lui", "addi", "amoadd.w", "tmc"]
    assert "amoadd.w zero, x, (x)" in listing[3]


@pytest.mark.parametrize("value", [0, 1, -1, 2047, 2048, -2048, -2049, 0xFFF, 0x1000,
                                   0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, -(1 << 31), 0x12345FFF])
def test_li(value):
    def write(a, out, lane):
        x = a.reg("x")
        a.li(x, value)
        a.sw(x, out)
    assert run(write) == [value & 0xFFFFFFFF] * THREADS


def test_li_refuses_what_does_not_fit():
    a = Assembler()
    with pytest.raises(AssemblyError, match="does not fit in 32 bits"):
        a.li(a.reg("x"), 1 << 32)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("limit", [0, 3, 100])
def test_divergent_if(threads, limit):
    def write(a, out, lane):
        x, p = a.regs("x", "p")
        a.sltiu(p, lane, limit)
        a.li(x, 5)
        with a.if_(p) as choice:
            a.addi(x, x, 1)
            choice.otherwise()
            a.addi(x, x, 10)
        a.slli(x, x, 4)
        a.sw(x, out)
    assert run(write, threads) == [16 * (6 if i < limit else 15) for i in range(threads)]


def test_nested_ifs_without_else():
    def write(a, out, lane):
        x, p = a.regs("x", "p")
        a.mv(x, a.zero)
        a.andi(p, lane, 1)
        with a.if_(p):
            with a.scope("q") as (q,):
                a.andi(q, lane, 2)
                with a.if_(q):
                    a.addi(x, x, 100)
            a.addi(x, x, 10)
        a.addi(x, x, 1)
        a.sw(x, out)
    assert run(write) == [1 + (lane & 1) * (10 + (lane & 2) * 50) for lane in range(THREADS)]


@pytest.mark.parametrize("kind, holds", [("eq", False), ("ne", True), ("lt", True), ("ge", False),
                                         ("ltu", False), ("geu", True)])
def test_uniform_if(kind, holds):
    def write(a, out, lane):
        x, y, z = a.regs("x", "y", "z")
        a.li(x, -3)
        a.li(y, 4)
        with a.if_uniform(Condition(kind, x, y)) as choice:
            a.li(z, 1)
            choice.otherwise()
            a.li(z, 0)
        a.sw(z, out)
    assert run(write) == [holds] * THREADS


@pytest.mark.parametrize("turns", [0, 1, 7])
def test_uniform_while(turns):
    def write(a, out, lane):
        x, y = a.regs("x", "y")
        a.mv(x, a.zero)
        a.li(y, turns)
        with a.while_uniform(Condition("ne", y, a.zero)):
            a.addi(x, x, 3)
            a.addi(y, y, -1)
        a.sw(x, out)
    assert run(write) == [3 * turns] * THREADS


def test_divergent_while():
    def write(a, out, lane):
        """Lane n counts to n."""
        x, going, full = a.regs("x", "going", "full")
        a.li(full, -1)
        a.mv(x, a.zero)

        def test():
            a.sltu(going, x, lane)
            return going
        with a.while_(test, full):
            a.addi(x, x, 1)
        a.addi(x, x, 100)
        a.sw(x, out)
    assert run(write) == [100 + lane for lane in range(THREADS)]
