"""The numbers of the paper's tables and text.

The values of the bars in its figures are not in the text, except for the few that the text states.
"""

from ..outcome import geometric_mean


__all__ = ["BLOCK_COO", "BUILD", "BUILD_MEANS", "EXPAND_SHARE", "EXPAND_SPEEDUP", "FRAMEWORKS",
           "GRAPHS", "LESS_THAN", "PUSH_TO_PULL", "SPEEDUPS", "TIMES", "build_ratio",
           "intra_split", "speedup"]


#: Table 3.4: the graphs, and the share of edges inside clusters of 2^16 x 2^16.
GRAPHS = {"UK": 0.99, "IC": 0.93, "TW": 0.38, "HW": 0.70, "OK": 0.15, "LJ": 0.19, "IT": 0.92}

#: Table 3.5: the columns of :data:`TIMES`.
FRAMEWORKS = ("VWC-CSR", "Tigr", "CR2")

#: Table 3.5: milliseconds on an RTX 3090, by algorithm and graph; None for a crash.
TIMES = {
    "pagerank": {
        "UK": (0.33, 0.27, 0.26), "IC": (14.99, 10.21, 5.44), "TW": (57.27, 39.26, 28.85),
        "HW": (2.12, 2.50, 2.19), "OK": (15.82, 16.06, 10.86), "LJ": (6.91, 5.80, 4.84),
        "IT": (61.17, 60.74, 25.96)},
    "bfs": {
        "UK": (1.89, 0.48, 0.29), "IC": (269.71, 13.46, 9.38), "TW": (461.59, 35.47, 19.12),
        "HW": (13.06, 2.82, 1.26), "OK": (29.63, 8.00, 4.82), "LJ": (25.02, 5.17, 4.77),
        "IT": (2545.86, 116.78, 52.54)},
    "cc": {
        "UK": (1.90, 0.59, 0.38), "IC": (259.54, 17.5, 7.94), "TW": (440.13, 106.14, 72.88),
        "HW": (12.13, 3.08, 2.81), "OK": (24.7, 18.75, 9.89), "LJ": (25.08, 10.35, 7.57),
        "IT": (2527.31, 486.19, 35.28)},
    "sssp": {
        "UK": (1.97, 0.60, 0.72), "IC": (804.98, 74.5, 115.41), "TW": (504.02, 42.81, 53.99),
        "HW": (42.33, 10.92, 12.42), "OK": (169.67, 74.83, 38.28), "LJ": (138.52, 39.08, 27.54),
        "IT": (2509.75, None, 48.96)},
}

#: Section 3.5.1: geometric means of CR2's speedups over the others, in all and by algorithm. They
#: do not follow from its table 3.5, whose means, and the prose by algorithm, are :func:`speedup`'s.
SPEEDUPS = {
    None: {"VWC-CSR": 6.47, "Tigr": 1.55},
    "pagerank": {"VWC-CSR": 1.62, "Tigr": 1.42},
    "bfs": {"VWC-CSR": 15.63, "Tigr": 1.74},
    "cc": {"VWC-CSR": 8.99, "Tigr": 2.11},
    "sssp": {"VWC-CSR": 7.70, "Tigr": 1.01},
}

#: Section 3.5.2: how much less memory CR2 takes on average, the expand list included.
LESS_THAN = {"csr": 0.123, "tigr": 0.321}

#: Section 3.5.3: the expand list's speedup in BFS, and its share of CR2's memory on average.
EXPAND_SPEEDUP, EXPAND_SHARE = 1.72, 0.118

#: Table 3.6: milliseconds to build CSR, Tigr and CR2.
BUILD = {
    "UK": (40.82, 192.22, 118.515), "IC": (582.17, 2541.17, 2009.93),
    "TW": (1620.52, 4617.53, 4870.29), "HW": (234.45, 903.06, 705.615),
    "OK": (577.13, 1727.45, 1661.05), "LJ": (317.5, 772.2, 1002.52),
    "IT": (10803.0, 10136.9, 28726.2),
}

#: Section 3.5.4: time to build CR2 over the time to build other formats, on average.
BUILD_MEANS = {"csr": 3.0, "tigr": 1.05}

#: Section 3.5.5: time of a push iteration of PageRank over that of a pull iteration, under CR2.
PUSH_TO_PULL = {"UK": 0.322, "IC": 0.146, "HW": 0.224, "TW": 0.124, "LJ": 1.515, "OK": 1.37}

#: Section 2.5.5: the largest speedup of Block-COO over COO, pushing under em.
BLOCK_COO = 4.53


def speedup(over, algorithm=None):
    """Geometric mean of CR2's speedup over VWC-CSR or Tigr in table 3.5, in all or of one
    algorithm."""
    column = FRAMEWORKS.index(over)
    return geometric_mean(
        times[column] / times[2] for name, graphs in TIMES.items() if algorithm in (None, name)
        for times in graphs.values() if times[column] is not None)


def build_ratio(above, below):
    """Geometric mean of a ratio of build times in table 3.6, of 0 for CSR, 1 for Tigr, 2 for CR2.
    """
    return geometric_mean(times[above] / times[below] for times in BUILD.values())


def intra_split(clustered):
    """Geometric mean of :data:`PUSH_TO_PULL` over the graphs with at least 70 % of their edges
    inside clusters, or over the others."""
    return geometric_mean(value for name, value in PUSH_TO_PULL.items()
                          if (GRAPHS[name] >= 0.7) == clustered)
