"""Files of results that the tests of reports share: two small comparisons, and a run with a trace.

They are made once for a process, by the command line.
"""

import json
import types

import pytest

from sw.cli.main import main


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """``compare`` and ``run``, the contents of the files, and ``folder`` with the files."""
    folder = tmp_path_factory.mktemp("results")
    assert main(["compare", "pagerank", "karate", "--preset", "tiny", "--schedules", "vm,weaver",
                 "--iterations", "2", "--json", str(folder / "compare.json")]) == 0
    assert main(["run", "bfs", "karate", "--preset", "tiny", "--source", "3", "--phases",
                 "--dram", "latency=50", "--json", str(folder / "run.json"),
                 "--trace", str(folder / "trace.json"), "--trace-cycles", "0:100000"]) == 0
    values = {name: json.loads((folder / f"{name}.json").read_text())
              for name in ("compare", "run", "trace")}
    return types.SimpleNamespace(folder=folder, **values)
