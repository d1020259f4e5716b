"""The tuner: finds the plan with the fewest cycles for an algorithm on a graph, and the schedules
with the least time for a program of the language on the CPU.

:mod:`~sw.study.tune.points` has spaces of axes, :mod:`~sw.study.tune.space` the axes of the plans,
and :mod:`~sw.study.tune.schedules` those of the scheduling language.
:mod:`~sw.study.tune.candidates` asks the planner about a plan. :mod:`~sw.study.tune.strategies` and
:mod:`~sw.study.tune.tpe` choose the next plan. :mod:`~sw.study.tune.search` runs the trials, and
:mod:`~sw.study.tune.results` keeps their records.
"""
