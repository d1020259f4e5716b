"""Cycles by graph and by way, which most of the figures compare."""

import dataclasses

from ..outcome import Plot, Table, number, ratio, times
from ..paper import Figure
from ..setting import mean, with_mean


__all__ = ["CyclesByWay", "OfRuns"]


class OfRuns(Figure):
    """A figure of runs that have names."""

    def runs(self, setting) -> dict:
        """The runs by what the figure calls them."""
        raise NotImplementedError

    def cases(self, setting):
        return list(self.runs(setting).values())


@dataclasses.dataclass(frozen=True)
class CyclesByWay:
    """The cycles of some ways on some graphs.

    Parameters
    ----------
    title : str
    graphs : tuple of GraphChoice
    cycles : dict of (GraphChoice, str) to int or None
        By graph and way.
    reference : str
        The way with which all are compared.
    inverse : bool
        Whether speeds are those of the reference over a way, and not of a way over the reference.
    """
    title: str
    graphs: tuple
    cycles: dict
    reference: str
    inverse: bool = False

    @property
    def ways(self) -> list:
        """The names of the ways."""
        return list(dict.fromkeys(way for _, way in self.cycles))

    @property
    def speeds(self) -> dict:
        """The speed on each graph, by way."""
        def speed(choice, way):
            own, other = self.cycles[choice, self.reference], self.cycles[choice, way]
            return ratio(other, own) if self.inverse else ratio(own, other)
        return {way: [speed(choice, way) for choice in self.graphs] for way in self.ways}

    @property
    def means(self) -> dict:
        """The geometric mean of the speeds, by way."""
        return {way: mean(self.graphs, values) for way, values in self.speeds.items()}

    @property
    def _label(self):
        return f"speed of {self.reference} over it" if self.inverse else (
            f"speed over {self.reference}")

    def table(self) -> Table:
        """Cycles, and the mean speed."""
        rows = [(choice.label, *(number(self.cycles[choice, way]) for way in self.ways))
                for choice in self.graphs]
        rows.append((f"{self._label}, mean", *map(times, self.means.values())))
        return Table(f"{self.title}: cycles", ("graph", *self.ways), tuple(rows))

    def plot(self) -> Plot:
        """Speeds by graph."""
        means = self.means
        return Plot(self.title, self._label, with_mean(self.graphs), {
            way: (*values, means[way]) for way, values in self.speeds.items()
            if way != self.reference}, reference=1.0)

    def data(self) -> dict:
        """Cycles by graph and way."""
        return {choice.label: {way: self.cycles[choice, way] for way in self.ways}
                for choice in self.graphs}
