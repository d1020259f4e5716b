"""Cycles by graph and by way, which most of the figures compare."""

import dataclasses

from sw.benchmarks.grid import by_point

from ..outcome import bars, by_columns, number, times


__all__ = ["CyclesByWay"]


@dataclasses.dataclass(frozen=True)
class CyclesByWay:
    """The cycles of some ways on some graphs.

    Parameters
    ----------
    title : str
    cycles : dict of str to Cube
        The cycles on each graph, by way.
    reference : str
        The way with which all are compared.
    inverse : bool
        Whether speeds are those of the reference over a way, and not of a way over the reference.
    """
    title: str
    cycles: dict
    reference: str
    inverse: bool = False

    @property
    def speeds(self) -> dict:
        """The speed on each graph, by way."""
        own = self.cycles[self.reference]
        return {way: other / own if self.inverse else own / other
                for way, other in self.cycles.items()}

    @property
    def means(self) -> dict:
        """The geometric mean of the speeds, by way."""
        return {way: values.mean() for way, values in self.speeds.items()}

    @property
    def _label(self):
        return f"speed of {self.reference} over it" if self.inverse else (
            f"speed over {self.reference}")

    def table(self):
        """Cycles, and the mean speed."""
        labels, means = self.cycles[self.reference].labels(), self.means
        return by_columns(f"{self.title}: cycles", ("graph", (*labels, f"{self._label}, mean")), *(
            (way, each.cells(number, times(means[way]))) for way, each in self.cycles.items()))

    def plot(self):
        """Speeds by graph."""
        return bars(self.title, self._label, {
            way: values for way, values in self.speeds.items() if way != self.reference},
            reference=1.0)

    def data(self) -> dict:
        """Cycles by graph and way."""
        return by_point(self.cycles)
