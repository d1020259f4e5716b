"""Planted faults: operators, samples, the curated list, and runs of the tests that ought to notice.

========================  ========================================================
operators                 test_operators, test_exempt, test_cpp, test_no_fault
ids                       test_ids_do_not_depend_on_lines, test_unknown_ids
samples                   test_shares, test_draw, test_every_room
ladders                   test_rungs_are_there, test_rungs_of_files
judged survivors          test_judged_survivors_are_there, test_scores
curated mutants           tb/checks/campaign/test_curated.py; of proofs:
                          tb/checks/formal/test_mutants.py
runs                      test_command, test_what_counts_as_noticed, test_climbing,
                          test_a_rung_without_the_name_of_a_test, test_resuming, test_unfair,
                          test_limits
tests that call           test_only_tests_that_call_the_function_run,
                          test_the_function_of_a_fault, test_a_limit_of_a_test
the command               test_command, test_scores, test_list, test_errors
========================  ========================================================
"""

import ast
import collections
import contextlib
import dataclasses
import json
import re

import pytest

from checks.campaign.mutants import draw, ladder, operators, places, reach, run, sandbox, tokens
from checks.campaign.mutants.mutant import ROOT, Mutant, MutantError, room
from sw.cli.main import main
from tb.executors import InThisProcess


def changed(text, operator=None, file="unit.py"):
    """{operator: texts with a fault}, or the texts of one operator."""
    found = collections.defaultdict(list)
    data = text.encode()
    every = (places._Walk(data).places if file.endswith(".py") else tokens.places(data))
    for begin, end, name, _, _, new in sorted(every):
        found[name].append(places.splice(data, begin, end, new))
    return found if operator is None else found[operator]


@pytest.mark.parametrize("operator, text, after", [
    ("negate", "if a:\n    f()", ["if (not a):\n    f()"]),
    ("negate", "if a < b: f()", ["if (not a < b): f()"]),
    ("negate", "if a == b: f()", []),                       # `compare` does it
    ("negate", "with m.If(a): pass", ["with m.If((a == 0)): pass"]),
    ("negate", "[x for x in y if x]", ["[x for x in y if (not x)]"]),
    ("compare", "a < b", ["(a <= b)"]),
    ("compare", "a == b != c", ["(a != b != c)", "(a == b == c)"]),
    ("compare", "a in b", ["(a not in b)"]),
    ("logic", "a and not b", ["(a or not b)", "a and b"]),
    ("logic", "x.eq(~a)", ["x.eq(a)"]),
    ("always", "if a: f()", ["if False: f()", "if True: f()"]),
    ("always", "while a: f()", ["while False: f()"]),       # never an endless one
    ("always", "Mux(a, b, c)", ["b", "c"]),
    ("operand", "a & b", ["a", "b"]),
    ("operand", "a - b", ["a"]),
    ("operand", "a and b and c", ["(a and b)", "(a and c)", "(b and c)"]),
    ("arithmetic", "a + b * c", ["(a - b * c)", "a + (b // c)"]),
    ("arithmetic", "a += b", ["a -= b"]),
    ("arithmetic", "m.d.comb += a", []),
    ("arithmetic", "'a' + b", []),
    ("swap", "a - b", ["(b - a)"]),
    ("swap", "a + b", []),
    ("swap", "Mux(a, b, c)", ["Mux(a, c, b)"]),
    ("swap", "k.a.sltu(into, one, two)", ["k.a.sltu(into, two, one)"]),
    ("swap", "Cat(a, b)", ["Cat(b, a)"]),
    ("opposite", "min(a, b)", ["max(a, b)"]),
    ("opposite", "a.bltu(x, y, top)", ["a.bgeu(x, y, top)"]),
    ("more", "a[0]", ["a[1]"]),
    ("more", "f(flag=True)", ["f(flag=False)"]),
    ("more", "Signal(3); In(3); f(3)", ["Signal(3); In(3); f(4)"]),
    ("less", "Signal(3)", ["Signal(2)"]),
    ("more", "Signal(range(n + 1)); Signal(f(3)); In(1 if a else 2)",    # only wider
     ["Signal(range(n + 1)); Signal(f(4)); In(1 if a else 2)"]),
    ("less", "StructLayout({'a': 3 * n - 1})", ["StructLayout({'a': 2 * n - 1})"]),
    ("arithmetic", "Memory(shape=n - m, depth=max(1, n // 2), init=n - m)",
     ["Memory(shape=n - m, depth=max(1, n // 2), init=(n + m))"]),
    ("operand", "Signal(n - 1); Signal(n + 1)",
     ["Signal(n - 1); Signal(n)", "Signal(n - 1); Signal(1)"]),
    ("more", "Memory(shape=ArrayLayout(32, 1 + f(2))); warp.signal(3, 'x')",
     ["Memory(shape=ArrayLayout(32, 1 + f(3))); warp.signal(3, 'x')"]),
    ("swap", "Signal(32 - n)", ["Signal((n - 32))"]),
    ("opposite", "Signal(min(n, m)); Signal(max(n, m))",
     ["Signal(min(n, m)); Signal(min(n, m))"]),
    ("less", "a[1:2]", ["a[0:2]", "a[1:1]"]),
    ("less", "a[0]", []),
    ("bound", "a[:n]", ["a[:(n - 1)]"]),
    ("bound", "for i in range(1, n): f()", ["for i in range(1, (n - 1)): f()"]),
    ("reset", "Signal(8, init=3)", ["Signal(8)"]),
    ("reset", "Signal(8, init=0)", []),
    ("drop", "f(x)", ["pass"]),
    ("drop", "self.x = 1", ["pass"]),
    ("drop", "x = 1", []),                                  # then every test fails
    ("drop", "m.d.sync += a.eq(b)", ["pass"]),
    ("drop", "m.d.comb += [a.eq(b), c.eq(d)]",
     ["m.d.comb += [c.eq(d)]", "m.d.comb += [a.eq(b)]"]),
    ("drop", "if a:\n    raise UserError('x')", ["if a:\n    pass"]),
    ("more", "f(f'{a[0]:08x} of {b}')", ["f(f'{a[1]:08x} of {b}')"]),
])
def test_operators(operator, text, after):
    assert sorted(changed(text, operator)) == sorted(after)
    assert operator in operators.OPERATORS


@pytest.mark.parametrize("text", [
    '"""A docstring with 1 and 2."""', "__all__ = ['a'] + ['b']", "import a", "x: Array[3] = y",
    "def f(a: 1) -> 2: return a", "@cache(1)\ndef f(): return a", "assert a == 1",
    "m.d.comb += Assert(a == 1)", "with m.If(a == 1): m.d.sync += [Assert(b == 1), Cover(c)]",
    "def f(m):\n    x = a[0]\n    m.d.sync += x.eq(1)\n    check_stream(m, a[1])",
    "def __repr__(self): return f'{a[0]}'",
    "Signal(n, name=f'x{1}', src_loc_at=1)", "if TYPE_CHECKING:\n    import a",
    "x = typer.Option(min=1)", "print(a + 1, flush=True)", "x = ' ' * 8",
    "SdramTiming(name='x', rcd=15)", "X = Annotated[a | b, 1]", "y = self._error(1, a + b)",
])
def test_exempt(text):
    found = changed(text)
    if "m.d" not in text:
        found.pop("drop", None)                             # a whole statement may be missing
    assert not found


def test_what_cannot_be_is_not_dropped():
    assert not changed("if a:\n    return 1\nraise AssertionError('a is true')").get("drop")
    assert changed("if a:\n    return 1\nraise UserError('a is true')")["drop"]


@pytest.mark.parametrize("text", ["m.d.sync += [Assert(b), a.eq(1)]", "m.d.sync += a.eq(1)",
                                  "def f(m):\n    m.d.sync += [Assert(a), b.eq(1)]"])
def test_an_assertion_beside_others(text):
    assert changed(text)


def test_an_error_is_dropped_but_keeps_its_words():
    assert set(changed("raise UserError(f'{a + 1} is over {b[0]}')")) == {"drop"}


CPP = """#include <a.h>   // 1 + 2
template <int N> struct S {
    int f(int a) const {
        if (a < 3 && !b(a)) total += a;
        call(a, "x < 1");
        return a << 2;
    }
};
"""


def test_cpp():
    found = {operator: [next(line.strip() for line, before in zip(
        after.splitlines(), CPP.splitlines(), strict=True) if line != before) for after in texts]
        for operator, texts in changed(CPP, file="unit.h").items()}
    assert found == {
        "compare": ["if (a <= 3 && !b(a)) total += a;"],
        "logic": ["if (a < 3 || !b(a)) total += a;", "if (a < 3 && b(a)) total += a;"],
        "negate": ["if (!(a < 3 && !b(a))) total += a;"],
        "more": ["if (a < 4 && !b(a)) total += a;", "return a << 3;"],
        "less": ["if (a < 2 && !b(a)) total += a;", "return a << 1;"],
        "arithmetic": ["if (a < 3 && !b(a)) total -= a;", "return a >> 2;"],
        "drop": [";"],
    }


SOURCE = "def f(a):\n    b = a + 1\n    return b\n"


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A function that gives the source ``sw/unit.py`` a text and returns its places."""
    (tmp_path / "sw").mkdir()
    monkeypatch.setattr(places, "ROOT", tmp_path)

    def give(text):
        (tmp_path / "sw/unit.py").write_text(text)
        for cached in (places.places, places._text, places.files):
            cached.cache_clear()
        return places.places("sw/unit.py")
    yield give
    monkeypatch.undo()
    for cached in (places.places, places._text, places.files):
        cached.cache_clear()


def test_ids_do_not_depend_on_lines(source):
    """Other lines, also equal ones in other functions, do not matter; another statement does."""
    before = {place.id: place.line for place in source(SOURCE)}
    assert len(before) == len(source(SOURCE)) and all(line == 2 for line in before.values())
    assert {re.sub(r":[0-9a-f]{8}$", "", id_) for id_ in before} == {
        f"sw/unit.py:f:{name}" for name in ("operand", "arithmetic", "more", "less")}
    moved = {place.id: place.line for place in source("def g(a):\n    b = a + 1\n\n\n" + SOURCE)}
    assert all(moved[id_] == line + 4 for id_, line in before.items())
    assert not before.keys() & {place.id for place in source(SOURCE.replace("b =", "c ="))}
    twice = [place.id for place in source(SOURCE.replace("return b", "b = a + 1"))]
    assert len(set(twice)) == 2 * len(before) and before.keys() < set(twice)


def test_no_fault(source):
    """A change that compiles to the same code, or that is illegal, is no fault."""
    found = {place.operator: place.is_fault() for place in source("x = 1 * 2 * 1 + 0 * y\n")}
    assert found["more"]
    assert not all(place.is_fault() for place in source("def f():\n    return 3 * 1\n")
                   if place.operator == "operand")


def test_unknown_ids():
    for id_ in ("sw/golden/hashing.py:lookup:drop:00000000", "sw/none.py:f:drop:00000000"):
        with pytest.raises(MutantError, match="there is no mutant"):
            places.find(id_)


@pytest.mark.parametrize("sizes, count, after", [
    ({"a": 90, "b": 10}, 10, {"a": 9, "b": 1}),
    ({"a": 999, "b": 1}, 10, {"a": 9, "b": 1}),             # each room has one at least
    ({"a": 1, "b": 1, "c": 998}, 2, {"a": 0, "b": 0, "c": 2}),
    ({"a": 2, "b": 3}, 100, {"a": 2, "b": 3}),
    ({"a": 50, "b": 50}, 5, {"a": 3, "b": 2}),
])
def test_shares(sizes, count, after):
    assert draw.shares(sizes, count) == after


def test_draw():
    """Equal seeds draw equal mutants; a room's draw does not depend on the other rooms."""
    sources = ("sw/golden/hashing.py", "sw/golden/scu.py", "hw/core/alu.py")
    first, second, third = ([mutant.id for mutant in draw.draw(12, seed, among=sources)]
                            for seed in (1, 1, 2))
    assert first == second != third and len(set(first)) == 12
    alone = [mutant.id for mutant in draw.draw(200, 1, among=sources[:2])]
    assert {id_ for id_ in first if id_.startswith("sw/golden")} <= set(alone)
    assert {room(id_) for id_ in first} == {"sw/golden", "hw/core"}


def test_every_room():
    assert {room(file) for file in places.files()} >= {
        "hw", "hw/core", "hw/memory", "hw/gather", "hw/scu", "hw/link", "hw/sdram", "sim",
        "sim/compiler", "sim/functional", "sim/harness", "synth", "sw/graph", "sw/lang",
        "sw/golden", "sw/vm", "sw/compile", "sw/device", "sw/operators", "sw/study", "sw/show",
        "sw/cli"}
    for glob in places.LEFT_OUT:
        assert any(ROOT.glob(glob)), glob


def test_rungs_are_there():
    """Each pattern has files, and each rung names tests that exist."""
    functions = {}
    for table in (ladder.NEAR, ladder.WIDE):
        for globs, rungs in table:
            for glob in globs.split():
                assert any(ladder._is(file, glob) for file in places.files()), glob
            words = (rungs if isinstance(rungs, str) else " ".join(rungs)).split()
            for test in (word for word in words if word.startswith("tb/")):
                file, _, name = test.partition("::")
                assert (ROOT / file).exists(), test
                if name:
                    text = functions.setdefault(file, (ROOT / file).read_text())
                    assert f"def {name.partition('[')[0]}(" in text, test


def test_rungs_of_files():
    """Every file has rungs; the first is the mirror, of units on Icarus."""
    for file in places.files():
        assert ladder.rungs(file), file
    assert ladder.rungs("sw/graph/npz.py")[0][0] == "tb/sw/graph/test_npz.py"
    assert (ladder.rungs("sw/study/benchmarks/core.py")[0][0]
            == "tb/sw/study/benchmarks/test_core.py")
    fuse = [word for rung in ladder.rungs("sw/compile/lower/fuse.py") for word in rung]
    assert fuse.count("tb/sw/compile/test_instructions.py") == fuse.count("tb/sw/vm") == 1
    assert ladder.rungs("sw/compile/lower/fuse.py")[1] == (
        "tb/sw/compile/lower", "--ignore=tb/sw/compile/lower/test_decisions.py",
        "--ignore=tb/sw/compile/lower/test_texts.py")
    assert ladder.rungs("sw/cli/bench_tune.py")[0][:2] == (
        "tb/cli/test_tune.py", "tb/sw/study/benchmarks")
    first, *_, last = ladder.rungs("hw/core/alu.py")
    assert first == ("tb/hw/core/test_alu.py", "-k", "not verilator")
    assert last == ("tb/hw/core/test_alu.py", "-k", "not icarus")
    assert ladder.rungs("hw/gpu.py")[1] == ("tb/hw/test_gpu.py", "-k", "not verilator")


def test_judged_survivors_are_there():
    for id_, reason in draw.judged().items():
        places.find(id_)
        assert reason.startswith(("equivalent: ", "no test is worth it: ")), id_


def planted(id_="unit", **fields):
    return Mutant(**{"id": id_, "file": "sw/unit.py", "line": 1, "before": "a\n", "after": "b\n",
                     "rungs": (("one",), ("two",)), **fields})


@pytest.mark.parametrize("code, limit, output, outcome", [
    (0, "", "1 passed", "passed"),
    (5, "", "no tests ran", "passed"),
    (1, "", "FAILED tb/x.py::test_x[a b] - assert 1 == 2", "failed"),
    (1, "", "FAILED tb/x.py::test_x - tb.build.BuildError: exit code 1", "does not build"),
    (2, "", "ERROR tb/x.py - ImportError: no", "cannot be imported"),
    (4, "", "ImportError while loading conftest", "cannot be imported"),
    (4, "", "ERROR: file or directory not found", "error"),
    (-11, "", "", "crashed"),
    (-6, "", "", "crashed"),
    (-15, "", "", "error"),
    (-9, "timeout", "", "timeout"),
    (-9, "memory", "", "memory"),
])
def test_what_counts_as_noticed(code, limit, output, outcome):
    found, detail, test = run._judged(sandbox.Ended(code, limit, output))
    assert found == outcome
    assert test == ("" if outcome not in ("failed", "does not build")
                    else "tb/x.py::test_x" + "[a b]" * ("a b" in output))


class Rungs:
    """A sandbox whose calls of pytest end with given codes."""

    def __init__(self, *codes):
        self.codes, self.called = list(codes), []

    def run(self, arguments, seconds):
        self.called.append(arguments[-1])
        code = self.codes.pop(0)
        return sandbox.Ended(code, "", "FAILED tb/x.py::test_x - no" if code else "")


def test_climbing():
    """The first rung on which a test fails is the last one."""
    for codes, called, outcome in (((1,), ["one"], "failed"), ((0, 1), ["one", "two"], "failed"),
                                   ((0, 0), ["one", "two"], "passed")):
        rungs = Rungs(*codes)
        assert run._climb(planted(), rungs, 1, [])[0] == outcome and rungs.called == called


class Ends:
    """A sandbox in which everything ends in one way."""

    def __init__(self, code, limit):
        self.ended = sandbox.Ended(code, limit, "")

    def run(self, arguments, seconds):
        return self.ended


@pytest.mark.parametrize("code, limit, expected", [(-9, "timeout", "timeout"),
                                                   (-11, "", "crashed")])
def test_a_rung_without_the_name_of_a_test(monkeypatch, code, limit, expected):
    """A limit or a crash counts only if the same tests do better without the fault."""
    ends = Ends(code, limit)
    outcome, _, test = run._climb(planted(), ends, 1, [])
    assert (outcome, test) == (expected, '["one"]')
    for box, fail in ((ends, [test]), (Rungs(0), [])):
        monkeypatch.setattr(run, "_in_sandbox", lambda session, function, box=box: function(box))
        assert run._plain([test], "", 1) == {"fail": fail}


@pytest.fixture
def outcomes(monkeypatch):
    """A dict of outcomes by id that runs give, a set of tests that fail without a fault, and the
    list of what was run."""
    found, fail, done = {}, set(), []

    def one(mutant, session, timeout, whole):
        done.append(mutant.id)
        outcome = found[mutant.id]
        return {"id": mutant.id, "outcome": outcome, "detail": "", "seconds": 1,
                "test": f"tb/{mutant.id}" if outcome == "failed" else ""}

    def plain(tests, session, timeout):
        done.extend(tests)
        return {"fail": sorted(fail & set(tests))}
    monkeypatch.setattr(run, "_one", one)
    monkeypatch.setattr(run, "_plain", plain)
    monkeypatch.setattr(run, "copy_sources", lambda folder: None)
    return found, fail, done


def test_resuming(outcomes, monkeypatch, tmp_path):
    """Noticed mutants are not run again while their file is the same; survivors, while all is."""
    found, _, done = outcomes
    found |= {"a": "failed", "b": "passed", "c": "timeout", "d": "error"}
    path = tmp_path / "results.jsonl"

    def again(**changes):
        done.clear()
        mutants = [dataclasses.replace(planted(id_), **changes.get(id_, {})) for id_ in found]
        work = run.MutantWork(mutants, path=path)
        work.run(InThisProcess(), lambda mutant, record: None)
        assert {id_: record["outcome"] for id_, record in work.records.items()} == found
        return list(done)

    assert again() == ["a", "b", "c", "d", "tb/a"]
    assert again() == ["d"]                                 # an error is no outcome
    assert again(a={"after": "c\n"}) == ["a", "d"]
    monkeypatch.setattr(run, "digest", lambda *places: "other sources")
    assert again() == ["b", "d", "tb/a"]


def test_unfair(outcomes):
    """The notice of a test that fails without a fault does not count."""
    found, fail, _ = outcomes
    found |= {"a": "failed", "b": "failed"}
    fail.add("tb/b")
    work = run.MutantWork([planted("a"), planted("b"), planted("c")])
    work.mutants = work.mutants[:2]
    work.run(InThisProcess(), lambda mutant, record: None)
    assert work.unfair == {"tb/b"}
    assert [work.outcome(planted(id_)) for id_ in "abc"] == ["failed", "unfair", "not run"]


def test_limits(monkeypatch, tmp_path):
    """Programs end at their limit of processor time, of waiting or of memory; nothing remains."""
    monkeypatch.setattr(sandbox, "copy_sources", lambda *_: None)
    with sandbox.Sandbox(tmp_path / "run", tmp_path) as box:
        assert box.run(["-c", "print('done')"], 20) == sandbox.Ended(0, "", "done\n")
        assert box.run(["-c", "while True: pass"], 1).limit == "timeout"
        monkeypatch.setattr(sandbox, "_WAITING", 0.1)
        assert box.run(["-c", "import time; time.sleep(600)"], 10).limit == "timeout"
        monkeypatch.setattr(sandbox, "_MEMORY", 100 << 20)
        assert box.run(["-c", "import time; x = bytearray(200 << 20); time.sleep(600)"],
                       600).limit == "memory"
    assert not list(tmp_path.iterdir())


def test_limits_within_limits(monkeypatch, tmp_path):
    """A sandbox in a sandbox, as tests of a mutant have it, keeps the limit around it."""
    monkeypatch.setattr(sandbox, "copy_sources", lambda *_: None)
    monkeypatch.setattr(sandbox.resource, "getrlimit", lambda kind: (200, 205))
    show = "import resource; print(resource.getrlimit(resource.RLIMIT_CPU))"
    with sandbox.Sandbox(tmp_path / "run", tmp_path) as box:
        assert [box.run(["-c", show], seconds).output for seconds in (30, 202, 600)] == [
            "(30, 35)\n", "(202, 205)\n", "(205, 205)\n"]


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """A function that runs small tests, those that call a function, and gives their names."""
    (tmp_path / "sw").mkdir()
    (tmp_path / "sw/unit.py").write_text(
        "def one(): return 1\ndef two(): return 2\ndef three(): return 3\n")
    (tmp_path / "test_it.py").write_text(
        "import pathlib, pytest, runpy, subprocess, sys, threading\n"
        "unit = runpy.run_path(str(pathlib.Path('sw/unit.py').resolve()))\n"
        "@pytest.fixture(scope='session')\n"
        "def three(): return unit['three']()\n"
        "def test_one(): assert unit['one']() == 1\n"
        "def test_two():\n"
        "    thread = threading.Thread(target=unit['two'])\n"
        "    thread.start(); thread.join()\n"
        "def test_python(): subprocess.run([sys.executable, '--version'])\n"
        "def test_three(three): pass\n")
    monkeypatch.chdir(tmp_path)

    def run(function, since=0):
        class Passed(list):
            def pytest_runtest_logreport(self, report):
                if report.when == "call" and report.passed:
                    self.append(report.nodeid.partition("::")[2])
        passed = Passed()
        pytest.main(["-q", "-c", "/dev/null", "--rootdir", ".", "-p", reach.__name__,
                     f"--calls=sw/unit.py:{function}", "--notes=notes", f"--notes-since={since}",
                     "test_it.py"], plugins=[passed])
        return passed
    return run


def test_only_tests_that_call_the_function_run(calls):
    """All tests run at first; then those that call the function, share what calls it, or start
    another Python. What is older than the sources counts for nothing."""
    every = ["test_one", "test_two", "test_python", "test_three"]
    assert calls("one") == every
    assert calls("one") == ["test_one", "test_python"]
    assert calls("two") == ["test_two", "test_python"]
    assert calls("three") == every                          # a fixture of the whole file
    assert calls("four") == ["test_python"]
    assert calls("four", since=2 ** 40) == every


@pytest.mark.parametrize("line, function", [
    (2, None), (4, "U.f"), (6, "U.f.g"), (7, "U.f"), (8, None)])
def test_the_function_of_a_fault(line, function):
    """A fault in the body of a class or a module has no function, nor has one in RTL."""
    text = ("class U:\n    a = 1\n    def f(self):\n        b = 2\n"
            "        def g():\n            c = 3\n        g()\nd = 4\n")
    found = Mutant("id", "sw/unit.py", line, text, text)
    assert reach._function(found) == (function and f"sw/unit.py:{function}")
    assert reach._function(dataclasses.replace(found, file="hw/unit.py")) is None


def test_a_limit_of_a_test():
    """An endless loop ends, whatever errors it takes for its own; the limit around it is back."""
    before = reach.resource.getrlimit(reach.resource.RLIMIT_CPU)
    with pytest.raises(reach._TooLong), reach._limited(0):
        while True:
            with contextlib.suppress(Exception):
                sum(range(1000))
    assert reach.resource.getrlimit(reach.resource.RLIMIT_CPU) == before


def test_command(capsys, tmp_path):
    """The command notices faults, keeps what it found, and leaves the sources alone."""
    before = (ROOT / "sw/golden/hashing.py").read_bytes()
    results, file = tmp_path / "results.jsonl", tmp_path / "all.json"
    command = ["mutants", "--sample", "1", "--seed", "1", "--file", "sw/golden/hashing.py",
               "--results", str(results), "--json", str(file)]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert re.search(r"(?m)^all +1 +1 +0 +0 +100\.0 %$", printed.out)
    assert "1/1 sw/golden/hashing.py:" in printed.err
    records = json.loads(file.read_text())["mutants"]
    assert {record["outcome"] for record in records} <= set(run.NOTICED)
    assert main(command) == 0
    assert "1 of 1 runs are in the file" in capsys.readouterr().err
    assert json.loads(file.read_text())["mutants"] == records
    assert (ROOT / "sw/golden/hashing.py").read_bytes() == before


def test_scores(outcomes, capsys, monkeypatch):
    """A survivor that nobody judged is a failure; an equivalent one does not count."""
    found, fail, _ = outcomes
    monkeypatch.setattr("sw.cli.options.executor", lambda *_, **__: InThisProcess())
    ids = [place.id for place in places.places("sw/golden/hashing.py")[:3]]
    found |= dict(zip(ids, ("failed", "passed", "timeout"), strict=True))
    assert main(["mutants", *ids]) == 1
    text = capsys.readouterr().out
    assert f"again: ./graphloom mutants '{ids[1]}'" in text
    assert re.search(r"(?m)^sw/golden +3 +2 +1 +0 +66\.7 %$", text)
    assert "noticed by: 1 failed, 1 timeout" in text
    for reason, score in (("no test is worth it: x", r"66\.7"), ("equivalent: y", r"100\.0")):
        monkeypatch.setattr(draw, "judged", lambda reason=reason: {ids[1]: reason})
        assert main(["mutants", *ids]) == 0
        text = capsys.readouterr().out
        assert reason in text and re.search(rf"(?m)^all +3 +2 +1 +1 +{score} %$", text)
    fail.add(f"tb/{ids[0]}")
    assert main(["mutants", *ids]) == 1
    assert "fails without a fault" in capsys.readouterr().out


def test_list(capsys):
    assert main(["mutants", "--list", "--curated", "--room", "hw/link"]) == 0
    assert "link-obeys-a-stranger  line " in capsys.readouterr().out
    id_ = places.places("sw/golden/hashing.py")[0].id
    assert main(["mutants", "--show", id_]) == 0
    text = capsys.readouterr().out
    assert text.startswith("--- a/sw/golden/hashing.py\n")
    assert "tests: tb/sw/golden/test_hashing" in text
    assert main(["mutants", "--list", "--sample", "3", "--file", "sw/golden/*s.py"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == 3
    for line in listed:                                     # what is listed can be run
        assert places.find(line.partition("  ")[0]).is_fault()


@pytest.mark.parametrize("arguments, message", [
    ([], "give one of --sample N, --curated, or the ids of mutants"),
    (["none"], "there is no mutant 'none'"),
    (["--curated", "none"], "give one of"),
    (["none", "--room", "hw"], "leave them out, or the ids"),
    (["sw/golden/hashing.py:lookup:drop:00000000"],
     "there is no mutant 'sw/golden/hashing.py:lookup:drop:0"),
    (["--sample", "3", "--room", "hw/none"], "hw/none: there is no mutant in such a room"),
    (["--curated", "--seed", "1"], "--seed applies to --sample only"),
    (["--sample", "1", "--file", "hw/core/alu.py", "--results", "/"], "cannot be written"),
])
def test_errors(capsys, arguments, message):
    assert main(["mutants", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("graphloom: error: ") and message in error and error.count("\n") == 1


def test_sources_can_be_parsed_by_position():
    """Every place is what the syntax tree says, also behind characters of several bytes."""
    text = 'é = "é"; b = é + 1\n'
    [found] = changed(text, "arithmetic")
    assert found == 'é = "é"; b = (é - 1)\n' and ast.parse(found)
