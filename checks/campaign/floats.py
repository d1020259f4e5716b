"""The floating-point units alone, on operands drawn in the manner of Berkeley TestFloat.

The pipeline of a lane and the divider of a lane are compiled as they are, and take a batch of
operands at a time. Single precision is compared with Berkeley SoftFloat, which is a part of the
extra ``test``; formats of a few bits, on all operands there are, with
:class:`sw.golden.floating.Arithmetic`. The operations that SoftFloat lacks (signs, minimum and
maximum, classes) are compared with it too.
"""

import ctypes
import itertools
import pathlib
import tempfile

import numpy as np

from hw.float.divide import FloatDivideLane
from hw.float.format import SINGLE, FloatFormat
from hw.float.lane import FloatLane, latency
from hw.operations import FloatDivOp, FloatOp, RoundingMode
from sim import build, cache, compiler
from sw.golden.floating import Arithmetic


__all__ = ["COLUMNS", "MODES", "OPERATIONS", "FloatBatch", "describe", "differences", "drawn",
           "exhaustive", "modelled", "operand_count", "softfloat", "special_pairs"]


#: The rounding modes that an operation can have.
MODES = tuple(mode for mode in RoundingMode if mode is not RoundingMode.DYNAMIC)

OPERATIONS = (*FloatOp, *FloatDivOp)

#: The columns of operands. ``serial``: ``op`` is a FloatDivOp.
COLUMNS = np.dtype([(name, "<u4") for name in ("serial", "op", "kind", "unsigned", "mode",
                                               "a", "b", "c")])

_SHIM = r"""
#include "compiled.h"
#include "glue.h"
#include "pipeline.h"
#include "divider.h"
struct Columns { std::uint32_t serial, op, kind, is_unsigned, mode, a, b, c; };
struct Result { std::uint32_t word, flags; };
template <typename Dut> void edge(Dut& dut) {
    dut.clk = 1;
    dut.eval();
    dut.clk = 0;
    dut.eval();
}
extern "C" EXPORT void run_pipeline(unsigned count, unsigned latency, const Columns* rows,
                                Result* results) {
    Compiled<pipeline::State, pipeline::Ports> dut;
    for (unsigned i = 0; i < count + latency; ++i) {
        if (i < count) {
            const Columns& row = rows[i];
            dut.op = row.op, dut.kind = row.kind, dut.is_unsigned = row.is_unsigned;
            dut.mode = row.mode, dut.a = row.a, dut.b = row.b, dut.c = row.c;
        }
        edge(dut);
        if (i >= latency)
            results[i - latency] = {static_cast<std::uint32_t>(dut.result),
                                    static_cast<std::uint32_t>(dut.flags)};
    }
}
extern "C" EXPORT void run_divider(unsigned count, unsigned steps, const Columns* rows,
                               Result* results) {
    Compiled<divider::State, divider::Ports> dut;
    for (unsigned i = 0; i < count; ++i) {
        const Columns& row = rows[i];
        dut.root = row.op & 1, dut.mode = row.mode, dut.a = row.a, dut.b = row.b;
        dut.load = 1, edge(dut), dut.load = 0;
        dut.normalise = 1, edge(dut);
        while (dut.is_low) edge(dut);
        dut.normalise = 0;
        dut.begin = 1, edge(dut), dut.begin = 0;
        dut.step = 1;
        for (unsigned step = 0; step < steps; ++step) edge(dut);
        dut.step = 0;
        dut.settle = 1, edge(dut);
        while (dut.is_unsettled) edge(dut);
        dut.settle = 0, edge(dut);
        results[i] = {static_cast<std::uint32_t>(dut.result),
                      static_cast<std::uint32_t>(dut.flags)};
    }
}
"""


class FloatBatch:
    """A lane's pipeline and divider, compiled.

    Parameters
    ----------
    long : bool
        Whether the pipeline is the long one.
    form : FloatFormat
    """

    def __init__(self, long, form: FloatFormat = SINGLE):
        self._lane, self._divider = FloatLane(long, form), FloatDivideLane(form)
        self._latency = latency(long)
        with tempfile.TemporaryDirectory() as folder:
            self._library = ctypes.CDLL(str(self._built(pathlib.Path(folder))))

    def _built(self, folder):
        texts = {}
        for name, component in (("pipeline", self._lane), ("divider", self._divider)):
            design = compiler.optimized(compiler.netlist(component, None))
            texts |= compiler.emitted(design, name)
        texts["shim.cpp"] = _SHIM
        tool = build.SimulatorCompiler()

        def make(work):
            for name, text in texts.items():
                (folder / name).write_text(text)
            units = [(path, work / f"{path.stem}.o", ["-O2"])
                     for path in sorted(folder.glob("*.cpp"))]
            objects = build.compile_all(tool, units, ["-DCOMPILED", "-I", folder])
            tool.link(objects, work / "floats.so")
            for path in objects:
                path.unlink()
        key = cache.hashed(*(part for text in sorted(texts.items()) for part in text),
                           *build.files(build.HARNESS, "*.h"), tool.identity)
        return cache.entry("floats", key, make, what="floating-point units") / "floats.so"

    def run(self, rows):
        """The words and flags of operands, given as an array of :data:`COLUMNS`: an array of
        uint32, (rows, 2)."""
        rows = np.array(rows, COLUMNS)
        # The pipeline takes the last operand of every operation as the third one, too.
        for op in FloatOp:
            if operand_count(op) < 3:
                chosen = (rows["serial"] == 0) & (rows["op"] == op.value)
                rows["c"][chosen] = rows["ab"[operand_count(op) - 1]][chosen]
        results = np.zeros((len(rows), 2), np.uint32)
        for serial, function, cycles in ((0, self._library.run_pipeline, self._latency),
                                         (1, self._library.run_divider, self._divider.steps)):
            chosen = np.nonzero(rows["serial"] == serial)[0]
            some = np.ascontiguousarray(rows[chosen])
            found = np.zeros((len(some), 2), np.uint32)
            function(len(some), cycles, some.ctypes.data_as(ctypes.c_void_p),
                     found.ctypes.data_as(ctypes.c_void_p))
            results[chosen] = found
        return results


def drawn(rng: np.random.Generator, count: int):
    """Random operands: an array of :data:`COLUMNS`.

    Exponents are at the ends, near that of 1.0, or anywhere; the second operand is often close to
    the first, and the addend of a fused operation close to the product. Significands have few bits
    that are set or few that are not, or are random.
    """
    a, b, c = (_words(rng, count) for _ in range(3))
    b = np.where(rng.random(count) < 0.4, _near(rng, a), b)
    exponents = (a >> 23 & 255).astype(np.int64) + (b >> 23 & 255) - 127
    product = np.clip(exponents, 0, 255).astype(np.uint32) << 23
    c = np.where(rng.random(count) < 0.5, _near(rng, product, most=30), c)
    integers = rng.integers(1 << 32, size=count, dtype=np.uint32) >> rng.integers(
        32, size=count, dtype=np.uint32)
    number = rng.integers(len(OPERATIONS), size=count)
    op = np.array([one.value for one in OPERATIONS])[number]
    converts = op == FloatOp.FROM_INT.value
    rows = np.zeros(count, COLUMNS)
    rows["serial"], rows["op"] = number >= len(FloatOp), op
    rows["kind"] = rng.integers(3, size=count) % np.where(op == FloatOp.SELECT.value, 2, 3)
    rows["unsigned"], rows["mode"] = rng.integers(2, size=count), rng.integers(5, size=count)
    rows["a"] = np.where(converts & (rng.random(count) < 0.5), integers, a)
    rows["b"], rows["c"] = b, c
    return rows


def _fractions(rng, count):
    fraction = rng.integers(1 << 23, size=count, dtype=np.uint32)
    low = (np.uint32(1) << rng.integers(24, size=count, dtype=np.uint32)) - np.uint32(1)
    bit = np.uint32(1) << rng.integers(23, size=count, dtype=np.uint32)
    every = np.uint32(0x7F_FFFF)
    kind = rng.integers(8, size=count)
    return np.select([kind == 0, kind == 1, kind == 2, kind == 3, kind == 4],
                     [low, every & ~low, bit, every ^ bit, fraction & low], fraction)


def _float(rng, exponent, count):
    sign = rng.integers(2, size=count, dtype=np.uint32) << np.uint32(31)
    return sign | exponent.astype(np.uint32) << np.uint32(23) | _fractions(rng, count)


def _words(rng, count):
    kind = rng.integers(8, size=count)
    ends = np.array((0, 1, 2, 253, 254, 255))[rng.integers(6, size=count)]
    middle = np.clip(rng.normal(127, 14, count).astype(np.int64), 0, 255)
    exponent = np.select([kind == 0, kind < 4], [ends, middle], rng.integers(256, size=count))
    return _float(rng, exponent, count)


def _near(rng, words, most=3):
    exponent = (words >> 23 & 255).astype(np.int64)
    away = rng.integers(-most, most + 1, size=len(words))
    return _float(rng, np.clip(exponent + away, 0, 255), len(words))


#: Floats at the edges: zero, subnormal and least normal numbers, numbers around 1 and around the
#: limits of integers, the largest number, infinity, quiet and signalling NaNs.
_MAGNITUDES = (0, 1, 2, 0x40_0000, 0x7F_FFFF, 0x80_0000, 0x80_0001, 0x3380_0000, 0x3F00_0000,
               0x3F7F_FFFF, 0x3F80_0000, 0x3F80_0001, 0x3FC0_0000, 0x4000_0000, 0x4B00_0001,
               0x4EFF_FFFF, 0x4F00_0000, 0x4F7F_FFFF, 0x4F80_0000, 0x7F00_0000, 0x7F7F_FFFF,
               0x7F80_0000, 0x7FC0_0000, 0x7FFF_FFFF, 0x7F80_0001)
_SPECIAL = tuple(sign << 31 | word for word in _MAGNITUDES for sign in (0, 1))


def _rows(tuples):
    return np.array([tuple(map(int, one)) for one in tuples], COLUMNS)


def special_pairs():
    """All pairs of special values in every operation, each pair in one rounding mode after the
    other; the third operand goes through the values too."""
    turns = itertools.count()
    rows = []
    for op in OPERATIONS:
        kinds = {FloatOp.SELECT: 2, FloatOp.SIGN: 3, FloatOp.COMPARE: 3}.get(op, 1)
        seconds = _SPECIAL if operand_count(op) > 1 else _SPECIAL[:1]
        for kind, a, b in itertools.product(range(kinds), _SPECIAL, seconds):
            turn = next(turns)
            rows += [(op in FloatDivOp, op.value, kind, unsigned, MODES[turn % 5].value, a, b,
                      _SPECIAL[turn // 5 % len(_SPECIAL)])
                     for unsigned in range(2 if op in (FloatOp.TO_INT, FloatOp.FROM_INT) else 1)]
    return _rows(rows)


def operand_count(op) -> int:
    """How many operands an operation has."""
    if op in (FloatOp.MADD, FloatOp.MSUB, FloatOp.NMSUB, FloatOp.NMADD):
        return 3
    return 1 if op in (FloatOp.TO_INT, FloatOp.FROM_INT, FloatOp.CLASS, FloatDivOp.SQRT) else 2


def exhaustive(form: FloatFormat, ops, modes=MODES):
    """All operands that a format has, in some operations and rounding modes."""
    words = range(1 << form.width)
    return _rows(
        (op in FloatDivOp, op.value, kind, unsigned, mode.value, *operands,
         *(0,) * (3 - len(operands)))
        for op in ops
        for kind in range({FloatOp.SELECT: 2, FloatOp.SIGN: 3, FloatOp.COMPARE: 3}.get(op, 1))
        for unsigned in range(2 if op in (FloatOp.TO_INT, FloatOp.FROM_INT) else 1)
        for mode in modes
        for operands in itertools.product(words, repeat=operand_count(op)))


def modelled(rows, form: FloatFormat = SINGLE):
    """The words and flags of operands by the golden model, as of :meth:`FloatBatch.run`."""
    arithmetic = Arithmetic(form)
    return np.array([
        arithmetic.perform((FloatDivOp if serial else FloatOp)(op), RoundingMode(mode), a, b, c,
                           kind=kind, unsigned=bool(unsigned))
        for serial, op, kind, unsigned, mode, a, b, c in rows.tolist()], np.uint32)


def softfloat(rows):
    """The words and flags of operands by SoftFloat, as of :meth:`FloatBatch.run`, as RISC-V has
    them: one NaN, and the nearest integer where there is none."""
    import softfloatpy as soft
    modes, floats = list(soft.RoundingMode), soft.Float32.from_bytes
    soft.set_tininess_mode(soft.TininessMode.AFTER_ROUNDING)
    sign = 1 << 31
    two = {FloatOp.ADD: soft.f32_add, FloatOp.SUB: soft.f32_sub, FloatOp.MUL: soft.f32_mul,
           FloatDivOp.DIV: soft.f32_div}
    compared = (soft.f32_le, soft.f32_lt, soft.f32_eq)

    def number(word):
        return floats(word.to_bytes(4, "big"))

    def computed(op, kind, unsigned, mode, a, b, c):
        """A word, or a float."""
        if op in two:
            return two[op](number(a), number(b))
        if op is FloatDivOp.SQRT:
            return soft.f32_sqrt(number(a))
        if op is FloatOp.COMPARE:
            return int(compared[kind](number(a), number(b)))
        if op is FloatOp.FROM_INT:
            return (soft.ui32_to_f32(soft.UInt32.from_int(a)) if unsigned else
                    soft.i32_to_f32(soft.Int32.from_int(a - (a >> 31 << 32))))
        if op is FloatOp.TO_INT:
            function = soft.f32_to_ui32 if unsigned else soft.f32_to_i32
            found = function(number(a), mode, True).to_int() & 0xFFFF_FFFF
            if soft.test_exception_flags(soft.ExceptionFlag.INVALID):
                negative = a >> 31 and a & ~sign <= 0x7F80_0000
                return (0 if unsigned else sign) if negative else 0xFFFF_FFFF >> (not unsigned)
            return found
        return soft.f32_mul_add(number(a ^ sign * (op.value >> 1)), number(b),
                                number(c ^ sign * (op.value & 1)))

    arithmetic = Arithmetic()
    lacking = (FloatOp.SIGN, FloatOp.SELECT, FloatOp.CLASS)
    results = []
    for serial, code, kind, unsigned, mode, a, b, c in rows.tolist():
        op = (FloatDivOp if serial else FloatOp)(code)
        if op in lacking:
            results.append(arithmetic.perform(op, RoundingMode(mode), a, b, c, kind=kind))
            continue
        soft.set_rounding_mode(modes[mode])
        soft.set_exception_flags(0)
        found = computed(op, kind, unsigned, modes[mode], a, b, c)
        if not isinstance(found, int):
            found = int.from_bytes(found.to_bytes(), "big")
            if found & ~sign > 0x7F80_0000:
                found = SINGLE.canonical
        results.append((found, int(soft.get_exception_flags())))
    return np.array(results, np.uint32)


def describe(row, found, right, form: FloatFormat = SINGLE) -> str:
    """A line about operands whose result is wrong."""
    serial, op, kind, unsigned, mode, *operands = row.tolist()
    digits = -(-form.width // 4)
    op = (FloatDivOp if serial else FloatOp)(op)
    words = ", ".join(f"{word:#0{digits + 2}x}" for word in operands[:operand_count(op)])
    details = "".join([f" kind {kind}" * (op in (FloatOp.SELECT, FloatOp.SIGN, FloatOp.COMPARE)),
                       " unsigned" * unsigned])
    return (f"{op.name}{details} {RoundingMode(mode).name} of {words}: "
            f"{found[0]:#0{digits + 2}x}, flags {found[1]:#x}, and not "
            f"{right[0]:#0{digits + 2}x}, flags {right[1]:#x}")


def differences(rows, found, right, form: FloatFormat = SINGLE) -> list[str]:
    """A line for each row whose result is wrong."""
    wrong = np.nonzero((found != right).any(axis=1))[0]
    return [describe(rows[i], found[i], right[i], form) for i in wrong]
