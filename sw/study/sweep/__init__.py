"""Sweeps: graphs x algorithms x schedules x configurations x seeds, as one record.

=================  =================================================================================
``spec``           what a sweep runs: its record, as a file of TOML has it, checked
``points``         the points of a sweep: their cases, or the reasons why there are none
``runs``           runs a sweep, and continues one that was stopped
``rows``           what a sweep measured: a row for each run, a frame, a file, tables
=================  =================================================================================
"""

from .rows import SweepResult
from .runs import sweep


__all__ = ["SweepResult", "sweep"]
