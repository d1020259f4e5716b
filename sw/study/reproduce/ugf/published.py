"""The numbers of the thesis.

Slips, which are noted here and not copied:

- Table 6.10 counts six ways to balance the load; table 3.1 has seven.
- Section 6.1: UGF is up to 5.1 times as fast as the next framework, on SSSP. By table 6.2 the
  largest factor is 4.61 (OK). It is never more than 36 % slower than the fastest; by the table its
  BC on IC takes 3.34 times as long, and its PageRank 1.96 times.
- Section 6.1: CC is up to 3.4 times as fast as the next framework. By table 6.2 it is 1.90; 3.38 is
  the factor over Gunrock on RN, where GSwitch is the next.
- Section 6.1: BC is the fastest on 8 of 9 graphs and up to 2.03 times as fast as the next. By table
  6.2 it is the fastest on 6, and 2.38 times as fast on HW. The cells HW and IC of GSwitch may have
  changed places.
- Section 6.1: BFS on roads is up to 6.04 times as fast as GSwitch and 1.63 as Gunrock. By table 6.2
  the first is Gunrock (442.19 / 73.15) and the second GSwitch.
- Section 6.3: SSSP on roads is up to 2.07 times as fast on the CPU as on the GPU. By table 6.4 this
  is the factor over SEP-Graph (440.21 / 212.30); over UGF's GPU it is 2.83.
- UGF's SSSP on RU takes 601.08 ms in table 6.2 and 601.80 ms in table 6.4.
- Section 6.1: CC takes ETWC on graphs with a power law. By table 6.6 it takes CM on OK and LJ and
  TWC on SW and IC, with the times of table 6.2.
- Gunrock's BC takes the same times on both GPUs, to the hundredth of a millisecond.
- Table 6.7 says 1.35x for RU; its times give 1.32.
- In table A.1, BC makes the hybrid schedule ``h1`` and applies ``s1``, to the labels ``s1`` and
  ``s2``; on roads the labels are ``s0:s1`` and ``s2:s3``.

The text that these numbers are from lacks the row RN of SSSP and BFS in tables 6.2 and 6.3.
"""

from ..space import FrameworkSpace


__all__ = ["ALGORITHMS", "BALANCED_BFS", "BALANCED_CC", "BEST", "BLOCKING", "BOTH", "CLAIMS",
           "FUSION", "LINES", "ROADS", "SCHEDULES", "SPACES", "TIMES", "factors", "fastest"]


#: The five algorithms, by their names here.
ALGORITHMS = {"pagerank": "PR", "bfs": "BFS", "sssp": "SSSP", "cc": "CC", "bc": "BC"}

#: Road graphs; the others have degrees by a power law.
ROADS = ("RU", "RC", "RN")

_BALANCES = ("vm", "cm", "wm", "strict", "em", "etwc", "twc")

#: Table 6.10, its numbers of schedules of one direction. The ways to balance the load of the other
#: frameworks are by name in GRAssembler's table 2.5, and as many. UGF has EdgeBlocking with
#: EDGE_ONLY (table A.1). CSR is every framework's format, and COO that of EDGE_ONLY.
SPACES = {
    "UGF": FrameworkSpace(_BALANCES, ("csr", "coo"), ("queue", "bitmap", "bytemap"), 288, ("em",),
                          fuses=True),
    "GSwitch": FrameworkSpace(("wm", "cm", "twc", "strict"), ("csr", "coo"), ("queue", "bitmap"),
                              16, deduplicates=False),
    "Gunrock": FrameworkSpace(("vm", "em", "twc"), ("csr", "coo"), ("queue", "bitmap"), 24),
    "SEP-Graph": FrameworkSpace(("cm",), ("csr", "coo"), ("queue",), 8, fuses=True),
}

_COLUMNS = (*(("pagerank", name) for name in ("UGF", "Gunrock", "GSwitch")),
            *(("cc", name) for name in ("UGF", "Gunrock", "GSwitch")),
            *(("bc", name) for name in ("UGF", "Gunrock", "GSwitch")))
_SEARCHES = tuple((algorithm, name) for algorithm in ("sssp", "bfs")
                  for name in ("UGF", "Gunrock", "GSwitch", "SEP-Graph"))

_TITAN = """\
OK 14.18 60.63 117.10 63.31 71.95 76.85 26.22 213.93 37.93
TW 77.86 113.55 211.03 196.78 374.59 OOM 174.83 505.31 122.81
LJ 7.68 17.67 OOM 24.65 35.96 27.81 28.93 88.04 26.98
SW 102.11 178.70 338.79 276.04 439.51 OOM 204.32 1095.60 415.06
HW 7.01 22.67 OOM 12.04 37.43 18.23 12.20 29.03 79.44
IC 18.24 13.16 9.30 31.66 235.92 43.10 35.78 47.97 10.70
RU 6.32 10.53 7.62 20.66 74.45 31.21 302.22 987.93 564.53
RC 5.56 9.96 8.86 27.03 48.22 27.13 239.55 632.97 332.91
RN 0.43 0.94 0.47 1.72 5.82 3.04 24.05 86.44 39.51
"""
_TITAN_SEARCHES = """\
OK 94.30 978.44 550.38 434.77 1.75 1.92 1.94 6.40
TW 114.34 264.54 233.54 237.12 21.13 OOM 22.52 40.18
LJ 54.46 260.19 172.99 172.07 4.66 4.80 3.68 11.63
SW 685.66 3470.59 1933.29 2296.01 20.17 OOM 18.96 93.69
HW 18.44 74.90 47.54 92.92 1.89 2.04 2.30 4.76
IC 120.42 232.55 268.95 511.70 10.68 15.92 70.69 55.15
RU 601.08 53518.87 1238.03 440.21 73.15 442.19 119.93 84.29
RC 337.62 29443.51 642.38 286.03 49.59 OOM 84.98 61.51
"""
_VOLTA = """\
OK 10.87 20.59 32.77 15.18 - 16.33 20.11 213.93 20.56
TW 35.83 43.04 103.88 136.73 - 137.12 94.93 505.31 56.44
LJ 4.54 7.66 6.49 7.96 - 11.12 20.12 88.04 16.88
SW 56.23 66.41 163.88 174.91 - 290.02 392.24 1095.60 216.05
HW 4.15 6.47 8.67 8.23 - 6.85 6.04 29.03 6.08
IC 13.68 16.64 46.55 22.08 - 4.46 10.67 47.97 55.58
RU 3.14 2.68 3.22 12.85 - 17.94 395.26 987.93 536.95
RC 2.17 2.61 2.97 10.66 - 14.14 247.8 632.97 336.78
RN 0.23 0.27 0.29 1.42 - 2.79 40.43 86.44 47.06
"""
_VOLTA_SEARCHES = """\
OK 53.47 243.05 199.59 164.69 1.51 1.66 1.51 5.72
TW 62.10 97.52 132.94 117.97 13.60 13.52 10.60 38.18
LJ 42.85 14.55 77.95 103.40 2.56 3.63 3.05 9.59
SW 645.26 235.75 1062.56 1066.57 83.74 94.77 12.26 70.70
HW 16.21 5.87 26.77 51.75 1.63 1.67 1.60 4.81
IC 155.09 13.63 211.85 350.58 31.04 12.57 40.60 39.39
RU 253.25 788.23 390.23 191.08 74.53 775.16 186.43 97.62
RC 195.40 429.24 222.05 128.02 119.66 434.01 115.13 65.49
"""


def _read(*parts) -> dict[tuple[str, str], dict[str, float | None]]:
    """{(algorithm, graph): {framework: milliseconds}}; None where a framework has no time."""
    found: dict[tuple[str, str], dict[str, float | None]] = {}
    for columns, text in parts:
        for line in text.splitlines():
            graph, *cells = line.split()
            for (algorithm, name), cell in zip(columns, cells, strict=True):
                found.setdefault((algorithm, graph), {})[name] = \
                    None if cell in ("OOM", "-") else float(cell)
    return found


#: Tables 6.2 (Titan Xp) and 6.3 (V100): milliseconds by algorithm and graph, of each framework.
TIMES = {"table6.2": _read((_COLUMNS, _TITAN), (_SEARCHES, _TITAN_SEARCHES)),
         "table6.3": _read((_COLUMNS, _VOLTA), (_SEARCHES, _VOLTA_SEARCHES))}

#: Sections 6.1 and 6.2: of 45 experiments, those in which UGF is the fastest; and its largest
#: factor over the next.
CLAIMS = {"table6.2": (36, 5.1), "table6.3": (26, 4.49)}


def factors(table, algorithm, graph) -> dict[str, float]:
    """The times of the other frameworks over UGF's, as far as there are any."""
    times = TIMES[table][algorithm, graph]
    return {name: time / (times["UGF"] or 0) for name, time in times.items()
            if name != "UGF" and time is not None}


def fastest(table) -> tuple[int, int, float]:
    """The experiments of a table, those in which UGF is the fastest, and its largest factor over
    the next framework."""
    leads = [min(factors(table, *place).values()) for place in TIMES[table]]
    return len(leads), sum(lead > 1 for lead in leads), max(leads)


#: Table 6.4: SSSP with delta-stepping in milliseconds: UGF on the CPU, UGF on the GPU, SEP-Graph.
BOTH = {"RU": (212.30, 601.80, 440.21), "RC": (162.49, 337.62, 286.03),
        "OK": (106.00, 94.30, 434.77), "LJ": (90.05, 54.46, 172.07)}

#: Tables 6.5 and 6.6: BFS pushing, and CC, in milliseconds under ETWC, TWC and CM.
BALANCED_BFS = {
    "OK": (43.58, 40.69, 42.24), "TW": (106.11, 107.57, 116.06), "LJ": (19.72, 20.03, 18.42),
    "SW": (226.35, 230.00, 230.03), "HW": (4.94, 5.79, 8.17), "IC": (11.38, 11.50, 22.16),
    "RU": (136.64, 255.89, 168.90), "RC": (91.20, 162.54, 109.89), "RN": (13.10, 25.77, 16.25)}
BALANCED_CC = {
    "OK": (69.93, 81.10, 63.31), "TW": (196.78, 232.58, 252.83), "LJ": (28.87, 31.64, 24.65),
    "SW": (431.02, 276.04, 379.12), "HW": (12.04, 12.80, 14.76), "IC": (42.06, 31.66, 42.94),
    "RU": (32.33, 24.73, 20.66), "RC": (28.42, 37.62, 27.03), "RN": (3.02, 1.92, 1.72)}

#: Section 6.1: frameworks without kernel fusion, of UGF's time for SSSP on roads, at most.
FUSION = {"GSwitch": 2.05, "Gunrock": 89.0}

#: Table 6.7: PageRank, milliseconds a round without and with EdgeBlocking, and of the
#: preprocessing.
BLOCKING = {
    "OK": (41.75, 14.18, 22.75), "TW": (88.25, 77.86, 129.43), "LJ": (15.67, 7.68, 20.65),
    "SW": (144.88, 102.11, 141.86), "HW": (7.01, 7.02, 12.00), "IC": (18.24, 19.55, 32.25),
    "RU": (8.35, 6.32, 11.77), "RC": (8.39, 5.56, 8.20), "RN": (0.44, 0.43, 1.08)}

#: Table 6.8: lines of code by framework. UGF's are with the schedule.
LINES = {
    "Gunrock": {"pagerank": 2207, "bfs": 2189, "sssp": 1438, "cc": 3014, "bc": 1792},
    "GSwitch": {"pagerank": 159, "bfs": 164, "sssp": 203, "cc": 160, "bc": 280},
    "SEP-Graph": {"bfs": 481, "sssp": 473},
    "UGF": {"pagerank": 61, "bfs": 66, "sssp": 50, "cc": 62, "bc": 128},
}

_HYBRID = "{} | {} when input_vertexset_size>=argv[3]"

#: Table A.1 in the texts of :mod:`sw.lang.schedule`, for graphs with a power law and for roads, by
#: label of our programs. The argument of delta is left out, as in the table; BC has the hybrid
#: schedule that the table makes, and its way back has no result that could be made in some way.
SCHEDULES = {
    ("bfs", "power law"): {"s0:s1": _HYBRID.format(
        "etwc,push,fused,no_dedup", "vertex_based,pull:bitmap,unfused_bitmap,no_dedup")},
    ("bfs", "road"): {"s0": "fusion", "s0:s1": "etwc,push,fused,no_dedup"},
    ("pagerank", "power law"): {"s0:s1": "edge_only:blocked:270336,pull"},
    ("pagerank", "road"): {"s0:s1": "edge_only:blocked:270336,pull"},
    ("sssp", "power law"): {"s0:s1": "etwc,unfused_boolmap"},
    ("sssp", "road"): {"s0": "fusion", "s0:s1": "etwc,fused"},
    ("cc", "power law"): {"s0:s1": "etwc,unfused_bitmap,dedup"},
    ("cc", "road"): {"s0:s1": "etwc,unfused_bitmap,dedup"},
    ("bc", "power law"): {
        "s0:s1": _HYBRID.format("etwc,fused,dedup", "etwc,pull:bitmap,unfused_bitmap,dedup"),
        "s2:s3": _HYBRID.format("etwc", "etwc,pull:bitmap")},
    ("bc", "road"): {"s0": "fusion", "s0:s1": "etwc,fused,dedup", "s2": "fusion",
                     "s2:s3": "etwc"},
}

_PUSH = "bfs(source=hub) schedule=etwc direction=push frontier=queue deduplicate=no"
_SSSP = "sssp(delta=auto,source=hub) schedule=etwc direction=push frontier=queue"
_PAGERANK = "pagerank(iterations=1) schedule=em format=coo:block={block} direction=pull"

#: Table A.1 as plans of the device, as near as the device has them: BFS knows the frontier by the
#: depths where it pulls; SSSP has a queue in place of a map of bytes, as far vertices wait in a
#: pile; CC asks only whether a label has changed. The loop of SSSP is not fused, as its host moves
#: the threshold of delta; those of BC could be, but were measured without. A block is a quarter of
#: the vertices.
BEST = {
    ("bfs", "power law"): f"{_PUSH} | bfs(source=hub) schedule=vm direction=pull "
                          "deduplicate=no when frontier>=0.05",
    ("bfs", "road"): f"{_PUSH} fusion=yes",
    ("pagerank", "power law"): _PAGERANK, ("pagerank", "road"): _PAGERANK,
    ("sssp", "power law"): _SSSP, ("sssp", "road"): _SSSP,
    ("cc", "power law"): "cc schedule=etwc direction=push",
    ("cc", "road"): "cc schedule=etwc direction=push",
    ("bc", "power law"): "bc(source=hub) schedule=etwc direction=push",
    ("bc", "road"): "bc(source=hub) schedule=etwc direction=push",
}
