"""Long-running checks of the whole platform, as commands: the configuration campaign, lockstep and
mutants.

Random programs, operations of the SCU and the edges of memory are here as well; tests draw from
them too.
"""
