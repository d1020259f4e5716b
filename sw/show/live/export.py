"""A static site: the page with prepared runs, for any web server."""

import gzip
import json
import pathlib
import shutil

from base import output
from sw.study.benchmarks.budgets import load_budgets

from .request import RACE, RunRequest, offer

__all__ = ["PAGE", "check_folder", "export", "packed", "prepared"]


#: The folder of the page.
PAGE = pathlib.Path(__file__).with_name("page")

#: The file that tells a folder of an earlier export from a folder of the user's.
_MARK = ".graphloom-live"

#: Budget cases of preset ``default`` that are prepared beside all of ``tiny``.
_DEFAULT = tuple(f"default/{graph}/{run}" for graph, run in (
    ("rmat:scale=10,degree=16,seed=1", "bfs/push/vm"),
    ("rmat:scale=10,degree=16,seed=1", "bfs/push/em"),
    ("rmat:scale=10,degree=16,seed=1", "bfs/push/weaver"),
    ("road:side=32,seed=1", "pagerank/pull/vm"),
    ("road:side=32,seed=1", "pagerank/pull/em"),
    ("road:side=32,seed=1", "pagerank/pull/weaver")))


def prepared() -> list[tuple[str, RunRequest]]:
    """The runs of a static site, with their names: the race with which the page begins, and budget
    cases (:mod:`sw.study.benchmarks.budgets`)."""
    race = {name: value for name, value in RACE.items() if name != "schedule"}
    named = "{preset}/{graph}/{algorithm}/{direction}".format(**race)
    found = {f"{named}/{schedule}": RunRequest(**race, schedule=schedule)
             for schedule in RACE["schedule"]}
    for budget in load_budgets():
        if budget.preset != "tiny" and budget.name not in _DEFAULT:
            continue
        plan = budget.case.plan
        given = dict(plan.parameters)
        found[budget.name] = RunRequest(
            algorithm=plan.algorithm, graph=budget.case.graph, schedule=plan.schedule,
            direction=plan.direction, format=None if plan.format == "csr" else plan.format,
            preset=budget.preset, source=given.get("source"), iterations=given.get("iterations"))
    return list(found.items())


def packed(recording) -> bytes:
    """A recording as the page loads it: JSON, compressed. The same for the same recording."""
    text = json.dumps(recording, separators=(",", ":")).encode()
    return gzip.compress(text, compresslevel=9, mtime=0)


def check_folder(folder) -> pathlib.Path:
    """The place of an export. Raises UserError if it cannot be written, or holds other files."""
    return output.check_folder(folder, "--export", output.marked_by(_MARK))


def export(folder, report=None, runs=None) -> dict[str, int]:
    """Write the static site into a folder, which is replaced as a whole.

    Parameters
    ----------
    folder : str or path
        A new name, an empty folder, or the folder of an earlier export.
    report : callable, optional
        Called with a line of text before each run.
    runs : list of (str, RunRequest), optional
        The runs, with their names; left out, those of :func:`prepared`.

    Returns
    -------
    dict of str to int
        Bytes of each file, by its name.

    Raises
    ------
    UserError
        The folder cannot be written, or holds other files. It stays as it was.
    RunError, BuildError, ToolError
        If a run fails so. The folder stays as it was.
    """
    with output.replacing_folder(folder, "--export", output.marked_by(_MARK)) as made:
        shutil.copytree(PAGE, made, dirs_exist_ok=True)
        _fill(made, prepared() if runs is None else runs, report or (lambda text: None))
        (made / _MARK).touch()
        made.chmod(0o755)
        return {str(path.relative_to(made)): path.stat().st_size
                for path in sorted(made.rglob("*")) if path.is_file()}


def _fill(made, runs, report):
    """Add recordings, simulators and their list to a copy of the page."""
    (made / "runs").mkdir()
    (made / "simulators").mkdir()
    cases = []
    for number, (name, request) in enumerate(runs):
        report(f"{name} ({number + 1} of {len(runs)})")
        recording, module = request.record(report)
        simulator = f"simulators/{module.path.parent.name}.wasm.gz"
        if not (made / simulator).exists():
            shutil.copyfile(module.path, made / simulator)
        file = f"runs/{number:02}.json.gz"
        (made / file).write_bytes(packed(recording | {"simulator": simulator}))
        cases.append({"name": name, "file": file, "preset": request.preset,
                      "graph": request.graph, "algorithm": request.algorithm,
                      "direction": request.direction, "schedule": request.schedule,
                      "format": request.format})
    (made / "cases.json").write_text(json.dumps(offer("static", cases=cases), indent=1))
