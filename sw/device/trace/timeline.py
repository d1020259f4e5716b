"""A trace as a timeline in the trace-event JSON format, for ui.perfetto.dev and chrome://tracing.

A cycle is a microsecond. A core is a process; its rows (threads) are the launches, the issue slots
and the warps. A warp's row has slices for its phases. A phase has a slice for each instruction, in
the cycle of its issue, and a slice for each wait, named by its cause. Slices nest, as the format
requires. Perfetto colours a slice by its name, so each phase and each cause has a colour.
chrome://tracing takes the colour that ``cname`` names.
"""

import json

from hw.stalls import STALLS
from sw.device.trace.recorder import phase_name


__all__ = ["events", "pieces"]


#: Rows of a core before those of its warps.
LAUNCHES, ISSUE, FIRST_WARP = 0, 1, 2

#: Colours for chrome://tracing, among those it knows.
_COLOURS = {
    **dict(zip(STALLS, ("terrible", "bad", "rail_animation", "rail_load", "thread_state_iowait",
                        "yellow"), strict=True)),
    "ready": "thread_state_runnable",
    "no warp left": "grey", "issue": "good",
    "init": "vsync_highlight_color", "registration": "rail_idle", "work ID": "olive",
    "edge access": "thread_state_running", "gather and sum": "rail_response", "apply": "startup",
}


def _slice(name, kind, core, row, first, end, **arguments):
    event = {"name": name, "cat": kind, "ph": "X", "ts": first, "dur": end - first, "pid": core,
             "tid": row}
    if name in _COLOURS or kind == "instruction":
        event["cname"] = _COLOURS.get(name, _COLOURS["issue"])
    if arguments:
        event["args"] = arguments
    return event


def _rows(config):
    """Names of processes and threads, and the order of the rows."""
    for core in range(config.cores):
        yield {"name": "process_name", "ph": "M", "pid": core, "tid": 0,
               "args": {"name": f"core {core}"}}
        names = ["launches", "issue slots", *(f"warp {warp:02}" for warp in range(config.warps))]
        for row, name in enumerate(names):
            yield {"name": "thread_name", "ph": "M", "pid": core, "tid": row,
                   "args": {"name": name}}
            yield {"name": "thread_sort_index", "ph": "M", "pid": core, "tid": row,
                   "args": {"sort_index": row}}


def _phases(issues, indices, begin, end):
    """(phase, first cycle, after the last). A record has the phase before its instruction, so a
    phase begins in the cycle after the last instruction of the phase before, which has set it.
    """
    runs, place = [], begin
    for index in indices:
        phase = int(issues["phase"][index])
        if not runs or runs[-1][0] != phase:
            runs.append((phase, place))
        place = int(issues["cycle"][index]) + 1
    starts = [first for _, first in runs]
    return [(phase_name(phase), first, after)
            for (phase, _), first, after in zip(runs, starts, [*starts[1:], end])]


def _warp(recorder, launch, core, warp, end):
    """The slices of a warp in a launch."""
    row = FIRST_WARP + warp
    indices = recorder.instructions(launch, core, warp)
    states = recorder.states(launch, core, end, warp)
    alive = [run for run in states if run[2] != "ended"]
    if not alive:
        return
    begin, stop = alive[0][0], alive[-1][1]
    issues = recorder.records["issue"]
    # The phases cut the waits, so that slices nest.
    phases = _phases(issues, indices, begin, stop) or [("unknown", begin, stop)]
    issued = {int(issues["cycle"][index]) for index in indices}
    for name, first, last in phases:
        yield _slice(name, "phase", core, row, first, last)
    for index in indices:
        found = recorder.describe(index)
        cycle, text = found.pop("cycle"), found["text"]
        found["pc"], found["mask"] = f"{found['pc']:#06x}", f"{found['mask']:#x}"
        yield _slice(text.split()[0], "instruction", core, row, cycle, cycle + 1, **found)
    cuts = sorted(issued | {cycle + 1 for cycle in issued} | {first for _, first, _ in phases})
    place = 0
    for first, last, cause in alive:
        while first < last:
            while place < len(cuts) and cuts[place] <= first:
                place += 1
            after = min(last, cuts[place]) if place < len(cuts) else last
            if first not in issued:
                yield _slice(cause, "wait", core, row, first, after)
            first = after


def _core(recorder, launch, core, end):
    """The slices of the issue slots."""
    for first, last, cause in recorder.states(launch, core, end):
        if cause != "ready":
            name = "no warp left" if cause == "ended" else cause
            yield _slice(name, "stall", core, ISSUE, first, last)
    issues = recorder.records["issue"]
    mine = issues[(issues["launch"] == launch) & (issues["core"] == core)]
    for cycle, warp in zip(mine["cycle"].tolist(), mine["warp"].tolist()):
        yield _slice(f"warp {warp:02}", "issue", core, ISSUE, cycle, cycle + 1)


def events(recorder):
    """The events, as JSON can hold them."""
    config = recorder.config
    yield from _rows(config)
    for launch, first, end in recorder.launches():
        for core in range(config.cores):
            yield _slice(recorder.kernels[launch], "launch", core, LAUNCHES, first, end,
                         launch=launch)
            yield from _core(recorder, launch, core, end)
            for warp in range(config.warps):
                yield from _warp(recorder, launch, core, warp, end)


def pieces(recorder, command=""):
    """The text of the file, in pieces; ``command`` is the command line of the run."""
    window = "{}:{}".format(*recorder.window)
    yield ('{"displayTimeUnit": "ns", "otherData": '
           + json.dumps({"configuration": recorder.config.name, "cycles": window,
                         "unit": "1 us is one cycle",
                         **({"command": command} if command else {})}) + ', "traceEvents": [\n')
    for number, event in enumerate(events(recorder)):
        yield ("" if number == 0 else ",\n") + json.dumps(event)
    yield "\n]}\n"
