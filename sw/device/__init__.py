"""The host runtime: devices, plans, buffers, runs and results."""

from .device import Device
from sw.compile.plan import Hybrid, Plan, as_plan
from .result import Result
from .results import Results


__all__ = ["Device", "Hybrid", "Plan", "Result", "Results", "as_plan"]
