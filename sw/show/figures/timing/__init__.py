"""Short runs of units whose waveforms the pages show: basic, back to back, stalled."""

from . import l1, l2, stream, weaver


__all__ = ["TIMING"]


#: The function that runs a unit and gives WaveDrom's JSON, by the name of its picture.
TIMING = {f"{module.__name__.rpartition('.')[2]}-{name}": run
          for module in (stream, l1, l2, weaver) for name, run in module.RUNS.items()}
