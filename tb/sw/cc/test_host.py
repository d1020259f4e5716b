"""Launches of C from Python.

========================  ========================================================================
arrays and numbers        test_launch: also on the RTL; test_types, test_one_array_twice
refused                   test_refused
errors while it runs      test_errors
========================  ========================================================================
"""

import numpy as np
import pytest

import graphloom
from base.errors import RunError, UserError
from hw.config import preset
from sw.device import Device


TINY = preset("tiny")

TEXT = """
static unsigned lane(void) { unsigned warp, lane; __asm__("csrr %0, 0xCC1" : "=r"(warp));
__asm__("csrr %0, 0xCC0" : "=r"(lane)); return warp * 4 + lane; }
void saxpy(unsigned n, int a, const int *x, int *y) {
    for (unsigned i = lane(); i < n; i += 8) y[i] += a * x[i]; }
enum kind { NONE, SOME };
void types(long long a, signed char b, _Bool c, enum kind d, unsigned short *e, void *f) {
    if (!lane()) { e[0] = a >> 40; e[1] = b; e[2] = c; e[3] = d; *(char *)f = 5; } }
void reads(const int *x, int *y) { if (lane() == 3) y[0] = x[1 << 28]; }
struct pair { int a, b; };
void by_value(struct pair p, int *y) { y[0] = p.a; }
void scale(float a, int y[][2]) { y[0][0] = a != 0; }
void many(long long a, long long b, long long c, long long d, int *y) { y[0] = a; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    file = tmp_path_factory.mktemp("c") / "kernels.c"
    file.write_text(TEXT)
    return graphloom.compile(file, config=TINY)


@pytest.fixture(scope="module")
def device():
    with Device.functional(TINY) as made:
        yield made


def test_launch(program, device):
    x, start = np.arange(50, dtype=np.int32), np.full(50, 7, np.int32)
    with Device.simulate(TINY) as rtl:
        for machine in (device, rtl, device):
            y = start.copy()
            launch = machine.launch(program.saxpy, n=50, a=-3, x=x, y=y)
            assert (y == start - 3 * x).all()
            assert launch.instructions > 50 and (launch.cycles > 0) == (machine is rtl)
    assert "saxpy(unsigned int n, int a, const int *x, int *y)" in repr(program)


def test_types(program, device):
    e, f = np.zeros(5, np.uint16), np.zeros(3, np.uint8)
    device.launch(program.types, a=-(7 << 40), b=-2, c=True, d=1, e=e, f=f)
    assert e.tolist() == [65529, 65534, 1, 1, 0] and f.tolist() == [5, 0, 0]


def test_one_array_twice(program, device):
    x = np.arange(10, dtype=np.int32)
    device.launch(program.saxpy, n=10, a=1, x=x, y=x)
    assert x.tolist() == list(range(0, 20, 2))
    device.launch(program.saxpy, n=10, a=-1, x=x[:], y=x[:])
    assert not x.any()
    with pytest.raises(UserError, match="y: the array overlaps .*: x: must be the same or apart"):
        device.launch(program.saxpy, n=5, a=1, x=x[:5], y=x[3:])


X = np.arange(10, dtype=np.int32)
FROZEN = X.copy()
FROZEN.flags.writeable = False


@pytest.mark.parametrize("name, changed, reason", [
    ("saxpy", {"x": X.astype(np.int64)}, "x: an array of int64, must be of int32"),
    ("saxpy", {"x": X.astype(np.uint32)}, "x: an array of uint32, must be of int32"),
    ("saxpy", {"y": [1, 2]}, "y: must be a numpy array of int32"),
    ("saxpy", {"y": X[::2]}, "y: the array must be contiguous"),
    ("saxpy", {"y": FROZEN}, "y: the array must be contiguous, and may not be read-only"),
    ("saxpy", {"x": np.zeros(1 << 20, np.int32)}, "x: 4194304 bytes at 0x.* do not fit in the "
     "memory"),
    ("saxpy", {"n": -1}, "n: -1 is not from 0 to 4294967295"),
    ("saxpy", {"n": 2.5}, "n: must be an integer, not 2.5"),
    ("saxpy", {"n": None, "m": 3}, "no parameter 'm'"), ("saxpy", {"a": None}, "'a' is missing"),
    ("nosuch", {}, "no function 'nosuch'; there are: by_value, many, reads, saxpy, scale, "
     "types"),
    ("scale", {"n": None, "x": None, "a": -1e300}, "a: -1e.300 does not fit in a float"),
    ("scale", {"n": None, "x": None, "y": X.astype(np.int64)}, "of int64, must be of int32"),
    ("by_value", {"n": None, "a": None, "x": None, "p": 1}, "p: a struct.* cannot be passed"),
    ("many", {"n": None, "x": None, "b": 1, "c": 1, "d": 1}, "9 words of arguments"),
])
def test_refused(name, changed, reason, program, device):
    given = {"n": 10, "a": 2, "x": X, "y": X.copy()} | changed
    with pytest.raises(UserError, match=reason):
        device.launch(program[name], **{key: value for key, value in given.items()
                                        if value is not None})


def test_errors(program, device):
    with pytest.raises(RunError, match=r"reads: core 0, warp 0, lane 3 stopped at PC .*, in reads"
                       r".* \(.*kernels.c:9\): a load from an unmapped address"):
        device.launch(program.reads, x=X, y=X.copy())
    with pytest.raises(RunError, match="y: the kernel has written behind the end of the array"):
        device.launch(program.saxpy, n=11, a=1, x=X, y=X.copy())
    with pytest.raises(RunError, match="limit"):
        device.launch(program.saxpy, n=10, a=1, x=X, y=X.copy(), max_cycles=10)
    with pytest.raises(UserError, match="compile: no C file"):
        graphloom.compile()
    with pytest.raises(UserError, match="optimization"):
        graphloom.compile("kernels.c", optimization="3")
    for name, value in (("optimisation", 2), ("parted", "some"), ("stack", 3000), ("stack", "big"),
                        ("heap", -1), ("defines", "A=1")):
        with pytest.raises(UserError, match=f"compile: {name} is .*: must be"):
            graphloom.compile("kernels.c", **{name: value})
    with pytest.raises(UserError, match="8 stacks of 1048576 bytes"):
        device.launch(program.saxpy, n=10, a=1, x=X, y=X.copy(), stack=1 << 20)
