"""C files to programs that are right in every lane.

========================  ========================================================================
every construct           test_lanes: also with every branch parting, and on small code;
                          test_rtl
float atomics             test_float_atomics: those that are right
refused                   test_refused: function, line and reason; test_started_otherwise;
                          test_other_files
uniform code              test_uniform_code_is_unchanged
stacks                    test_stack
faults of the rules       test_faults: each rule of the pass is needed
library                   test_library, test_heap; test_wheel: of the wheel, and soft floats
registers                 test_many_floats: more than Clang leaves to the pass
========================  ========================================================================
"""

import contextlib
import ctypes
import itertools
import math
import re
import subprocess

import numpy as np
import pytest

from base.errors import RunError, UserError
from hw.config import preset
from sim import toolchain
from sw.cc import insertion, joins
from sw.cc.assembly import AsmLine
from sw.cc.driver import compile_files
from sw.cc.host import compile_c
from sw.device import Device
from tb.sw.cc.programs import HEAD, PROGRAMS, text


TINY = preset("tiny")
LARGE = TINY.replace(imem_bytes=65536)
LANES = range(8)


def lanes(folder, source, config=TINY, machine=Device.functional, **choices):
    """What ``main`` of a C text leaves in ``out`` in each lane."""
    file = folder / "program.c"
    file.write_text(source + "void start(int *results) { int core, warp, lane;\n"
                    '__asm__("csrr %0, 0xCC1" : "=r"(warp));\n'
                    '__asm__("csrr %0, 0xCC0" : "=r"(lane));\n'
                    "main(warp * 4 + lane); results[warp * 4 + lane] = out[warp * 4 + lane]; }\n")
    results = np.zeros(8, np.int32)
    program = compile_c(file, config=config, **choices)
    with machine(config) as device:
        device.launch(program.start, results=results, max_cycles=2_000_000)
    return results.tolist()


def expected(folder, name):
    """What each lane must leave, by the table or by this computer."""
    if PROGRAMS[name][1] is not None:
        return [PROGRAMS[name][1](lane) for lane in LANES]
    source, objects, library = (folder / f"here{end}" for end in (".c", ".o", ".so"))
    source.write_text(text(name).replace("int main(", "int program("))
    tool = toolchain.compiler()
    for command in ([*tool.command, "-x", "c", "-O1", "-fwrapv", "-w", "-fPIC", "-c", str(source),
                     "-o", str(objects)],
                    [*tool.link, "-shared", str(objects), "-o", str(library)]):
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
    here = ctypes.CDLL(str(library))
    for lane in LANES:
        here.program(lane)
    return list((ctypes.c_int * 8).in_dll(here, "out"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes(name, tmp_path):
    right = expected(tmp_path, name)
    assert lanes(tmp_path, text(name)) == right
    assert lanes(tmp_path, text(name), parted="all", optimisation="z") == right


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sample(4)
def test_rtl(name, tmp_path):
    assert lanes(tmp_path, text(name), machine=Device.simulate) == expected(tmp_path, name)


@pytest.mark.parametrize("source, reason", [
    ("short s;\nint main(int lane) { return\n__atomic_fetch_add(&s, 1, 0); }",
     r"program.c:6: in main: lr.w: the hardware has no such instruction"),
    ("#include <setjmp.h>\njmp_buf b; int main(int lane) { return setjmp(b); }",
     "in main: calls setjmp, which no file defines"),
    ("#include <stdlib.h>\nvoid *p; int main(int lane) { p = malloc(lane); }",
     "in main: calls malloc, which no file defines"),
    ("_Atomic float f; int main(int lane) { if (lane & 1)\nf += lane; }",
     "program.c:5: in main: arithmetic of floats by an atomic"),
    ("_Atomic double f; int main(int lane) {\nf -= lane; }",
     "program.c:5: in main: arithmetic of floats by an atomic"),
    ("void g(int); int main(int lane) { g(3); }", "in main: calls g, which no file defines"),
    ("void exit(int); int main(int lane) { if (lane & 1) exit(3); }",
     "in main: calls exit, which no file defines"),
    ('int main(int lane) { __asm__ volatile(".insn r 0x0B, 0, 0, x0, %0, x0" :: "r"(lane)); }',
     "in main: assembly that changes the PC or the lanes"),
    ('int main(int lane) { __asm__ volatile("j nowhere"); }', "a jump to nowhere"),
    ('int main(int lane) { __asm__ volatile(".word 0xb"); }', "assembly that changes the PC"),
    ('int main(int lane) { __asm__ volatile("1: nop"); }', "in main: assembly with a label"),
    ('int main(int lane) { __asm__ volatile("li gp, 3"); }', "assembly that writes t6, gp, tp"),
    ('int main(int lane) { if (lane & 1)\n__asm__ volatile(".insn r 0x0B, 4, 0, x0, %0, %1"\n'
     ':: "r"(0), "r"(2)); }', "in main: bar where the lanes of a warp may have parted"),
    ('APART void f(void) { __asm__ volatile(".insn r 0x0B, 4, 0, x0, %0, %1"'
     ' :: "r"(0), "r"(2));\n'
     "} int main(int lane) { if (lane & 1) f(); }",
     r"in f: bar .*; the function is called at .*c:5"),
    ("int main(int lane) { static void *t[] = {&&a, &&b}; goto *t[lane & 1];\n"
     "a: out[1] = 3; b: return lane; }", "in main: a jump to an address that is computed"),
    ("int main(int lane) { return nothing; }", "program.c:4:29: use of undeclared identifier"),
    ("int other(int lane) { return lane; }", "no function 'main'")])
def test_refused(source, reason, tmp_path):
    file = tmp_path / "program.c"
    file.write_text(HEAD + source)
    with pytest.raises(UserError, match=reason):
        compile_c(file, config=TINY)["main"]


@pytest.mark.parametrize("config", [LARGE, LARGE.replace(float="full")], ids=["none", "full"])
def test_float_atomics(config, tmp_path):
    """The largest float, a product that is only published, and a sum of integers stay."""
    source = """
float most; _Atomic float last; int sum, bits;
int main(int lane) { union { float f; int i; } old, new; float x = lane * 1.5f;
__atomic_fetch_max(&most, x, 0); last = 3 * x; __atomic_fetch_add(&sum, (int)(x * 4), 0);
do { old.i = __atomic_load_n(&bits, 0); new.f = x * x; if (new.f <= old.f) break; }
while (!__atomic_compare_exchange_n(&bits, &old.i, new.i, 0, 0, 0));
if (__atomic_fetch_add(&sum, 1000, 0) / 1000 == 7) { old.i = __atomic_load_n(&bits, 0);
out[lane] = sum + (int)(most * 8) + (int)old.f; } }
"""
    for level in "02":
        assert sorted(lanes(tmp_path, HEAD + source, config, optimisation=level)) \
            == [0] * 7 + [8000 + 6 * 28 + 84 + 110]


@pytest.mark.parametrize("source, reason", [
    ("int main(int lane, char **text) { return 0; }",
     r"main\(int lane, char \*\*text\): main gets the number of the lane and nothing else"),
    ("__attribute__((constructor)) void f(void) { out[1] = 1; } int main(int lane) {}",
     "program.c: a constructor, which nothing would call"),
    ("_Thread_local int x; int main(int lane) { return x++; }",
     "in main: thread-local data: take an array"),
    ('int main(int lane) { __asm__ volatile("addi sp, sp, -8"); }', "moves the stack pointer")])
def test_started_otherwise(source, reason, tmp_path):
    """What another system would do before ``main``, and does not happen here."""
    (tmp_path / "program.c").write_text(HEAD + source)
    with pytest.raises(UserError, match=reason):
        compile_files([tmp_path / "program.c"], tmp_path / "out.elf", TINY)
    assert not (tmp_path / "out.elf").exists()


def test_other_files(tmp_path):
    for name, reason in (("program.s", "must be a C file"), ("missing.c", "no such file")):
        with pytest.raises(UserError, match=reason):
            compile_c(tmp_path / name)
    for name in ("a.c", "b.c"):
        (tmp_path / name).write_text("int f(void) { return 1; }\n")
    with pytest.raises(UserError, match=r"b.c: f is in .*a.c too"):
        compile_c(tmp_path / "a.c", tmp_path / "b.c")


UNIFORM = HEAD + """
int values[64];
APART int sum(int n) { int s = 0; for (int i = 0; i < n; i++) { if (values[i] > 3) s += values[i];
else s--; } return s; }
int main(int lane) { for (int i = 0; i < 64; i++) values[i] = i & 7; out[lane] = sum(64) + lane; }
"""


def test_uniform_code_is_unchanged(tmp_path):
    """Branches on which lanes agree cost nothing."""
    counts = []
    for parted in ("found", "none"):
        file = tmp_path / "uniform.c"
        file.write_text(UNIFORM)
        program = compile_c(file, config=TINY, parted=parted)
        with Device.functional(TINY) as device:
            counts.append(device.launch(program["main"], lane=0).instructions)
    assert counts[0] == counts[1] > 300


DEEP = HEAD + """
APART int down(int n, int lane) { volatile int x[8]; x[0] = lane;
if (lane & 1) return n ? (down(n - 1, lane) ^ x[0]) + 1 : 0;
return n > 4 ? (down(n - 2, lane) ^ x[0]) - 3 : 0; }
int main(int lane) { out[lane] = down(60, lane); }
"""


def down(n, lane):
    """The function of ``DEEP``."""
    if lane & 1:
        return (down(n - 1, lane) ^ lane) + 1 if n else 0
    return (down(n - 2, lane) ^ lane) - 3 if n > 4 else 0


def test_stack(tmp_path):
    """A recursion of lanes that part: the function that leaves the stack is named, with the lane
    and the line. The levels and masks beside a full stack do not reach the frames: whatever its
    size, the results are right or the program stops."""
    right, fits = [down(60, lane) for lane in LANES], []
    for size in (512, 1024, 2048, 4096, 8192):
        try:
            assert lanes(tmp_path, DEEP, stack=size) == right
            fits.append(size)
        except RunError as error:
            assert re.search(r"warp \d, lane \d stopped at PC 0x\w+, in down.* \(.*program.c:\d+\)"
                             ": the stack pointer leaves", str(error))
    assert fits == [1024, 2048, 4096, 8192]


@pytest.mark.parametrize("rule, program", [
    ("drain", "break"), ("level on entry", "return"), ("leave first", "lock"),
    ("release", "lock in a loop"), ("agree", "own pointers")])
def test_faults(rule, program, tmp_path, monkeypatch):
    """Without one of its rules the pass is wrong for a program."""
    if rule == "drain":
        make = joins.Joins.__init__

        def once(self, analysis):
            make(self, analysis)
            self.repeated = set()
        monkeypatch.setattr(joins.Joins, "__init__", once)
    elif rule == "level on entry":
        monkeypatch.setattr(insertion.Insertion, "_meet", lambda self, place: [])
    elif rule == "agree":
        monkeypatch.setattr(insertion.Insertion, "_agree", lambda self, node, line: [])
    elif rule == "release":
        monkeypatch.setattr(AsmLine, "releases", False)
    else:
        from sw.cc.uniformity import Analysis
        monkeypatch.setattr(Analysis, "_waiting", lambda self: {})
    with contextlib.suppress(RunError):
        assert lanes(tmp_path, text(program)) != expected(tmp_path, program)


def test_library(tmp_path):
    """64-bit division, copies and printf in all lanes, also without a divider."""
    source = HEAD + """
int printf(const char *, ...);
struct big { int x[20]; };
int main(int lane) { struct big a, b; for (int i = 0; i < 20; i++) a.x[i] = i * lane;
b = a; KEEP; unsigned long long q = 0xfedcba9876543210ull / (lane + 1);
if (lane < 3) printf("%d: %x\\n", lane, b.x[3]);
out[lane] = (int)(q >> 32) ^ b.x[19] ^ (1000 / (lane + 1)); }
"""
    right = [np.int32(np.uint32((0xfedcba9876543210 // (lane + 1) >> 32) ^ 19 * lane
                                ^ 1000 // (lane + 1))) for lane in LANES]
    for config in (LARGE, LARGE.replace(divider="none")):
        assert lanes(tmp_path, source, config) == right


def test_wheel(tmp_path):
    """Doubles, floats without hardware for them, sorting, strings and mathematics."""
    source = HEAD + """
#include <math.h>
#include <stdlib.h>
#include <string.h>
static int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int lane) { int x[9]; for (int i = 0; i < 9; i++) x[i] = i * (lane + 2) % 9;
qsort(x, 9, sizeof *x, less); double d = 1; float f = 2;
for (int i = 0; i < lane; i++) { d = d / 3 + 0.25; f *= d > 0.5 ? 1.5f : -0.75f; }
char text[20] = "12345"; text[lane % 5] = 0; strcat(text, "7");
out[lane] = x[lane] * 1000000 + atoi(text) + (int)(d * 1e6) * 7 + (int)(f * 1000)
+ (int)(pow(d, 2.5) * 1000) + (int)(sin(lane) * 1000); }
"""
    right = []
    for lane in LANES:
        d, f = 1.0, 2.0
        for _ in range(lane):
            d = d / 3 + 0.25
            f *= 1.5 if d > 0.5 else -0.75
        right.append(sorted(i * (lane + 2) % 9 for i in range(9))[lane] * 1000000
                     + int("12345"[:lane % 5] + "7") + int(d * 1e6) * 7 + int(f * 1000)
                     + int(d ** 2.5 * 1000) + int(math.sin(lane) * 1000))
    assert lanes(tmp_path, source, LARGE) == right


def test_many_floats(tmp_path):
    """Clang has floats in a register of the pass when it has no other, in a kernel and in a
    function that a kernel calls."""
    count, config = 28, LARGE.replace(float="full")
    file = tmp_path / "floats.c"
    file.write_text("\n".join([
        "#pragma STDC FP_CONTRACT OFF",
        "__attribute__((noinline)) void f(int n, const float *x, float *y) {",
        'int i; __asm__("csrr %0, 0xCC0" : "=r"(i));',
        *(f"float v{k} = x[{k}] + i;" for k in range(count)), "for (int k = 0; k < i + n; k++) {",
        *(f"v{k} *= v{(k + 1) % count}; if (v{k} > 9) v{k} -= 8;" for k in range(count)),
        "}", "y[i] = " + " + ".join(f"v{k}" for k in range(count)) + "; }",
        "#ifdef CALL\nvoid g(int n, const float *x, float *y) { f(n, x, y); }\n#endif"]))
    x, y, z = np.arange(count, dtype=np.float32) % 7 / 4, *np.zeros((2, 4), np.float32)
    with Device.functional(config) as device:
        device.launch(compile_c(file, config=config).f, n=1, x=x, y=y)
        device.launch(compile_c(file, config=config, defines=("CALL",)).g, n=1, x=x, y=z)
    assert (y == z).all()
    for lane in range(4):
        value = x + np.float32(lane)
        for _ in range(lane + 1):
            for k in range(count):
                value[k] *= value[(k + 1) % count]
                value[k] -= 8 * (value[k] > 9)
        assert y[lane] == np.add.accumulate(value)[-1]


def test_heap(tmp_path):
    """Each lane has memory of its own; none is given out that the stacks need."""
    source = HEAD + """
void *_sbrk(int);
extern char end[];
int main(int lane) { int bytes = BYTES + (lane & 1) * 16; char *own = _sbrk(bytes);
out[lane] = -1; if (own == (char *)-1) return 0;
for (int i = 0; i < bytes; i++) own[i] = lane;
for (int i = 0; i < bytes; i++) if (own[i] != lane) return 0;
out[lane] = own - end; }
"""
    for size, least, most in ((32, 8, 8), (1500, 2, 5)):
        starts = lanes(tmp_path, source, heap=4096, defines=(f"BYTES={size}",))
        got = sorted((start, start + size + (lane & 1) * 16)
                     for lane, start in enumerate(starts) if start != -1)
        assert least <= len(got) <= most
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(got))
        assert got[0][0] == 0 and got[-1][1] < 4096 + 2 * 2048
