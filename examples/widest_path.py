"""The widest path: an algorithm of one's own, on the RTL, in under 40 lines (docs/language.md)."""

from graphloom import (Device, edgeset, infinity, load, preset, program, uint, vector, vertex,
                       vertexset)


@program
def widest(edges: edgeset, source: vertex = 0):
    """The largest weight that a path from the source can have everywhere."""
    width = vector(uint, 0)

    def widen(src, dst, weight):
        width[dst].max(min(width[src], weight))

    width[source] = infinity
    frontier = vertexset(source)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(widen, width)
    return width


if __name__ == "__main__":
    graph = load("rmat:scale=10,degree=8,seed=1,weights=99")
    with Device.simulate(preset("default")) as device:
        for schedule in ("vm", "em", "weaver"):
            result = device.run(widest, graph, schedule=schedule, source=0)
            print(f"{schedule}: {result.cycles} cycles")
