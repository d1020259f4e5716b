"""Searches beyond the memory of one device: figure 8 (out of core) and figure 9 (two devices).

The slow region of the DRAM model is measured. Two things have no hardware here, so a model says
them, and the figures say so: Subway's transfers, and the link between two devices.
"""

import dataclasses
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from sw.study.benchmarks.grid import Cube, Grid
from sw.graph.order import new_ids

from ..measure import OnHost
from ..outcome import Comparison, Outcome, ratio, times
from ..paper import Figure
from ..setting import where
from .runs import CORE, RESIDENT, TILE, CyclesByWay, SearchRun, run


__all__ = ["Frontiers", "OutOfCore", "TwoDevices"]


#: The slow memory and the link: bytes in a cycle, and the latency in cycles.
_SLOW_BYTES, _SLOW_LATENCY = 4, 600

#: Bytes of an edge that goes over the slow bus, and of a vertex with its parent.
_EDGE, _VERTEX = 4, 8

#: How vertices belong to two devices: by turns, or by halves of the arcs in an order that keeps
#: communities together.
_BY_TURNS, _BY_COMMUNITIES = "by turns", "by communities"

#: SAGE, and the fastest schedules without tiles, on one device with all edges in its memory: `twc`
#: on uneven rows, and `vwc` on a road.
_IN_CORE: dict[str, dict[str, Any]] = {
    "twc": {"schedule": "twc"}, "vwc": {"schedule": "vwc"}, "SAGE": RESIDENT}


@dataclasses.dataclass(frozen=True)
class Frontiers(OnHost):
    """The frontiers of a search from the vertex with the most arcs, counted on the host.

    The record has, by superstep, ``arcs`` of the frontier's vertices; and by the way in which the
    vertices belong to two devices ``share``, the part of these arcs on the device that has more of
    them, and ``sent``, vertices that a device tells the other: the larger number of the two. A
    device tells a vertex only once.
    """

    def measure(self, graph):
        offsets, ends, _ = graph.csr()
        count = graph.num_vertices
        matrix = csr_matrix((np.ones(len(ends), np.int8), ends, offsets), shape=(count, count))
        depths = dijkstra(matrix, indices=graph.hub, unweighted=True)
        found = np.isfinite(depths)
        supersteps = int(depths[found].max()) + 1
        degrees = np.diff(offsets)

        def by_superstep(vertices, weights):
            return np.bincount(depths[vertices].astype(int), weights[vertices], supersteps)

        arcs = by_superstep(found, degrees)
        record = {"arcs": arcs.astype(int).tolist(), "share": {}, "sent": {}}
        starts = np.repeat(np.arange(count), degrees)
        for name, device in self._devices(graph, degrees).items():
            largest = np.maximum(*(by_superstep(found & (device == which), degrees)
                                   for which in range(2)))
            record["share"][name] = np.divide(largest, arcs, out=np.ones(supersteps),
                                              where=arcs > 0).tolist()
            crossing = found[starts] & (device[starts] != device[ends])
            told = np.full(count, np.inf)
            np.minimum.at(told, ends[crossing], depths[starts[crossing]])
            sent = [np.bincount(told[np.isfinite(told) & (device == which)].astype(int),
                                minlength=supersteps) for which in range(2)]
            record["sent"][name] = np.maximum(*sent).tolist()
        return record

    @staticmethod
    def _devices(graph, degrees):
        """The device of each vertex, 0 or 1, by way."""
        places = new_ids("louvain", graph.src, graph.dst, graph.num_vertices)
        if places is None:
            places = np.arange(graph.num_vertices)
        ends = np.cumsum(degrees[np.argsort(places)])[places]     # arcs up to a vertex's last
        return {_BY_TURNS: np.arange(graph.num_vertices) % 2,
                _BY_COMMUNITIES: (2 * ends > degrees.sum()).astype(int)}


class _Searches(Figure):
    """Base: runs of BFS, and what a model makes of their supersteps."""

    def further(self, setting):
        return {"frontiers": Grid({"graph": setting.brief},
                                  lambda choice: Frontiers(choice.graph, choice.undirected))}

    @staticmethod
    def _of_graphs(cubes, function):
        """The function of a graph and the values of some cubes there, as a cube."""
        graphs = cubes[0].axes["graph"]
        return Cube({"graph": graphs}, {(choice,): function(choice, *values)
                                        for choice, *values in zip(graphs, *cubes)})


def _counted(frontiers) -> dict[Any, Any]:
    """The record of each graph; None if the case failed."""
    return {choice: record if "arcs" in record else None
            for (choice,), record in frontiers.value().items()}


class OutOfCore(_Searches):
    """Figure 8."""
    name = "fig8"
    title = "edges in slow memory"
    source = "figure 8"
    method = (f"BFS with the edges behind a bus of {_SLOW_BYTES} bytes a cycle and a latency of "
              f"{_SLOW_LATENCY} cycles, measured; SAGE has resident tiles. Subway stands twice for "
              "what it is: `compact` copies the edges of each frontier to fast memory by the "
              "cores, measured; and a model, in which a copy engine moves exactly these edges at "
              "the full speed of the bus while the fastest in-core run of three works on them, so "
              "that a superstep takes the longer of both.")
    _copied, _modelled = "Subway: compact", "Subway: modelled"
    _slow: dict[str, dict[str, Any]] = {
        "SAGE": RESIDENT, "tile": TILE, "twc": {"schedule": "twc"}, "vwc": {"schedule": "vwc"},
        "wm": {"schedule": "wm"}, _copied: {"schedule": "compact"},
        "weaver (stream)": {"unit": "stream"}, "graphpeg": {"unit": "graphpeg"}}

    def grid(self, setting):
        slow = setting.dram.with_slow(_SLOW_BYTES, _SLOW_LATENCY)
        ways = {f"{name}, in core": way for name, way in _IN_CORE.items()}
        ways |= {name: way | {"dram": slow} for name, way in self._slow.items()}
        return Grid({"graph": setting.brief, "way": ways},
                    lambda choice, name: run(setting, choice, "bfs", run_class=SearchRun,
                                              **ways[name]))

    def results(self, setting, found, frontiers):
        frontiers = _counted(frontiers)
        cycles, sets = found.cycles.split("way"), found.value("set_cycles")

        def subway(choice, *done):
            """The cycles of the modelled Subway."""
            known = {name: each for name, each in zip(_IN_CORE, done) if each is not None}
            best = min(known, key=known.__getitem__, default=None)
            if best is None or frontiers[choice] is None:
                return None
            supersteps = sets.at(graph=choice, way=f"{best}, in core")
            return sum(max(each, _SLOW_LATENCY + _EDGE * arcs // _SLOW_BYTES)
                       for (_, each), arcs in zip(supersteps, frontiers[choice]["arcs"],
                                                  strict=True))
        cycles[self._modelled] = self._of_graphs(
            [cycles[f"{name}, in core"] for name in _IN_CORE], subway)
        its = CyclesByWay("BFS, edges in slow memory", cycles, "SAGE", inverse=True)
        return Outcome(
            (its.table(),), (its.plot(),),
            tuple(Comparison(f"SAGE over {name}, mean",
                             "above 1" if name.startswith("Subway") else "-", times(value))
                  for name, value in its.means.items() if name != "SAGE"), its.data(),
            (where(setting), CORE))


class TwoDevices(_Searches):
    """Figure 9."""
    name = "fig9"
    title = "two devices, modelled"
    source = "figure 9"
    method = ("Modelled from measured supersteps of one device. A superstep of BFS takes what the "
              "shortest one takes, and of the rest the share of the device with more arcs; then "
              f"{_VERTEX} bytes for each vertex that a device tells the other, over a link of "
              f"{_SLOW_BYTES} bytes a cycle and {_SLOW_LATENCY} cycles. Vertices belong to the "
              "devices by turns, or by Louvain's communities, which stand in for metis. `twc` "
              "and `vwc` stand in for Gunrock; Groute is asynchronous and missing.")

    def grid(self, setting):
        return Grid({"graph": setting.brief, "way": _IN_CORE},
                    lambda choice, name: run(setting, choice, "bfs", run_class=SearchRun,
                                              **_IN_CORE[name]))

    def results(self, setting, found, frontiers):
        frontiers = _counted(frontiers)

        def on_two(choice, sets, way):
            """The cycles on two devices that own vertices in this way."""
            if sets is None or frontiers[choice] is None:
                return None
            supersteps = [cycles for _, cycles in sets]
            least, record = min(supersteps), frontiers[choice]
            return round(sum(
                least + (cycles - least) * share + _SLOW_LATENCY + _VERTEX * sent / _SLOW_BYTES
                for cycles, share, sent in zip(supersteps, record["share"][way],
                                               record["sent"][way], strict=True)))
        cycles, sets, both = {}, found.value("set_cycles"), (_BY_TURNS, _BY_COMMUNITIES)
        for name in _IN_CORE:
            cycles[f"{name}, one"] = found.cycles.at(way=name)
            cycles |= {f"{name}, {way}": self._of_graphs(
                [sets.at(way=name)], lambda choice, each, way=way: on_two(choice, each, way))
                for way in both}
        its = CyclesByWay("BFS on two devices, modelled", cycles, "SAGE, one")
        return Outcome(
            (its.table(),), (its.plot(),),
            tuple(Comparison(f"{name} on two devices, {way}, over one: mean", "up to 2", times(
                ratio(its.means[f"{name}, {way}"], its.means[f"{name}, one"])))
                for name in _IN_CORE for way in both), its.data(), (where(setting), CORE))
