"""``cc``: C programs in all lanes, from the command line.

======================  ==========================================================================
programs                test_cc: also several files, macros and folders; test_printf
refused                 test_refused
======================  ==========================================================================
"""

import pytest

from sw.cli.main import main
from tb.sw.cc.programs import HEAD, text


FAST = ("--preset", "tiny", "--functional")


def compiled(folder, source, *options):
    """Compile a text. Returns the program and the exit code."""
    file, target = folder / "program.c", folder / "program.elf"
    file.write_text(source)
    return str(target), main(["cc", str(file), "-o", str(target), "--preset", "tiny", *options])


def test_cc(tmp_path, capsys):
    program, code = compiled(tmp_path, text("recursion"))
    assert code == 0
    out = capsys.readouterr().out
    assert "1 branches, 1 with SPLIT, 0 with PRED; lanes meet at 1 places" in out
    assert main(["exec", program, *FAST, "--expect", "out:8=0,1,1,2,3,5,8,13"]) == 0
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.h").write_text("int other(int);\n")
    other = tmp_path / "other.c"
    other.write_text("int other(int x) { return x & 1 ? FACTOR * x : 0; }\n")
    program, code = compiled(
        tmp_path, '#include "other.h"\nint out[8]; int main(int lane) { out[lane] = other(lane); }',
        str(other), "-D", "FACTOR=5", "-I", str(tmp_path / "more"), "-O", "1", "--stack", "512",
        "--heap", "4096")
    assert code == 0
    assert main(["exec", program, *FAST, "--expect", "out:8=0,5,0,15,0,25,0,35"]) == 0


def test_printf(tmp_path, capfdbinary):
    program, code = compiled(
        tmp_path, "int printf(const char *, ...);\n"
        'int main(int lane) { if (lane % 3) printf("lane %d: %s\\n", lane, &"xxxxxxx"[lane]); }')
    assert code == 0
    assert main(["exec", program, *FAST]) == 0
    out = capfdbinary.readouterr().out.decode()
    assert {f"lane {lane}: {'x' * (7 - lane)}" for lane in (1, 2, 4, 5, 7)} <= {*out.splitlines()}


@pytest.mark.parametrize("source, options, reason", [
    (HEAD + "int f(int lane) { return lane; }", (), "no function main"),
    (HEAD + "int main(int lane) { return x; }", (), "use of undeclared identifier"),
    (text("if"), ("--stack", "1000"), "--stack 1000: must be a power of two"),
    (text("if"), ("-O", "9"), "'9' is not one of"),
    (text("if"), ("--heap", "8000000"), "the stacks do not fit"),
    (text("if"), ("missing.c",), "missing.c: no such file"),
    (text("if"), ("other.o",), "other.o: must be a C file"),
])
def test_refused(source, options, reason, tmp_path, capsys):
    assert compiled(tmp_path, source, *options)[1] == 2
    err = capsys.readouterr().err
    assert reason in err and err.count("\n") == 1
