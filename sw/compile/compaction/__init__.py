"""Edge lists (stream compaction: Segura et al., ISCA 2019): makers of lists, and kernels that read.

A superstep *expands* the frontier into an *edge list*, the list of the edges that leave it. Then
the superstep *contracts* the list: every lane takes an element, and the algorithm works on its
edge. The list has no gaps, so lanes have equal work, whatever the degrees.

====================  =============================================================================
:mod:`.lists`         a list in memory, and going through it in blocks
:mod:`.contraction`   the kernels that read it
:mod:`.expansion`     the cores make it
:mod:`.unit`          the Stream Compaction Unit makes it: :mod:`.operations`, :mod:`.tables`
:mod:`.prepared`      rows that the cores look up for either
====================  =============================================================================
"""
