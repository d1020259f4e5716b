"""GraphVMs: machines that run the programs of the algorithm language (UGF, chapter 4).

Each gets a program as GraphIR and a graph, and gives the same words as :mod:`sw.vm.reference`.
"""
