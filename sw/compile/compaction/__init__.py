"""Stream compaction (Segura et al., ISCA 2019): passes that list edges, and passes that take lists.

A superstep *expands* the frontier into the *edge frontier*, the list of the edges that leave it.
Then the superstep *contracts* the edge frontier: every lane takes an element, and the algorithm
works on its edge. The lists have no gaps, so lanes have equal work, whatever the degrees.

====================  =============================================================================
:mod:`.lists`         the lists, and going through a list in blocks
:mod:`.expansion`     expansion by the cores
:mod:`.contraction`   contraction
:mod:`.unit`          the steps of the Stream Compaction Unit
====================  =============================================================================
"""
