"""Pages of ``run`` and ``compare``: cycles, resources, rooflines, stalls, phases and counters."""

from hw.control import launch_cycles as port_cycles
from hw.isa import PHASES
from hw.registers import COUNTERS, cycles_of
from sim.meanings import meaning
from sw.study.benchmarks.batch import notes_of
from sw.device.result import verdict
from sw.show.colours import CAUSES, NEUTRAL, PHASES as PHASE_COLOURS, of_schedule

from . import roofline
from .command import hardware_text
from .plots import Block, Page, bars, count, faster, labelled, percent, times
from .resources import BUSY, binding, issue_slots, resources
from .results import runs_of, steps_of


__all__ = ["page"]


#: Kernels of a run that a plot shows, those with the most cycles.
_KERNELS = 24

#: Rows of the table of launches.
_ROWS = 500


def page(value, path) -> Page:
    """The page of a file of ``run`` or ``compare``.

    Parameters
    ----------
    value : dict
        The file's contents.
    path : str
        Its name.
    """
    runs = runs_of(value)
    notes = [f"{name} was left out: {reason}" for name, reason in value.get("skipped", {}).items()]
    if "failure" in value:
        failed = value["failure"]
        notes.append(f"The run of {failed['plan']} failed: {failed['error']}")
    if not runs:
        return Page(f"A run that failed: {path}", "The file has no finished run.",
                    notes=tuple(notes), kind="run")
    first, graph = runs[0].record, value["graph"]
    notes += notes_of(run.record for run in runs)
    title = f"{first['algorithm']} on {graph['spec']}"
    lead = (f"{count(graph['vertices'])} vertices, {count(graph['arcs'])} arcs; "
            f"{hardware_text(runs[0].config)}. "
            + _verdict([run.record for run in runs]))
    blocks = [*([_cycles(runs)] if len(runs) > 1 else []), _resources(runs), roofline.block(runs),
              _kernels(runs), _supersteps(runs), _phases(runs), _counters(runs)]
    return Page(title, lead, _facts(runs), tuple(filter(None, blocks)), tuple(notes),
                runs[0].command if len(runs) == 1 else "", "run" if len(runs) == 1 else "compare")


def _verdict(records):
    """The sentence about the results of all runs."""
    if not all(record["verified"] for record in records):
        return "Not every result was compared with a model."
    # Files of older versions lack these two.
    model, checked = (records[0].get(name) for name in ("model", "checked"))
    text = verdict(f"Every result is bit-identical to {model or 'the golden model'}", checked)
    return f"{text}."


def _facts(runs):
    if len(runs) > 1:
        best = min(runs, key=lambda run: run.total)
        return (("runs", count(len(runs))), ("fastest", best.name),
                ("its cycles", count(best.total)),
                (f"speed over {runs[0].name}", times(runs[0].total, best.total)))
    record, counters, config = runs[0].record, runs[0].counters, runs[0].config
    reached = record.get("reached")
    slots = counters.get("cycles", 0) * config.cores
    return (("cycles", count(record["total_cycles"])),
            *((("vertices reached", count(reached)),) if reached is not None else ()),
            ("supersteps", count(record["supersteps"])),
            ("instructions a cycle",
             f"{counters.get('instructions', 0) / max(1, record['cycles']):.3f}"),
            (f"active lanes, of {config.threads}",
             f"{counters.get('lanes', 0) / max(1, counters.get('instructions', 0)):.1f}"),
            ("L1 hit rate", percent(counters.get("l1_load_hits", 0), counters.get("l1_loads", 0))),
            ("mean loads under way", f"{counters.get('loads_under_way', 0) / max(1, slots):.1f}"),
            ("coalescer busy", percent(counters.get("coalescer_busy", 0), slots)),
            ("DRAM bytes", count(_dram_bytes(counters))))


def _dram_bytes(counters):
    return counters.get("dram_bytes_read", 0) + counters.get("dram_bytes_written", 0)


def _cycles(runs):
    first, runs = runs[0], sorted(runs, key=lambda run: run.total)
    best, *others = runs
    parts = {"cycles of the device": [run.record["cycles"] for run in runs],
             "cycles of the host for launches": [run.record["launch_cycles"] for run in runs]}
    points = [run.point("", ("total", f"{count(run.total)} cycles"),
                        *((name, count(values[index])) for name, values in parts.items()),
                        ("launches", count(run.record["orders"])),
                        (f"speed over {first.name}", times(first.total, run.total)))
              for index, run in enumerate(runs)]
    finding = f"{best.name} is the fastest with {count(best.total)} cycles"
    if best is not first:
        finding += f", {faster(first.total, best.total)} {first.name}"
    if others and others[0] is not first:
        finding += f"; {others[0].name} comes next with {count(others[0].total)}"
    names = [run.name for run in runs]
    drawn = bars(parts, names, dict.fromkeys(parts, points), x="cycles",
                 y="", across=True, height=130 + 34 * len(runs),
                 colours={"cycles of the device": [of_schedule(name) for name in names],
                          "cycles of the host for launches": NEUTRAL})
    drawn = labelled(drawn, names, [run.total for run in runs], [
        f"<b>{count(run.total)} fastest</b>" if run is best else count(run.total)
        for run in runs])
    drawn["layout"]["showlegend"] = False
    rows = tuple(((run.name, count(run.record["cycles"]), count(run.record["launch_cycles"]),
                   count(run.total), times(first.total, run.total)), point)
                 for run, point in zip(runs, points))
    return Block("Cycles", f"{finding}.", {"": drawn},
                 ("schedule", "device", "launches", "total", f"speed over {first.name}"), rows,
                 "The grey end of a bar is the host's time for launches.")


def _resources(runs):
    found = {run.name: resources(run.counters, run.config, run.dram) for run in runs}
    shares = {}
    for each in (each for of_run in found.values() for each in of_run if each.used):
        shares[each.name] = max(each.share, shares.get(each.name, 0))
    names = sorted(shares, key=lambda name: -shares[name])
    series, points, rows = {}, {}, []
    for run in runs:
        by_name = {each.name: each for each in found[run.name] if each.name in names}
        series[run.name] = [100 * by_name[name].share if name in by_name else None
                            for name in names]
        points[run.name] = []
        for name in names:
            each = by_name.get(name)
            point = each and run.point(name, ("busy", f"{100 * each.share:.1f} %"),
                                       ("used", f"{count(round(each.used))} {each.unit}"),
                                       ("room", f"{count(round(each.room))} {each.unit}"))
            points[run.name].append(point)
            if each:
                rows.append(((run.name, name, f"{100 * each.share:.1f} %",
                              count(round(each.used)), count(round(each.room)), each.unit), point))
    finding = _binding_of_all(runs, found)
    drawn = bars(series, names, points, stacked=False, across=True,
                 x={"title": {"text": "used part of the room, %"}, "range": [0, 115],
                    "tickvals": [0, 20, 40, 60, 80, 100]}, y="",
                 height=170 + 16 * len(names) * (1 + len(runs)))
    return Block("Which resource binds", finding, {"": drawn},
                 ("schedule", "resource", "busy", "used", "room", "of"), tuple(rows),
                 "The room of issue slots is an instruction a cycle and core; of L1 and L2, a line "
                 "a cycle and bank; of DRAM, what its bus, its queue and its latency allow.")


def _binding_of_all(runs, found):
    """The finding: of one run what binds it, of several how many each resource binds."""
    if len(runs) == 1:
        run = runs[0]
        text = binding(found[run.name], run.counters, run.config)
        return f"{text[:1].upper()}{text[1:]}."
    firsts = {run.name: max(found[run.name], key=lambda each: each.share) for run in runs}
    bound = [f"{name} is bound by {first.name} ({100 * first.share:.0f} % used)"
             for name, first in firsts.items() if first.share >= BUSY]
    if bound:
        return f"{'; '.join(bound)}."
    name = max(firsts, key=lambda each: firsts[each].share)
    return (f"No resource is near its limit in any run, so latency binds; the busiest is "
            f"{firsts[name].name} of {name}, with {100 * firsts[name].share:.0f} %.")


def _slot_axis(runs):
    """The title of an axis of cycles of issue slots."""
    return "cycles" if all(run.config.cores == 1 for run in runs) else "cycles, mean of the cores"


class _Stalls:
    """What became of the issue slots of kernels or launches (``what``): a bar for each."""

    def __init__(self, what):
        self._what = what
        self._series, self._points = ({text: [] for text, _ in CAUSES.values()} for _ in range(2))

    def add(self, run, label, counters, more):
        """Add a bar, with a further value of its points. Returns the share of each cause."""
        slots, shares = issue_slots(counters, run.config), []
        for cause, (text, _) in CAUSES.items():
            cycles = slots[cause] / run.config.cores
            shares.append(percent(slots[cause], sum(slots.values())))
            self._series[text].append(cycles)
            self._points[text].append(run.point(
                label, (text, f"{count(round(cycles))} cycles of a core"),
                (f"of the {self._what}", shares[-1]), more))
        return shares

    def bars(self, groups, **layout):
        """The plot."""
        return bars(self._series, groups, self._points, colours=dict(CAUSES.values()), **layout)


def _kernels(runs):
    entries = [(run, name, step) for run in runs for name, step in steps_of(run)][:_KERNELS]
    entries = [entry for entry in entries if sum(issue_slots(entry[2], entry[0].config).values())]
    if not entries:
        return None
    labels = [name if len(runs) == 1 else f"{run.name}: {name}" for run, name, _ in entries]
    stalls, rows = _Stalls("kernel"), []
    for run, name, step in entries:
        launches = count(step["launches"])
        shares = stalls.add(run, name, step, ("launches", launches))
        rows.append(((run.name, name, launches, count(cycles_of(step)), *shares), run.point(name)))
    run, name, step = max(entries, key=lambda entry: cycles_of(entry[2]))
    slots = issue_slots(step, run.config)
    cause = max((cause for cause in CAUSES if cause != "issued"), key=lambda each: slots[each])
    whole = "" if len(runs) == 1 else f" of {run.name}"
    finding = (f"Kernel {name}{whole} takes the most cycles, {count(cycles_of(step))}; "
               f"{percent(slots[cause], sum(slots.values()))} of its issue slots are lost to: "
               f"{CAUSES[cause][0]}.")
    drawn = stalls.bars(labels, x=_slot_axis(runs), y="", across=True,
                        height=190 + 30 * len(labels))
    return Block("Stalls by kernel", finding, {"": drawn},
                 ("schedule", "kernel", "launches", "cycles",
                  *(text for text, _ in CAUSES.values())), tuple(rows),
                 "A cycle without an instruction counts for the first cause, from left to right, "
                 "for which any warp waits.")


def _supersteps(runs):
    variants, rows, slowest = {}, [], None
    for run in runs:
        sets = list(zip(run.record.get("set_cycles", []), run.record.get("set_counters", [])))
        if not sets:
            continue
        stalls = _Stalls("launch")
        for number, ((name, cycles), counters) in enumerate(sets, 1):
            shares = stalls.add(run, f"launch {number}: {name}", counters,
                                ("cycles of the launch", count(cycles)))
            if len(rows) < _ROWS:
                rows.append(((run.name, count(number), name, count(cycles), *shares),
                             run.point(f"launch {number}")))
            if slowest is None or cycles > slowest[0]:
                slowest = cycles, number, run, sum(cycles for (_, cycles), _ in sets)
        variants[run.name] = stalls.bars(
            list(range(1, len(sets) + 1)), y=_slot_axis(runs), height=400,
            x={"title": {"text": "launch of a set of kernels"}, "tickformat": ",d"},
            bargap=0.1 if len(sets) < 60 else 0)
    if slowest is None:
        return None
    cycles, number, run, whole = slowest
    finding = (f"The longest is launch {number}{f' of {run.name}' if len(runs) > 1 else ''}: "
               f"{count(cycles)} of {count(whole)} cycles, {percent(cycles, whole)}.")
    return Block("Stalls by superstep", finding, variants,
                 ("schedule", "launch", "set", "cycles", *(text for text, _ in CAUSES.values())),
                 tuple(rows), "A search launches a set of kernels in each superstep; algorithms "
                 "with a second step, such as PageRank, launch two.")


def _phases(runs):
    entries = [(run, run.record["phases"]) for run in runs if run.record["phases"]]
    if not entries:
        return None
    labels, shares, origins = [], [], []
    for run, cores in entries:
        for core, warps in enumerate(cores):
            sums = [sum(warp[place] for warp in warps) for place in range(len(PHASES) + 1)]
            if core == 0:
                whole = [0] * len(sums)
            whole = [above + each for above, each in zip(whole, sums)]
            if len(cores) > 1:
                labels.append(f"{run.name}, core {core}")
                shares.append(sums)
                origins.append(run)
        place = len(labels) - (len(cores) if len(cores) > 1 else 0)
        labels.insert(place, run.name)
        shares.insert(place, whole)
        origins.insert(place, run)
    series = {phase: [100 * sums[index] / sums[-1] if sums[-1] else 0 for sums in shares]
              for index, phase in enumerate(PHASES)}
    points = {phase: [run.point(phase if label == run.name else f"{label}, {phase}",
                                ("warps' cycles", count(sums[index])),
                                ("of the warps' cycles", percent(sums[index], sums[-1])))
                      for label, sums, run in zip(labels, shares, origins)]
              for index, phase in enumerate(PHASES)}
    rows = tuple(((label, *(percent(sums[index], sums[-1]) for index in range(len(PHASES))),
                   count(sums[-1])), run.point())
                 for label, sums, run in zip(labels, shares, origins))
    index = max(range(len(PHASES)), key=lambda each: shares[0][each])
    finding = (f"Warps{f' of {labels[0]}' if len(runs) > 1 else ''} spend "
               f"{percent(shares[0][index], shares[0][-1])} of their cycles in the phase "
               f"{PHASES[index]}.")
    marked = all(run.record["all_phases"] for run, _ in entries)
    drawn = bars(series, labels, points, y="", across=True,
                 colours=PHASE_COLOURS,
                 x={"title": {"text": "part of the warps' cycles, %"}, "range": [0, 100]},
                 height=190 + 28 * len(labels))
    return Block("Phases", finding, {"": drawn}, ("", *PHASES, "warps' cycles"), rows,
                 "" if marked else "The kernels did not mark every phase: the whole work on an "
                 "edge counts as edge access. The option --phases of run marks all.")


def _counters(runs):
    names = [name for name in COUNTERS if any(run.counters.get(name) for run in runs)]
    names += [name for name in runs[0].counters if name not in COUNTERS]
    rows = tuple(((name, *(count(run.counters.get(name, 0)) for run in runs),
                   meaning(name)), None) for name in names)
    ports = {port_cycles(run.config) for run in runs}
    finding = f"{len(names)} counters; those that are 0 in every run are left out."
    return Block("Counters", finding, {}, ("counter", *(run.name for run in runs), "meaning"),
                 rows, "A launch costs the host "
                 + " or ".join(count(cost) for cost in sorted(ports))
                 + " cycles at the host port of this hardware.")
