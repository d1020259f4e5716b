"""Virtual warps: a few neighbouring lanes a vertex (Hong et al., PPoPP 2011; CR2, 3.2).

The lanes of a virtual warp take consecutive edges of their vertex. So loads of a row are coalesced,
and a vertex takes fewer turns, by the width of the virtual warp. If a vertex has fewer edges than
its virtual warp has lanes, some lanes have no work.
"""

from sw.kernels.options import Integer
from sw.schedules.vm import VertexMapping


__all__ = ["VirtualWarps"]


class VirtualWarps(VertexMapping):
    """Rounds of one vertex a virtual warp of ``width`` lanes."""
    name = "vwc"
    OPTIONS = VertexMapping.OPTIONS | {
        "width": Integer(2, 32, None, "lanes of a virtual warp, a power of two; left out, "
                         "8, or as many as a warp has if that is fewer")}
    shares_base = True

    def __init__(self, **options):
        super().__init__(**options)
        self._width = self.options["width"] or 8

    @property
    def lanes_apart(self):
        return self._width

    def check_config(self, config):
        width = self.options["width"] or min(8, config.threads)
        if config.threads == 1:
            raise self.refuse("needs warps of at least 2 lanes, configuration "
                              f"{config.name!r} has threads = 1")
        if width & width - 1 or width > config.threads:
            raise self.refuse(f"has virtual warps of {width} lanes; the width must be a power of "
                              f"two from 2 to the {config.threads} lanes of a warp")
        self._width = width
