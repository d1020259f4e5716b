"""Connected components: the result of a vertex is the smallest vertex of its component.

Arcs count in both directions, so the components are the weakly connected components. The labels are
a forest of parent pointers. A vertex's label is the address of the label of a vertex in the same
component. The address is never larger than that of the vertex's own label. A superstep has two
parts (Shiloach and Vishkin):

*hook*
    For each edge whose ends have different labels, the tree of the larger label is hung from the
    smaller label: the label of the larger label becomes the smaller label, by atomic minimum.
*shortcut*
    Every vertex takes the label of its label's label.

Labels only ever become smaller, and always stay within the component. If a superstep finds equal
labels at the ends of every edge, the labels are equal throughout each component. They are then the
label of the component's smallest vertex, which has only ever had its own label. A lane may read a
label that another lane has just replaced. Then it hooks a smaller tree than it could, or hooks in
vain. The next superstep corrects both. There is a next superstep, because the lane saw an edge with
different labels.
"""

import numpy as np

from sw.kernels.algorithm import Algorithm
from sw.kernels.fusion import Loop
from sw.golden.components import components
from sw.kernels.vertices import each_vertex


__all__ = ["ConnectedComponents"]


class ConnectedComponents(Algorithm):
    """No parameters."""
    name = "cc"
    ARRAYS = ("label",)
    directions = ("push", "pull")
    sends = sends_early = True

    def frontiers(self, task):
        return ("counter",)

    def frontier_reason(self, task):
        return ("every vertex takes part in every superstep, and the algorithm asks only whether "
                "labels differed")

    def selective(self, task):
        return True

    # Memory

    def init_vertex_value(self, task):
        label = task.buffers.address("label")
        own = label + 4 * np.arange(task.vertex_words, dtype=np.uint32)
        task.buffers.fill("label", own)
        task.frontier.init(task, None)

    # Kernels

    def kernels(self, task):
        return {"hook": ("gather", None), "shortcut": ("apply", None)}

    def prepare(self, k):
        k.open_frontier()
        self._own = k.a.reg("own_label") if k.task.schedule.owns_base else None

    def begin(self, k, base):
        k.a.lw(self._own, base.reg)

    def gather(self, k, edges):
        """The labels of both ends of each edge."""
        a, push, found = k.a, k.task.direction == "push", []
        for i, edge in enumerate(edges):
            near, far = self._own, None
            if edge.value is not None:
                near, far = (edge.value, None) if push else (None, edge.value)
            if near is None:
                near = a.reg(f"base_label{i}")
                a.lw(near, edge.base.reg)
            if far is None:
                far = a.reg(f"neighbor_label{i}")
                a.lw(far, edge.neighbor.reg)
            found.append((near, far))
        return found

    def accepts(self, k, data, into, counts=True):
        k.a.xor(into, *data)
        k.a.snez(into, into)

    def sum(self, k, edge, data, predicate):
        a, (near, far) = k.a, data
        smaller, larger = a.regs("smaller", "larger")
        k.minimum(smaller, near, far)
        a.xor(larger, near, far)
        a.xor(larger, larger, smaller)
        a.amominu_w(a.zero, smaller, larger)
        known = a.label("known")
        k.frontier.add(k, edge.neighbor, predicate, known)
        a.place(known)

    def apply(self, k):
        a = k.a
        with each_vertex(k, "label") as pointers:
            label = a.reg("label")
            a.lw(label, pointers["label"])
            a.lw(label, label)
            a.lw(label, label)
            a.sw(label, pointers["label"])

    # Host

    def loop(self, task):
        return Loop((("hook",),), then=("shortcut",))

    def outputs(self, session):
        """If vertices are numbered anew, a label names its component by a new number. Here the
        component's smallest vertex by the graph's numbers replaces the label. A label that names no
        vertex stays, so that the comparison with the reference finds it."""
        label = session.read_vertices("label")
        label = (label - np.uint32(session.task.buffers.address("label"))) >> np.uint32(2)
        if session.task.new_ids is not None:
            own = np.arange(len(label), dtype=np.uint32)
            smallest = np.full_like(own, len(own))
            known = label < len(own)
            np.minimum.at(smallest, label[known], own[known])
            label[known] = smallest[label[known]]
        return {"label": label}

    def golden(self):
        return {"label": components(self.graph)}

    def parameters(self):
        return {}
