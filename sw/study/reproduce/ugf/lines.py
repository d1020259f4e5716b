"""Lines of code: table 6.8."""

from sw.lang import programs

from ..grassembler.lines import lines
from ..outcome import Comparison, Outcome, Plot, Table, number
from ..paper import Figure
from . import published


__all__ = ["ProgramLines", "counted"]


def counted() -> dict:
    """Lines of each program, and of its schedule in table A.1, the longer of the two: a label a
    line. The lines of a program are those with code, without comments and docstrings."""
    return {name: (lines(programs.path(name).read_text(encoding="utf-8")),
                   max(len(published.SCHEDULES[name, kind]) for kind in ("power law", "road")))
            for name in published.ALGORITHMS}


class ProgramLines(Figure):
    """Table 6.8."""
    name = "table6.8"
    title = "lines of code of the five programs"
    source = "table 6.8"
    method = ("Lines with code of `sw/lang/programs`, without comments and docstrings, and a line "
              "for each label that has a schedule in table A.1, as UGF's count has the schedules. "
              "BFS, SSSP and PageRank here have options (a source, delta, a tolerance).")

    def results(self, setting, found):
        lines_of = counted()
        ours = {name: sum(parts) for name, parts in lines_of.items()}
        rows = [(framework, *(number(its[name]) if name in its else "-"
                              for name in published.ALGORITHMS))
                for framework, its in published.LINES.items()]
        rows.append(("here", *(f"{total} ({lines_of[name][1]} of the schedule)"
                               for name, total in ours.items())))
        theirs = published.LINES["UGF"]
        return Outcome(
            (Table("Lines", ("", *published.ALGORITHMS.values()), tuple(rows)),),
            (Plot("lines of code", "lines", tuple(published.ALGORITHMS.values()), {
                framework: tuple(its.get(name, float("nan")) for name in ours)
                for framework, its in ({**published.LINES, "here": ours}).items()
                if framework != "Gunrock"}),),
            tuple(Comparison(f"{published.ALGORITHMS[name]}: lines with the schedule",
                             number(theirs[name]), number(ours[name])) for name in ours),
            {name: {"program": program, "schedule": schedule}
             for name, (program, schedule) in lines_of.items()})
