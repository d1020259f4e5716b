"""``exec``: C programs in all lanes.

==========================  ======================================================================
lanes that disagree         test_stops_where_lanes_disagree, test_lanes_that_agree,
                            test_the_lowest_lane_decides, test_rtl
stacks of lanes             test_a_stack_that_is_too_small, test_other_ways_out_of_a_stack,
                            test_one_stack, test_stacks_that_are_refused, test_rtl
lane by lane                test_printf_of_each_lane, test_each_lane
==========================  ======================================================================
"""

import json
import re

import pytest

from sw.cli.main import main
from tb.cli.test_exec import DATA, END, EXAMPLES, TINY, code, compile_program, write


FAST = (*TINY, "--functional")
OUT = "volatile int out[64], a[64], b[64];\n#define APART __attribute__((noinline))\n"

#: Programs whose lanes part: text, the function that parts them, and what they leave in lanes 0 to
#: 3 if the lowest active lane decides for all.
PARTING = {
    "if": ("int main(int lane) { a[lane] = lane * 3; b[lane] = lane;\n"
           "if (lane < 2) out[lane] = a[lane] + b[lane]; else out[lane] = a[lane] - b[lane]; }",
           "main", [0, 4, 8, 12]),
    "loop": ("int main(int lane) { int s = 0; for (int i = 0; i <= lane; i++)\n"
             'for (int j = 0; j < i; j++) { __asm__ volatile(""); s += j; } out[lane] = s; }',
             "main", [0, 0, 0, 0]),
    "function": ("APART int f(int x) { return x * 7 + 1; } APART int g(int x) { return x - 3; }\n"
                 "int main(int lane) { out[lane] = lane & 1 ? f(lane) : g(lane); }",
                 "main", [-3, -2, -1, 0]),
    "recursion": ("APART int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
                  "int main(int lane) { out[lane] = fib(lane); }", "fib", [0, 1, 2, 3]),
    "switch": ("int main(int lane) { switch (lane & 3) { case 0: out[lane] = 10; break;\n"
               "case 1: out[lane] = lane * lane + 21; break;\n"
               "case 2: out[lane] = lane - 32; break;\n"
               "default: out[lane] += 43; } }", "main", [10] * 4),
    "pointer": ("APART int f(int x) { return x + 7; } APART int g(int x) { return x - 3; }\n"
                "int (*volatile functions[2])(int) = {f, g};\n"
                "int main(int lane) { out[lane] = functions[lane & 1](lane); }",
                "main", [7, 8, 9, 10]),
    "length": ("int _write(int, const char *, int); int strlen_of(const char *);\n"
               "int main(int lane) { const char *texts[2] = {\"a\", \"bcd\"};\n"
               "const char *volatile text = texts[lane & 1]; int n = 0;\n"
               "while (text[n]) n++; out[lane] = n; }", "main", [1] * 4),
}

DEEP = ("APART int down(int n, int lane) { volatile int x[8]; x[0] = lane;\n"
        "return n ? down(n - 1, lane) + x[0] : 0; }\n"
        "int main(int lane) { out[lane] = down(80, lane); }")

#: Stacks that are left other than by recursion.
LARGE = {
    "frame": "int main(int lane) { volatile char x[1500]; x[lane] = lane; out[lane] = x[lane]; }",
    "large frame": "int main(int lane) { volatile char x[5000]; x[lane] = lane; out[lane] = 1; }",
    "array": "APART int f(int n) { volatile int x[n]; x[n - 1] = n; return x[n - 1]; }\n"
             "int main(int lane) { volatile int n = 600; out[lane] = f(n); }",
}


def build(folder, text, start="start.S"):
    source = folder / "program.c"
    source.write_text(OUT + text)
    return compile_program(folder, *(EXAMPLES / name for name in (
        start, "console.c", "printf.c")), source)


@pytest.mark.parametrize("name", PARTING)
def test_stops_where_lanes_disagree(name, tmp_path, capsys):
    text, function, led = PARTING[name]
    program, record = build(tmp_path, text), tmp_path / "run.json"
    assert main(["exec", str(program), *FAST, "--json", str(record)]) == 1
    out = capsys.readouterr().out
    assert re.search(rf"core 0, warp \d stopped at PC 0x[0-9a-f]+, in {function}\+0x[0-9a-f]+ "
                     r"\(program\.c:\d+\): lanes of warp \d disagree at this "
                     + ("call by a pointer: " if name == "pointer" else "branch: ") +
                     r"lanes? [123, ]+ differs? from the "
                     r"lowest active lane, .*; --lanes leader accepts that\n", out)
    found = json.loads(record.read_text())
    assert found["stop"] == "error" and found["lanes"] == "agree" and found["stack"] == 1024
    assert found["fault"]["lane"] is None
    assert main(["exec", str(program), *FAST, "--lanes", "leader", "--read", "out:4:i32"]) == 0
    assert f"out:4:i32 = {' '.join(map(str, led))}\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", PARTING)
def test_lanes_that_agree(name, tmp_path, capsys):
    """In one lane every program is right."""
    text, _, _ = PARTING[name]
    program = build(tmp_path, text)
    assert main(["exec", str(program), *FAST, "--set", "threads=1", "--set", "warps=4", "--read",
                 "out:4:i32"]) == 0
    right = {"if": [0, 4, 4, 6], "loop": [0, 0, 1, 4], "function": [-3, 8, -1, 22],
             "recursion": [0, 1, 1, 2], "switch": [10, 22, -30, 43], "pointer": [7, -2, 9, 0],
             "length": [1, 3, 1, 3]}[name]
    assert f"out:4:i32 = {' '.join(map(str, right))}\n" in capsys.readouterr().out


def test_a_stack_that_is_too_small(tmp_path, capsys):
    program = build(tmp_path, DEEP)
    assert main(["exec", str(program), *FAST]) == 1
    assert re.search(r"warp \d, lane 0 stopped at PC 0x[0-9a-f]+, in down(\+0x[0-9a-f]+)? "
                     r"\(program\.c:3\): the stack pointer leaves the lane's stack; "
                     r"--stack BYTES gives it another size\n",
                     capsys.readouterr().out)
    assert main(["exec", str(program), *FAST, "--stack", "8192", "--expect",
                 "out:8=0,80,160,240,320,400,480,560"]) == 0


@pytest.mark.parametrize("name", LARGE)
def test_other_ways_out_of_a_stack(name, tmp_path, capsys):
    program = build(tmp_path, LARGE[name])
    assert main(["exec", str(program), *FAST]) == 1
    assert "the stack pointer leaves the lane's stack" in capsys.readouterr().out
    assert main(["exec", str(program), *FAST, "--stack", "0x2000"]) == 0


def test_one_stack(tmp_path, capsys):
    """single.S has one stack, of 64 KiB."""
    program = build(tmp_path, "APART int down(int n) { volatile int x[60]; x[0] = n;\n"
                    "return n ? down(n - 1) + x[0] : 0; }\n"
                    "int main(void) { out[0] = down(10000); return 0; }", "single.S")
    assert main(["exec", str(program), *FAST]) == 1
    assert "in down (program.c:3): the stack pointer leaves" in capsys.readouterr().out
    assert main(["exec", str(program), *FAST, "--stack", "262144", "--expect",
                 f"out:1={10000 * 10001 // 2}"]) == 0


def test_stacks_that_are_refused(tmp_path, capsys):
    program = build(tmp_path, "int main(int lane) { out[lane] = lane; }")
    for arguments, text in (
            (["--stack", "1000"], "--stack 1000: must be a power of two from 256 to 1048576"),
            (["--stack", "0"], "--stack 0: must be a power of two from 256 to 1048576"),
            (["--stack", "131072"], "8 stacks of 131072 bytes need 1048576 bytes, and 5"),
            (["--set", "warps=32", "--set", "threads=32"], "1024 stacks of 1024 bytes need")):
        assert main(["exec", str(program), *FAST, *arguments]) == 2
        err = capsys.readouterr().err
        assert text in err and err.count("\n") == 1
    text = (0, code(END))
    assert main(["exec", write(tmp_path, [text]), *FAST, "--stack", "1024"]) == 2
    assert "has no symbol graphloom_stack" in capsys.readouterr().err
    for content, symbol, message in (
            ((1000).to_bytes(8, "little"), DATA, "graphloom_stack is 1000: must be a power of two"),
            (bytes(4), DATA, "must be two words"), (bytes(12), DATA + 2, "must be two words")):
        own = write(tmp_path, [text, (DATA, content)], [("graphloom_stack", symbol, 8)])
        assert main(["exec", own, *FAST]) == 2
        assert message in capsys.readouterr().err


def test_printf_of_each_lane(tmp_path, capfdbinary):
    program = build(tmp_path, "int printf(const char *, ...);\n"
                    'const char *volatile ends[2] = {"", ", odd"};\n'
                    "int main(int lane) { out[lane] =\n"
                    'printf("lane %d%s\\n", lane, ends[lane & 1]); }')
    assert main(["exec", str(program), *FAST, "--set", "warps=4", "--read", "out:16"]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    texts = [f"lane {lane}{', odd' * (lane % 2)}" for lane in range(16)]
    assert sorted(lines[:16]) == sorted(texts)
    assert lines[-1] == "out:16 = " + " ".join(str(len(text) + 1) for text in texts)


def test_each_lane(tmp_path, capsys):
    """A function of one lane after another, whose branches depend on the lane; also by lanes that
    are a part of the warp."""
    program = build(tmp_path, "void each_lane(void (*)(void *), void *);\n"
                    "static void work(void *lane) { int n = *(int *)lane, s = 0;\n"
                    "for (int i = 0; i <= n; i++) {\n"
                    '__asm__ volatile(""); s += i * (i & 1 ? 3 : 1); }\n'
                    "out[n] = s; }\n"
                    "int main(int lane) { each_lane(work, &lane); out[lane] += 1000; }")
    right = [1000 + sum(i * (3 if i & 1 else 1) for i in range(lane + 1)) for lane in range(8)]
    assert main(["exec", str(program), *FAST, "--expect",
                 f"out:8={','.join(map(str, right))}"]) == 0


def test_rtl(tmp_path, capsys):
    """The RTL stops where the functional simulator does."""
    for text in (PARTING["if"][0], PARTING["pointer"][0], DEEP):
        program, places = build(tmp_path, text), []
        for machine in ((), ("--functional",)):
            assert main(["exec", str(program), *TINY, "--set", "warps=1", *machine]) == 1
            places.append(capsys.readouterr().out.splitlines()[0])
        assert places[0] == places[1]
