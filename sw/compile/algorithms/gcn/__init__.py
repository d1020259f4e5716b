"""The operator of a graph convolutional network (SparseWeaver, 4.6.9).

====================  =============================================================================
:mod:`.convolution`   the algorithm: its matrices, its memory, its launches
:mod:`.parts`         its two parts, SpMM and GraphSum
:mod:`.operator`      what both parts have in common: the work of an edge, word by word
:mod:`.together`      this work by all lanes of a warp together
:mod:`.fixed_point`   the words that stand for features, weights and coefficients
====================  =============================================================================
"""

from .convolution import GraphConvolution


__all__ = ["GraphConvolution"]
