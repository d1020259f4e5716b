"""The tree-structured Parzen estimator of Optuna (Bergstra et al., NeurIPS 2011).

An option's axis is asked for only where it belongs to the point, so the space is a tree. A point
that was stopped early is told as pruned, with the cycles that it had reached. A refused point is
told as pruned without a value, which the estimator ranks below all others.
"""

import warnings

import optuna

from sw.study.tune.strategies import TrialOutcome, Random, Strategy


__all__ = ["Tpe"]


#: Proposals in a row that are known already, after which a point is drawn at random.
_KNOWN = 20


class Tpe(Strategy):
    """Optuna's sampler, behind its interface of asking and telling."""
    name = "tpe"

    def __init__(self, space, seed):
        super().__init__(space, seed)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            # `group` makes groups of axes that occur together; Optuna calls it experimental.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)
        self._study = optuna.create_study(sampler=sampler)
        self._draw = Random(space, seed)
        self._asked = {}                # the trials of each point without an outcome yet
        self._outcomes = {}

    def propose(self):
        for _ in range(_KNOWN):
            point, trial = self._ask()
            if point in self._outcomes:
                self._tell(trial, self._outcomes[point])
            elif point in self._asked:
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                self._asked[point] = trial
                return point
        while (point := self._draw.propose()) is not None:
            if point not in self._outcomes and point not in self._asked:
                self._asked[point] = self._given(point)
                return point
        return None

    def told(self, point, outcome):
        trial = self._asked.pop(point, None) or self._given(point)
        self._outcomes[point] = outcome
        self._tell(trial, outcome)

    def _tell(self, trial, outcome: TrialOutcome):
        if outcome.status == "done":
            self._study.tell(trial, outcome.cycles)
            return
        if outcome.status == "stopped":
            trial.report(outcome.cycles, step=1)
        self._study.tell(trial, state=optuna.trial.TrialState.PRUNED)

    def _ask(self):
        """A point of the sampler's choice, and its trial."""
        trial = self._study.ask()
        values = {}
        for axis in self.space.axes:
            if axis.under is None or values.get(axis.under[0]) == axis.under[1]:
                values[axis.name] = self._suggest(trial, axis)
        return self.space.point(values), trial

    @staticmethod
    def _suggest(trial, axis):
        if axis.numbers:
            return axis.values[trial.suggest_int(axis.name, 0, len(axis.values) - 1)]
        # Optuna's categories are texts and numbers; a place in the list serves any value.
        return axis.values[trial.suggest_categorical(axis.name, range(len(axis.values)))]

    def _given(self, point):
        """A trial of a point that the sampler has not chosen."""
        named = {axis.name: axis for axis in self.space.axes}
        self._study.enqueue_trial({name: named[name].values.index(value)
                                   for name, value in point})
        asked, trial = self._ask()
        assert asked == point
        return trial
