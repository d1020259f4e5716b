"""The fuzzer: mutated command lines and mutated files, given to the command line.

========  ==================================================================================
module    contents
========  ==================================================================================
corpus    valid files of every kind that Graphloom reads
lines     valid command lines, and mutations of them
files     mutations of files, and the commands that read each kind
cell      one command in a separate process, with limits of time, memory and file access
verdict   the rules for the end of every command
work      many cases, on several processors
========  ==================================================================================
"""
