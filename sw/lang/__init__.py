"""The algorithm language: a text, read into GraphIR (UGF, chapters 2 and 4).

A program says which vectors there are and what happens along edges and at vertices. A GraphVM
(:mod:`sw.vm`) says how. docs/language.md is the reference of the language.
"""
