"""Forms of programs of one loop, each an algorithm of the kernel compiler.

=========================  ==============================================================
:mod:`.one_loop`           what the forms have in common
:mod:`.relaxation`         a frontier's edges make words better until none changes
:mod:`.level_search`       a search by levels
:mod:`.sweep`              rounds through all edges (:mod:`.sweep_form` recognizes them,
                           :mod:`.sweep_host` performs the host's part)
=========================  ==============================================================
"""
