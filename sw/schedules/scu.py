"""Stream compaction by the Stream Compaction Unit (Segura et al., ISCA 2019, 3.3 to 3.5).

The cores look up the frontier's vertices. From them the unit makes the list of their edges, and
from the elements that the cores keep of this list, the next frontier (:mod:`sw.compaction.unit`).
"""

from sw.compaction.unit import Unit
from sw.schedules.compact import WINDOWS, Compact


__all__ = ["StreamCompaction"]


class StreamCompaction(Compact):
    """The unit as a mover of data."""
    name = "scu"
    OPTIONS = {"windows": WINDOWS}
    needs_scu = True

    def check_config(self, config):
        if not getattr(config, "scu", 0):
            raise self.refuse(f"needs a Stream Compaction Unit, which configuration "
                              f"{config.name!r} does not have (scu = 0); scu = 4 has one")

    def engine(self, task):
        return Unit(task, self.options)
