"""The tuner: finds the plan with the fewest cycles for an algorithm on a graph.

:mod:`~sw.tune.space` lists the axes of the plans. :mod:`~sw.tune.candidates` asks the planner about
a plan. :mod:`~sw.tune.strategies` and :mod:`~sw.tune.tpe` choose the next plan.
:mod:`~sw.tune.search` runs the trials, and :mod:`~sw.tune.results` keeps their records.
"""
