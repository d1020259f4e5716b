"""The rules for the end of every command, whatever its input."""

import re

from .cell import ESCAPED, REACHED


__all__ = ["CODES", "fault", "outcome"]


#: Exit codes that docs/commands.md promises, and the exit code of a case that reached real work.
CODES = {0: "accepted", 1: "checked", 2: "refused", REACHED: "began work"}

#: Characters of a line of output, at most.
_LONGEST = 2000

#: Control characters that must not reach a terminal: all but newline, and tab in help.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")

#: Errors about memory. A file of some kilobytes gives no cause for such an error.
_MEMORY = re.compile(r"not enough memory|too little memory")

_ERROR = "graphloom: error: "


def outcome(end) -> str:
    """The kind of an end, for the counts."""
    return CODES.get(end.code, "other")


def fault(end, changes, *, small):
    """The rule that an end breaks, as a line of text; None if it breaks no rule.

    Parameters
    ----------
    end : checks.campaign.fuzz.cell.End
    changes : list of str
        Files of the working directory that are new, changed or gone.
    small : bool
        Whether the input gives no cause for much memory.
    """
    if end.late:
        return f"hangs: ended after {end.seconds:.0f} s of processor time"
    if end.signal is not None:
        return f"dies by signal {end.signal}"
    if end.code == ESCAPED:
        return end.err.splitlines()[-1]
    text = end.out + end.err
    if "Traceback (most recent call last)" in text:
        return "traceback: " + end.err.strip().splitlines()[-1][:200]
    if end.code not in CODES:
        return f"exit code {end.code}"
    control = _CONTROL.search(text)
    if control:
        return f"prints the control character {control[0]!r}"
    if max(map(len, text.split("\n"))) > _LONGEST:
        return f"prints a line of {max(map(len, text.split(chr(10))))} characters"
    errors = [line for line in end.err.splitlines() if line.startswith(_ERROR)]
    helped = not errors and "Usage: graphloom" in end.out      # a group without a command
    if end.code == 2 and not helped and (len(errors) != 1 or len(errors[0]) <= len(_ERROR) + 5):
        return f"exit code 2 with {len(errors)} lines that say why"
    if end.code in (0, REACHED) and errors:
        return f"exit code {end.code}, but an error: {errors[0][:200]}"
    if small and _MEMORY.search(end.err):
        return "takes more memory than a file of this size can need"
    left = [name for name in changes if end.code == 2 or name.startswith(".")]
    if left and end.code != REACHED:
        return f"leaves or changes {', '.join(left)[:200]}"
    return None
