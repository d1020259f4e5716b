"""Planted faults: each changes one place of the sources, and tests or a proof must notice.

:mod:`~campaign.mutants.operators` makes most faults from the syntax trees of the sources, at all
:mod:`~campaign.mutants.places`, of which :mod:`~campaign.mutants.draw` draws a sample.
:mod:`~campaign.mutants.curated` has those that operators cannot make.
:mod:`~campaign.mutants.ladder` says which tests ought to notice, and
:mod:`~campaign.mutants.run` runs them on copies of the sources.
"""
