"""Long-running checks of the whole platform, as commands: the configuration campaign, lockstep and
mutants.

Random programs, random operations of the SCU and programs at the edges of memory are also here.
Tests use them too.
"""
