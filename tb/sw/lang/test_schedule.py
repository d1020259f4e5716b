"""The scheduling language, and the passes that give defaults.

======================  ===========================================================================
records                 test_copies, test_wrong_values, test_hybrid, test_wrong_hybrids,
                        test_threshold_of_a_command_line
texts                   test_texts, test_round_trip, test_wrong_texts, test_labels_and_schedules
labels                  test_labels, test_no_label
metadata                test_metadata_of_an_operator, test_metadata_of_a_loop,
                        test_delta_reaches_the_queue, test_hybrid_metadata,
                        test_nothing_else_changes
refusals                test_refused: schedules that an instruction cannot take;
                        test_refused_by_passes: that its operator or loop cannot
defaults                test_default_direction, test_default_deduplication, test_changes_once,
                        test_defaults_of_a_hybrid
results                 test_results_stay
======================  ===========================================================================
"""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang import programs
from sw.lang.choices import (Criterion, DeduplicationForm, FrontierCreation, LoadBalance, SetForm,
                             Traversal)
from sw.lang.passes import analysed
from sw.lang.reader import read_text
from sw.lang.schedule import (HybridSchedule, SimpleSchedule, applied, labelled, read_schedule,
                              read_schedules)
from sw.lang.types import LanguageError
from sw.vm import reference
from tb.sw.graphs import random_graph


SIZE = Criterion.INPUT_VERTEXSET_SIZE


# Records

def test_copies():
    """A method leaves its schedule as it was."""
    first = SimpleSchedule()
    second = first.config_load_balance("ETWC").config_direction("pull", "bitmap")
    assert first == SimpleSchedule() and str(first) == "default"
    assert second.load_balance is LoadBalance.ETWC and second.direction is Traversal.PULL
    assert second.pull_form is SetForm.BITMAP and second.blocked is False
    assert second.config_direction("push").pull_form is None
    third = second.config_deduplication(True, "monotonic_counters")
    assert third.deduplication_form is DeduplicationForm.MONOTONIC_COUNTERS
    assert third.config_deduplication(False).deduplication_form is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.delta = 3


@pytest.mark.parametrize("change, words", [
    (lambda s: s.config_load_balance("lucky"), "no load balance 'lucky'; there are vertex_based"),
    (lambda s: s.config_load_balance("etwc", False, 8), "blocking size 8: .*needs blocking"),
    (lambda s: s.config_load_balance("etwc", True, 0), "blocking size 0: must be from 1"),
    (lambda s: s.config_direction("up"), "no direction 'up'; there are push, pull"),
    (lambda s: s.config_direction("push", "bitmap"), "push:bitmap: only pull"),
    (lambda s: s.config_direction("pull", "sparse"), "pull:sparse: only pull"),
    (lambda s: s.config_direction("pull", "list"), "no form of a set 'list'"),
    (lambda s: s.config_frontier_creation("bitmap"), "no frontier creation 'bitmap'.*fused"),
    (lambda s: s.config_deduplication(True, "list"), "no deduplication 'list'.*boolmap"),
    (lambda s: s.config_deduplication(False, "bitmap"), "deduplication is disabled"),
    (lambda s: s.config_delta(0), "delta is 0, must be from 1"),
    (lambda s: s.config_delta(1 << 32), "delta is 4294967296")])
def test_wrong_values(change, words):
    with pytest.raises(UserError, match=words):
        change(SimpleSchedule())


def test_hybrid():
    found = HybridSchedule("input_vertexset_size", 0.5, SimpleSchedule(), SimpleSchedule())
    assert found.criterion is SIZE
    assert str(found) == "default | default when input_vertexset_size>=0.5"


@pytest.mark.parametrize("criterion, threshold, second, words", [
    ("output_size", 0.5, "default", "no criterion 'output_size'"),
    (SIZE, 1.5, "default", "threshold 1.5"), (SIZE, -0.1, "default", "threshold -0.1"),
    (SIZE, float("nan"), "default", "threshold nan"), (SIZE, "argv", "default", "threshold argv"),
    (SIZE, 0.5, "delta:3", "cannot change delta"),
    (SIZE, 0.5, "no_fusion", "cannot change kernel fusion")])
def test_wrong_hybrids(criterion, threshold, second, words):
    with pytest.raises(UserError, match=words):
        HybridSchedule(criterion, threshold, SimpleSchedule(), read_schedule(second))


def test_threshold_of_a_command_line():
    found = read_schedule("push | pull when input_vertexset_size>=argv[3]")
    assert found.threshold == "argv[3]"
    assert found.with_arguments(["bfs", "graph", "0", "0.25"]).threshold == 0.25
    assert found.with_arguments(["bfs", "graph", "0", "0.25"]).with_arguments([]).threshold == 0.25
    with pytest.raises(UserError, match="argv\\[3\\], and there are 2 arguments"):
        found.with_arguments(["bfs", "graph", "0"])
    with pytest.raises(UserError, match="threshold argv"):
        found.with_arguments(["bfs", "graph", "0", "argv[3]"])
    with pytest.raises(UserError, match="threshold big"):
        found.with_arguments(["bfs", "graph", "0", "big"])


# Texts

@pytest.mark.parametrize("text, made", [
    ("default", SimpleSchedule()), ("vertex_based", SimpleSchedule(
        load_balance=LoadBalance.VERTEX_BASED, blocked=False)),
    ("etwc:blocked", SimpleSchedule(load_balance=LoadBalance.ETWC, blocked=True)),
    ("etwc:blocked:64", SimpleSchedule(load_balance=LoadBalance.ETWC, blocked=True,
                                       blocking_size=64)),
    (" pull:bitmap , fused ", SimpleSchedule(
        direction=Traversal.PULL, pull_form=SetForm.BITMAP,
        frontier_creation=FrontierCreation.FUSED)),
    ("dedup:boolmap", SimpleSchedule(deduplication=True,
                                     deduplication_form=DeduplicationForm.BOOLMAP)),
    ("no_dedup,delta:8,fusion", SimpleSchedule(deduplication=False, delta=8, kernel_fusion=True)),
    ("push|pull when input_vertexset_size >= 0.5", HybridSchedule(
        SIZE, 0.5, SimpleSchedule(direction=Traversal.PUSH),
        SimpleSchedule(direction=Traversal.PULL)))])
def test_texts(text, made):
    assert read_schedule(text) == made


_SIMPLE = st.builds(
    lambda balance, direction, creation, dedup: ",".join(filter(None, [
        balance, direction, creation, dedup])) or "default",
    st.sampled_from([None, *(f"{kind}{end}" for kind in LoadBalance
                             for end in ("", ":blocked", ":blocked:7"))]),
    st.sampled_from([None, "push", "pull", "pull:bitmap", "pull:boolmap"]),
    st.sampled_from([None, *FrontierCreation]),
    st.sampled_from([None, "no_dedup", "dedup", *(f"dedup:{form}" for form in DeduplicationForm)]))


@given(_SIMPLE, st.sampled_from([None, "delta:3"]), st.sampled_from([None, "fusion", "no_fusion"]),
       st.none() | _SIMPLE, st.floats(0, 1) | st.just("argv[12]"))
def test_round_trip(first, delta, fusion, second, threshold):
    text = f"{first} | {second} when input_vertexset_size>={threshold}" if second is not None \
        else ",".join(filter(None, [first if first != "default" else None, delta, fusion])) \
        or "default"
    schedule = read_schedule(text)
    assert str(schedule) == text
    assert read_schedule(str(schedule)) == schedule


@pytest.mark.parametrize("text, words", [
    ("", "'' is no choice; there are vertex_based"), ("lucky", "'lucky' is no choice"),
    ("etwc,", "'' is no choice"), ("etwc,twc", "the load balance is given twice"),
    ("push,pull", "the direction is given twice"), ("fused,fused", "frontier creation is given"),
    ("etwc:blocked:x", "'etwc:blocked:x' is no choice"), ("delta", "'delta' is no choice"),
    ("delta:-3", "no choice"), ("delta:²", "no choice"), ("delta:0", "delta is 0"),
    ("delta:99999999999", "no choice"), ("push:bitmap", "only pull"),
    ("push | pull", "no choice"), ("push | pull when size>=0.5", "no criterion 'size'"),
    ("push | pull when input_vertexset_size>=2", "threshold 2"),
    ("push | pull when input_vertexset_size>=nan", "threshold nan"),
    ("push | pull when input_vertexset_size>=0_1", "threshold 0_1"),
    ("push | pull when input_vertexset_size>=argv[x]", "threshold argv"),
    ("push | pull | twc when input_vertexset_size>=0.5", "no choice"),
    ("push | fusion when input_vertexset_size>=0.5", "cannot change kernel fusion")])
def test_wrong_texts(text, words):
    with pytest.raises(UserError, match=words):
        read_schedule(text)


def test_labels_and_schedules():
    assert read_schedules(["s0=fusion", " s0:s1 = push | pull when input_vertexset_size>=0.5"]) == {
        "s0": read_schedule("fusion"),
        "s0:s1": read_schedule("push | pull when input_vertexset_size>=0.5")}
    for text in ("fusion", "=fusion"):
        with pytest.raises(UserError, match="must be LABEL=SCHEDULE"):
            read_schedules([text])
    with pytest.raises(UserError, match="'s0' has two schedules"):
        read_schedules(["s0=fusion", "s0=no_fusion"])


# Labels

TEXT = """\
@program
def p(edges: edgeset, source: vertex = 0, share: decimal = 0.5):
    x = vector(uint, infinity)

    def f(s, t):
        x[t].min(x[s] + 1)

    def one(s, t):
        x[t].min(3)

    def g(v):
        x[v] = 1

    def value(v):
        return x[v]

    s = vertexset(source)
    outer: Label
    while s:
        if len(s) > 3:
            inner: Label
            s = edges.from_(s).apply_modified(f, x)
        else:
            each: Label
            s.apply(g)
            s = edges.from_(s).apply_modified(one, x)
    every: Label
    edges.apply(f)
    some: Label
    s = edges.apply_modified(f, x)
    n = 0
    decimals: Label
    while n < 3:
        n += 1
        if n < share:
            n = 3
    makes: Label
    for i in range(2):
        q = PriorityQueue(x, source, delta=2)
        rounds: Label
        while q:
            near = q.dequeue()
            relax: Label
            edges.from_(near).apply_update_priority(f, q)
    sums: Label
    while vertices.sum(value) < 3:
        vertices.apply(g)
    return x
"""


def program():
    return read_text(TEXT, "p.py")


def at(label, found):
    return labelled(found)[label]


def test_labels():
    assert list(labelled(program())) == [
        "outer", "outer:inner", "outer:each", "every", "some", "decimals", "makes",
        "makes:rounds", "makes:rounds:relax", "sums"]


@pytest.mark.parametrize("label", ["inner", "outer:every", "none", "outer:", "relax"])
def test_no_label(label):
    with pytest.raises(UserError, match=f"no label '{label}'; it has outer, outer:inner"):
        applied(program(), {label: SimpleSchedule()})


def test_no_labels():
    text = "@program\ndef p(edges: edgeset):\n    x = vector(uint, 0)\n    return x\n"
    with pytest.raises(UserError, match="no label 's0'; it has none"):
        applied(read_text(text), {"s0": SimpleSchedule()})


# Metadata

@pytest.mark.parametrize("text, metadata", [
    ("default", {}),
    ("vertex_based", {"load_balance": "vertex_based", "is_edge_parallel": False}),
    ("etwc", {"load_balance": "etwc", "is_edge_parallel": True}),
    ("push", {"direction": "push"}), ("pull", {"direction": "pull"}),
    ("pull:boolmap", {"direction": "pull", "pull_input_frontier": "boolmap"}),
    ("fused", {"output_representation": "sparse"}),
    ("unfused_bitmap", {"output_representation": "bitmap"}),
    ("unfused_boolmap", {"output_representation": "boolmap"}),
    ("no_dedup", {"apply_deduplication": False}),
    ("dedup:bitmap", {"apply_deduplication": True, "deduplication_strategy": "bitmap"})])
def test_metadata_of_an_operator(text, metadata):
    found = applied(program(), {"outer:inner": read_schedule(text)})
    assert at("outer:inner", found).metadata == metadata


def test_edge_blocking():
    found = applied(program(), read_schedules(["every=cm:blocked:64"]))
    assert at("every", found).metadata == {"load_balance": "cm", "is_edge_parallel": True,
                                           "edge_blocking": True, "blocking_size": 64}


def test_metadata_of_a_loop():
    found = applied(program(), read_schedules(["outer=fusion", "sums=no_fusion"]))
    assert at("outer", found).metadata == {"needs_fusion": True}
    assert at("sums", found).metadata == {"needs_fusion": False}


@pytest.mark.parametrize("label", ["makes:rounds:relax", "makes:rounds", "makes"])
def test_delta_reaches_the_queue(label):
    found = applied(program(), {label: read_schedule("delta:9")})
    [queue] = [node for node in ir.instructions(found.body) if isinstance(node, ir.NewQueue)]
    assert queue.delta.value == 9 and at(label, found).metadata["delta"] == 9


def test_two_deltas():
    with pytest.raises(UserError, match="queue 'q' has delta 9 and 8"):
        applied(program(), read_schedules(["makes:rounds:relax=delta:9", "makes:rounds=delta:8"]))


def test_delta_of_sssp():
    graph = random_graph(40, 160, 3).weighted(30, 1)
    plain = programs.find("sssp")
    stepped = applied(plain, read_schedules(["s0:s1=delta:5"]))
    few, many = (reference.run(analysed(each), graph) for each in (plain, stepped))
    assert np.array_equal(few.outputs["distance"], many.outputs["distance"])
    assert many.operators > few.operators


def test_hybrid_metadata():
    found = applied(program(), read_schedules([
        "outer:inner=etwc,push | vertex_based,pull when input_vertexset_size>=0.25"]))
    assert at("outer:inner", found).metadata == {"hybrid": (
        SIZE, 0.25, {"load_balance": "etwc", "is_edge_parallel": True, "direction": "push"},
        {"load_balance": "vertex_based", "is_edge_parallel": False, "direction": "pull"})}


def test_nothing_else_changes():
    before, schedules = program(), read_schedules(["outer:inner=etwc", "outer=fusion"])
    found = applied(before, schedules)
    assert before == program() and applied(before, {}) == before
    for label, node in labelled(found).items():
        if label not in schedules:
            assert node == at(label, before)
        else:
            assert node.position == at(label, before).position


@pytest.mark.parametrize("label, text, words", [
    ("outer:inner", "fusion", "kernel fusion is for loops"),
    ("outer:inner", "no_fusion", "kernel fusion is for loops"),
    ("outer:inner", "delta:3", "delta is for operators with a queue"),
    ("every", "fused", "frontier creation is for operators with a result"),
    ("every", "dedup", "deduplication is for operators with a result"),
    ("every", "no_dedup", "deduplication is for"),
    ("every", "push | pull when input_vertexset_size>=0.5", "all vertices, whose number stays"),
    ("outer:each", "push", "an operator of vertices has no choices"),
    ("outer:each", "default", "an operator of vertices has no choices"),
    ("outer", "push", "a loop has kernel fusion and delta only"),
    ("outer", "etwc,fusion", "a loop has kernel fusion and delta only"),
    ("outer", "push | pull when input_vertexset_size>=0.5", "hybrid schedule is for operators"),
    ("outer", "delta:3", "the loop has no queue")])
def test_refused(label, text, words):
    with pytest.raises(LanguageError, match=words) as caught:
        applied(program(), {label: read_schedule(text)})
    message = str(caught.value)
    assert message.startswith(f"{at(label, program()).position}: label {label!r} cannot have the "
                              f"schedule {text!r}: ")


@pytest.mark.parametrize("label, text, place, words", [
    ("outer:inner", "etwc:blocked", "22:17", "EdgeBlocking needs an operator that goes through all "
     "edges, and the operator 'inner' has a set"),
    ("outer:inner", "push | etwc:blocked when input_vertexset_size>=0.5", "22:17", "EdgeBlocking"),
    ("decimals", "fusion", "35:16", "this is computed with decimals, which only the host has, so "
     "the loop 'decimals' of line 33 cannot be one kernel; use no_fusion"),
    ("makes", "fusion", "39:9", "the host makes a queue here, so the loop 'makes' of line 38 "
     "cannot")])
def test_refused_by_passes(label, text, place, words):
    """The place is that of the operator, or of the part of a loop that cannot be fused."""
    scheduled = applied(program(), {label: read_schedule(text)})
    with pytest.raises(LanguageError, match=f"^p.py:{place}: {words}"):
        analysed(scheduled)
    analysed(scheduled, after="races")


def test_fusion_of_the_programs():
    """The loops of the package that can be one kernel: all but pagerank's, which has decimals."""
    def fuses(name):
        try:
            return bool(analysed(applied(programs.find(name), read_schedules(["s0=fusion"]))))
        except LanguageError:
            return False

    assert [name for name in programs.names() if not fuses(name)] == ["pagerank"]


# Defaults

@pytest.mark.parametrize("text, metadata", [
    ("default", {"direction": "push"}), ("push", {"direction": "push"}),
    ("pull", {"direction": "pull", "pull_input_frontier": "boolmap"}),
    ("pull:bitmap", {"direction": "pull", "pull_input_frontier": "bitmap"})])
def test_default_direction(text, metadata):
    found = analysed(applied(program(), {"every": read_schedule(text)}))
    given = at("every", found).metadata
    assert {key: given.get(key) for key in ("direction", "pull_input_frontier")
            if key in given} == metadata
    assert "apply_deduplication" not in given and "output_representation" not in given


@pytest.mark.parametrize("text, form, twice", [
    ("default", "sparse", True), ("fused", "sparse", True), ("unfused_bitmap", "bitmap", False),
    ("unfused_boolmap", "boolmap", False), ("no_dedup", "sparse", False),
    ("unfused_bitmap,dedup", "bitmap", True)])
def test_default_deduplication(text, form, twice):
    found = at("outer:inner", analysed(applied(program(), {"outer:inner": read_schedule(text)})))
    assert found.metadata["output_representation"] == form
    assert found.metadata["apply_deduplication"] is twice


def test_one_change_for_each_element():
    """All calls bring the same value: only the first changes an element."""
    found = {node.apply_f: node.metadata["apply_deduplication"]
             for node in ir.instructions(analysed(program()).body)
             if isinstance(node, ir.EdgeSetIterator) and node.output_vset is not None}
    assert found == {"f": True, "one": False}


@pytest.mark.parametrize("body, twice", [
    ("x[t].max(3)", False), ("x[t] |= 3", False), ("x[t] += 3", True), ("x[t].max(source)", False),
    ("x[t].min(3)\n        x[s].min(3)", False), ("x[t].min(3)\n        x[s].min(2)", True),
    ("if s != t:\n            x[t].min(3)", False), ("x[t].min(weight)", True)])
def test_changes_once(body, twice):
    given_weight = ", weight" if "weight" in body else ""
    text = TEXT.replace("def one(s, t):\n        x[t].min(3)",
                        f"def one(s, t{given_weight}):\n        {body}").replace("max(source)",
                                                                               "max(uint(source))")
    found = analysed(read_text(text))
    [node] = [node for node in ir.instructions(found.body)
              if isinstance(node, ir.EdgeSetIterator) and node.apply_f == "one"]
    assert node.metadata["apply_deduplication"] is twice


def test_defaults_of_a_hybrid():
    found = analysed(applied(program(), read_schedules([
        "outer:inner=twc | pull,unfused_bitmap when input_vertexset_size>=0.25"])))
    metadata = at("outer:inner", found).metadata
    assert metadata["hybrid"] == (
        SIZE, 0.25,
        {"load_balance": "twc", "is_edge_parallel": True, "direction": "push",
         "output_representation": "sparse", "apply_deduplication": True},
        {"direction": "pull", "pull_input_frontier": "boolmap", "output_representation": "bitmap",
         "apply_deduplication": False})
    assert "direction" not in metadata and "apply_deduplication" not in metadata


@pytest.mark.parametrize("name", ["bfs", "sssp", "cc"])
def test_results_stay(name):
    """No schedule changes the results of the reference."""
    graph = random_graph(40, 100, 7).weighted(9, 2)
    plain = programs.find(name)
    wanted = reference.run(analysed(plain), graph).outputs
    for direction, creation in itertools.product(("push", "pull:bitmap"), FrontierCreation):
        scheduled = applied(plain, read_schedules(["s0=fusion", f"s0:s1=etwc,{direction},"
                                                   f"{creation},dedup"]))
        found = reference.run(analysed(scheduled), graph).outputs
        assert all(np.array_equal(found[key], wanted[key]) for key in wanted)
