"""``exec``: programs that a C compiler made, and files that are none."""

import json
import pathlib
import struct
import subprocess
import sys

import pytest

from sw.cli.main import main


EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "exec"
TINY = ("--preset", "tiny", "--set", "imem_bytes=0x4000")


def compile_program(folder, *sources):
    """The executable that the C compiler of the ziglang wheel makes."""
    target = folder / "program.elf"
    subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", "-target", "riscv32-freestanding-none",
         "-mcpu=generic_rv32+m+a", "-O2", "-fno-sanitize=all", "-ffreestanding", "-nostdlib",
         f"-Wl,-T,{EXAMPLES / 'link.ld'}", *map(str, sources), "-o", str(target)], check=True)
    return target


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return compile_program(tmp_path_factory.mktemp("exec"), EXAMPLES / "start.S",
                           EXAMPLES / "sum.c")


def test_example(example, tmp_path, capsys):
    record = tmp_path / "run.json"
    assert main(["exec", str(example), *TINY, "--read", "total", "--read", "values",
                 "--json", str(record)]) == 0
    squares = [sum((lane + i) ** 2 for i in range(4)) for lane in range(8)]
    out = capsys.readouterr().out
    assert f"total = {sum(squares)} " in out and f"values = {squares[0]} " in out
    found = json.loads(record.read_text())
    assert found["stop"] == "end"
    assert found["memory"] == {"total": sum(squares), "values": squares[0]}
    assert 0 < found["instructions"] < found["cycles"]


def test_several_cores(example, capsys):
    assert main(["exec", str(example), *TINY, "--set", "cores=2", "--read", "total"]) == 0
    squares = [sum((lane + i) ** 2 for i in range(4)) for lane in range(16)]
    assert f"total = {sum(squares)} " in capsys.readouterr().out


def test_a_program_that_fails(tmp_path, capsys):
    source = tmp_path / "fails.S"
    source.write_text(".globl _start\n_start: la t0, word\n li t1, 7\n sw t1, 0(t0)\n ebreak\n"
                      ".data\n.globl word\nword: .word 1\n")
    program = compile_program(tmp_path, source)
    record = tmp_path / "run.json"
    assert main(["exec", str(program), *TINY, "--read", "word", "--json", str(record)]) == 1
    out = capsys.readouterr().out
    assert "EBREAK" in out and "word = 7 " in out
    assert json.loads(record.read_text())["stop"] == "error"


def test_a_program_without_end(tmp_path, capsys):
    source = tmp_path / "loops.S"
    source.write_text(".globl _start\n_start: csrr a0, mscratch\n1: j 1b\n")
    program = compile_program(tmp_path, source)
    record = tmp_path / "run.json"
    assert main(["exec", str(program), *TINY, "--max-cycles", "3000", "--json",
                 str(record)]) == 2
    found = json.loads(record.read_text())
    assert found["stop"] == "limit" and found["cycles"] > 2900
    assert "3000 cycles" in capsys.readouterr().out


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
    refused(good[:18] + struct.pack("<H", 62) + good[20:], "EM_RISCV")
    refused(good[:24] + struct.pack("<I", 2) + good[28:], "entry point", "0x00000002")
    header = struct.unpack_from("<I", good, 28)[0]
    moved = good[:header + 12] + struct.pack("<I", 0x4000_0000) + good[header + 16:]
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
