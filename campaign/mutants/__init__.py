"""Planted faults: each changes one place of the sources, and tests or a proof must notice.

:mod:`~campaign.mutants.mutant` says what a mutant is, :mod:`~campaign.mutants.table` lists all,
:mod:`~campaign.mutants.run` runs the tests that ought to notice on a copy of the sources.
"""
