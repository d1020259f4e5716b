"""The form of programs of one loop from frontier to frontier.

=========================  ==============================================================
:mod:`.one_loop`           a program as a beginning and one loop
:mod:`.frontier_loop`      searches and relaxations: from a frontier to the next
                           (:mod:`.frontier_form` says of which programs)
=========================  ==============================================================
"""
