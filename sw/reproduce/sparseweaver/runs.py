"""The runs that the figures share: the Weavers, the schedules in software, and their systems."""

from sw import algorithms
from sw.benchmarks.schedules import DIRECTIONS, plan
from sw.benchmarks.system import System, SystemRun


__all__ = ["PLAIN", "SOFTWARE", "WEAVERS", "PhasedRun", "contenders", "run", "where", "with_mean"]


#: The Weavers: their names in tables, and the values of ``HardwareConfig.gather``. The first is the
#: paper's.
WEAVERS = {"weaver (fsm)": "fsm", "weaver (scan)": "scan", "weaver (stream)": "stream"}

#: Vertex mapping in the plain loop of the paper, one edge a turn.
PLAIN = "vm:unroll=1"

#: The schedules in software. ``vm`` takes several edges a turn.
SOFTWARE = (PLAIN, "vm", "vwc", "em", "wm", "cm", "twc", "twce", "etwc", "strict")

#: Largest random weight for a graph without weights.
_WEIGHTS = 64


class _Run(SystemRun):
    """A run of which a schedule may lack the direction: that is no failure."""
    REFUSED = "refused"


class PhasedRun(_Run):
    """A run whose kernels mark all phases. The record has ``phases``: the cycles of all warps in
    each phase (:data:`hw.isa.PHASES`), added up, and behind them all their cycles."""

    def measured(self, result):
        return super().measured(result) | {"phases": result.phases.sum(axis=(0, 1)).tolist()}


def run(setting, choice, algorithm, contender, *, direction=None, kind=_Run, dram=None, phases=None,
        **fields):
    """A run on a graph: PageRank one iteration, searches from the vertex with the most arcs.

    Parameters
    ----------
    setting : Setting
    choice : GraphChoice
    algorithm : str
    contender : str
        A schedule in software, or a key of :data:`WEAVERS`. Software runs on the core that has the
        first of the Weavers.
    direction : str, optional
        By default the algorithm's own.
    kind : type
        The class of the case.
    dram : DramConfig, optional
        The memory, in place of the setting's.
    phases : bool, optional
        Whether the kernels mark all phases.
    **fields
        Fields of the configuration that differ from the setting's.
    """
    unit = WEAVERS.get(contender, next(iter(WEAVERS.values())))
    config = setting.config.replace(gather=unit, **fields)
    system = System(config.replace(name=f"{setting.config.name} {unit}"), dram or setting.dram)
    marks = {} if phases is None else {"phases": phases}
    return kind(choice.graph, choice.undirected,
                plan(algorithm, 1, direction=direction or DIRECTIONS[algorithm][0],
                     schedule="weaver" if contender in WEAVERS else contender, **marks),
                _WEIGHTS if algorithms.find(algorithm).weighted else None, system=system)


def contenders(setting, choice, algorithm, names, **choices) -> dict:
    """{contender: {direction: case}}: each contender in all directions of the algorithm."""
    return {name: {direction: run(setting, choice, algorithm, name, direction=direction, **choices)
                   for direction in DIRECTIONS[algorithm]} for name in names}


def with_mean(graphs):
    """The names of graphs, then the name of their mean."""
    return (*(choice.label for choice in graphs), "mean")


def where(setting) -> str:
    """A sentence on the hardware of a setting's runs, beside the paper's."""
    config = setting.config
    return (f"On `{config.name}`: {config.cores} core(s) of {config.warps} warps of "
            f"{config.threads} lanes; the paper has six cores of 32 warps of 32 lanes. "
            "Every result is that of the golden model, bit by bit.")
