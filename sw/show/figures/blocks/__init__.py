"""Block diagrams: the whole, and a unit each."""

from . import architecture, core, link, memory, scu, weaver


__all__ = ["BLOCKS"]


#: The function that draws each picture, by the name of its file.
BLOCKS = {f"{module.__name__.rpartition('.')[2]}.svg": module.draw
          for module in (core, memory, weaver, scu, link, architecture)}
