"""C programs for the tests of :mod:`sw.cc`, each with the part of the pass that it is about."""

#: Text, and what lane ``n`` leaves in ``out[n]`` as a function of n.
PROGRAMS = {
    "if": ("int main(int lane) { if (lane & 1) out[lane] = lane * 3; else out[lane] = lane - 7; }",
           lambda n: n * 3 if n & 1 else n - 7),
    "loop": ("int main(int lane) { int s = 0; for (int i = 0; i <= lane; i++) { s += i * i; KEEP; }"
             " out[lane] = s; }", lambda n: sum(i * i for i in range(n + 1))),
    "break": ("int main(int lane) { int i, s = 0; for (i = 0; i < 20; i++) { KEEP;\n"
              "if (i == lane + 3) break; if ((i ^ lane) & 1) continue; s += i; }\n"
              "out[lane] = s * 100 + i; }",
              lambda n: 100 * sum(i for i in range(n + 3) if not (i ^ n) & 1) + n + 3),
    "meet at a loop": ("APART int f(int n, int x) { if (x & 1) out[63] = x;\n"
                       "do { KEEP; n -= 3; } while (n > 0); return n; }\n"
                       "int main(int lane) { out[lane] = f(lane, lane) + 1; }",
                       lambda n: -(-n % 3) + 1 if n else -2),
    "leave where lanes meet": (
        "APART int f(int n, int x) { if (x != 5) { if (x & 1) out[63] = x;\n"
        "for (;;) { KEEP; if ((n & 3) == x) break; n -= 3; if (n < 0) break; }\n"
        "out[62] = n; n += 7; KEEP; } return n; }\n"
        "int main(int lane) { out[lane] = f(lane, lane); }", None),
    "return": ("APART int f(int x) { if (x < 2) return 5; for (int i = 0; i < x; i++) { KEEP;\n"
               "if (i * i > x) return i; } return x; }\n"
               "int main(int lane) { out[lane] = f(lane) * 10 + 1; }",
               lambda n: 10 * (5 if n < 2 else next((i for i in range(n) if i * i > n), n)) + 1),
    "goto": ("int main(int lane) { int i = 0, s = 0; if (lane & 1) goto inside;\n"
             "again: s += 3; KEEP; inside: i++; if (i < lane) { if (i & 2) goto again; s++; KEEP;\n"
             "goto again; } out[lane] = s; }", None),
    "arguments that pass through": (
        "APART int g(int a, int b, int c, int d, int e, int f, int h, int i) {\n"
        "return a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f + 64 * h + 128 * i; }\n"
        "APART int f(int a, int b, int c, int d, int e, int f, int h, int i) {\n"
        "while (a & 3) { KEEP; a -= 1; } if (a & 4) a += 9; KEEP;\n"
        "return g(a, b, c, d, e, f, h, i); }\n"
        "int main(int lane) { out[lane] = f(lane, lane + 1, 2, lane, 4, 5 - lane, 6, lane * 7); }",
        None),
    "switch": ("int main(int lane) { int x = 1; switch (lane & 3) { case 0: x += 10;\n"
               "case 1: x *= lane; break; case 2: x -= lane; default: x += 5; } out[lane] = x; }",
               lambda n: [11 * n, n, 6 - n, 6][n & 3]),
    "conditions": ("APART int f(int x) { out[63] = x; return x & 1; }\n"
                   "int main(int lane) { out[lane] = (lane > 2 && f(lane)) || (lane == 1 &&\n"
                   "!f(lane + 1)) ? 7 : 9; }", lambda n: 7 if n == 1 or (n > 2 and n & 1) else 9),
    "recursion": ("APART int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
                  "int main(int lane) { out[lane] = fib(lane); }",
                  lambda n: [0, 1, 1, 2, 3, 5, 8, 13][n]),
    "calls": ("APART int f(int x) { return x * 7 + 1; } APART int g(int x) { return x - 3; }\n"
              "int main(int lane) { out[lane] = lane & 1 ? f(lane) : g(lane); }",
              lambda n: 7 * n + 1 if n & 1 else n - 3),
    "pointers": ("APART int f(int x) { return x & 1 ? x + 7 : x; }\n"
                 "APART int g(int x) { return x - 3; }\n"
                 "int (*volatile table[2])(int) = {f, g};\n"
                 "int main(int lane) { out[lane] = table[0](lane) * 100 + table[1](lane); }",
                 lambda n: 100 * (n + 7 if n & 1 else n) + n - 3),
    "own pointers": (
        "APART int f(int x) { return x & 1 ? x + 7 : x; } APART int g(int x) { return x - 3; }\n"
        "APART int h(int x); static int (*const table[3])(int) = {f, g, h};\n"
        "APART int h(int x) { return x < 2 ? 50 : table[x % 3](x - 2) * 2; }\n"
        "int main(int lane) { int s = 0; for (int i = 0; i < 4; i++) { KEEP;\n"
        "s = s * 3 + table[(lane + i) % 3](lane + i); if (s > 200) break; }\n"
        "out[lane] = s; }", None),
    "lock in a loop": (
        "int mutex; volatile int total, done;\n"
        "int main(int lane) { for (int i = -1; i < lane; i++) { KEEP;\n"
        "while (__atomic_exchange_n(&mutex, 1, __ATOMIC_ACQUIRE));\n"
        "total = total + 2; __atomic_store_n(&mutex, 0, __ATOMIC_RELEASE); }\n"
        "out[lane] = __atomic_add_fetch(&done, 1, 0) == 8 ? total : 72; }", lambda n: 72),
    "lock": ("int mutex; volatile int total;\n"
             "int main(int lane) { while (__atomic_exchange_n(&mutex, 1, __ATOMIC_ACQUIRE));\n"
             "total = total + lane + 1; __atomic_store_n(&mutex, 0, __ATOMIC_RELEASE);\n"
             "out[lane] = lane; }", lambda n: n),
    "division": ("int main(int lane) { long long x = lane * 1234567890123LL - 5000000000000LL;\n"
                 "out[lane] = (int)(x / (lane + 3)) ^ (int)(x % (lane - 9)); }", None),
}

HEAD = ('volatile int out[64];\n#define APART __attribute__((noinline))\n'
        '#define KEEP __asm__ volatile("")\n')


def text(name):
    """The C file of a program."""
    return HEAD + PROGRAMS[name][0] + "\n"
