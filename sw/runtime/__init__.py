"""The host runtime: devices, buffers, runs and results."""

from .device import Device, check
from .result import Result


__all__ = ["Device", "Result", "check"]
