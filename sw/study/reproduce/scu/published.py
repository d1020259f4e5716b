"""The numbers that the paper's text states. The values of its bars are not in the text."""


__all__ = ["BANDWIDTH", "BASIC", "COALESCING", "GPUS", "INSTRUCTIONS", "LEFT", "MEANS", "SHARE",
           "SPEEDUPS"]


#: Section 1 on figure 1: the least and the largest share of the time that is compaction.
SHARE = (0.25, 0.55)

#: Section 6.2: speedups over the cores alone, by system and algorithm. For PageRank on the large
#: system the paper has only the words "a small slowdown".
SPEEDUPS = {
    "large": {"bfs": 1.41, "sssp": 1.65, "pagerank": None},
    "small": {"bfs": 3.83, "sssp": 3.24, "pagerank": 1.05},
}

#: Section 6.2: the means of the speedups.
MEANS = {"large": 1.37, "small": 2.32}

#: Section 6.3: the basic SCU's speedup "for both BFS and SSSP", on both systems.
BASIC = 1.5

#: Section 6.3 on figure 12: the improvement of coalescing by grouping.
COALESCING = 0.27

#: Sections 4.4 and 4.5: vertices and edges that are left for the cores.
LEFT = {"bfs": 0.14, "sssp": 0.22}

#: Section 6.3: instructions of the cores that filtering removes, on the small system; "similar" on
#: the large one.
INSTRUCTIONS = {"bfs": 0.71, "sssp": 0.76}

#: Section 6.3 on figure 13: whether the SCU raises the use of the memory's bandwidth in BFS and
#: SSSP.
BANDWIDTH = {"large": "lower with the SCU", "small": "higher with the SCU"}

#: Tables 2 to 4: the systems. There are 128 lanes per multiprocessor, as in Maxwell. Bytes are
#: those of memory per cycle of the cores.
GPUS = {
    "large": {"name": "GTX 980", "cores": 16, "lanes": 2048, "l2_bytes": 2 << 20, "scu": 4,
              "bytes_per_cycle": 224 / 1.27},
    "small": {"name": "Tegra X1", "cores": 2, "lanes": 256, "l2_bytes": 256 << 10, "scu": 1,
              "bytes_per_cycle": 25.6},
}
