"""C in every lane: from C files to a program whose lane-dependent branches are right.

Clang makes RISC-V assembly as for one lane. A pass over the whole program inserts SPLIT, JOIN and
PRED where lanes may part (docs/c.md):

=========================  =======================================================================
:mod:`sw.cc.assembly`      reading: functions, instructions, what each reads and writes
:mod:`sw.cc.flow`          blocks, edges, dominators, post-dominators, regions, loops
:mod:`sw.cc.uniformity`    which branches may depend on the lane
:mod:`sw.cc.refusals`      what cannot be made right, by function and line
:mod:`sw.cc.joins`         where lanes part, where they meet, and where levels and masks are saved
:mod:`sw.cc.insertion`     the instructions of that plan
:mod:`sw.cc.runtime`       the libraries of the ziglang wheel
:mod:`sw.cc.driver`        files in, ELF file out
:mod:`sw.cc.signatures`    the functions of a program and the types of their parameters
:mod:`sw.cc.host`          launches from Python
=========================  =======================================================================
"""
