"""Plans of ``graphloom tune`` on the command line of ``graphloom run``."""

import dataclasses
import os

from base.errors import UserError
from base.installation import PROGRAM


__all__ = ["DEFAULT", "TUNED", "find", "settled"]


#: The file of results where no other is named.
DEFAULT = os.path.join("results", "tuned.jsonl")

#: The name of the schedule that stands for a tuned plan.
TUNED = "tuned"


def settled(kind, graph, given) -> dict:
    """The values of given parameters on a graph, such as the number of the vertex ``hub``.

    Raises UserError if the algorithm, given by its class, cannot have them.
    """
    values = kind(graph, **dict(given)).parameters()
    return {name: values.get(name, value) for name, value in dict(given).items()}


def find(path, work, target, note):
    """The best plan of a file of results.

    Parameters
    ----------
    path : str or None
        The file; None for the file that ``graphloom tune`` writes by default.
    work : sw.cli.records.RunOptions
        The algorithm with its parameters, and the graph.
    target : Target
    note : callable
        Told of what looks odd.

    Returns
    -------
    Plan or Hybrid, Graph

    Raises
    ------
    UserError
        The file has no plan for this algorithm, graph and hardware, or the choices have a part of
        a tuned plan.
    """
    from sw.compile.plan import Plan, as_plan
    from sw.study.tune.results import ResultsFile, header_of
    from sw.study.tune.runs import RunSetting
    for name in work.fields:
        if name not in ("schedule", "phases"):
            option = {"deduplicate": "dedup"}.get(name, name)
            raise UserError(f"--{option} is a part of the plan that --schedule {TUNED} takes: "
                            "leave out one of the two")
    asked = dataclasses.replace(work, fields={}).bare(f"--schedule {TUNED}", "a tuned plan")
    algorithm, kind = asked.algorithm, asked.kind
    path = DEFAULT if path is None else path
    if not os.path.exists(path):
        raise UserError(f"--schedule {TUNED}: there is no file {path}; {PROGRAM} tune {algorithm} "
                        "GRAPH makes it")
    setting = RunSetting(work.source.seeded().used_by(kind), target)
    graph = setting.graph(note=note)
    header = header_of(algorithm, settled(kind, graph, asked.parameters), graph, setting)
    study = ResultsFile(path).tuned(header)
    best = Plan.parse(study.best(1)[0][1])
    if study.header["sources"] != header["sources"]:
        note(f"{path}: was measured with other sources of Graphloom; another plan may be better "
             "now")
    # Parameters are those of this run, except those that were tuned.
    record = best.to_json()
    for part in [record[name] for name in ("first", "second") if name in record] or [record]:
        part["parameters"] = {name: value for name, value in part["parameters"].items()
                              if name in kind.TRIES}
    return as_plan(Plan.from_json(record), parameters=dict(asked.parameters),
                   phases=work.fields.get("phases")), graph
