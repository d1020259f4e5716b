"""Budgets of instructions: what each plan is compiled to, and what it executes.

A table has a row for each of some three hundred plans, with every schedule and its options, every
format, frontier and program, and every way of launching. A row has exact numbers of the program
(instructions, registers, instructions from loads to the use of their words, marks of each phase,
bytes of local memory and of memory) and of a run on the functional simulator (what the host starts,
instructions of all cores and of the busiest, active lanes), and the frontier that it settles on.

Wrong results fail elsewhere. This table is for reviewers: a change of the compiler that costs or
saves instructions alone changes rows. Whoever means the change writes the table anew, reads the
difference, and says in the commit why a row has grown::

    GRAPHLOOM_EXPECTED=write ./graphloom test tb/sw/compile/test_instructions.py -n 0

The table has no cycles: ``./graphloom bench budgets`` has those.
"""

import collections
import functools
import itertools
import pathlib

import pytest

from base.errors import UserError
from hw.config import preset
from hw.disassembler import operands
from hw.gather.variants import VARIANTS
from hw.isa import PHASES, Csr
from hw.operations import Unit
from sw.compile import formats, frontiers, schedules
from sw.compile.formats.image import DIRECTIONS
from sw.compile.kernels.reductions import ATOMICS
from sw.compile.kernels.split import SPLITS
from sw.compile.options import word
from sw.compile.plan import as_plan
from sw.device import Device
from sw.graph.load import load
from sw.lang import programs
from sw.study.combinations import GRAPHS, made
from tb import expected


ROOT = pathlib.Path(__file__).resolve().parents[3]
EXPECTED = pathlib.Path(__file__).parent / "instructions.txt"

#: Few lanes, so that loops have several turns, and room for all programs.
CONFIG = preset("tiny").replace(cores=2, warps=4, imem_bytes=1 << 16, local_bytes=1 << 13)

GRAPH = GRAPHS["skewed"]
STORED = [GRAPH.formats.get(name, name) for name in formats.image_names()]

#: Parameters that keep a run short.
SHORT = {"pagerank": "(iterations=2)", "label_propagation": "(iterations=2)",
         "gcn": "(columns=6,density=0.5,dimension=2)"}

NAMED = ["gcn", *programs.names()]
FOLDERS = "examples/programs", "checks/metamorphic/texts"
FILES = [str(path) for folder in FOLDERS for path in sorted((ROOT / folder).glob("[!_]*.py"))]


def plans(*axes):
    """Plans of all combinations: axes of the program, the schedule and further fields."""
    return [" ".join([name + SHORT.get(name, ""), *fields])
            for name, *fields in itertools.product(*axes)]


def field(name, values):
    return [f"{name}={value}" for value in values]


def options(*names):
    """The first and the last value of each option of schedules that the tuner tries, beside the
    default."""
    found = {(name, option): [value for value in its.tries if value not in (None, its.default)]
             for name in names for option, its in type(schedules.make(name)).OPTIONS.items()}
    return [f"schedule={name}:{option}={word(value)}" for (name, option), values in found.items()
            for value in dict.fromkeys(values[:1] + values[-1:])]


#: {group: plans}. Plans that are refused have no row.
GROUPS = {
    "programs": plans(NAMED, field("schedule", ["vm", "weaver"])),
    "files": plans(FILES, ["schedule=vm"]),
    "schedules": plans(["sssp", "pagerank"], field("schedule", schedules.names()),
                       field("direction", DIRECTIONS)),
    "programs of several operators": plans(["bc", "kcore", "mis"], field("schedule", [
        "em", "graphpeg", "strict", "compact", "scu", "scu-stream"])),
    "several words": plans(["gcn"], [*field("schedule", schedules.names()),
                                     "schedule=vm:parallel=weights",
                                     "schedule=vm:parallel=weights split=counter"]),
    "options": plans(["sssp"], options(*schedules.names())),
    "formats": plans(["sssp", "pagerank"], field("schedule", ["vm", "weaver", "em"]),
                     field("format", [*STORED, "csr:block=16"])),
    "frontiers": plans(["bfs"], field("schedule", ["vm", "graphpeg"]),
                       field("direction", DIRECTIONS), field("frontier", frontiers.pairs())),
    "fused": plans(NAMED, field("schedule", ["vm", "tile"]), ["fusion=yes"]),
    "shared": plans(["bfs", "pagerank"], field("schedule", ["vwc", "tile", "graphpeg"]), [
        *field("split", SPLITS[1:]), *field("deduplicate", ["yes", "no"]),
        *field("atomics", ATOMICS[1:]), "warps=2"]),
    "phases": plans(["sssp"], field("schedule", schedules.names()), ["phases=yes"]),
    "mixed": ["bfs direction=auto", "bfs schedule=vm | bfs schedule=em when frontier>=0.2",
              "kcore schedule=vm s0:s1.schedule=em s0:s1.direction=pull",
              "sssp(delta=8) schedule=vm", "sssp(delta=8) schedule=tile fusion=yes",
              "pagerank(iterations=2) schedule=tile:resident=yes split=counter",
              *plans(["sssp", "cc", "kcore"], field("schedule", ["em", "weaver", "graphpeg"]),
                     ["fusion=yes", "atomics=return"])],
}

#: The same for other hardware: {name: (changes of the configuration; plans)}.
HARDWARE = {
    **{f"unit {unit}": ({"gather": unit}, plans(["bfs", "pagerank"], [
        "schedule=weaver", *options("weaver")])) for unit in VARIANTS if unit != "graphpeg"},
    "one lane": ({"cores": 1, "warps": 1, "threads": 1},
                 plans(["sssp"], field("schedule", schedules.names()))),
    "wide warps": ({"cores": 1, "warps": 2, "threads": 32, "local_bytes": 1 << 14},
                   plans(["bfs"], field("schedule", schedules.names()))),
    "no divider": ({"divider": "none"}, plans(["pagerank"], field("schedule", [
        "vm", "twc", "cm", "strict", "graphpeg", "scu"]))),
    "exchange": ({"gather": "graphpeg", "exchange_interval": 64},
                 plans(["bfs", "pagerank"], ["schedule=graphpeg"], [
                     "direction=push", "direction=push frontier=lists"])),
}


COLUMNS = ("code", "registers", "ahead", "phases", "local", "memory", "starts", "executed",
           "busiest", "lanes", "frontier")


@functools.cache
def graph_of(program):
    graph = load(GRAPH.graph)
    for method in made(program):
        graph = getattr(graph, method)()
    return graph


def numbers(plan, config):
    """The numbers of a row. Raises UserError if the plan is refused."""
    plan = as_plan(plan)
    config = schedules.equip(config, [side.schedule for side in plan.sides.values()])
    with Device.functional(config) as device:
        task = device.plan(plan, graph_of(plan.algorithm))
        result = device.run_task(task)
    words, local = task.program.words, task.buffers.local
    found = {word: operands(word) for word in set(words)}
    registers = {register for each in found.values()
                 for register in (each.rd, each.rs1, each.rs2, each.rs3)} - {0}
    marks = collections.Counter(found[word].imm for word in words
                                if found[word].csr == Csr.PHASE)
    phases = "/".join(str(marks[phase]) for phase in range(len(PHASES)))
    return (len(words), len(registers), _ahead(found[word] for word in words), phases, local.size,
            task.buffers.size, result.orders, result.instructions,
            max(core["instructions"] for core in result.core_counters), result.counters["lanes"],
            result.frontier or "-")


def _ahead(code):
    """Instructions from each load, or atomic whose old word is wanted, to the next one that reads
    the word, in the order of the program. So much time may pass until the word is there."""
    found, loaded = 0, {}
    for place, each in enumerate(code):
        for register in {each.rs1, each.rs2, each.rs3} & loaded.keys():
            found += place - loaded.pop(register)
        loaded.pop(each.rd, None)
        if each.row.unit is Unit.LSU and each.rd:
            loaded[each.rd] = place
    return found


def _wide(name):
    return {"phases": 16, "frontier": 18}.get(name, 9)


def table(asked, config):
    """The rows of plans under the names of the columns, as a text."""
    rows = [f"{'plan':64} " + " ".join(f"{name:>{_wide(name)}}" for name in COLUMNS)]
    for plan in asked:
        try:
            found = numbers(plan, config)
        except UserError:
            continue
        rows.append(f"{plan.removeprefix(f'{ROOT}/'):64} " + " ".join(
            f"{number:>{_wide(name)}}" for name, number in zip(COLUMNS, found)))
    return "\n".join(rows)


@pytest.mark.parametrize("group", GROUPS)
def test_plans(group):
    expected.check(EXPECTED, group, table(GROUPS[group], CONFIG))


@pytest.mark.parametrize("name", HARDWARE)
def test_hardware(name):
    changes, asked = HARDWARE[name]
    expected.check(EXPECTED, name, table(asked, CONFIG.replace(**changes)))
