"""Commands, progress, exit codes: the only room that prints.

Belongs here: the command line, and the one place where effects (clocks, environment, terminals)
are made. Does not belong here: anything that decides.
"""
