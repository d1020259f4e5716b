"""The functional simulator: results of programs without cycles (docs/functional.md).

:class:`sim.functional.machine.FunctionalSimulator` is the machine that the runtime drives. Its C++
(``model``) is compiled once and serves every configuration.
"""
