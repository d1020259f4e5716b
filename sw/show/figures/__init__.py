"""The pictures of the documentation: block diagrams, waveforms and a figure of results.

:mod:`sw.show.figures.pictures` draws all of them. Block diagrams are drawn from the elaborated RTL
(:mod:`sw.show.figures.blocks`). The others are drawn from the records in ``docs/figures``, which
``./graphloom docs --record`` makes.
"""
