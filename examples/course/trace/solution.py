"""Answers the questions of docs/course/trace.md: ``python solution.py warps.txt > answers.json``.
"""

import dataclasses
import itertools
import json
import re
import sys


@dataclasses.dataclass
class Line:
    """An instruction of the trace. ``waited`` and ``cause`` tell of the time before its issue."""
    launch: int
    warp: int
    cycle: int
    waited: int
    cause: str
    pc: str
    mask: int


def read(text):
    """The instructions of a trace, in the order of the file."""
    lines, launch, warp = [], None, None
    for row in text.splitlines():
        if head := re.match(r"launch (\d+) .*, core 0, warp (\d+):", row):
            launch, warp = int(head[1]), int(head[2])
        elif row.strip() and not row.startswith("#"):
            # The columns have fixed places, because an instruction has spaces in its text.
            waited, _, cause = row[11:23].strip().partition(" ")
            lines.append(Line(launch, warp, int(row[:9]), int(waited or 0), cause, row[41:47],
                              int(row[83:].split()[0], 16)))
    return lines


def answers(lines):
    """The answers, from the instructions of the whole run."""
    def of(warp):
        return [line for line in lines if line.warp == warp]
    longest = max(lines, key=lambda line: line.waited)
    first = [line for line in of(0) if line.launch == 0]
    pairs = list(itertools.pairwise(first))
    full = first[0].mask
    parts = next(line for line, after in pairs if after.mask != full)
    reunites = next(line for line, after in pairs if line.mask != full and after.mask == full)
    return {
        "instructions": [len(of(warp)) for warp in (0, 1)],
        "memory_wait": [sum(line.waited for line in of(warp) if line.cause == "memory")
                        for warp in (0, 1)],
        "longest_wait": {"warp": longest.warp, "cycle": longest.cycle, "cycles": longest.waited,
                         "cause": longest.cause},
        "parts": {"cycle": parts.cycle, "pc": parts.pc},
        "reunites": {"cycle": reunites.cycle, "pc": reunites.pc},
        "lanes": sum(line.mask.bit_count() for line in lines),
    }


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print(json.dumps(answers(read(file.read())), indent=2))
