"""The numbers of the paper's abstract, and of a reader's notes on the paper.

Neither names the algorithms or the graphs, and the notes have no sizes of the unit.
"""


__all__ = ["OVER", "THRESHOLD"]


#: Throughput over two frameworks, on average and at most, over six algorithms and six graphs.
OVER = {"Gunrock": (2.8, 7.3), "SEP-Graph": (2.5, 7.0)}

#: Difference of the edges of two SMs from which on an entry moves.
THRESHOLD = 512
