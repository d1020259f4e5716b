"""The unit that gathers edges and keeps vertex lists: GraphPEG (TACO 2021)."""

from hw.gather.graphpeg.unit import GraphPeg


__all__ = ["GraphPeg"]
