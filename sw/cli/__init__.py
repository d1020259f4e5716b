"""The command line: ``./graphloom COMMAND``, or ``python -m sw.cli`` with the project on the path.

One file a command. What several share (options, output files, tables) has a file of its own;
:mod:`sw.cli.main` turns errors into a line and an exit code.

Commands import what they run inside their function: ``--help`` and the small commands do not wait
for numpy and Amaranth.
"""
