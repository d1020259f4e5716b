"""Cycles of one choice beside another: figures 2.3, 2.9b and 2.10."""

from sw.benchmarks.schedules import DIRECTIONS

from ..cr2.runs import run
from ..outcome import Comparison, Outcome, Plot, Table, number, ratio, times
from ..paper import Figure
from ..setting import mean
from . import published
from ..space import tried


__all__ = ["PageRankPlans", "Formats", "Shards"]


class Formats(Figure):
    """Figure 2.3."""
    name = "fig2.3"
    title = "PageRank by schedule and format"
    source = "figure 2.3, section 2.2"
    method = ("One iteration, the better of push and pull, every other choice the algorithm's own. "
              "The paper has a social graph and a road. A dash is a pair that the planner refuses.")

    def _runs(self, setting, choice):
        """{(schedule, format): {direction: case}}."""
        space = published.SPACES["GRAssembler"]
        return {(schedule, format): {direction: tried(
            setting.config, choice, "pagerank", schedule=schedule, format=format,
            direction=direction) for direction in DIRECTIONS["pagerank"]}
            for schedule in space.schedules for format in space.formats}

    def cases(self, setting):
        return [case for choice in setting.tuned for ways in self._runs(setting, choice).values()
                for case in ways.values()]

    def outcome(self, setting, results):
        space, tables, plots, comparisons, data = published.SPACES["GRAssembler"], [], [], [], {}
        for choice in setting.tuned:
            found = {pair: results.best(ways)
                     for pair, ways in self._runs(setting, choice).items()}
            refused = {pair for pair, ways in self._runs(setting, choice).items()
                       if all(results.value(case, "refused") for case in ways.values())}
            cycles = {pair: float("nan") if pair in refused else value
                      for pair, (_, value) in found.items()}
            tables.append(Table(f"{choice.label}: cycles", ("schedule", *space.formats), tuple(
                (schedule, *(number(cycles[schedule, format]) + (
                    f" ({found[schedule, format][0]})" if found[schedule, format][0] else "")
                    for format in space.formats)) for schedule in space.schedules)))
            plots.append(Plot(choice.label, "cycles", space.schedules, {format: tuple(
                cycles[schedule, format] for schedule in space.schedules)
                for format in space.formats}))
            ran = {pair: value for pair, value in cycles.items() if pair not in refused}
            known = {pair: value for pair, value in ran.items() if value is not None}
            comparisons.append(Comparison(
                f"{choice.label}: best schedule and format", "-",
                ", ".join(min(known, key=lambda pair: known[pair])) if known else number(None)))
            data[choice.label] = {" ".join(pair): value for pair, value in cycles.items()}
        return Outcome(tuple(tables), tuple(plots), tuple(comparisons), data)


class PageRankPlans(Figure):
    """Figure 2.10."""
    name = "fig2.10"
    title = "PageRank by format, schedule and direction"
    source = "figure 2.10, section 2.5.6"
    method = ("One iteration, on the graph that is first, a skewed one: the paper's sixteen "
              "options. Block-COO is COO in four blocks. ELL + COO is `ell`, whose rest is in COO. "
              "The baseline is Block-COO under twce, pushing.")
    _formats = {"COO": ("coo", False), "CSR": ("csr", False), "ELL + COO": ("ell", False),
                "Block-COO": ("coo", True)}
    _schedules = ("em", "twce")
    _baseline = ("Block-COO", "twce", "push")

    def _runs(self, setting):
        return {(name, schedule, direction): tried(
            setting.config, setting.tuned[0], "pagerank", schedule=schedule, format=format,
            direction=direction, blocked=blocked)
            for name, (format, blocked) in self._formats.items() for schedule in self._schedules
            for direction in ("push", "pull")} if setting.tuned else {}

    def cases(self, setting):
        return list(self._runs(setting).values())

    def outcome(self, setting, results):
        runs = self._runs(setting)
        cycles = {option: results.cycles(case) for option, case in runs.items()}
        gains = {option: ratio(cycles[self._baseline], value) for option, value in cycles.items()}
        known = sorted((value, option) for option, value in cycles.items() if value is not None)
        order = [option for _, option in known] + [option for option in cycles
                                                   if cycles[option] is None]
        worst = ratio(known[-1][0], known[0][0]) if known else None
        blocked = [value for value, option in known if option[0] == "Block-COO"]
        return Outcome(
            tables=(Table(f"{setting.tuned[0].label}: cycles", (
                "option", "cycles", "speedup over the baseline"), tuple(
                    (", ".join(option), number(cycles[option]), times(gains[option]))
                    for option in order)),),
            plots=(Plot(f"PageRank on {setting.tuned[0].label}", "speedup over the baseline",
                        tuple(", ".join(option) for option in order),
                        {"speedup": tuple(gains[option] for option in order)}, reference=1.0),),
            comparisons=(
                Comparison("worst of the best option", times(published.BLOCKED_GAP),
                           times(worst)),
                Comparison("worst of the best option, both with blocks",
                           times(published.BLOCKED_GAP),
                           times(ratio(blocked[-1], blocked[0]) if blocked else None)),
                Comparison("the best option", "Block-COO, em, push",
                           ", ".join(known[0][1]) if known else number(None))),
            data={", ".join(option): value for option, value in cycles.items()})


class Shards(Figure):
    """Figure 2.9b."""
    name = "fig2.9b"
    title = "G-Shards against COO and CSR"
    source = "figure 2.9b, section 2.5.5"
    method = ("The paper compares with CuSha's own program, which does not run on this hardware. "
              "Here G-Shards is compared with COO and CSR, pushing under em. Shards have 1024 or "
              "4096 vertices: the better is taken. PageRank makes one iteration, components run to "
              "the end. Means are geometric.")
    _formats = {"COO": ("coo",), "CSR": ("csr",),
                "G-Shards": ("g-shards:shard=1024", "g-shards:shard=4096")}
    _algorithms = ("pagerank", "cc")

    def _runs(self, choice, algorithm, name):
        return {text: run(choice, algorithm, "push", "em", text) for text in self._formats[name]}

    def cases(self, setting):
        return [case for algorithm in self._algorithms for choice in setting.wide
                for name in self._formats for case in self._runs(choice, algorithm, name).values()]

    def outcome(self, setting, results):
        rows, comparisons, data, series = [], [], {}, {"COO": [], "CSR": []}
        for algorithm in self._algorithms:
            short = published.ALGORITHMS[algorithm]
            gains = {name: [] for name in series}
            for choice in setting.wide:
                best = {name: results.best(self._runs(choice, algorithm, name))[1]
                        for name in self._formats}
                for name in gains:
                    gains[name].append(ratio(best[name], best["G-Shards"]))
                rows.append((f"{short}: {choice.label}", *map(number, best.values()),
                             *(times(gains[name][-1]) for name in gains)))
                data.setdefault(algorithm, {})[choice.label] = best
            for name, values in gains.items():
                series[name] += values
                comparisons.append(Comparison(
                    f"{short}: G-Shards over {name}", "equal to CuSha or faster"
                    if name == "COO" else "-", times(mean(setting.wide, values))))
        return Outcome(
            tables=(Table("Cycles", ("", *self._formats, *(f"over {name}" for name in series)),
                          tuple(rows)),),
            plots=(Plot("G-Shards", "speedup of G-Shards", tuple(
                f"{published.ALGORITHMS[algorithm]} {choice.label}"
                for algorithm in self._algorithms for choice in setting.wide),
                {f"over {name}": tuple(values) for name, values in series.items()},
                reference=1.0),), comparisons=tuple(comparisons), data=data)
