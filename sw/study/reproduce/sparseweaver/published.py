"""The numbers of the thesis's chapter 4.

The values of the bars in its figures are not in the text. Two of its numbers disagree with others:
in table 4.5 the times of UK give 2.31 and not 2.61, and in table 4.3 the edges of RN and RC are
fewer than their vertices.
"""


__all__ = ["ALGORITHMS", "AREA", "BEST_SOFTWARE", "BY_GRAPH", "CONVOLUTION", "GENERATION",
           "ITERATIONS", "LATE_TABLES", "REGISTRATION", "SPEEDUPS"]


#: The four algorithms, by their names here.
ALGORITHMS = {"bfs": "BFS", "sssp": "SSSP", "pagerank": "PR", "cc": "CC"}

#: Section 4.2, figure 4.2a: warp iterations of VM over those of WM and EM, by graph.
ITERATIONS = {"bio-human-gene1": 4, "graph500-scale19": 11}

#: Section 4.2, figure 4.3: the best schedule in software over VM on two GPUs, at most.
BEST_SOFTWARE = 2.80

#: Section 4.6.1, figure 4.10: speedups of SparseWeaver over VM and EM, of all algorithms (None) and
#: over VM by algorithm.
SPEEDUPS = {("vm", None): 2.36, ("em", None): 2.63, ("vm", "bfs"): 2.73, ("vm", "sssp"): 2.64,
            ("vm", "pagerank"): 2.71, ("vm", "cc"): 1.60}

#: Section 4.6.4, figure 4.15: cycles with tables that answer 10 to 160 cycles late. ("performance
#: remained stable even as read latency increased"; the text has no numbers.)
LATE_TABLES = "stable"

#: Section 4.6.6, table 4.4: logic that SparseWeaver adds to a core (ALMs; dedicated registers), as
#: a part of the core. It adds no block memory and no DSP block.
AREA = {"logic": 0.0296, "registers": 0.00045}

#: Section 4.6.7, figure 4.17: largest difference between the cycles of registration pushing and
#: pulling.
REGISTRATION = 0.01

#: Section 4.6.8, figure 4.18: SparseWeaver over the hardware that generates edges, PageRank.
GENERATION = 3.64

#: Section 4.6.9, figure 4.19: SparseWeaver over vertex mapping by weights, GCN.
CONVOLUTION = 6.15

#: Table 4.5: PageRank, GRAssembler's best over VM on an A30; SparseWeaver over VM.
BY_GRAPH = {"HW": (2.16, 5.32), "UK": (2.11, 2.61), "CO": (1.88, 4.23), "RN": (1.47, 1.83)}
