"""The pictures of the documentation: block diagrams, waveforms and a figure of results.

:mod:`sw.figures.pictures` draws all of them, each from what is true: block diagrams from the elaborated RTL
(:mod:`sw.figures.blocks`), the others from the records in ``docs/figures``, which
``./graphloom docs --record`` makes.
"""
