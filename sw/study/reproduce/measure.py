"""Measurements on the host alone: bytes and build times of storage formats, turns of warps.

Weights of edges are left out, as in the papers: they take the same 4 bytes per edge in every format
without padding.
"""

import abc
import dataclasses
import json

import numpy as np

from base.errors import UserError
from sw.study.benchmarks.measurement import Measurement, on


__all__ = ["BuildTime", "OnHost", "Stored", "WarpIterations"]


@dataclasses.dataclass(frozen=True)
class OnHost(Measurement):
    """Base of all: a case that needs no machine."""
    graph: str
    undirected: bool

    #: Name, in the record, of the reason for which there is nothing to measure. A record with an
    #: ``"error"`` is a failure.
    REFUSED = "error"

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.graph,)

    def describe(self) -> str:
        return on([type(self).__name__], self.graph)

    def load(self):
        """The graph, without weights."""
        from sw.graph.load import load
        return dataclasses.replace(load(self.graph, undirected=self.undirected), weights=None)

    @abc.abstractmethod
    def measure(self, graph) -> dict:
        """The record, without its figures of the graph."""

    def key(self, config, dram) -> str:
        """The hardware has no part in the key."""
        return json.dumps([type(self).__name__, self.record()], sort_keys=True)

    def record(self) -> dict:
        return dataclasses.asdict(self)

    def run(self, config, dram) -> dict:
        record = {"case": self.record()}
        try:
            graph = self.load()
            record |= {"vertices": graph.num_vertices, "arcs": graph.num_edges}
            return record | self.measure(graph)
        except UserError as error:
            return record | {self.REFUSED: str(error)}


@dataclasses.dataclass(frozen=True)
class Stored(OnHost):
    """The memory that a graph takes in a storage format.

    The record has ``bytes``; ``scratch``, bytes that a super-step needs beside them; ``options``;
    ``arrays``: ``{name: [dtype, entries]}``; and of CR2 ``intra_share``, ``expand_bytes`` and
    ``records``.
    """
    format: str
    direction: str = "push"

    def measure(self, graph):
        from sw.compile.formats import build_image
        from sw.compile.formats.cr2 import Cr2Image
        image = build_image(graph, self.format, self.direction)
        record = {
            "bytes": image.nbytes, "options": image.options,
            "scratch": sum(dtype.itemsize * entries for dtype, entries in image.scratch.values()),
            "arrays": {name: [array.dtype.str, len(array)]
                       for name, array in image.arrays.items()}}
        if isinstance(image, Cr2Image):
            record |= {"intra_share": image.intra_share, "expand_bytes": image.expand_nbytes,
                       "records": sum(row["records"] for row in image.sizes())}
        return record


@dataclasses.dataclass(frozen=True)
class BuildTime(OnHost):
    """Build times of several formats, which take turns in one process.

    The record has ``seconds`` of each build, by format. Only their ratios have a meaning. Measure
    them while nothing else runs.
    """
    formats: tuple
    repeat: int
    direction: str = "push"

    timed = True

    def describe(self):
        return on(["building", ", ".join(self.formats)], self.graph)

    def measure(self, graph):
        from sw.study.benchmarks.formats import build_seconds
        build_seconds(graph, self.formats, self.direction, 1)      # fetches code and memory
        return {"seconds": build_seconds(graph, self.formats, self.direction, self.repeat)}


@dataclasses.dataclass(frozen=True)
class WarpIterations(OnHost):
    """The turns that warps take to go through all in-arcs, counted from the degrees.

    The record has ``iterations`` by schedule. Vertex mapping takes as many as the largest vertex of
    a warp has arcs. Warp mapping shares out the arcs of a warp's vertices among the warp's lanes.
    Edge mapping shares out all arcs.
    """
    lanes: int  #: Lanes of a warp.

    def measure(self, graph):
        degrees = np.asarray(graph.in_degrees)
        rows = np.zeros(-(-max(1, len(degrees)) // self.lanes) * self.lanes, np.int64)
        rows[:len(degrees)] = degrees
        rows = rows.reshape(-1, self.lanes)
        return {"iterations": {"vm": int(rows.max(axis=1).sum()),
                               "wm": int((-(-rows.sum(axis=1) // self.lanes)).sum()),
                               "em": -(-int(degrees.sum()) // self.lanes)}}
