"""Forms of programs of one loop, each an algorithm of the kernel compiler.

=========================  ==============================================================
:mod:`.one_loop`           what the forms have in common
:mod:`.frontier_loop`      searches and relaxations: from a frontier to the next
                           (:mod:`.frontier_form` says of which programs)
:mod:`.sweep`              rounds through all edges (:mod:`.sweep_form` recognizes them,
                           :mod:`.sweep_host` performs the host's part)
=========================  ==============================================================
"""
