"""``examples/plot_schedules.py``: from a networkx graph to a plot of three schedules, 40 lines."""

import os
import subprocess
import sys

import networkx

from sw.cli.tests import ROOT


def test_it_runs(tmp_path):
    script, plot = ROOT / "examples" / "plot_schedules.py", tmp_path / "plot.png"
    assert len(script.read_text().splitlines()) <= 40
    done = subprocess.run([sys.executable, str(script), str(plot)], capture_output=True, text=True,
                          cwd=tmp_path, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"})
    assert done.returncode == 0, done.stderr
    novel = networkx.les_miserables_graph()
    depth = networkx.single_source_shortest_path_length(novel, "Valjean")
    far = [name for name in novel if depth[name] == max(depth.values())]
    assert f"farthest from Valjean: {', '.join(far)}\n" in done.stdout
    ranks = networkx.pagerank(novel, max_iter=2, tol=1e9, weight=None)
    best = sorted(ranks, key=ranks.get, reverse=True)[:1]
    assert f"most central: {best[0]}," in done.stdout
    table = done.stdout.partition("pagerank on Les Misérables")[2].splitlines()
    assert [line.split()[0] for line in table[2:5]] == ["vm", "em", "weaver"]
    assert plot.read_bytes().startswith(b"\x89PNG") and plot.stat().st_size > 10_000
