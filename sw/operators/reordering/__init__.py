"""Reordering of a graph by what kernels of a device count."""

from .sampling import Reordering


__all__ = ["Reordering"]
