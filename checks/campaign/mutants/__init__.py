"""Planted faults: each changes one place of the sources, and tests or a proof must notice.

:mod:`~checks.campaign.mutants.operators` makes most faults from the syntax trees of the sources, at
all :mod:`~checks.campaign.mutants.places`, of which :mod:`~checks.campaign.mutants.draw` draws a
sample. :mod:`~checks.campaign.mutants.curated` has those that operators cannot make.
:mod:`~checks.campaign.mutants.ladder` says which tests ought to notice,
:mod:`~checks.campaign.mutants.reach` which of them call the function with the fault, and
:mod:`~checks.campaign.mutants.run` runs them on copies of the sources.
"""
