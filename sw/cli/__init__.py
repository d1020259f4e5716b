"""The command line: ``./graphloom COMMAND``, or ``python -m sw.cli`` with the project on the path.

Each command has a file. Parts that several commands share (options, output files, tables) have
files of their own. :mod:`sw.cli.main` turns errors into a line and an exit code.

Commands import what they run inside their function: ``--help`` and the small commands do not wait
for numpy and Amaranth.
"""
