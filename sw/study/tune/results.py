"""The file of a tuner's results: lines of JSON, one for each study and one for each trial.

A study is an algorithm with its parameters on a graph, a configuration and a memory. Its line has
the version of the lines, the digest of the sources, and the graph's figures. A file may have any
number of studies, and the trials of all strategies. A line is added when a trial ends
(:class:`~sw.study.benchmarks.records.RecordsFile`), so an interruption loses only the runs that it
ends.
"""

import dataclasses
import hashlib
import json

from base.errors import UserError
from sw.study.benchmarks.records import RecordsFile
from sw.graph.describe import describe
from sw.compile.plan import Plan
from sw.study.tune.features import nearest
from sw.study.tune.runs import graph_digest, sources


__all__ = ["VERSION", "ResultsFile", "TuningStudy", "header_of", "identity"]


#: Version of the lines; no other is read.
VERSION = 2

_STUDY = "study"

#: The status of a trial that counts when a file is read again. A failed trial is repeated.
_KEPT = ("done", "stopped")

#: The types of a study's fields.
_FIELDS = {"version": int, "sources": str, "algorithm": str, "parameters": dict, "graph": str,
           "features": dict, "config": dict, "dram": dict, "unit": str, "name": str,
           "launch_cycles": int}

#: The fields that tell studies apart.
_IDENTITY = ("version", "sources", "algorithm", "parameters", "graph", "dram", "unit",
             "launch_cycles")


def _hardware(config):
    """The fields of a configuration without its name."""
    return {name: value for name, value in config.items() if name != "name"}


def identity(header) -> str:
    """The text that names a study in each of its lines."""
    text = json.dumps([_hardware(header["config"]), *(header[name] for name in _IDENTITY)],
                      sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def header_of(algorithm, parameters, graph, setting) -> dict:
    """The header of a study (:class:`TuningStudy`): an algorithm with the parameters that were
    given, on a graph, in a :class:`~sw.study.tune.runs.RunSetting`."""
    features = describe(graph)
    return {"version": VERSION, "sources": sources(), "algorithm": algorithm,
            "parameters": dict(parameters), "graph": graph_digest(graph),
            "name": features.pop("name"), "features": features,
            "config": dataclasses.asdict(setting.target.config),
            "dram": dataclasses.asdict(setting.target.dram), "unit": setting.target.unit,
            "launch_cycles": setting.target.device().launch_cycles}


@dataclasses.dataclass
class TuningStudy:
    """A study and its trials."""
    #: ``version``, ``sources``, ``algorithm``, ``parameters``, ``graph`` (digest of the graph),
    #: ``name`` (its name), ``features`` (its figures), ``config``, ``dram``, ``unit``,
    #: ``launch_cycles`` (those of the host for a launch). ``tune`` adds ``arguments``: the words of
    #: a command line that name the graph and its options.
    header: dict
    #: The record of each trial, by the text of its plan: ``status``, ``cycles``, ``digest``, and
    #: ``by``, the strategy that has chosen the plan.
    trials: dict[str, dict] = dataclasses.field(default_factory=dict)

    def best(self, count=None) -> list:
        """(cycles, text of the plan) of the trials that ran to their end, the fastest first."""
        found = [(record["cycles"], plan) for plan, record in self.trials.items()
                 if record["status"] == "done"]
        return sorted(found, key=lambda pair: pair[0])[:count]

    def by(self, strategy) -> list:
        """The plans that the strategy of this text has tried, in their order."""
        return [Plan.parse(plan) for plan, record in self.trials.items()
                if record["by"] == strategy]


def _same(field, header):
    return lambda study: study.header[field] == header[field]


class ResultsFile:
    """The file of a name. With None nothing is read or kept. ``studies`` has all its studies, by
    :func:`identity`. Raises UserError if the file cannot be read, is damaged, or is of another
    version; the message says where."""

    def __init__(self, path):
        self.path, self._records = path, RecordsFile(path)
        self.studies = {}
        for number, (key, record) in enumerate(self._records.read(), 1):
            try:
                self._take(key, record)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise UserError(f"{path}: record {number} is not of graphloom tune, or damaged; "
                                "name another file, or remove the line") from None

    def _take(self, key, record):
        first, _, rest = key.partition(" ")
        if first == _STUDY:
            if record["version"] != VERSION:
                raise UserError(f"{self.path}: has version {record['version']} of the results, "
                                f"this program reads {VERSION}; name another file")
            if any(type(record[name]) is not kind for name, kind in _FIELDS.items()) \
                    or identity(record) != rest:
                raise ValueError
            self.studies.setdefault(rest, TuningStudy(record))
            return
        try:
            Plan.parse(rest)
        except UserError as error:
            raise ValueError from error
        if record["status"] in _KEPT and (type(record["cycles"]) is not int
                                          or record["cycles"] < 1
                                          or type(record["digest"]) is not str
                                          or type(record["by"]) is not str):
            raise ValueError
        trials = self.studies[first].trials
        if record["status"] in _KEPT and trials.get(rest, {}).get("status") != "done":
            trials[rest] = record

    def nearest(self, header) -> list:
        """The studies of the same algorithm with a trial that ran to its end, by the distance of
        their graphs from the graph of ``header``, the nearest first."""
        found = [study for study in self.studies.values()
                 if study.header["algorithm"] == header["algorithm"] and study.best(1)]
        order = nearest(header["features"], [study.header["features"] for study in found])
        return [found[number] for number, _ in order]

    def tuned(self, header) -> TuningStudy:
        """The study whose best plan serves a run: the same algorithm, graph and hardware, and if
        possible the same parameters, memory, sources and cost of a launch. Raises UserError, which
        says what the file has, if there is none."""
        found = [study for study in self.studies.values() if study.best(1)]
        for what, same in (
                ("for " + header["algorithm"], _same("algorithm", header)),
                (f"for {header['algorithm']} on {header['name']}", _same("graph", header)),
                (f"for this hardware ({header['config']['name']})",
                 lambda study: _hardware(study.header["config"]) == _hardware(header["config"]))):
            found = [study for study in found if same(study)]
            if not found:
                raise UserError(f"{self.path}: has no tuned plan {what}")
        return max(found, key=lambda study: [study.header[name] == header[name] for name in
                                             ("parameters", "sources", "unit", "dram",
                                              "launch_cycles")])

    def begin(self, header) -> TuningStudy:
        """The study of a header. Its line is added if the file does not have the study. Raises
        UserError if the file has studies that were measured with other sources, or cannot be
        written."""
        if any(study.header["sources"] != header["sources"] for study in self.studies.values()):
            raise UserError(f"{self.path}: was measured with other sources of Graphloom, so its "
                            "cycles do not compare with new ones; name another file or remove it")
        key = identity(header)
        if key not in self.studies:
            self.studies[key] = TuningStudy(self._records.keep(f"{_STUDY} {key}", header))
        return self.studies[key]

    def keep(self, study, plan, record):
        """Add a trial's line, and the trial to its study. Raises UserError."""
        study.trials[plan] = self._records.keep(f"{identity(study.header)} {plan}", record)
