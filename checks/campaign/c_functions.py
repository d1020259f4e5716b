"""Random functions of C for :mod:`checks.campaign.c_lanes`.

A function has nested ifs and switches, loops with break and continue, early returns, goto into and
out of loops, conditions with ``&&`` and ``||``, calls, also by pointers, on which lanes may
disagree, and recursion, also by way of other functions. Its values, of 8, 16, 32 and 64 bits, with
and without sign, in variables and in arrays on the stack, and of floats where they are asked for,
come from the lane and from what is the same in all lanes. It ends: every turn of a loop, every goto
and every call takes of the lane's fuel, ``m[8]``, but the few turns of a *tight* loop: without a
return in them, such loops have one way out.
"""

import random


__all__ = ["functions"]


_HEAD = """\
#pragma STDC FP_CONTRACT OFF
static int shared[8] = {3, 1, 4, 1, 5, 9, 2, 6};
#define TURN do { if (--m[8] < 0) return a ^ b; } while (0)
#define APART __attribute__((noinline)) static
"""

_NAMES = ("a", "b", "c", "lane", "u", "a", "b", "p", "q", "(int)w", "(int)(w >> 9)",
          "t[(unsigned)b % 6]")
_ASSIGNED = ("a", "a", "b", "c")


class _Function:
    """Writes one function.

    Parameters
    ----------
    draw : random.Random
    number : int
        Of the function; it may call those of lower numbers.
    count : int
        Of all functions.
    floats : bool
        Whether it has floats.
    """

    def __init__(self, draw, number, count, floats):
        self._draw, self._number, self._count, self._floats = draw, number, count, floats
        self._counters, self._labels, self._depth = [], [], 0
        self._jumps, self._tight_loop = draw.random() < 0.5, False

    def text(self):
        body = " ".join(self._statement(False) for _ in range(self._draw.randrange(3, 8)))
        counters = "".join(f", {name} = 0" for name in self._counters)
        return (f"APART int f{self._number}(int lane, int a, int u, int *m) {{\n"
                f"    int b = lane * 3, c = a ^ 5{counters};\n"
                "    signed char p = lane * 5; unsigned short q = a ^ lane;\n"
                "    long long w = lane * 0x123456789ll - a;\n"
                "    int t[6] = {a, lane, 3, u, 5, b * a};\n"
                + "    float g = lane & 255;\n" * self._floats
                + f"    {body}\n    w += t[(unsigned)c % 6]{' + (int)g' * self._floats};\n"
                "    return a + b * 3 + c * 7 + u + m[lane & 7] + p + q * 3 + (int)(w ^ w >> 32);\n"
                "}\n")

    def _value(self, depth=0):
        draw = self._draw
        if depth > 2 or draw.random() < 0.45:
            return draw.choice([*_NAMES, str(draw.randrange(-9, 99)), "m[a & 7]", "shared[b & 7]",
                                "shared[u & 7]"])
        if draw.random() < 0.08:
            return (f"({self._value(depth + 1)} {draw.choice('/%')} "
                    f"(({self._value(depth + 1)} & 15) + 1))")
        operator = draw.choice(["+", "-", "*", "^", "&", "|", ">> 1 ^", "% 7 +", "* 3u >> 2 ^"])
        return f"({self._value(depth + 1)} {operator} {self._value(depth + 1)})"

    def _condition(self):
        draw = self._draw
        kind, value = draw.random(), self._value
        plain = f"({value(1)} {draw.choice(['<', '>', '==', '!=', '<=', '>=', '&'])} {value(1)})"
        if kind < 0.3:
            return (f"({plain} {draw.choice(['&&', '||'])} "
                    f"({value(1)} {draw.choice(['<', '&', '!='])} {value(1)}))")
        if kind < 0.4:
            return f"((unsigned){value(1)} < (unsigned){value(1)})"
        if kind < 0.5:
            return f"((u & {draw.randrange(1, 8)}) != 0)"
        if kind < 0.55:
            return f"(w < (long long){value(1)} * {draw.randrange(1, 1 << 20)})"
        if kind < 0.65 and self._floats:
            return f"(g < (float)({value(1)} & 1023))"
        return plain

    def _block(self, in_loop):
        self._depth += 1
        statements = [self._statement(in_loop) for _ in range(self._draw.randrange(1, 4))]
        self._depth -= 1
        return "{ " + " ".join(statements) + " }"

    def _statement(self, in_loop):
        draw = self._draw
        kinds = {self._assign: 30, self._other: 10, self._store: 5, self._return: 4, self._add: 2}
        if self._tight_loop:
            kinds = {self._assign: 3, self._other: 1, self._store: 1}
        if self._tight_loop and self._depth < 4:
            kinds |= {self._if: 2, self._leave: 1}
        elif self._depth < 4:
            kinds |= {self._if: 19, self._for: 10, self._do: 5, self._while: 4, self._switch: 6,
                      self._tight: 6, self._recurse: 2}
            if in_loop:
                kinds[self._leave] = 8
            if self._jumps:
                kinds |= {self._label: 3, self._goto: 3 if self._labels else 0}
            if self._number:
                kinds |= {self._call: 4, self._point: 1, self._around: 1}
        kind = draw.choices(list(kinds), list(kinds.values()))[0]
        return kind(in_loop)

    def _assign(self, in_loop):
        barrier = ' __asm__ volatile("" ::: "memory");' if self._draw.random() < 0.4 else ""
        # What is the same in all lanes must sometimes be changed where lanes have parted.
        name = self._draw.choice([*_ASSIGNED, "u"])
        return f"{name} {self._draw.choice(['=', '+=', '^=', '-='])} {self._value()};{barrier}"

    def _other(self, in_loop):
        kinds = ["p += {};", "q ^= {};", "w = w * 5 + {};", "w ^= (long long){} << 13;",
                 "w /= ({} & 31) + 1;", "w %= ({} & 1023) - 2000;", "t[(unsigned)a % 6] = {};"]
        kinds += ["g = g * 0.5f + (float)({} & 1023);", "b ^= (int)(g * 3 - ({} & 7));"] \
            * self._floats
        return self._draw.choice(kinds).format(self._value(1))

    def _store(self, in_loop):
        return f"m[{self._value(1)} & 7] = {self._value()};"

    def _add(self, in_loop):
        return f"c += {self._value()};"

    def _return(self, in_loop):
        return f"if ({self._condition()}) return {self._value()};"

    def _if(self, in_loop):
        other = f" else {self._block(in_loop)}" if self._draw.random() < 0.5 else ""
        return f"if ({self._condition()}) {self._block(in_loop)}{other}"

    def _for(self, in_loop):
        name = f"i{len(self._counters)}"
        self._counters += [name, f"{name}_end"]
        end = self._draw.choice([f"({self._value(1)} & 7)", "4", "(lane & 3) + 1", "(u & 3)"])
        return (f"for ({name} = 0, {name}_end = {end}; {name} < {name}_end; {name}++) "
                f"{{ TURN; {self._block(True)} }}")

    def _do(self, in_loop):
        return f"do {{ TURN; {self._block(True)} }} while ({self._condition()});"

    def _while(self, in_loop):
        return f"while ({self._condition()}) {{ TURN; {self._block(True)} }}"

    def _tight(self, in_loop):
        name = f"i{len(self._counters)}"
        self._counters.append(name)
        self._tight_loop = True
        block = self._block(True)
        self._tight_loop = False
        turns = f"({self._value(1)} & {self._draw.choice([1, 3, 7])})"
        return self._draw.choice([
            f"{name} = {turns}; do {block} while (--{name} > 0);",
            f"for ({name} = {turns}; {name} > 0; {name}--) {block}",
            f"if ({self._condition()}) {{ {name} = {turns}; {self._assign(True)} }} "
            f"do {{ {self._assign(True)} }} while (--{name} > 0);"])

    def _switch(self, in_loop):
        cases = "".join(
            f"case {value}: {self._block(in_loop)} {'break; ' if self._draw.random() < 0.7 else ''}"
            for value in self._draw.sample(range(8), self._draw.randrange(2, 6)))
        return f"switch ({self._value(1)} & 7) {{ {cases}default: {self._block(in_loop)} }}"

    def _leave(self, in_loop):
        return f"if ({self._condition()}) {self._draw.choice(['break', 'continue'])};"

    def _label(self, in_loop):
        name = f"l{len(self._labels)}"
        self._labels.append(name)
        self._depth += 1
        inside = self._statement(in_loop)
        self._depth -= 1
        return f"{name}: TURN; {inside}"

    def _goto(self, in_loop):
        return f"if ({self._condition()}) {{ TURN; goto {self._draw.choice(self._labels)}; }}"

    def _call(self, in_loop):
        return (f"TURN; a ^= f{self._draw.randrange(self._number)}"
                f"({self._value()}, {self._value()}, {self._draw.choice(['u', '5', 'a'])}, m);")

    def _recurse(self, in_loop):
        return (f"if (m[8] > 20) {{ m[8] -= 20; "
                f"b += f{self._number}({self._value()}, {self._value()}, u, m); }}")

    def _point(self, in_loop):
        return (f"TURN; {{ int (*volatile pointer)(int, int, int, int *) = "
                f"f{self._draw.randrange(self._number)}; c ^= pointer(lane, a, u, m); }}")

    def _around(self, in_loop):
        number = str(self._draw.randrange(self._count))
        if self._draw.random() < 0.5:
            number = f"(unsigned){self._value(1)} % {self._count}"
        return (f"if (m[8] > 20) {{ m[8] -= 20; "
                f"c ^= table[{number}]({self._value()}, b, u, m); }}")


def functions(seed: int, count: int, floats: bool = False) -> str:
    """A C file with ``count`` random functions and ``void check(int *results)``, which calls each
    in a lane: word ``lanes * number + lane`` is the result of a function. The macros ``LANE`` and
    ``LANES`` have to be given, the number of a lane and how many there are."""
    draw = random.Random(seed)
    text = [_HEAD, f"static int (*const volatile table[{count}])(int, int, int, int *);"]
    text += [_Function(draw, number, count, floats).text() for number in range(count)]
    text.append(f"static int (*const volatile table[{count}])(int, int, int, int *) = {{"
                + ", ".join(f"f{number}" for number in range(count)) + "};")
    calls = []
    for number in range(count):
        calls.append(
            f"    {{ int m[9]; for (int i = 0; i < 8; i++) m[i] = i * lane;\n"
            f"      m[8] = 100;\n"
            f"      int h = f{number}(lane, {draw.randrange(9)}, {draw.randrange(9)}, m);\n"
            f"      for (int i = 0; i < 8; i++) h = h * 7 + m[i];\n"
            f"      results[LANES * {number} + lane] = h; }}\n")
    return "\n".join(text) + ("\nvoid check(int *results) {\n    int lane = LANE;\n"
                              + "".join(calls) + "}\n")
