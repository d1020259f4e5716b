"""Virtual warps: a few neighbouring lanes a vertex (Hong et al., PPoPP 2011; CR2, 3.2).

The lanes of a virtual warp take consecutive edges of their vertex. So loads of a row are coalesced,
and a vertex takes fewer turns, by the width of the virtual warp. If a vertex has fewer edges than
its virtual warp has lanes, some lanes have no work.
"""

import math

from sw.kernels.options import Integer
from sw.schedules.vm import VertexMapping


__all__ = ["VirtualWarps"]


class VirtualWarps(VertexMapping):
    """Rounds of one vertex a virtual warp of ``width`` lanes."""
    name = "vwc"
    OPTIONS = VertexMapping.OPTIONS | {
        "width": Integer(2, 32, None, "lanes of a virtual warp, a power of two; left out, about "
                         "the mean degree in searches, half of it where all edges count, and a "
                         "quarter where vertices collect")}
    shares_base = True

    def __init__(self, **options):
        super().__init__(**options)
        self._width = self.options["width"] or 2

    @property
    def lanes_apart(self):
        return self._width

    def check_config(self, config):
        if config.threads == 1:
            raise self.refuse("needs warps of at least 2 lanes, configuration "
                              f"{config.name!r} has threads = 1")
        if self._width & self._width - 1 or self._width > config.threads:
            raise self.refuse(f"has virtual warps of {self._width} lanes; the width must be a "
                              f"power of two from 2 to the {config.threads} lanes of a warp")

    def check(self, task):
        super().check(task)
        if not self.options["width"]:
            self._width = self._choose(task)
        self.used = {"width": self._width}

    @staticmethod
    def _choose(task) -> int:
        """A width by the mean degree: the larger it is, the fewer turns a vertex takes, and the
        more often its lanes merge what they have collected, or have no edge."""
        degree = task.graph.num_edges / task.graph.num_vertices
        if task.direction == "push":
            share = 1 if task.algorithm.filters(task) else 1 / 2
        else:
            share = 1 / 4
        width = 1 << max(1, round(math.log2(max(1, degree * share))))
        return min(width, task.config.threads)
