"""The interfaces of a paper and of one of its figures.

A figure names the runs and measurements that it needs (its *cases*). From their records the figure
makes tables, a plot and comparisons with the paper. :mod:`sw.reproduce.study` runs the cases, and
keeps, shows and writes the results.
"""

from sw.errors import UserError


__all__ = ["Figure", "Paper", "CaseRecords"]


class CaseRecords(dict):
    """Records by case, as a figure gets them. Values of a failed case are None."""

    def value(self, case, name):
        """A value of the case's record; None if the case failed."""
        return self[case].get(name)

    def cycles(self, case):
        """The case's cycles; None if the case failed."""
        return self.value(case, "cycles")

    def best(self, choices):
        """The least cycles among several cases, and its choice.

        Parameters
        ----------
        choices : dict of choice to case

        Returns
        -------
        (choice, cycles)
            ``(None, None)`` if all of them failed.
        """
        done = {choice: cycles for choice, case in choices.items()
                if (cycles := self.cycles(case)) is not None}
        if not done:
            return None, None
        choice = min(done, key=done.__getitem__)
        return choice, done[choice]


class Figure:
    """A figure, a table or a claim of a paper.

    Attributes
    ----------
    name : str
        Its name for users, such as ``"fig3.8"``; also the name of its files.
    title : str
        Its content, in a line.
    source : str
        Where in the paper it is.
    method : str
        How it is measured here, with the differences from the paper's method; one or more
        sentences.
    """
    name = None
    title = None
    source = None
    method = None

    def cases(self, setting):
        """The runs and measurements that the figure needs.

        Parameters
        ----------
        setting : Setting

        Returns
        -------
        list
            Each is a :class:`sw.benchmarks.measurement.Measurement`. Equal cases are run once for
            all figures.
        """
        raise NotImplementedError

    def outcome(self, setting, results):
        """The figure's results, from the records.

        Parameters
        ----------
        setting : Setting
        results : CaseRecords
            The record of each case; some may have failed.

        Returns
        -------
        Outcome
        """
        raise NotImplementedError


class Paper:
    """A paper.

    Attributes
    ----------
    paper : str
        Its name for users.
    title, source : str
        The paper's title, and where it appeared.
    figures : tuple of Figure
        The figures in the order of the paper.
    large : str
        The preset of runs with ``--large``, if the user gives none.
    """
    paper = None
    title = None
    source = None
    figures = ()
    large = "default"

    @classmethod
    def find(cls, name):
        """The figure of that name. Raises UserError, which names all figures, if there is none."""
        for figure in cls.figures:
            if figure.name == name:
                return figure
        raise UserError(f"{cls.paper} has no figure {name!r} here; it has "
                        f"{', '.join(figure.name for figure in cls.figures)}")
