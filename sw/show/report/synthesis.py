"""Pages of ``synth``: a unit's area and timing, and what each unit adds to a core."""

import shlex

from base.installation import PROGRAM
from sw.show.colours import PLAIN

from .command import hardware_of, hardware_text, hardware_words
from .plots import Block, Page, PlotPoint, bars, count, figure, percent


__all__ = ["RESOURCES", "overhead_page", "unit_page"]


#: {resource in the files: its name}.
RESOURCES = {"lut4": "LUT4", "ff": "flip-flops", "block_ram": "block RAMs", "dsp": "DSP blocks"}


def unit_page(value, path) -> Page:
    """The page of ``synth UNIT --json FILE`` or ``synth board``. Raises ConfigError."""
    config = hardware_of(value["config"])
    board = value.get("board")
    options = ["--device", value["device"]] if board is None else [
        "--memory", board["memory"], "--frequency", f"{board['frequency']:g}", "--baud",
        str(board["baud"]), "--seeds", str(board["seed"])]
    command = shlex.join([PROGRAM, "synth", value["unit"], *options,
                          *(hardware_words(config) or ["--preset", "default"])])
    shares = value["share"]
    names = [name for name in RESOURCES if name in shares]
    points = [PlotPoint(f"{value['unit']}: {RESOURCES[name]}",
                        (("taken", count(value["area"][name])),
                         ("of the device", f"{100 * shares[name]:.2f} %")), command,
                        hardware_text(config)) for name in names]
    blocks = []
    if names:
        most = max(names, key=lambda name: shares[name])
        drawn = bars({"share": [100 * shares[name] for name in names]},
                     [RESOURCES[name] for name in names], {"share": points},
                     x="part of the device, %", y="", across=True, height=240)
        blocks.append(Block(
            "Area", f"{RESOURCES[most]} are the scarcest: the unit takes "
            f"{100 * shares[most]:.1f} % of the {value['device']}'s.", {"": drawn},
            ("resource", "taken", "of the device"),
            tuple(((RESOURCES[name], count(value["area"][name]), f"{100 * shares[name]:.2f} %"),
                   point) for name, point in zip(names, points))))
    frequencies = [(f"seed {placed['seed']}", placed["frequency"])
                   for placed in value.get("placements", ())]
    if "estimate" in value:
        frequencies.append(("estimate, not placed", value["estimate"]["frequency"]))
    if frequencies:
        blocks.append(_frequencies(value, frequencies, command, config))
    if value.get("estimate", {}).get("path"):
        blocks.append(_path(value, command, config))
    tools = ", ".join(value["tools"].values())
    return Page(f"Synthesis of {value['unit']}", f"{hardware_text(config)}; {value['device']}; "
                f"{tools}.",
                tuple((title, count(value["area"][name])) for name, title in RESOURCES.items()),
                tuple(blocks), (), command, "synth")


def _frequencies(value, frequencies, command, config):
    names = [name for name, _ in frequencies]
    points = [PlotPoint(f"{value['unit']}, {name}", (("frequency", f"{mhz:.1f} MHz"),), command,
                        hardware_text(config)) for name, mhz in frequencies]
    drawn = bars({"frequency": [mhz for _, mhz in frequencies]}, names, {"frequency": points},
                 x="frequency, MHz", y="", across=True, height=130 + 32 * len(names))
    placed = [mhz for name, mhz in frequencies if name.startswith("seed")]
    finding = (f"Placed, the unit reaches {min(placed):.1f} to {max(placed):.1f} MHz." if placed
               else f"The estimate is {frequencies[0][1]:.1f} MHz; nothing was placed.")
    return Block("Frequency", finding, {"": drawn}, ("", "MHz"),
                 tuple(((name, f"{mhz:.1f}"), point)
                       for (name, mhz), point in zip(frequencies, points)))


def _path(value, command, config):
    steps = value["estimate"]["path"]
    spent, before, points = [], 0.0, []
    for step in steps:
        spent.append(step["time"] - before)
        points.append(PlotPoint(f"{step['signal']}", (("cell", step["kind"]),
                                                      ("at", f"{step['time']:.2f} ns"),
                                                      ("its part", f"{spent[-1]:.2f} ns")), command,
                                hardware_text(config)))
        before = step["time"]
    labels = [f"{number}: {step['kind']}" for number, step in enumerate(steps, 1)]
    trace = {"type": "bar", "orientation": "h", "y": labels, "x": spent,
             "base": [step["time"] - part for step, part in zip(steps, spent)], "points": points,
             "marker": {"color": PLAIN}, "name": "step"}
    drawn = figure([trace], x="time from the clock edge, ns",
                   y={"autorange": "reversed", "type": "category"}, showlegend=False,
                   height=120 + 24 * len(steps))
    return Block("Critical path", f"The longest path takes {steps[-1]['time']:.2f} ns in "
                 f"{value['estimate']['levels']} levels of logic, by the estimate.", {"": drawn},
                 ("cell", "signal", "at, ns"),
                 tuple(((step["kind"], step["signal"], f"{step['time']:.2f}"), None)
                       for step in steps),
                 "A signal with ~ is near logic that has no name of its own.")


def overhead_page(value, path) -> Page:
    """The page of ``synth overhead --json FILE``."""
    rows = value["rows"]
    lanes = sorted({row["lanes"] for row in rows})
    units = list(dict.fromkeys(row["unit"] for row in rows))
    by_place = {(row["unit"], row["lanes"]): row for row in rows}
    command = shlex.join([PROGRAM, "synth", "overhead", "--preset", value["config"].rstrip("*"),
                          "--device", value["device"], "--lanes", ",".join(map(str, lanes))])
    variants, table = {}, []
    for resource, name in RESOURCES.items():
        if not any(row["added"][resource] for row in rows):
            continue
        series, points = {}, {}
        for unit in units:
            series[unit], points[unit] = [], []
            for each in lanes:
                row = by_place.get((unit, each))
                series[unit].append(row and row["added"][resource])
                points[unit].append(row and PlotPoint(
                    f"{unit}, {each} lanes",
                    ((f"{name} added to the {row['host']}", count(row["added"][resource])),
                     (f"{name} of the {row['host']} without", count(row["without"][resource])),
                     ("more", percent(row["added"][resource], row["without"][resource]))),
                    command, f"{value['config']}, {value['device']}"))
        variants[name] = bars(series, [f"{each} lanes" for each in lanes], points, x="",
                              y={"title": {"text": f"{name} added"}, "tickformat": ","},
                              stacked=False, height=400)
    for row in rows:
        table.append(((row["unit"], row["host"], count(row["lanes"]),
                       *(count(row["added"][resource]) for resource in RESOURCES),
                       percent(row["added"]["lut4"], row["without"]["lut4"])), None))
    widest = [row for row in rows if row["lanes"] == lanes[-1]]
    least = min(widest, key=lambda row: row["added"]["lut4"])
    most = max(widest, key=lambda row: row["added"]["lut4"])
    finding = (f"At {lanes[-1]} lanes {least['unit']} adds the fewest LUT4, "
               f"{count(least['added']['lut4'])}; {most['unit']} adds the most, "
               f"{count(most['added']['lut4'])}.")
    block = Block("Area that each unit adds", finding, variants,
                  ("unit", "added to", "lanes", *RESOURCES.values(), "more LUT4"), tuple(table),
                  "Units that hand out edges are added to a core, an SCU to the GPU. Logic "
                  "synthesis only.")
    return Page("Area of the units", f"Preset {value['config']} on the {value['device']}; "
                f"{value['yosys']}.",
                (("units", count(len(units))), ("lanes", ", ".join(map(str, lanes)))), (block,), (),
                command, "synth overhead")
