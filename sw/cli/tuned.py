"""Plans of ``graphloom tune`` on the command line of ``graphloom run``."""

import os

from sw.errors import UserError
from sw.installation import PROGRAM


__all__ = ["DEFAULT", "TUNED", "find", "words"]


#: The file of results where no other is named.
DEFAULT = os.path.join("results", "tuned.jsonl")

#: The name of the schedule that stands for a tuned plan.
TUNED = "tuned"


def words(plan) -> list:
    """The options of ``graphloom run`` for a plan."""
    found = ["--schedule", plan.schedule, "--format", plan.format]
    given = {"direction": plan.direction, "frontier": plan.frontier, "split": plan.split}
    for name, value in (given | dict(plan.parameters)).items():
        if value is not None:
            found += [f"--{name}", str(value)]
    if plan.deduplicate is not None:
        found.append("--dedup" if plan.deduplicate else "--no-dedup")
    return found


def find(path, algorithm, parameters, graph, setting):
    """The best plan of a file of results.

    Parameters
    ----------
    path : str
    algorithm : str
    parameters : dict
        Parameters of the algorithm, which the plan gets in place of those of its study.
    graph : Graph
    setting : sw.tune.runs.Setting

    Returns
    -------
    Plan, bool
        The plan, and whether it was measured with these sources of Graphloom.

    Raises
    ------
    UserError
        The file has no plan for this algorithm, graph and hardware.
    """
    from sw.tune.plan import Plan
    from sw.tune.results import Results, header_of
    if not os.path.exists(path):
        raise UserError(f"--schedule tuned: there is no file {path}; {PROGRAM} tune {algorithm} "
                        "makes it")
    header = header_of(algorithm, parameters, graph, setting)
    study = Results(path).tuned(header)
    return Plan.parse(study.best(1)[0][1]), study.header["sources"] == header["sources"]
