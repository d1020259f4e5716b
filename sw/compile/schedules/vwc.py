"""Virtual warps: a few neighbouring lanes a vertex (Hong et al., PPoPP 2011; CR2, 3.2).

The lanes of a virtual warp take consecutive edges of their vertex. So loads of a row are coalesced,
and a vertex takes fewer turns, by the width of the virtual warp. If a vertex has fewer edges than
its virtual warp has lanes, some lanes have no work.
"""

import math

from sw.compile.options import Integer
from sw.compile.kernels.walk import UNROLL
from sw.compile.schedules.vm import VertexMapping


__all__ = ["VirtualWarps"]


class VirtualWarps(VertexMapping):
    """Rounds of one vertex a virtual warp of ``width`` lanes."""
    name = "vwc"
    compared = True
    OPTIONS = {
        "unroll": UNROLL,
        "width": Integer(2, 32, None, "lanes of a virtual warp; left out, a share of the mean "
                         "degree: all of it for a frontier that pushes, an eighth for one that "
                         "pulls, a quarter for sums, else a half", power=True)}
    shares_base = True

    def check_config(self, config):
        if config.threads == 1:
            raise self.refuse("needs warps of at least 2 lanes, configuration "
                              f"{config.name!r} has threads = 1")
        width = self.options["width"] or 2
        if width > config.threads:
            raise self.refuse(f"has virtual warps of {width} lanes, which must not be more than "
                              f"the {config.threads} lanes of a warp")

    def check(self, task):
        super().check(task)
        task.choices.used["width"] = self.options["width"] or self._choose(task)

    def _width(self, task):
        return task.choices.used["width"]

    @staticmethod
    def _choose(task) -> int:
        """A width by the mean degree. The wider a virtual warp is, the fewer turns a vertex takes,
        and the more often lanes merge what they have collected, or have no edge. The shares of the
        mean degree are measured (docs/notes/2026-11-23-schedules-by-size.md)."""
        algorithm, push = task.algorithm, task.direction == "push"
        if algorithm.filters(task):
            share = 1 if push else 1 / 8        # a search that pulls ends at the first edge
        elif push or algorithm.weighted or algorithm.selective(task):
            share = 1 / 2
        else:
            share = 1 / 4
        degree = task.graph.num_edges / max(1, task.graph.num_vertices)
        width = 1 << max(1, round(math.log2(max(1, degree * share))))
        return min(width, task.config.threads)
