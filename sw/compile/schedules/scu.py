"""Stream compaction by the Stream Compaction Unit (Segura et al., ISCA 2019, 3.3 to 3.5).

The cores look up the frontier's vertices. From them the unit makes the list of their edges, and
from the elements that the cores keep of this list, the next frontier
(:mod:`sw.compile.compaction.unit`).
"""

from sw.compile.compaction.unit import ByUnit
from sw.compile.schedules.edge_lists import WINDOWS, EdgeLists


__all__ = ["StreamCompaction"]


class StreamCompaction(EdgeLists):
    """The unit makes the lists."""
    name = "scu"
    OPTIONS = {"windows": WINDOWS}
    notes = counts_edges = counts_entries = needs_scu = True
    filters = streams = False

    def check_config(self, config):
        if not getattr(config, "scu", 0):
            raise self.refuse(f"needs a Stream Compaction Unit, which configuration "
                              f"{config.name!r} does not have (scu = 0); scu = 4 has one")

    def maker(self, task):
        return ByUnit(task, self.filters, self.streams)
