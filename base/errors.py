"""The errors that a user can cause, and therefore must be able to read.

A fault of the user or of the environment is reported as a :class:`UserError`, whose message is one
line. Any other exception is a defect of Graphloom and keeps its traceback.
"""

from collections.abc import Mapping


__all__ = ["ConfigError", "LimitError", "RunError", "UserError"]


class UserError(Exception):
    """Bad input or a bad environment.

    The message is one clear line that names what was wrong, where (file, line, field) and what
    would be right. The command line prints it as ``graphloom: error: <message>`` and exits with
    code 2.
    """


class RunError(UserError):
    """A run that failed on the device: an error of the core, or the cycle limit.

    Parameters
    ----------
    message : str
        The reason in one line.
    counters : dict of str to int, optional
        The performance counters up to the failure; empty if there are none.

    Attributes
    ----------
    counters : dict of str to int
        As given.
    """

    def __init__(self, message: str, counters: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.counters: dict[str, int] = dict(counters or {})


class LimitError(RunError):
    """A run that was not finished within its cycle limit."""


class ConfigError(ValueError):
    """A field of the hardware's configuration has a value that is not legal, or an unknown name."""
