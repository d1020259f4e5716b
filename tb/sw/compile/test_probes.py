"""Whatever an operator may ask of a schedule, it gets, or it is refused by name when it is planned.

Each probe (:mod:`tb.sw.compile.probe`) goes under every schedule and format, in both directions, on
the functional machine, whose warps take turns at random. Shapes, cores, splits, options, units and
the graph are drawn; ``GRAPHLOOM_SEED`` draws others.

======================  ===========================================================================
all probes              test_probes: they run right, or are refused by name
programs                test_programs: the same of operators of programs, whose sets are what the
                        plan makes them (:mod:`tb.sw.compile.probe_texts`);
                        test_programs_with_rows: nothing is refused that there is;
                        test_frontiers: every kind of frontier with every schedule
what runs               test_what_runs_with_rows: nothing is refused that there is
planted faults          test_a_planted_fault_is_seen: an end that comes late, places without edges,
                        a row that ends too early;
                        test_a_list_that_no_kernel_opens_is_seen
======================  ===========================================================================
"""

import itertools

import pytest

from base.errors import RunError, UserError
from hw.config import HardwareConfig
from hw.gather.variants import VARIANTS
from sw.compile import formats, schedules
from sw.compile.algorithm import SentWord
from sw.compile.formats.ell import _Regular
from sw.compile.frontiers import pairs
from sw.compile.frontiers.unit_lists import UnitLists
from sw.compile.kernels.split import SPLITS
from sw.compile.plan import Plan
from sw.compile.planning import make
from sw.device import Device
from tb.seeds import draw
from tb.sw.compile.probe import FORMS, NEEDS, Probe, Wanted
from tb.sw.compile.probe_texts import SETS, Text
from tb.sw.compile.schedules.test_every_edge import graph, options


#: Each format, and with blocks, and with options by which a small graph has several parts.
STORED = ("coo", "csr", "csr:block=16", "cr2:cluster_bits=4:warp_bits=3", "dia", "ell:width=2",
          "ell:width=2:rest=csr", "g-shards:shard=16", "tigr:k=3")

#: Warps and lanes.
SHAPES = (1, 4), (4, 4), (2, 8), (8, 2)

_of = Probe.of

#: Shapes, splits and options that are drawn before a refusal is believed.
_TRIES = 4


def _probes():
    """Every subset of what a test may read, as a sum; the other forms with a part of them; each
    with some of the rest."""
    needs = [frozenset(some) for size in range(len(NEEDS) + 1)
             for some in itertools.combinations(NEEDS, size)]
    rest = {}, {"filtered": True}, {"numbered": True}
    found = [Wanted("sum", tests, "weight" in tests, **rest[number % len(rest)])
             for number, tests in enumerate(needs)]
    found.append(Wanted("sum", weighted=True))
    for form in FORMS[1:]:
        for number, tests in enumerate((frozenset(), frozenset({"dst"}), frozenset({"src"}),
                                        frozenset(NEEDS))):
            more = rest[(number + FORMS.index(form)) % len(rest)]
            found.append(Wanted(form, tests, bool(number % 2) or "weight" in tests, **more))
    return found


PROBES = {wanted.name: wanted for wanted in _probes()}


def small(schedule, warps=4, threads=4, cores=1, unit="fsm"):
    """A configuration that has what a schedule needs."""
    strategy = schedules.make(schedule)
    return HardwareConfig(cores=cores, warps=warps, threads=threads,
                          gather=strategy.needs_unit or unit, scu=4 * strategy.needs_scu,
                          memory_bytes=1 << 22, imem_bytes=1 << 15, l1_bytes=1 << 14)


def hardware(rng, schedule):
    """One that is drawn."""
    warps, threads = rng.choice(SHAPES)
    weavers = [name for name, each in VARIANTS.items() if each.registers]
    unit = rng.choice(weavers) if schedule == "weaver" else "fsm"
    return small(schedule, warps, threads, rng.choice((1, 1, 2)), unit)


def plan_of(wanted, direction, **choices):
    """A plan of a probe. The plan's own algorithm has no say: a plan has to name one."""
    kind = Probe.of(wanted, direction)
    return type("Plan", (Plan,), {"kind": kind})("sssp", direction=direction, **choices)


def tried(rng, wanted, schedule, stored, direction):
    """Run a draw that is not refused. Returns None, or the last reason if all draws are."""
    reason = None
    for attempt in range(_TRIES):
        config = hardware(rng, schedule)
        arcs = graph(rng, config.warps, config.threads, config.cores)
        text, choices = schedule, {}
        if attempt < _TRIES - 1:        # the last draw leaves open what may be left open
            text = options(rng, schedule)
            choices = {"split": rng.choice(SPLITS)}
        try:
            task = make(config, plan_of(wanted, direction, schedule=text, format=stored,
                                        **choices), arcs)
            _ = task.program
        except UserError as error:
            reason = str(error)
            continue
        verify(task, rng, f"{wanted.name} {direction} {text} {stored}")
        return None
    return reason


def verify(task, rng, what):
    """Run a task, whose result is compared; ``what`` begins the message if it is wrong."""
    config = task.config
    with Device.functional(config, seed=rng.randrange(1 << 30), max_cycles=5_000_000) as device:
        try:
            assert device.run_task(task).verified
        except (RunError, UserError) as error:
            pytest.fail(f"{what} on {config.cores} x {config.warps} x {config.threads} "
                        f"{config.gather}: {task.plan.text}: {error}")


def check_named(reason, wanted, schedule, stored):
    """A reason names the schedule, the format or the operator."""
    names = [schedule, stored.partition(":")[0], wanted.name]
    assert any(name in reason for name in names), reason


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("schedule", schedules.names())
@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.sample(28)
def test_probes(probe, schedule, stored):
    wanted, rng = PROBES[probe], draw(probe, schedule, stored)
    for direction in ("push", "pull"):
        reason = tried(rng, wanted, schedule, stored, direction)
        if reason is not None:
            check_named(reason, wanted, schedule, stored)


def test_every_format_is_tried():
    """A new format is in the table above."""
    assert {text.partition(":")[0] for text in STORED} == set(formats.image_names())


#: Schedules that list edges, and so have no base at the test of an edge.
LISTS = "compact", "scu", "scu-enhanced", "scu-stream"


@pytest.mark.parametrize("schedule", schedules.names())
def test_what_runs_with_rows(schedule):
    """With CSR every schedule runs every probe, but for weights, which a list of edges has not."""
    config = small(schedule)
    arcs = graph(draw(schedule), 4, 4)
    for wanted in PROBES.values():
        for direction in ("push", "pull"):
            lacks = schedule in LISTS and (
                direction == "pull" or (wanted.weighted and not wanted.sends))
            try:
                make(config, plan_of(wanted, direction, schedule=schedule), arcs)
            except UserError as error:
                assert lacks, (wanted.name, direction, str(error))
                check_named(str(error), wanted, schedule, "csr")
            else:
                assert not lacks, (wanted.name, direction)


# Programs

def _texts():
    """As :func:`_probes`, with each set in turn."""
    needs = [frozenset(some) for size in range(len(NEEDS) + 1)
             for some in itertools.combinations(NEEDS, size)]
    found = [Text("sum", tests, False, SETS[number % 3], number % 2 == 0)
             for number, tests in enumerate(needs)]
    for at, form in enumerate(FORMS[1:]):
        for number, tests in enumerate((frozenset(), frozenset({"dst"}), frozenset({"src"}),
                                        frozenset(NEEDS))):
            goes = SETS[(at + number) % (2 if form == "source" else 3)]
            found.append(Text(form, tests, number % 2 == 0, goes, at % 2 == 0))
    return found


TEXTS = {text.name: text for text in _texts()}


def plan_of_text(text, folder, **choices):
    """A plan of a program."""
    file = folder / "text.py"
    file.write_text(text.text)
    return Plan(str(file), **choices)


@pytest.mark.parametrize("schedule", schedules.names())
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.sample(40)
def test_programs(name, schedule, tmp_path):
    text, rng = TEXTS[name], draw(name, schedule)
    for direction in ("push", "pull"):
        stored = rng.choice(STORED)
        frontier = rng.choice([None, *pairs()])
        config = hardware(rng, schedule)
        arcs = graph(rng, config.warps, config.threads, config.cores).weighted(9, 1)
        try:
            task = make(config, plan_of_text(
                text, tmp_path, schedule=options(rng, schedule), format=stored, frontier=frontier,
                direction=direction, split=rng.choice(SPLITS)), arcs)
            _ = task.program
        except UserError as error:
            names = [schedule, stored.partition(":")[0], "probe", *[frontier] * bool(frontier)]
            assert any(each in str(error) for each in names), error
            continue
        verify(task, rng, f"{name}\n{text.text}\n")


@pytest.mark.parametrize("schedule", schedules.names())
def test_programs_with_rows(schedule, tmp_path):
    """With CSR every schedule runs every program, but for weights, which a list of edges has no
    room for."""
    config = small(schedule)
    rng = draw(schedule)
    arcs = graph(rng, 4, 4).weighted(9, 1)
    for text in rng.sample(list(TEXTS.values()), 9):
        for direction in ("push", "pull"):
            adds = text.weighted and text.form == "least"      # a unit may pass 32 bits
            lacks = schedule in LISTS and (direction == "pull" or "weight" in text.tests or (
                adds and (schedule != "compact" or "src" in text.tests)))
            try:
                make(config, plan_of_text(text, tmp_path, schedule=schedule, direction=direction),
                     arcs)
            except UserError as error:
                assert lacks, (text.name, direction, str(error))
            else:
                assert not lacks, (text.name, direction)


#: Kinds of frontiers, and one pair of each two.
FRONTIERS = ("queue", "bitmap", "bytemap", "counter", "queue/bitmap", "bitmap/queue",
             "bytemap/bitmap")


@pytest.mark.parametrize("frontier", FRONTIERS)
@pytest.mark.parametrize("schedule", schedules.names())
@pytest.mark.sample(40)
def test_frontiers(schedule, frontier, tmp_path):
    """On every shape, one core and two, from a set that edges have made."""
    rng, ran = draw(schedule, frontier), 0
    for shape in ((1, 1), (1, 32), (16, 1), (8, 16), (4, 4)):
        config = small(schedule, *shape, cores=rng.choice((1, 2)))
        arcs = graph(rng, *shape, config.cores)
        text = rng.choice([text for text in TEXTS.values()
                           if text.goes == "changed" and "weight" not in text.tests])
        plan = plan_of_text(text, tmp_path, schedule=schedule, frontier=frontier, direction="push",
                            split="static")
        try:
            task = make(config, plan, arcs.weighted(9, 1))
            _ = task.program
        except UserError as error:
            assert any(name in str(error) for name in (schedule, frontier)), error
            continue
        verify(task, rng, f"{text.name} {schedule} {frontier}\n{text.text}\n")
        ran += 1
    assert ran or schedule in LISTS or (schedule == "em" and frontier.startswith("queue"))


# Planted faults

def run(wanted, schedule, stored, direction):
    """A run on one configuration; raises what it raises."""
    config = small(schedule)
    plan = plan_of(wanted, direction, schedule=schedule, format=stored)
    task = make(config, plan, graph(draw(wanted.name, schedule), 4, 4))
    with Device.functional(config, max_cycles=5_000_000) as device:
        assert device.run_task(task).verified


@pytest.mark.parametrize("wanted, schedule, stored, fault", [
    # A list has the base of an edge only behind its test.
    (Wanted("sum", frozenset({"src"})), "compact", "csr", (Probe, "of", classmethod(
        lambda cls, wanted, direction: type("Late", (_of(wanted, direction),), {
            "sent": SentWord(late=True)})))),
    # Places without edges count.
    (Wanted("source"), "em", "ell:width=2", (_Regular, "voids", False)),
    # The first edge of a row ends it, though all have to be worked on.
    (Wanted("two", frozenset({"dst"})), "wm", "csr", (Probe, "first_only", lambda self, k: True)),
], ids=lambda value: value.name if isinstance(value, Wanted) else None)
def test_a_planted_fault_is_seen(wanted, schedule, stored, fault, monkeypatch):
    run(wanted, schedule, stored, "push") if schedule != "compact" else None
    monkeypatch.setattr(*fault)
    with pytest.raises(RunError):
        run(wanted, schedule, stored, "push")


def test_a_list_that_no_kernel_opens_is_seen(tmp_path, monkeypatch):
    text, config = Text("sum"), small("graphpeg")
    arcs = graph(draw(text.name), 4, 4).weighted(9, 1)

    def run_text():
        task = make(config, plan_of_text(text, tmp_path, schedule="graphpeg", direction="push",
                                         frontier="lists"), arcs)
        with Device.functional(config, max_cycles=5_000_000) as device:
            assert device.run_task(task).verified

    run_text()
    monkeypatch.setattr(UnitLists, "open", lambda *given: None)
    with pytest.raises(RunError):
        run_text()
