"""The interfaces of a paper and of one of its figures.

A figure names the runs and measurements that it needs (its *cases*). From their records the figure
makes tables, a plot and comparisons with the paper. :mod:`sw.study.reproduce.study` runs the cases,
and keeps, shows and writes the results.
"""

from base.errors import UserError
from sw.study.benchmarks.grid import Measured, Grid

from .outcome import Outcome


__all__ = ["Figure", "Paper"]


class Figure:
    """A figure, a table or a claim of a paper.

    It has a ``name`` for users, such as ``"fig3.8"``, which is also that of its files; a ``title``,
    its content in a line; its ``source``, where in the paper it is; and its ``method``: sentences
    on how it is measured here, with the differences from the paper's method."""
    name = None
    title = None
    source = None
    method = None

    def grid(self, setting) -> Grid:
        """The runs and measurements that the figure needs, by axes; each case is a
        :class:`sw.study.benchmarks.measurement.Measurement`."""
        return Grid({"nothing": ()}, lambda nothing: None)

    def further(self, setting) -> dict[str, Grid]:
        """Further grids, by the names under which :meth:`results` gets what they measured."""
        return {}

    def cases(self, setting) -> list:
        """The cases of all grids. Equal cases are run once for all figures."""
        return [case for grid in (self.grid(setting), *self.further(setting).values())
                for case in grid.cases]

    def results(self, setting, found: Measured, **further: Measured) -> Outcome:
        """The figure's results, from what the cases measured; some may have failed."""
        raise NotImplementedError

    def outcome(self, setting, records) -> Outcome:
        """The figure's results, from the record of each case."""
        return self.results(setting, self.grid(setting).found(records), **{
            name: grid.found(records) for name, grid in self.further(setting).items()})


class Paper:
    """A paper: its name for users, its title, where it appeared (``source``), its figures in the
    order of the paper, the ``preset`` of runs and that of runs with ``--large``, if the user gives
    none, and what our numbers stand ``beside``."""
    paper = None
    title = None
    source = None
    figures = ()
    preset = large = "baseline"
    beside = "paper"

    @classmethod
    def find(cls, name):
        """The figure of that name. Raises UserError, which names all figures, if there is none."""
        for figure in cls.figures:
            if figure.name == name:
                return figure
        raise UserError(f"{cls.paper} has no figure {name!r} here; it has "
                        f"{', '.join(figure.name for figure in cls.figures)}")
