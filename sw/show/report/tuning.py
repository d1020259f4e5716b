"""Pages of ``tune``: its outcome (``--json``) and its file of trials (``--results``)."""

import shlex

from base.errors import UserError
from base.installation import PROGRAM
from sw.study.benchmarks.batch import notes_of
from sw.compile.plan import Plan
from sw.study.tune.results import ResultsFile
from sw.show.colours import NEUTRAL, PLAIN, SERIES, of_schedule

from .command import hardware_of, hardware_text, hardware_words, memory_of
from .plots import (Block, Page, PlotPoint, bars, count, faster, figure, lines, logarithmic,
                    times)


__all__ = ["pages_of_results", "page"]


#: Names of the two kinds of trials in plots.
_DONE, _STOPPED = "ran to its end", "stopped: slower than the best"


class _Trials:
    """Trials of a search, in their order.

    Parameters
    ----------
    records : list of (str, dict)
        Name of the plan, and the trial's record.
    commands : callable
        Gives the command line of a trial by its name.
    configuration : str
    unit : str
        Unit of the costs.
    """

    def __init__(self, records, commands, configuration, unit):
        self.unit, self.entries = unit, []
        for number, (plan, record) in enumerate(records, 1):
            cost = record.get("cycles")
            values = [("cost" if unit == "ns" else unit,
                       f"{count(cost)} {unit}" if cost else "failed"),
                      ("status", record["status"])]
            if record.get("supersteps"):
                values.append(("supersteps", count(record["supersteps"])))
            self.entries.append((number, plan, record["status"], cost, PlotPoint(
                f"trial {number}: {plan}", tuple(values), commands(plan), configuration)))
        self.done = [entry for entry in self.entries if entry[2] == "done"]

    @property
    def best(self):
        """The fastest trial; there must be one."""
        return min(self.done, key=lambda entry: entry[3])

    def blocks(self, worth=()):
        """The blocks of a page."""
        if not self.done:
            return []
        return [self._progress(), *filter(None, [self._schedules(), self._worth(worth)])]

    def _progress(self):
        best, first = self.best, self.done[0]
        traces = []
        for status, name, colour, symbol in (("stopped", _STOPPED, NEUTRAL, "x-thin-open"),
                                             ("done", _DONE, PLAIN, "circle")):
            mine = [entry for entry in self.entries if entry[2] == status]
            if mine:
                traces.append({"type": "scatter", "mode": "markers", "name": name,
                               "x": [entry[0] for entry in mine], "y": [entry[3] for entry in mine],
                               "points": [entry[4] for entry in mine],
                               "marker": {"size": 9, "color": colour, "symbol": symbol}})
        fewest, steps = [], []
        for number, _, status, cost, _ in self.entries:
            if status == "done" and (not fewest or cost < fewest[-1]):
                steps.append(number)
                fewest.append(cost)
        line = lines([*steps, len(self.entries)], [*fewest, fewest[-1]], "best so far", SERIES[1])
        line["line"]["shape"] = "hv"
        costs = [entry[3] for entry in self.entries if entry[3]]
        drawn = figure([line, *traces], x={"title": {"text": "trial"}, "tickformat": ",d"},
                       y=logarithmic(self.unit, costs), height=400)
        finding = (f"Trial {best[0]} of {len(self.entries)} is the best with {count(best[3])} "
                   f"{self.unit}"
                   + (f", {faster(first[3], best[3])} the first plan." if best is not first else
                      ": no plan is faster than the first."))
        rows = tuple(((count(number), count(cost), status, plan), point)
                     for number, plan, status, cost, point in self.entries)
        return Block("Trials", finding, {"": drawn}, ("trial", self.unit, "status", "plan"), rows,
                     "A stopped trial is shown at the limit at which it was stopped: its own cost "
                     "is higher.")

    def _schedules(self):
        """The best trial of each schedule."""
        found = {}
        for entry in self.done:
            try:
                name = Plan.parse(entry[1]).schedule
            except UserError:
                return None             # trials of the scheduling language have no plan
            if name not in found or entry[3] < found[name][3]:
                found[name] = entry
        ranked = sorted(found.items(), key=lambda pair: pair[1][3])
        names = [name for name, _ in ranked]
        drawn = bars({"best": [entry[3] for _, entry in ranked]}, names,
                     {"best": [entry[4] for _, entry in ranked]}, x=self.unit, y="", across=True,
                     colours={"best": list(map(of_schedule, names))},
                     height=130 + 30 * len(names))
        texts = [count(entry[3]) for _, entry in ranked]
        drawn["data"][0] |= {"text": [f"<b>{texts[0]} fastest</b>", *texts[1:]],
                             "texttemplate": "%{text}"}
        drawn["layout"]["meta"] = {"room": {"xaxis": ranked[-1][1][3]}}
        finding = f"{names[0]} has the fastest plan"
        if len(ranked) > 1:
            finding += (f", {faster(ranked[1][1][3], ranked[0][1][3])} the best with "
                        f"{names[1]}")
        rows = tuple(((name, count(entry[3]), times(entry[3], ranked[0][1][3]), entry[1]), entry[4])
                     for name, entry in ranked)
        return Block("Best plan of each schedule", f"{finding}.", {"": drawn},
                     ("schedule", self.unit, "of the best", "plan"), rows,
                     "Only trials that ran to their end count.")

    def _worth(self, worth):
        if not worth:
            return None
        ranked = sorted(worth, key=lambda each: -each["ratio"])
        names = [each["axis"] for each in ranked]
        points = [PlotPoint(f"axis {each['axis']}",
                            (("best value", str(each["value"])), ("next best", str(each["other"])),
                             ("cost with the next best", _ratio(each)),
                             ("compared", "alone" if each["alone"] else "with other changes")),
                            self.best[4].command) for each in ranked]
        drawn = bars({"worth": [each["ratio"] for each in ranked]}, names, {"worth": points},
                     x="cost with the next best value, times the best", y="", across=True,
                     height=130 + 28 * len(names))
        drawn["layout"]["xaxis"]["range"] = [0.9, 1.05 * max(each["ratio"] for each in ranked)]
        rows = tuple(((each["axis"], str(each["value"]), str(each["other"]),
                       _ratio(each), "" if each["alone"] else "with other changes"), None)
                     for each in ranked)
        finding = (f"Axis {names[0]} matters most: without its best value the cost is "
                   f"{_ratio(ranked[0])} as high.")
        return Block("Worth of each axis", finding, {"": drawn},
                     ("axis", "best value", "next best", "cost", ""), rows)


def _ratio(each):
    """The ratio of an axis as text; of stopped trials only a bound is known."""
    return f"{'over ' * each['bound']}{each['ratio']:.2f}x"


def page(value, path) -> Page:
    """The page of a search's outcome: the file of ``tune --json``.

    Raises
    ------
    ConfigError
        A configuration of another version.
    """
    if "program" in value:
        records = [(" ".join(trial["schedules"]) or "no schedules", trial)
                   for trial in value["trials"]]
        found = _Trials(records, lambda plan: value["command"] or "", "", value["unit"])
        title, worth = f"{value['program']} on {value['graph']}", ()
        lead = "Schedules on the CPU, by wall time."
    else:
        study = value["study"]
        config = hardware_of(study["config"])
        records = [(trial["plan"], trial) for trial in value["trials"]]
        found = _Trials(records, _replaced(value["command"]), hardware_text(config), study["unit"])
        title = f"{study['algorithm']} on {study['name']}"
        lead = f"Plans that were tried on {hardware_text(config)}."
        worth = value["worth"]
    notes = (*value.get("notes", ()),
             *([f"Trials that failed: {value['failed']}."] if value["failed"] else []))
    blocks = found.blocks(worth)
    if value["refused"]:
        ranked = sorted(value["refused"].items(), key=lambda pair: -pair[1])
        refused = count(sum(value["refused"].values()))
        blocks.append(Block("Refused plans", f"The planner refused {refused} "
                            "plans, which cost no simulation.", {}, ("reason", "plans"),
                            tuple(((reason, count(number)), None) for reason, number in ranked)))
    return Page(title, lead, _facts(found), tuple(blocks), notes, value["command"] or "", "tune")


def _facts(found):
    best = found.best if found.done else None
    return (("trials", count(len(found.entries))),
            ("stopped early", count(sum(entry[2] == "stopped" for entry in found.entries))),
            (f"best, {found.unit}", count(best[3]) if best else "-"),
            ("speed over the first plan", times(found.done[0][3], best[3]) if best else "-"))


def _replaced(command):
    """A function that puts a plan into the command line of another plan."""
    words = shlex.split(command or "")
    if "--plan" not in words:
        return lambda plan: ""
    place = words.index("--plan") + 1
    return lambda plan: shlex.join([*words[:place], plan, *words[place + 1:]])


def _commands(graph, hardware):
    """A function that gives the command line of a plan. ``graph`` are the words of a graph and its
    options; files of older versions lack them, and then there is no command line."""
    return lambda plan: "" if graph is None else shlex.join(
        [PROGRAM, "run", "--plan", plan, *graph, *hardware])


def pages_of_results(path) -> list:
    """The pages of a file of trials, one for each study. Raises UserError, ConfigError."""
    found = []
    for study in ResultsFile(path).studies.values():
        header = study.header
        config, dram = hardware_of(header["config"]), memory_of(header["dram"])
        trials = _Trials(list(study.trials.items()),
                         _commands(header.get("arguments"), hardware_words(config, dram)),
                         hardware_text(config), header["unit"])
        found.append(Page(f"{header['algorithm']} on {header['name']}",
                          f"Trials of {path} on {hardware_text(config)}.", _facts(trials),
                          tuple(trials.blocks()), tuple(notes_of(study.trials.values())),
                          trials.best[4].command if trials.done else "", "tune"))
    return found
