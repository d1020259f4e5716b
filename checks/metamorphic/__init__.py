"""Metamorphic tests of the compiler: equivalent texts must give equal words, at equal cost.

=====================  =============================================================
:mod:`.rules`          rewrites of a text, each with the side condition that it checks
:mod:`.variants`       texts by 1 to 5 rules, from a seed
:mod:`.shape`          when two programs are the same but for names
:mod:`.measure`        cycles and launches of variants, as a table
``texts``              programs beside those of ``sw/lang/programs`` and ``examples``
=====================  =============================================================
"""
