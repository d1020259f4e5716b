"""Loops from a set of vertices to the next: searches and relaxations, by facts.

===========================  ==================================================================
what is known of a text      test_facts
every plan                   test_runs, test_drawn_plans: against the interpreter, on the
                             instruction-set simulator
other spellings              test_same_words: equal machine words
launches                     test_launches
sets                         test_no_edges_for_the_unit, test_parts_of_a_queue_are_counted,
                             test_unit_lists
===========================  ==================================================================
"""

import random

import pytest

from base.errors import UserError
from hw.config import preset
from sw.compile import formats, frontiers, schedules
from sw.compile.frontiers.pool import Pool
from sw.compile.schedules import equip
from sw.device import Device
from sw.graph import load
from sw.lang import graph_ir as ir
from sw.lang.facts import Changes, Early, Sent, Stamps, Suffices, Superset, known
from sw.lang.passes import analysed
from sw.lang.reader import read_text
from tb.sw.compile.lower.loop_texts import OTHERS, SAME, TEXTS


GRAPHS = ("rmat:scale=5,degree=5,seed=3,weights=20",
          "powerlaw:vertices=60,edges=120,exponent=2,seed=1,weights=9", "road:side=6,seed=1")


def run(text, path, on, schedule="vm", cores=1, seed=0, **choices):
    """The result by the device, compared with the interpreter's."""
    path.write_text(text)
    config = equip(preset("baseline"), [schedule]).replace(cores=cores)
    if schedule == "graphpeg":
        config = config.replace(gather="graphpeg")
    given = {"source": "hub"} if "source:" in text else {}
    with Device.functional(config, seed=seed) as device:
        result = device.run(str(path), load(on), schedule=schedule, **given, **choices)
    assert result.verified
    return result


@pytest.mark.parametrize("name", TEXTS)
def test_facts(name):
    wanted, text = TEXTS[name]
    loop, edges = (next(node for node in ir.instructions(analysed(read_text(text)).body)
                        if isinstance(node, kind)) for kind in (ir.WhileLoop, ir.EdgeSetIterator))
    if known(edges, Early) is not None:
        sent, superset = known(edges, Sent), known(edges, Superset)
        others = False if superset is None else "reached" if superset.test else True
        assert (others, sent is not None and sent.form in ("sum", "sent")) == wanted
        return
    stamps, changes, suffices = (known(node, fact) for node, fact in (
        (loop, Stamps), (edges, Changes), (edges, Suffices)))
    found = [stamp.vector for stamp in stamps.stamps] if stamps else [None]
    assert (*found, changes.by, suffices and suffices.edges) == wanted


PLANS = [("vm", "push", {}), ("vm", "pull", {}), ("em", "push", {"format": "coo"}),
         ("weaver", "push", {"deduplicate": "no"}), ("weaver", "pull", {}),
         ("cm", "pull", {"frontier": "counter"}), ("wm", "push", {"frontier": "bitmap"}),
         ("vm", "push", {"frontier": "bytemap/queue"}),
         ("etwc", "push", {"format": "csr:reorder=rcm"}),
         ("vm", "pull", {"format": "ell:width=2"}), ("compact", "push", {}),
         ("scu-enhanced", "push", {}), ("graphpeg", "push", {}), ("twc", "pull", {"fusion": "yes"}),
         ("vm", "auto", {}), ("graphpeg", "auto", {}),
         ("vm", "push", {"format": "g-shards:shard=16"})]


@pytest.mark.sample(90)
@pytest.mark.parametrize("plan", range(len(PLANS)))
@pytest.mark.parametrize("name", [*TEXTS, *OTHERS])
def test_runs(name, plan, tmp_path):
    """The words are the interpreter's, or a choice is refused by its name."""
    schedule, direction, choices = PLANS[plan]
    try:
        run(OTHERS.get(name) or TEXTS[name][1], tmp_path / "text.py", GRAPHS[plan % 3], schedule,
            1 + plan % 2, plan, direction=direction, **choices)
    except UserError as error:
        assert any(word in str(error) for word in (
            "cannot", "needs", "has no", "is for", "has only", "in any case")), error
        assert "golden" not in str(error) and "stopped" not in str(error), error


def test_no_edges_for_the_unit(tmp_path):
    """Ready vertices without edges start no kernel of a list, so no set is made in its place."""
    runs = [run(TEXTS["near-and-far"][1], tmp_path / "text.py", GRAPHS[1], schedule,
                direction="push", seed=8) for schedule in ("vm", "scu", "scu-enhanced", "compact")]
    assert len({result.supersteps for result in runs}) == 1


@pytest.mark.parametrize("direction", ["push", "auto"])
def test_parts_of_a_queue_are_counted(direction, tmp_path):
    """Sets without lists are counted, those of a queue that is split or joined, too."""
    result = run(TEXTS["near-and-far"][1], tmp_path / "text.py", GRAPHS[1],
                 direction=direction, frontier="bitmap")
    assert result.supersteps > 3


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("lists", ["own", "dealt"])
@pytest.mark.parametrize("name", TEXTS)
def test_unit_lists(name, lists, cores, tmp_path):
    """Units keep the sets of any operators; two sets of a kernel are too many."""
    path, text = tmp_path / "text.py", TEXTS[name][1]
    path.write_text(text)
    config = equip(preset("baseline"), ["graphpeg"]).replace(cores=cores, gather="graphpeg")
    given = {"source": "hub"} if "source:" in text else {}
    with Device.functional(config, seed=cores) as device:
        choices = {"schedule": f"graphpeg:lists={lists}", "direction": "push",
                   "frontier": "lists", **given}
        if name.endswith("near-and-far"):
            with pytest.raises(UserError, match="a unit has one list at a time"):
                device.plan(str(path), load(GRAPHS[0]), **choices)
            return
        assert device.run(str(path), load(GRAPHS[0]), **choices).verified


@pytest.mark.sample(40)
@pytest.mark.parametrize("seed", range(1000))
def test_drawn_plans(seed, tmp_path):
    draw = random.Random(seed)
    name, schedule = draw.choice(list(TEXTS)), draw.choice(schedules.names())
    choices = {"format": draw.choice(formats.image_names()), "direction": draw.choice(
        ["push", "pull", "auto"]), "frontier": draw.choice([None, None, *frontiers.pairs()]),
        "deduplicate": draw.choice([None, "no"]), "fusion": draw.choice([None, "yes"])}
    try:
        run(TEXTS[name][1], tmp_path / "text.py", draw.choice(GRAPHS), schedule,
            draw.choice([1, 2]), seed, **choices)
    except UserError as error:
        assert "golden" not in str(error) and "stopped" not in str(error), error


@pytest.mark.parametrize("name", SAME)
def test_same_words(name, tmp_path, monkeypatch):
    """Another spelling of a shipped program has the program's machine words, but for addresses of
    what lies behind the storages of sets: one that names more sets has more of these."""
    made = Pool.__init__
    monkeypatch.setattr(Pool, "__init__", lambda self, storages, anchor: made(self, 10, anchor))
    shipped, text = SAME[name]
    path = tmp_path / "text.py"
    path.write_text(text)
    graph = load(GRAPHS[0])
    for schedule, direction, choices in PLANS[:8]:
        device = Device.functional(equip(preset("baseline"), [schedule]))
        words = [list(device.plan(program, graph, schedule=schedule, direction=direction,
                                  source="hub", **choices).program.words)
                 for program in (shipped, str(path))]
        assert words[0] == words[1]


@pytest.mark.parametrize("name", ["levels-only", "harmless-vector", "paths", "marked", "flags"])
def test_launches(name, tmp_path):
    """A superstep is one launch; a flag that is a result is made by a last one."""
    for direction in ("push", "pull"):
        result = run(TEXTS[name][1], tmp_path / "text.py", GRAPHS[2], direction=direction)
        assert result.launches - (name == "flags") == result.supersteps > 3
