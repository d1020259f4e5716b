"""From a networkx graph with named nodes to a plot of three schedules (docs/python.md).

``python plot_schedules.py [FILE.png]`` writes the plot, by default ``schedules.png``.
"""

import sys

import networkx
from matplotlib import pyplot

from graphloom import Device, load, preset

# Who appears with whom in Les Misérables: 77 people, 254 edges with weights.
novel = networkx.les_miserables_graph()
graph = load(novel, no_weights=True, name="Les Misérables")

with Device.simulate(preset("tiny")) as device:
    # A search from one person. The result knows the names.
    search = device.run("bfs", graph, source="Valjean", schedule="weaver")
    print(search)
    depth = search.by_name("depth")
    far = [name for name in depth if depth[name] == max(depth.values())]
    print("farthest from Valjean:", ", ".join(far))

    # The same work under three schedules, each result checked.
    results = device.compare("pagerank", graph, ["vm", "em", "weaver"], iterations=2)

print(results)
ranks = results.best.by_name("rank_float")
print("most central:", ", ".join(sorted(ranks, key=ranks.get, reverse=True)[:3]))

figure, (cycles, stalls) = pyplot.subplots(2, 1, figsize=(9, 5), layout="constrained")
results.plot("cycles", cycles)
results.plot("stalls", stalls)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "schedules.png")
