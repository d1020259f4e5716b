"""Planted faults: each changes one place of the sources, and tests or a proof must notice.

:mod:`~campaign.mutants.mutant` defines a mutant, and :mod:`~campaign.mutants.table` lists all
mutants. :mod:`~campaign.mutants.run` runs the tests that ought to notice on a copy of the sources.
"""
