"""Connected components: arcs are contracted until none is left between two components."""

import numpy as np

from .check import first_difference


__all__ = ["components", "fault"]


def components(graph) -> np.ndarray:
    """The smallest vertex of the weakly connected component of each vertex, as uint32."""
    label = np.arange(graph.num_vertices)
    src, dst = graph.src.astype(np.int64), graph.dst.astype(np.int64)
    while True:
        src, dst = label[src], label[dst]
        apart = src != dst
        if not apart.any():
            return label.astype(np.uint32)
        src, dst = src[apart], dst[apart]
        np.minimum.at(label, np.maximum(src, dst), np.minimum(src, dst))
        while not np.array_equal(above := label[label], label):
            label = above


def fault(graph, values, words, bits):
    """As of :class:`~sw.golden.results.check.ResultCheck`."""
    return first_difference("label", words["label"], components(graph))
