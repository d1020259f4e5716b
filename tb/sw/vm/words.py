"""Arithmetic of words: expressions with their words, and expressions that are refused.

They are of a function of vertex 0 of two, for which ``a`` and ``x`` are 0 and ``p`` is ``none``.
One arc leads to vertex 1.
"""


__all__ = ["REFUSED", "WORDS"]


LAST = (1 << 32) - 1

#: {expression: word}.
WORDS = {
    "a[v] + infinity + 3": LAST, "infinity * (a[v] + 3)": LAST, "a[v] + 4294967294": LAST - 1,
    "(a[v] + 2147483647) * 2": LAST - 1,
    "a[v] + 5 - 5": 0, "max(a[v] + 5, 9) - 9": 0, "min(infinity, a[v] + 8)": 8,
    "a[v] + 7 << 31": 1 << 31, "a[v] + 1 << 31": 1 << 31, "a[v] + 9 >> 31": 0,
    "(a[v] + 7) // 2": 3, "(a[v] + 7) % 4": 3, "~a[v]": LAST, "uint(p[v])": LAST,
    "uint(a[v] == 0)": 1, "uint(not a[v] == 0)": 0, "(a[v] + 10) * 0.25": 2,
    "(a[v] + 10) * (1 / edges.out_degree(v))": 9, "(a[v] + 10) * (1 / edges.in_degree(v))": 0,
    "((1 << 31) + a[v]) * (3 / (a[v] + 7))": 3 * ((1 << 32) // 7) >> 1,
    "((1 << 31) + a[v]) * ((a[v] + 8) / 8)": (1 << 31) - 1,
    "min(a[v], 3) | max(a[v], 4) ^ 1 & 3": 5, "edges.num_vertices * 3": 6,
    "3 if a[v] > 0 else 4": 4, "uint(p[v] == none and v <= source)": 1, "uint(max(v, none))": LAST,
    "infinity if a[v] == 0 else a[v] - 1": LAST, "uint(a[v] > 0 and a[v] - 1 > 3)": 0,
}

_LARGE = "does not fit in 32 bits: the largest number is 4294967294"

#: {expression: a part of the message}.
REFUSED = {
    "a[v] + 1 + 4294967294": f"a sum {_LARGE}",
    "(a[v] + 65535) * 65537": f"a product {_LARGE}",
    "(a[v] + 65536) * (a[v] + 65536)": f"a product {_LARGE}",
    "a[v] + 5 - 9": "a difference is below 0, and words have no sign",
    "infinity - (a[v] + 3)": "a difference of infinity has no value",
    "a[v] + 3 - infinity": "a difference of infinity has no value",
    "infinity * a[v]": "infinity times 0 has no value",
    "a[v] * infinity": "infinity times 0 has no value",
    "(a[v] + 7) // a[v]": "this is a division by 0",
    "(a[v] + 7) % a[v]": "this is a division by 0",
    "(a[v] | infinity) // 2": "a quotient of infinity has no value",
    "(a[v] | infinity) % 3": "a remainder of infinity has no value",
    "(a[v] + 4) // infinity": "a quotient of infinity has no value",
    "(a[v] | infinity) * 0.5": "a product of infinity has no value",
    "(a[v] | infinity) * (1 / (a[v] + 2))": "a product of infinity has no value",
    "(a[v] + 9) * (1 / (a[v] | infinity))": "a quotient of infinity has no value",
    "(a[v] + 9) * (a[v] / infinity)": "a quotient of infinity has no value",
    "(a[v] + 9) * (9 / (a[v] + 7))": "a quotient is above 1, and a fraction is at most 1",
    "a[v] + 7 << a[v] + 32": "a shift is by more than 31 bits",
    "a[v] + 9 >> 33": "a shift is by more than 31 bits",
    "min(a[v] + 4294967290 + 9, 3)": f"a sum {_LARGE}",
}
