"""Graphs: the structure itself, where it is read from, and how it is made and written."""

from .describe import describe
from .generators import generate
from .graph import Graph
from .load import load
from .save import write


__all__ = ["Graph", "describe", "generate", "load", "write"]
