"""The colours of plots: one colour means one thing, on every page of a report.

Each kind of thing has a palette of its own, and a band of lightness: schedules are of middle
lightness and strong, causes of stalls light, phases dark, and whatever else a plot compares is of
middle lightness and muted. All of them can be seen on light and on dark pages.
"""

from hw.isa import PHASES as _PHASES


__all__ = ["CAUSES", "NEUTRAL", "PHASES", "PLAIN", "SCHEDULES", "SERIES", "of_schedule",
           "of_series"]


#: {schedule: colour}.
SCHEDULES = {
    "vm": "#2784d5", "vwc": "#25984d", "em": "#c46016", "wm": "#0097aa", "cm": "#9d7d00",
    "twc": "#ca5551", "twce": "#cd9130", "etwc": "#94aa44", "strict": "#bc5694", "tile": "#00b8a1",
    "compact": "#28acdf", "weaver": "#8f68cb", "graphpeg": "#c781cb", "scu": "#8797ef",
    "scu-enhanced": "#e17a93", "scu-stream": "#e37f65",
}

#: {what became of a cycle of an issue slot: (label, colour)}.
CAUSES = {
    "issued": ("an instruction issued", "#96e7a7"),
    "memory": ("memory", "#feaaa9"),
    "local": ("local memory", "#ffc48a"),
    "weaver": ("unit that hands out edges", "#cdaef2"),
    "execute": ("execution unit", "#92cbfb"),
    "barrier": ("barrier", "#f0e988"),
    "fetch": ("fetch", "#8ceaef"),
    "idle": ("no warp left", "#c9ced4"),
}

#: {phase of the work on an edge: colour}.
PHASES = dict(zip(_PHASES, ("#4d5660", "#644386", "#695300", "#255691",
                            "#036639", "#88392e")))

#: Colours of other series, in turn: units, levels of the memory, the values of an axis.
SERIES = ("#667d94", "#8f7460", "#68826c", "#927079", "#7e7592", "#807b5d", "#5a8385")

#: A series alone, and lines and parts beside what a plot is about.
PLAIN, NEUTRAL = SERIES[0], "#9aa1a9"


def of_schedule(text) -> str:
    """The colour of a schedule, whatever its options, such as ``vwc:width=4``; that of a new
    schedule is :data:`PLAIN`."""
    return SCHEDULES.get(text.partition(":")[0].split(" ")[0], PLAIN)


def of_series(names) -> dict:
    """A colour for each of several names: that of the schedule it begins with, else the next of
    :data:`SERIES`."""
    others = [name for name in names if of_schedule(name) is PLAIN]
    return {name: SERIES[others.index(name) % len(SERIES)] if name in others
            else of_schedule(name) for name in names}
