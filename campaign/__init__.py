"""Long-running checks of the whole platform, as commands: the configuration campaign and lockstep.

Random programs, operations of the SCU and the edges of memory are here as well; tests draw from
them too.
"""
