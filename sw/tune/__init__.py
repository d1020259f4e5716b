"""The tuner: finds the plan with the fewest cycles for an algorithm on a graph, and the schedules
with the least time for a program of the language on the CPU.

:mod:`~sw.tune.points` has spaces of axes, :mod:`~sw.tune.space` the axes of the plans, and
:mod:`~sw.tune.schedules` those of the scheduling language. :mod:`~sw.tune.candidates` asks the
planner about a plan. :mod:`~sw.tune.strategies` and :mod:`~sw.tune.tpe` choose the next plan.
:mod:`~sw.tune.search` runs the trials, and :mod:`~sw.tune.results` keeps their records.
"""
