"""The numbers of the paper's tables and text.

The values of the bars in its figures, and the entries of its table 4.1, are not in the text.
"""

from ..space import FrameworkSpace


__all__ = ["ALGORITHMS", "AXES", "BEST", "BLOCKED_GAP", "LINES", "OVER", "PRODUCT",
           "SECOND", "SECOND_FORMAT", "SECOND_MOST", "SPACES", "TUNING_MINUTES", "WORST",
           "WORST_RANGE"]


#: The paper's four algorithms, by their names here.
ALGORITHMS = {"pagerank": "PR", "cc": "CC", "bfs": "BFS", "sssp": "DS"}

#: Table 2.5: numbers of values of GRAssembler's axes.
AXES = {"schedules": 7, "formats": 5, "CTA sizes": 2, "blocking": 2, "frontiers": 4,
        "directions": 2, "deduplication": 2, "ordering": 2}

#: Table 2.5: GRAssembler's number of options, the product of :data:`AXES`.
PRODUCT = 4480


#: Table 2.6: the frontier whose input is not its output, "QnB".
_PAIRS = ("queue/bitmap",)

_ALL = ("vm", "em", "wm", "cm", "twc", "twce", "strict")

#: Table 2.5. All have both directions and both orderings. By section 2.5.5, GraphIt has blocks
#: under EM only. Table 2.6 has GRAssembler's reverse queue ("RQnB"), which table 2.5 leaves out.
SPACES = {
    "GRAssembler": FrameworkSpace(_ALL, ("coo", "csr", "ell", "dia", "g-shards"),
                                  ("queue", "bitmap", "bytemap", "counter", "rqueue",
                                   *_PAIRS), PRODUCT, _ALL, True),
    "GraphIt": FrameworkSpace(_ALL, ("csr",), ("queue", "bitmap", "bytemap"), 336, ("em",)),
    "GSwitch": FrameworkSpace(("wm", "cm", "twc", "strict"), ("coo", "csr"), ("queue", "bitmap"),
                              68, deduplicates=False),
    "Gunrock": FrameworkSpace(("vm", "em", "twc"), ("coo", "csr"), ("queue", "bitmap"), 96),
    "SEP-Graph": FrameworkSpace(("cm",), ("coo", "csr"), ("queue",), 64),
}

#: Section 2.5.1, figure 2.8: GRAssembler's speedups, of all algorithms (None) and of each.
OVER = {
    "GSwitch": {None: 2.21, "pagerank": 2.33, "cc": 1.84, "bfs": 1.66, "sssp": 3.38},
    "GraphIt": {None: 1.30, "pagerank": 1.52, "cc": 1.77, "bfs": 0.99, "sssp": 1.07},
}

#: Table 2.6: algorithm, graphs, topology, schedule, direction, frontier, threads. BFS has two rows
#: where it changes its direction. The table's BFS row "LJ, OK" goes on in the row below it.
BEST = (
    ("PR", "LJ, HW, OK, TW", "Block-COO", "EM", "Push", "Counter", "512"),
    ("PR", "RC", "Block-COO", "EM", "Push", "Counter", "1024"),
    ("PR", "RN, RU", "CSR", "VM", "Pull", "Counter", "512"),
    ("PR", "IC", "CSR", "TWC", "Push", "Counter", "1024"),
    ("PR", "UK", "CSR", "TWCE", "Push", "Counter", "512"),
    ("BFS", "RC, RU", "CSR", "TWCE", "Push", "Queue", "512"),
    ("BFS", "RN", "CSR", "VM", "Push", "Queue", "512"),
    ("BFS", "LJ, OK", "ELL + CSR", "VM | TWCE", "Pull | Push", "RQnB | Queue", "512"),
    ("BFS", "IC", "CSR", "VM | TWCE", "Pull | Push", "QnB | Queue", "512"),
    ("BFS", "TW", "CSR", "CM | TWCE", "Pull | Push", "RQnB | Queue", "512"),
    ("BFS", "UK", "CSR", "TWCE | TWCE", "Pull | Push", "RQnB | Queue", "512"),
    ("BFS", "HW", "CSR", "CM | STRICT", "Pull | Push", "RQnB | Queue", "512"),
    ("CC", "HW, RC, LJ, TW, RU, OK", "Block-COO", "EM", "Push", "Counter", "512"),
    ("CC", "RN", "CSR", "VM", "Pull", "Counter", "512"),
    ("CC", "UK", "CSR", "TWCE", "Pull", "Counter", "512"),
    ("CC", "IC", "ELL + COO", "EM", "Pull", "Counter", "512"),
    ("DS", "RN", "COO", "TWCE", "Push", "Queue", "512"),
    ("DS", "HW, RC, LJ, OK, TW, RU, UK", "CSR", "TWCE", "Push", "Queue", "512"),
    ("DS", "IC", "CSR", "CM", "Push", "QnB", "1024"),
)

#: Section 2.5.2: time of the second best over that of the best, its geometric mean and its largest
#: value; the share of second bests that have another format; time of the worst over that of the
#: best, its geometric mean and its range; minutes to tune with GraphIt and with GRAssembler.
SECOND, SECOND_MOST, SECOND_FORMAT = 1.16, 2.04, 0.5278
WORST, WORST_RANGE = 21.48, (1.36, 450.33)
TUNING_MINUTES = {"GraphIt": 10, "GRAssembler": 120}

#: Section 2.5.3: lines of code.
LINES = {
    "schedules": {"vm": 82, "em": 84, "cm": 185, "wm": 141, "twc": 292, "twce": 238,
                  "strict": 395, "shared": 123},
    "formats": {"coo": 114, "ell": 118, "csr": 131, "g-shards": 166, "shared": 115},
}

#: Section 2.5.6: time of the worst option of figure 2.10 over that of the best; both have blocks.
BLOCKED_GAP = 4.7
