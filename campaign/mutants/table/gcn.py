"""Planted faults in GCN: its golden model, its fixed point, its kernels and its files; and in the
parts of kernels and tasks that only GCN uses.
"""

from campaign.mutants.mutant import Mutant


__all__ = ["MUTANTS"]


_GOLDEN = "tb/sw/golden/test_gcn.py::"
_GCN = "tb/sw/algorithms/test_gcn.py::"
_FILES = "tb/sw/graph/test_features.py::"
_PROGRAMS = "tb/sw/kernels/test_programs.py::"
_CONVOLUTION = "sw/algorithms/gcn/convolution.py"
_OPERATOR = "sw/algorithms/gcn/operator.py"
_TOGETHER = "sw/algorithms/gcn/together.py"
_PARTS = "sw/algorithms/gcn/parts.py"
_NUMBERS = "sw/algorithms/gcn/fixed_point.py"


def _all_graphs(direction, schedule):
    return (f"{_PROGRAMS}test_all_graphs[gcn-{direction}-{schedule}-2x4]",)


MUTANTS = (
    Mutant("cites-lead-from-the-cited-paper",
           "sw/graph/citations.py", "read_cites", "(citing, cited)", "(cited, citing)",
           ("tb/sw/graph/test_citations.py::test_a_pair",)),
    Mutant("content-takes-the-label-as-a-feature",
           "sw/graph/citations.py", "read_content", "fields[1:-1]", "fields[2:]",
           ("tb/sw/graph/test_citations.py::test_a_pair",)),
    # The golden model
    Mutant("golden-gcn-rounds-terms-up",
           "sw/golden/gcn.py", "gcn",
           "column[graph.src] * coefficients >> 32", "-(-column[graph.src] * coefficients >> 32)",
           (f"{_GOLDEN}test_by_hand",)),
    Mutant("golden-gcn-takes-the-wrong-degree-of-the-start",
           "sw/golden/gcn.py", "_stored",
           "_scales(graph.out_degrees)", "_scales(graph.in_degrees)",
           (f"{_GOLDEN}test_integers_are_those_of_scipys_products[0]",)),
    Mutant("golden-gcn-takes-two-rounds",
           "sw/golden/gcn.py", "_inverse_root", "range(3)", "range(2)",
           (f"{_GOLDEN}test_computed_coefficients",)),
    Mutant("golden-gcn-lets-a-word-wrap",
           "sw/golden/gcn.py", "_word",
           "-(1 << 31) <= int(sums.min()) <= int(sums.max()) < 1 << 31",
           "-(1 << 31) <= int(sums.min()) <= int(sums.max()) <= 1 << 31",
           (f"{_GOLDEN}test_a_sum_that_does_not_fit",)),

    # Fixed point
    Mutant("gcn-scales-round-up",
           _NUMBERS, "_root", "root * root > number", "root * root > number + root",
           (f"{_GCN}test_scales",)),
    Mutant("gcn-outputs-may-wrap",
           _NUMBERS, "_fits", "sums.max(initial=0) >= _HALF", "sums.max(initial=0) < 0",
           (f"{_GCN}test_a_star_grows",)),
    Mutant("gcn-products-may-wrap",
           _NUMBERS, "_fits", "int(products.max(initial=0)) >= _HALF", "False",
           (f"{_GCN}test_the_finest_words[0]", f"{_GCN}test_what_does_not_fit")),
    Mutant("gcn-wastes-a-bit",
           _NUMBERS, "choose", "int(np.floor(np.log2(_HALF / need))) + 1",
           "int(np.floor(np.log2(_HALF / need))) - 1", (f"{_GCN}test_a_star_grows",)),
    Mutant("gcn-shares-what-other-seeds-have-drawn",
           "sw/algorithms/gcn/convolution.py", "_drawn",
           "(columns, density, seed, dimension, kind)", "(columns, density, dimension, kind)",
           (f"{_GCN}test_drawn_once",)),

    # Kernels
    Mutant("gcn-sums-are-not-cleared",
           _CONVOLUTION, "GraphConvolution.apply",
           "k.a.sw(k.a.zero, pointers[name])", "pass", _all_graphs("push", "vm")),
    Mutant("gcn-parts-of-rows-are-stored",
           _OPERATOR, "Operator.finish", "task.owns_vertex", "True",
           (f"{_PROGRAMS}test_formats[gcn-pull-vm-tigr:k=1]",)),
    Mutant("gcn-launches-repeat-the-first-words",
           _OPERATOR, "Operator.prepare",
           "k.times(self.offset, self.offset, 4 * words * lanes)",
           "k.a.mv(self.offset, k.a.zero)", (f"{_GCN}test_dimensions[33-vm-pull]",)),
    Mutant("gcn-lanes-have-the-same-words",
           _OPERATOR, "Operator.prepare", "a.add(self.offset, self.offset, lane)", "pass",
           (f"{_GCN}test_lanes_over_words[8-pull-8]",)),
    Mutant("gcn-products-count-as-positive",
           _PARTS, "GraphSum.multiply", "k.a.mulhsu(into, word, factor)",
           "k.a.mulhu(into, word, factor)", _all_graphs("pull", "vm")),
    Mutant("gcn-coefficient-is-that-of-one-end",
           _PARTS, "GraphSum.gather", "k.a.mulhu(factor, *words)", "k.a.mv(factor, words[0])",
           _all_graphs("pull", "vm")),
    Mutant("gcn-kernels-take-a-round-less",
           _PARTS, "GraphSum._invert_root", "range(ROOT.rounds)", "range(ROOT.rounds - 1)",
           (f"{_GCN}test_coefficients[vm-pull-csr]",)),
    Mutant("gcn-lanes-without-an-edge-lend-a-factor",
           _TOGETHER, "Together._lend", "a.and_(self._factor, self._factor, mask)", "pass",
           (f"{_GCN}test_together[wm-pull-yes]",)),
    Mutant("gcn-sums-of-two-vertices-are-mixed",
           _TOGETHER, "Together._turn", "a.mv(last, to)", "pass",
           (f"{_GCN}test_together[em-pull-yes]",)),
    Mutant("gcn-last-sums-of-a-work-are-lost",
           _TOGETHER, "Together._turns", "self._flush(sums, last)", "pass",
           (f"{_GCN}test_together[em-pull-yes]",)),
    Mutant("gcn-a-vote-takes-addresses-for-truth",
           _TOGETHER, "Together._turn", "a.snez(other, other)", "pass",
           (f"{_GCN}test_together[em-pull-yes]",)),

    # Files
    Mutant("features-may-be-infinite",
           "sw/graph/features.py", "_numbers", "not np.isfinite(array).all()", "False",
           (f"{_FILES}test_bad_files",)),
    Mutant("features-may-have-no-column",
           "sw/graph/features.py", "read_features", "indices.max() >= columns",
           "indices.max() > columns", (f"{_FILES}test_bad_files",)),

    # Parts that only GCN uses
    Mutant("kernel-way-shifts-no-start",
           "sw/kernels/kernel.py", "Kernel.way", "start >> -places", "start",
           (f"{_GCN}test_ways_between_arrays",)),
    Mutant("buffers-wide-items-begin-anywhere",
           "sw/runtime/buffers.py", "Buffers._place", "-self._next % buffer.width", "0",
           (f"{_GCN}test_ways_between_arrays",)),
    Mutant("walk-merges-all-words-into-the-first",
           "sw/kernels/walk.py", "Walk._merge", "algorithm.merge(k, other, number)",
           "algorithm.merge(k, other, 0)", _all_graphs("pull", "vwc")),
    Mutant("walk-warps-merge-the-first-word",
           "sw/kernels/walk.py", "Walk._merge_warps", "4 * (other * len(words) + number)",
           "4 * (other * len(words))", (f"{_GCN}test_rows_of_a_core",)),
    Mutant("task-orders-graphs-apart",
           "sw/runtime/task.py", "Task._check_operators",
           "self.new_ids is not None", "False",
           (f"{_PROGRAMS}test_formats[gcn-pull-vm-cr2:cluster_bits=4:reorder=louvain]",)),
    Mutant("session-prepares-only-the-first-side",
           "sw/runtime/device.py", "_Session.launch", "side not in self._launched",
           "not self._launched", (f"{_GCN}test_rows_of_a_core",)),
    Mutant("vm-lanes-of-words-have-rows-of-their-own",
           "sw/schedules/vm.py", "VertexMapping.init_global",
           "self.lanes_apart * self.lanes_of_words(k.task)", "self.lanes_apart",
           (f"{_GCN}test_lanes_over_words[8-pull-8]",)),
)
