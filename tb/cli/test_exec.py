"""``exec``: programs of a C compiler or an assembler, and files that are no programs.

======================  ================================================================
examples/exec           test_example, test_several_cores, test_hello, test_floats
memory by name          test_example, test_expectations, test_load_and_dump
end of a program        test_a_program_that_fails, test_lane, test_a_program_without_end,
                        test_exit_code, test_waits_after_its_exit, test_host_requests,
                        test_environment_of_riscv_tests,
                        test_environment_of_tests_of_floats
contents before a run   test_data_at_text, test_runs_past_its_end
refused                 test_files_that_are_no_programs, test_division
======================  ================================================================
"""

import json
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest

from checks.campaign.elf_files import elf
from hw.isa import encode
from sw.cli.main import main


EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "exec"
TINY = ("--preset", "tiny")
DATA = 0x8000_0000


def compile_program(folder, *sources, script=EXAMPLES / "link.ld", more=(),
                    cpu="generic_rv32+m+a"):
    """The executable that the C compiler of the ziglang wheel makes."""
    target = folder / "program.elf"
    subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", "-target", "riscv32-freestanding-none",
         f"-mcpu={cpu}", *more, "-O2", "-fno-sanitize=all", "-ffreestanding", "-nostdlib",
         f"-Wl,-T,{script}", *map(str, sources), "-o", str(target)], check=True)
    return target


def assemble(folder, text):
    """The executable of a text of assembly language."""
    source = folder / "program.S"
    source.write_text(text)
    return compile_program(folder, source)


def write(folder, *arguments, **options):
    """An ELF file made by hand."""
    target = folder / "program.elf"
    target.write_bytes(elf(*arguments, **options))
    return str(target)


def code(*instructions):
    return b"".join(word.to_bytes(4, "little") for word in instructions)


END = encode("tmc")


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return compile_program(tmp_path_factory.mktemp("exec"), EXAMPLES / "start.S",
                           EXAMPLES / "sum.c")


def test_example(example, tmp_path, capsys):
    record = tmp_path / "run.json"
    assert main(["exec", str(example), *TINY, "--read", "total", "--read", "values:8",
                 "--json", str(record)]) == 0
    squares = [sum((lane + i) ** 2 for i in range(4)) for lane in range(8)]
    out = capsys.readouterr().out
    assert f"total = {sum(squares)} (0x" in out
    assert f"values:8 = {' '.join(map(str, squares))}\n" in out
    found = json.loads(record.read_text())
    assert found["stop"] == "end" and found["exit_code"] is None
    assert found["memory"] == {"total": sum(squares), "values:8": squares}
    assert 0 < found["instructions"] < found["cycles"]


def test_several_cores(example, capsys):
    assert main(["exec", str(example), *TINY, "--set", "cores=2", "--read", "total"]) == 0
    squares = [sum((lane + i) ** 2 for i in range(4)) for lane in range(16)]
    assert f"total = {sum(squares)} " in capsys.readouterr().out


def test_hello(tmp_path, capsysbinary):
    sources = [EXAMPLES / name for name in ("single.S", "console.c", "printf.c", "hello.c")]
    # A C library has an exit function, which may still have something to write.
    library = tmp_path / "exit.c"
    library.write_text("int printf(const char *, ...);\nvoid _exit(int);\n"
                       'void exit(int code) { printf("bye"); _exit(code + 4); }\n')
    program = compile_program(tmp_path, *sources, library)
    assert main(["exec", str(program), *TINY]) == 1
    assert f"\nbye\n{program}: exit code 4\n" in capsysbinary.readouterr().out.decode()
    program = compile_program(tmp_path, *sources)
    record = tmp_path / "run.json"
    assert main(["exec", str(program), *TINY, "--read", "halves:3:i16", "--read", "bytes",
                 "--read", "large", "--expect", "halves:3:i16=1,-2,3", "--json", str(record)]) == 0
    out = capsysbinary.readouterr().out.decode()
    text = ("Hello, RTL: -42, 3000000000, 0x0000beef, 100 %\n"
            "   1^2 = 1\n  -2^2 = 4\n   3^2 = 9\n")
    assert out.startswith(text + f"{program}: exit code 0\n")
    found = json.loads(record.read_text())
    assert found["console"] == text and found["stop"] == "exit" and found["exit_code"] == 0
    assert found["memory"] == {"halves:3:i16": [1, -2, 3], "bytes": list(b"hello"),
                               "large": 0x1234_5678_9ABC_DEF0}


def test_expectations(example, capsys):
    squares = [sum((lane + i) ** 2 for i in range(4)) for lane in range(8)]
    total = sum(squares)
    right = ["--expect", f"total={total}", "--expect", f"values={squares[0]},{squares[1]}",
             "--expect", f"values:1:i8={squares[0]}"]
    assert main(["exec", str(example), *TINY, *right]) == 0
    capsys.readouterr()
    assert main(["exec", str(example), *TINY, *right, "--expect", "total=7",
                 "--expect", "values=14,31"]) == 1
    out = capsys.readouterr().out
    assert f"--expect total=7: total is {total} (0x{total:08x}), not 7\n" in out
    assert "--expect values=14,31: values[1] is 30 (0x0000001e), not 31\n" in out
    for text in ("total", "total=x", "total=1,2", f"total={1 << 32}", "nothing=1"):
        assert main(["exec", str(example), *TINY, "--expect", text]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_load_and_dump(tmp_path, capsys):
    # Lane 0 of warp 0 copies a word.
    program = write(tmp_path, [(0, code(
        encode("lui", rd=5, imm=0x80000), encode("lw", rd=6, rs1=5),
        encode("sw", rs1=5, rs2=6, imm=8), END)), (DATA, bytes(16))],
        [("input", DATA, 6), ("results", DATA + 8, 8), ("behind", DATA + 16, 0)])
    given, taken = tmp_path / "in.bin", tmp_path / "out.bin"
    given.write_bytes(bytes.fromhex("112233445566"))
    load = ["--load", "input", str(given)]
    for words in ("results:1", "results:behind", "input:2:u8"):
        assert main(["exec", program, *TINY, *load, "--dump", words, str(taken)]) == 0
        assert taken.read_bytes() == {
            "results:1": bytes.fromhex("11223344"), "results:behind": bytes.fromhex(
                "1122334400000000"), "input:2:u8": bytes.fromhex("1122")}[words]
    capsys.readouterr()
    given.write_bytes(bytes(7))
    assert main(["exec", program, *TINY, *load]) == 2
    assert "larger than input, which has 6 bytes" in capsys.readouterr().err
    for options in (["--load", "input", str(tmp_path / "none")], ["--dump", "results:3", "x.bin"],
                    ["--dump", "results", str(tmp_path / "no" / "x.bin")]):
        assert main(["exec", program, *TINY, *options]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_program_that_fails(tmp_path, capsys):
    program = assemble(tmp_path, ".globl _start\n_start: la t0, word\n li t1, 7\n sw t1, 0(t0)\n"
                       " ebreak\n.data\n.globl word\nword: .word 1\n")
    record = tmp_path / "run.json"
    assert main(["exec", str(program), *TINY, "--read", "word", "--json", str(record)]) == 1
    out = capsys.readouterr().out
    assert "in _start+0x" in out and "EBREAK" in out and "word = 7 " in out
    found = json.loads(record.read_text())
    assert found["stop"] == "error" and found["fault"]["cause"] == 3


def test_lane(tmp_path, capsys):
    # Lanes from 2 on load from text. The lowest such lane is reported.
    program = write(tmp_path, [(0, code(
        encode("csrrs", rd=5, csr=0xCC0), encode("sltiu", rd=5, rs1=5, imm=2),
        encode("slli", rd=5, rs1=5, imm=31), encode("lw", rd=6, rs1=5, imm=4), END))],
        [("_start", 0, 0), ("main", 8, 12)])
    assert main(["exec", program, *TINY]) == 1
    out = capsys.readouterr().out
    assert ", lane 2 stopped at PC 0x0000000c, in main+0x4: " in out
    assert "address 0x00000004); instruction memory cannot be read as data" in out


def test_a_program_without_end(tmp_path, capsys):
    # Memory that the program wrote before the limit is read nevertheless.
    program = assemble(tmp_path, ".globl _start\n_start: la t0, word\n li t1, 7\n sw t1, 0(t0)\n"
                       "1: j 1b\n.data\n.globl word\nword: .word 1\n")
    record = tmp_path / "run.json"
    assert main(["exec", str(program), *TINY, "--max-cycles", "3000", "--read", "word", "--json",
                 str(record)]) == 3
    found = json.loads(record.read_text())
    assert found["stop"] == "limit" and 2900 < found["cycles"] < 4000
    assert found["memory"] == {"word": 7}
    assert "3000 cycles" in capsys.readouterr().out


def ends_with(tmp_path, request, *last, high=0):
    """A program that writes ``request`` to tohost."""
    return write(tmp_path, [(0, code(
        encode("lui", rd=5, imm=0x80000), encode("addi", rd=6, imm=request),
        encode("addi", rd=7, imm=high), encode("sw", rs1=5, rs2=7, imm=12),
        encode("sw", rs1=5, rs2=6, imm=8), *last)), (DATA, bytes(16))],
        [("tohost", DATA + 8, 8)])


@pytest.mark.parametrize("value, code", [(7, 0), (8, 1)])
def test_environment_of_riscv_tests(tmp_path, capsys, value, code):
    source = tmp_path / "test.S"
    source.write_text(f"""
        #include "{EXAMPLES / 'riscv_test.h'}"
        RVTEST_RV32U
        RVTEST_CODE_BEGIN
        li TESTNUM, 2
        la x1, numbers
        lw x2, 0(x1)
        li x3, 7
        li TESTNUM, 5
        sw x2, 4(x1)
        li x4, {value}
        bne x2, x4, fail
        bne x0, TESTNUM, pass
fail:   RVTEST_FAIL
pass:   RVTEST_PASS
        RVTEST_CODE_END
        .data
        RVTEST_DATA_BEGIN
numbers: .word 7, 0
        RVTEST_DATA_END
        """)
    program, signature = compile_program(tmp_path, source), tmp_path / "signature.bin"
    assert main(["exec", str(program), *TINY, "--dump", "begin_signature:end_signature",
                 str(signature)]) == code
    assert f"exit code {5 * code}\n" in capsys.readouterr().out
    assert signature.read_bytes() == struct.pack("<4I", 7, 7, 0, 0)


@pytest.mark.parametrize("flags", [1, 0])
def test_environment_of_tests_of_floats(tmp_path, capsys, flags):
    """Tests for floating-point registers, with Zfinx. A public test has the header twice."""
    source = tmp_path / "test.S"
    source.write_text(f"""
        #include "riscv_test.h"
        #undef RVTEST_RV64UF
        #define RVTEST_RV64UF RVTEST_RV32UF
        #include "riscv_test.h"
        RVTEST_RV64UF
        RVTEST_CODE_BEGIN
        li TESTNUM, 2
        la a0, numbers
        flw f10, 0(a0)
        flw f11, third, a1
        fmadd.s f13, f10, f11, f10
        fsw f13, 4(a0)
        fmv.x.s a1, f13
        lw a2, 8(a0)
        bne a1, a2, fail
        fsflags a1, x0
        li TESTNUM, 3
        li a2, {flags}
        bne a1, a2, fail
        li TESTNUM, 4
        li a1, 0x12345678
        fmv.s.x f1, a1
        fsgnjn.s f0, f1, f1
        fmv.x.s a2, f0
        li a1, 0x92345678
        bne a1, a2, fail
        bne x0, TESTNUM, pass
fail:   RVTEST_FAIL
pass:   RVTEST_PASS
        RVTEST_CODE_END
        .data
third:  .float 0.33333334
        RVTEST_DATA_BEGIN
numbers: .float 3.0, 0.0, 4.0
        RVTEST_DATA_END
        """)
    program = compile_program(tmp_path, source, cpu="generic_rv32+m+a+zfinx",
                              more=("-I", str(EXAMPLES), "-Werror"))
    assert main(["exec", str(program), *TINY, "--set", "float=half", "--functional"]) == 1 - flags
    assert f"exit code {3 * (1 - flags)}\n" in capsys.readouterr().out


@pytest.mark.parametrize("exit_code", [0, 5])
@pytest.mark.parametrize("last", [END, encode("ecall")])
def test_exit_code(tmp_path, capsys, exit_code, last):
    program = ends_with(tmp_path, exit_code << 1 | 1, last)
    assert main(["exec", program, *TINY]) == (exit_code > 0)
    assert f"exit code {exit_code}\n" in capsys.readouterr().out


def test_waits_after_its_exit(tmp_path, capsys):
    # Like programs of riscv-tests, this program waits for the host to end it. The host sees a word
    # that is only in a cache.
    program = ends_with(tmp_path, 7, encode("jal"))
    record = tmp_path / "run.json"
    assert main(["exec", program, *TINY, "--read", "tohost", "--json", str(record)]) == 1
    assert "exit code 3\n" in capsys.readouterr().out
    found = json.loads(record.read_text())
    assert found["stop"] == "exit" and found["memory"] == {"tohost": 7}
    assert found["cycles"] < 500_000


def test_host_requests(tmp_path, capsys):
    program = ends_with(tmp_path, 0x41, END, high=0x101)
    assert main(["exec", program, *TINY]) == 1
    assert "wrote 0x10100000041 to tohost" in capsys.readouterr().out
    # An exit code does not hide an error.
    program = ends_with(tmp_path, 1, encode("lw", rd=5), encode("jal"))
    assert main(["exec", program, *TINY]) == 1
    assert "a load from an unmapped address" in capsys.readouterr().out


def test_data_at_text(tmp_path, capsys):
    script = tmp_path / "at.ld"
    text = (EXAMPLES / "link.ld").read_text()
    assert text.count("} > data\n") == 2
    script.write_text(text.replace("} > data\n", "} > data AT> text\n", 1))
    source = tmp_path / "program.S"
    source.write_text(".globl _start\n_start: la t0, word\n lw t1, 0(t0)\n addi t1, t1, 1\n"
                      " sw t1, 4(t0)\n .insn r 0x0B, 0, 0, x0, x0, x0\n"
                      ".data\n.globl word\n.globl next\nword: .word 41\nnext: .word 0\n")
    program = compile_program(tmp_path, source, script=script)
    assert main(["exec", str(program), *TINY, "--expect", "next=42"]) == 0
    capsys.readouterr()


def test_runs_past_its_end(tmp_path, capsys):
    program = write(tmp_path, [(0, code(encode("addi"), encode("addi")))], [("main", 0, 8)])
    assert main(["exec", program, *TINY]) == 1
    out = capsys.readouterr().out
    assert "stopped at PC 0x00000008: " in out and "illegal instruction" in out
    assert "has run past its end" in out


def test_division(tmp_path, capsys):
    program = write(tmp_path, [(0, code(encode("div", rd=5, rs1=6, rs2=7), END))],
                    [("main", 0, 8)])
    assert main(["exec", program, "--preset", "fpga"]) == 2
    error = capsys.readouterr().err
    assert "contains DIV at 0x00000000 in main; preset fpga has divider=none" in error
    assert main(["exec", program, "--preset", "fpga", "--anyway", "--read", "nothing"]) == 2
    assert "no symbol 'nothing'" in capsys.readouterr().err


def test_floats(tmp_path, capsys):
    """Accelerations of bodies, a body a lane: numpy's words in both simulators."""
    program = compile_program(tmp_path, EXAMPLES / "start.S", EXAMPLES / "nbody.c",
                              cpu="generic_rv32+m+a+zfinx",
                              more=("-ffp-contract=off", "-fno-math-errno"))
    single, number = np.float32, np.arange(32)
    x, y = number * number % 31 / single(7), number * 5 % 29 / single(3)
    mass = single(number % 4 + 1)
    x, y = x.astype(single), y.astype(single)
    sums = np.zeros((2, 32), single)
    for j in number:
        dx, dy = x[j] - x, y[j] - y
        squared = dx * dx + dy * dy + single(0.01)
        pull = mass[j] / (squared * np.sqrt(squared))
        sums += np.stack([dx * pull, dy * pull])
    expected = [f"{name}=" + ",".join(map(str, row.view(np.uint32)))
                for name, row in zip(("ax", "ay"), sums)]
    for options in (["--set", "float=full"], ["--set", "float=half", "--functional"]):
        assert main(["exec", str(program), *TINY, *options,
                     *(part for one in expected for part in ("--expect", one))]) == 0
    assert main(["exec", str(program), *TINY]) == 2
    assert "preset tiny has float=none: use --set float=half" in capsys.readouterr().err


def test_files_that_are_no_programs(example, tmp_path, capsys):
    def refused(content, *words, options=()):
        path = tmp_path / "bad.elf"
        path.write_bytes(content)
        assert main(["exec", str(path), *TINY, *options]) == 2
        error = capsys.readouterr().err
        assert str(path) in error and error.count("\n") == 1
        for word in words:
            assert word in error

    good = example.read_bytes()
    refused(b"no ELF at all", "not an ELF file")
    refused(b"", "not an ELF file")
    refused(good[:100], "cut off")
    refused(good[:4] + b"\2" + good[5:])                    # 64 bits
    refused(good[:16] + struct.pack("<H", 1) + good[18:], "ET_REL", "ET_EXEC")
    refused(good[:24] + struct.pack("<I", 2) + good[28:], "entry point", "0x00000002")
    header = struct.unpack_from("<I", good, 28)[0]
    moved = good[:header + 8] + struct.pack("<I", 0x4000_0000) + good[header + 12:]
    refused(moved, "segment 0", "instruction memory")
    refused(good, "no symbol 'nothing'", "total", options=("--read", "nothing"))
    for cut in range(60, len(good), len(good) // 40):
        path = tmp_path / "cut.elf"
        path.write_bytes(good[:cut])
        assert main(["exec", str(path), *TINY]) in (0, 2)
        assert capsys.readouterr().err.count("\n") <= 1
    assert main(["exec", str(tmp_path / "missing.elf"), *TINY]) == 2
    assert main(["exec", str(example), *TINY, "--argument", "-1"]) == 2
    assert main(["exec", str(example), *TINY, "--json", str(tmp_path / "no" / "x.json")]) == 2
