"""The whole output of commands that check, install, start and serve, as test_whole. What they call
is told."""

import contextlib
import functools
import importlib.metadata
import io
import os
import pathlib
import sys
import types

import pytest

from base.errors import UserError
from checks.formal.prove import Refuted
from hw.config import preset
from sim.errors import ToolError
from sw.cli import combinations, course, doctor, docs, packages, process
from sw.cli.execute import console
from sw.cli.main import main
from sw.cli.progress import progress
from sw.study.benchmarks.batch import Batch
from sw.study.combinations import Combination
from synth.logic import Area
from synth.place import Placement
from synth.netlist import PathStep
from tb import expected
from tb.executors import InThisProcess
from tb.told import number


EXPECTED = pathlib.Path(__file__).parent / "outputs_checks.txt"


@pytest.fixture
def shows(shows):
    """As in conftest, with the file of the texts."""
    return functools.partial(shows, EXPECTED)


def _raises(error):
    def function(*arguments, **named):
        raise error
    return function


def _gives(value):
    return lambda *arguments, **named: value


@pytest.fixture
def lines(tmp_path):
    """A list of lines that are compared with the text of a name at the end."""
    @contextlib.contextmanager
    def told(name):
        found = []
        yield lambda *words: found.append(" | ".join(map(str, words)))
        expected.check(EXPECTED, name, "\n".join(found).replace(str(tmp_path), "FOLDER"))
    return told


# doctor

@pytest.fixture
def advised(monkeypatch):
    monkeypatch.setattr(doctor, "advice", lambda *extra: " ".join(("get", *extra)))


def test_doctor(shows, monkeypatch, advised):
    checks = {"Good": _gives(("ok", "all\x1b of it", "")),
              "Part": _gives(("missing", "a part", "get\x1b it"))}
    monkeypatch.setattr(doctor, "_CHECKS", checks)
    shows("doctor", "doctor")
    monkeypatch.setattr(doctor, "_CHECKS", checks | {
        "Broken": _gives(("broken", "none", "mend it")), "Import": _raises(ImportError("no x"))})
    shows("doctor of what is broken", "doctor")


_VERSIONS = {"one": ("1.5", [1_200_000, None]), "two": ("2.0", [3_400_000]), "bare": ("1", None)}


def _distribution(name):
    if name not in _VERSIONS:
        raise importlib.metadata.PackageNotFoundError
    version, sizes = _VERSIONS[name]
    return types.SimpleNamespace(version=version, files=sizes and [
        types.SimpleNamespace(size=size) for size in sizes])


def test_packages(lines, monkeypatch, advised):
    monkeypatch.setattr(importlib.metadata, "distribution", _distribution)
    locked = [types.SimpleNamespace(requirement=text, megabytes=megabytes) for text, megabytes in (
        ("one==1.5", 1.25), ("two==2.0", 2.5), ("old==1 ; python_version < '3'", 4))]
    monkeypatch.setattr(doctor.bootstrap, "packages", lambda root, lock, extra=None: [
        each for each in locked if extra != "report" or "one" in each.requirement])
    with lines("packages") as say:
        for needed in (None, ["one>=1", "bare"], ["one>=2", "two"], ["gone"],
                       ["one", "two<2; extra == 'synth'", "gone; extra == 'board'",
                        "bare; extra == 'report' and python_version > '3'"], []):
            monkeypatch.setattr(importlib.metadata, "requires", _gives(needed) if needed is not None
                                else _raises(importlib.metadata.PackageNotFoundError()))
            say(needed)
            say(*doctor._packages())
            for extra in ("report", "synth", "board"):
                say(*doctor._extra(extra)())
        locked.append(types.SimpleNamespace(requirement="gone==1", megabytes=8))
        monkeypatch.setattr(importlib.metadata, "requires",
                            _raises(importlib.metadata.PackageNotFoundError()))
        say(*doctor._packages())
        say(*doctor._extra("synth")())


_FAILS = [sys.executable, "-c", "import sys; print('  bad\\nworse', file=sys.stderr); sys.exit(3)"]
_SILENT = [sys.executable, "-c", "import sys; sys.exit(1)"]
_WORKS = [sys.executable, "-c", ""]


def test_tools(lines, monkeypatch, advised):
    with lines("tools") as say:
        monkeypatch.setattr("sim.toolchain.verilator", _raises(ToolError("no Verilator")))
        monkeypatch.setattr("sim.toolchain.compiler", _raises(ToolError("no compiler")))
        say(*doctor._verilator())
        say(*doctor._compiler())
        found = types.SimpleNamespace(version="V 5", path="/there/it")
        monkeypatch.setattr("sim.toolchain.verilator", _gives(found))
        say(*doctor._verilator())
        for command, link in ((_FAILS, _WORKS), (_SILENT, _WORKS), (_WORKS, _FAILS),
                              (_WORKS, _WORKS)):
            monkeypatch.setattr("sim.toolchain.compiler", _gives(types.SimpleNamespace(
                version="C 9", command=command, link=link, without_library=[], environment=None)))
            state, version, step = doctor._compiler()
            say(state, version.replace(sys.executable, "PYTHON"), step)
        for path in (None, "/there/it"):
            say(*doctor._tool(_gives(path), "only its tests are skipped")())
        for name in (None, found):
            monkeypatch.setattr("synth.tools.installed", _gives(name))
            say(*doctor._synthesis("yosys")())


def test_cache(lines, monkeypatch, tmp_path):
    (tmp_path / "deep").mkdir()
    for name, size in (("one", 1_600_000), ("deep/two", 2_000_000)):
        with open(tmp_path / name, "wb") as file:
            file.truncate(size)
    (tmp_path / "deep" / "dangling").symlink_to("x" * 100)
    with lines("cache") as say:
        monkeypatch.setattr("sim.cache.root", _gives(tmp_path))
        for common in (None, "/common"):
            monkeypatch.setattr("sim.cache.shared", _gives(common))
            say(*doctor._cache())
        monkeypatch.setattr("sim.cache.root", _gives(tmp_path / "gone"))
        say(*doctor._cache())
        monkeypatch.setattr("sim.cache.root", _raises(ToolError("not yours")))
        say(*doctor._cache())


def test_graphs(lines, monkeypatch, tmp_path):
    def entry(path):
        return types.SimpleNamespace(path=path)
    with lines("graphs") as say:
        for paths in ({"a": None, "b": tmp_path}, {"a": None, "b": "/gone", "c": tmp_path / "no"}):
            monkeypatch.setattr("sw.graph.catalogue.catalogue", _gives(
                {name: entry(path) for name, path in paths.items()}))
            say(*doctor._graphs())
        monkeypatch.setattr("sw.graph.catalogue.catalogue", _raises(
            FileNotFoundError(2, "No such file", "graphs.toml")))
        say(*doctor._graphs())


def test_ports(lines, monkeypatch):
    ports = [types.SimpleNamespace(device=f"/dev/tty{place}", description=text)
             for place, text in ((2, "n/a"), (1, "a board"))]
    with lines("ports") as say:
        for found, closed in (([], ""), (ports, ""), (ports, "/dev/tty2"), (ports, "/dev/tty")):
            monkeypatch.setattr("serial.tools.list_ports.comports", _gives(found))
            monkeypatch.setattr(os, "access", lambda path, mode, closed=closed: not (
                closed and path.startswith(closed) and mode == os.R_OK | os.W_OK))
            say(*doctor._ports())


# lock

_HASH = f"--hash=sha256:{'0' * 64}"

_PYLOCK = """
lock-version = "1.0"
[[packages]]
name = "few"
wheels = [{url = "https://x/few-1-cp20-cp20-linux_s390x.whl", size = 7},
          {url = "https://x/few-1-py3-none-any.whl", size = 1250000}]
[[packages]]
name = "more"
sdist = {url = "https://x/more-2.tar.gz", size = 3000000}
[[packages]]
name = "neither"
"""


def test_lock(shows, monkeypatch, tmp_path):
    """The two locks: each package with its size, and the extras that need it."""
    asked = []

    def compile_(made, *options):
        asked.append(" ".join([made.name, *map(str, options)]).replace(str(made.parent), "PLACE"))
        if made.name == "pylock.toml":
            return _PYLOCK
        names = ["few", "more", "neither"] if made.name == "whole.txt" else [
            "few", *["more"] * any(f"--extra={name}" in options for name in ("report", "synth")),
            *["neither"] * ("--extra=board" in options)]
        text = "".join(f"{name}=={len(name)} \\\n    {_HASH}\n" for name in names)
        if made.name == "whole.txt":
            asked.append(made.read_text())
            made.write_text(text)
        return text
    monkeypatch.setattr(packages, "_compile", compile_)
    monkeypatch.setattr(packages, "ROOT", tmp_path)
    monkeypatch.setattr(packages, "need", _gives(None))
    shows("lock", "lock")
    shows("lock again", "lock", "--upgrade")
    expected.check(EXPECTED, "locks", "\n".join(
        [path.read_text() for path in sorted(tmp_path.glob("*.lock"))] + asked))


def test_the_resolver(monkeypatch, tmp_path):
    def run(command, **options):
        given.append((command, options["cwd"]))
        return types.SimpleNamespace(returncode=code, stderr=said)
    given, made = [], tmp_path / "made.txt"
    made.write_text("few==1\n")
    monkeypatch.setattr(packages.subprocess, "run", run)
    code, said = 0, ""
    assert packages._compile(made, "--more") == "few==1\n"
    (command, folder), = given
    assert command == [sys.executable, "-m", "uv", "pip", "compile", *packages._OPTIONS, "--more",
                       "--output-file", made, "pyproject.toml"] and folder == packages.ROOT
    for code, said, message in ((1, "they differ", "they differ"), (2, "", "no reason given")):
        with pytest.raises(UserError, match=f"cannot resolve .*: {message}"):
            packages._compile(made)


# prove

def _proof(shape, error=None, *, mode="induction", full=False):
    def check(folder, timeout):
        assert timeout == 7
        (folder / "waves.vcd").write_text("")
        if error is not None:
            raise error
    return types.SimpleNamespace(shape=shape, kind=mode, mode=mode, full=full, check=check)


def _promise(unit, name, *proofs, covers=(), error=None, covered=None):
    cover = _proof("", error).check
    return types.SimpleNamespace(unit=unit, name=name, promise=f"{name} holds", assumes="nothing",
                                 proofs=proofs, covers=covers, reach=4, covered=covered,
                                 check_covers=cover)


def test_prove(shows, monkeypatch, tmp_path, clock):
    from checks.formal import registry
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("checks.formal.prove.unavailable", _gives(None))
    good = _promise("one", "keep", _proof("2 lanes"), _proof("4 lanes", mode="bounded", full=True),
                    covers=("full", "empty"), covered="8 lanes")
    bad = _promise(
        "two", "lose", _proof("1", Refuted("", assertions=[f"{packages.ROOT}/hw/x.py:3", "more"],
                                           trace="waves.vcd")),
        _proof("2", Refuted("", from_reset=False)), covers=("end",),
        error=Refuted("", assertions=["end", "begin"]))
    monkeypatch.setattr(registry, "UNITS", ("one", "two"))
    monkeypatch.setattr(registry, "PROPERTIES", (good, bad))
    monkeypatch.setattr(registry, "proofs", lambda units, full: [
        (entry, proof) for entry in (good, bad) if entry.unit in units for proof in entry.proofs
        if full or not proof.full])
    shows("proofs listed", "prove", "--list")
    shows("proofs of one listed", "prove", "--list", "two")
    shows("prove one", "prove", "one", "--timeout", "7")
    shows("prove", "prove", "--full", "--timeout", "7")
    kept = sorted(path.relative_to(tmp_path / "cache" / "proofs").as_posix()
                  for path in (tmp_path / "cache" / "proofs").rglob("*"))
    assert kept == ["two-lose-1", "two-lose-1/waves.vcd", "two-lose-2", "two-lose-2/waves.vcd"]


# campaign

def test_campaign(shows, monkeypatch, clock):
    from checks.campaign import covering, work
    points = [covering.Point(place, preset("tiny").replace(name=f"point-{place}", **fields), first)
              for place, (fields, first) in enumerate((
                  ({}, (("cores", 1), ("l2_bytes", 0))), ({"cores": 2, "warps": 1}, ()),
                  ({"threads": 2}, (("threads", 2), ("counters", True)))), 1)]
    values = {"cores": (1, 2, 3), "threads": (2, 4), "counters": (False, True)}
    monkeypatch.setattr(covering, "covering", _gives(points))
    monkeypatch.setattr(covering, "required", _gives(values))
    monkeypatch.setattr(covering, "covered_by", lambda config: {
        name: getattr(config, name) for name in values})

    def run(self, executor, report, progress):
        for point in self.points:
            if point.number in self.records:
                continue
            told = functools.partial(number, f"{point.number} {self._instructions} {self._seed}")
            self.records[point.number] = record = self._file.keep(self._key(point), {
                "lockstep_instructions": told(high=90_000) * (point.number != 2),
                "compared_instructions": told(low=7), "operations": told(low=5),
                "runs": ["run"] * point.number, "refused": ["x"] * (4 - point.number),
                "build_seconds": None if point.number == 1 else 7.6,
                "seconds": None if point.number == 2 else 9.6, "failures": [
                    {"what": f"run {turn}", "message": "no luck\n", "reproduce": "again"}
                    for turn in range(2)] if point.number == 3 else []})
            report(point, record)
    monkeypatch.setattr(work.Work, "run", run)
    monkeypatch.setattr("sw.cli.campaign._drawn", _gives(77))
    with monkeypatch.context() as change:
        change.setattr("hw.config.LEGAL", values)
        shows("campaign --list", "campaign", "--list")
    words = ["campaign", "--json", "campaign.json"]
    shows("campaign", *words, "--results", "points.jsonl")
    shows("campaign again", *words, "--results", "points.jsonl")
    shows("campaign of some", *words, "--only", "2", "--only", "1", "--seed", "5",
          "--instructions", "9")
    shows("campaign of none", "campaign", "--only", "4")
    shows("campaign with a case", "campaign", "--case", "file:3")
    for more in (["--only", "1"], ["--list"], ["--results", "a"]):
        shows(f"campaign --fuzz {more[0]}", "campaign", "--fuzz", *more)


# combinations

_CHOICE = {"algorithm": "bfs", "format": "csr", "block": "none", "schedule": "vm",
           "direction": "push", "frontier": None}


def _some_combinations(*arguments):
    return [Combination(_CHOICE, None), Combination(_CHOICE | {"schedule": "weaver"}, "no unit"),
            Combination(_CHOICE | {"frontier": "bitmap"}, None),
            Combination(_CHOICE | {"algorithm": "pagerank"}, None, "KeyError: 3"),
            Combination(_CHOICE | {"algorithm": "cc", "format": "coo"}, "no unit"),
            Combination(_CHOICE | {"algorithm": "cc"}, "no room")]


def test_combinations(shows, monkeypatch, clock):
    def run(self, executor, report, begun=lambda case: None):
        for place, case in enumerate([case for case in self.cases if case not in self.records]):
            record = {"case": case.record()} | (
                {"error": "no luck", "traceback": "where"} if place == 1 else
                {"refused": "no room"} if place == 4 else
                {"cycles": number(case.describe()), "supersteps": 3, "checksum": "0",
                 "verified": True, "counters": {"cycles": number(case.describe()),
                                                "instructions": 7}})
            self.records[case] = self._file.keep(self._key(case), record)
            report(case, record, place, len(self.cases))
    monkeypatch.setattr(Batch, "run", run)
    monkeypatch.setattr(combinations, "_prepare", lambda config, functional: print(
        "prepared", config.name, functional))
    monkeypatch.setattr("sw.study.benchmarks.executors.Processes", lambda jobs: InThisProcess())
    monkeypatch.setattr("sw.study.combinations.combinations", _some_combinations)
    words = ["list", "combinations", "--json", "all.json"]
    shows("combinations", *words, "--preset", "tiny")
    shows("combinations run", *words, "--preset", "tiny", "--run", "--results", "runs.jsonl")
    shows("combinations again", *words, "--run", "--preset", "tiny", "--results", "runs.jsonl")
    shows("combinations run functionally", *words, "--run", "--functional", "--sample", "1",
          "--seed", "3", "--set", "warps=8")
    monkeypatch.setattr("sw.study.combinations.combinations",
                        lambda *arguments: _some_combinations()[:3:2])
    shows("combinations that work", *words)
    shows("too large a sample", *words, "--run", "--sample", "3")
    monkeypatch.setattr("sw.study.combinations.combinations",
                        lambda *arguments: _some_combinations()[1:2])
    shows("no combination that works", *words, "--run")


# The course

def test_course(shows, monkeypatch):
    shows("course", "course", "list")
    for code in (0, 1, 2, 5):
        monkeypatch.setattr("checks.course.checks.verdict", lambda exercise, folder, code=code: (
            print("checks", exercise.name, "in", "the tree" if folder == course.ROOT
                  else folder), code)[1])
        shows(f"course check {code}", "course", "check", "counter")
    monkeypatch.setattr("checks.course.checks.solved",
                        lambda exercise, root: contextlib.nullcontext(f"copy of {exercise.name}"))
    shows("course check of the solution", "course", "check", "cache", "--solution")


# Servers

@pytest.mark.parametrize("number", [0, 15])
def test_a_cluster(shows, monkeypatch, number):
    from sw.study.cluster import scheduler, worker
    monkeypatch.setattr(process, "received", None)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)

    def schedule(host, port, said, tls):
        said(f"tcp://{host}:{port}")
        return number

    def serve(place, jobs, said, host):
        said(f"tcp://{host or 'own'}:1")
        return number
    monkeypatch.setattr(scheduler, "schedule", schedule)
    monkeypatch.setattr(worker, "serve", serve)
    shows(f"cluster {number}", "cluster", "--port", "99", "--host", "127.0.0.2")
    shows(f"worker {number}", "worker", "tcp://127.0.0.1:8786", "--jobs", "3")
    shows(f"worker of all {number}", "worker", "127.0.0.1:8786", "--host", "127.0.0.3")


@pytest.mark.parametrize("memory", ["sdram", "dram"])
def test_a_board(shows, monkeypatch, memory):
    made = []

    class Board:
        port, cycles, problem = "/dev/pts/9", 12345, None
        to_board = types.SimpleNamespace(corrupted=1000, lost=20, repeated=3)
        to_host = types.SimpleNamespace(corrupted=400, lost=5, repeated=6)

        def __init__(self, config, report, **options):
            report("building")
            made.append((config.name, options))

        def run(self):
            if memory == "sdram":
                raise KeyboardInterrupt
            self.problem = UserError("the host is gone")

        def close(self):
            made.append("closed")
    monkeypatch.setattr("sim.board_simulator.BoardSimulator", Board)
    shows(f"board with {memory}", "board", "--memory", memory, "--corrupt", "0.5", "--lose", "0.25",
          "--repeat", "0.125", "--seed", "3", "--divisor", "9", *(
              ["--dram", "latency=9"] if memory == "dram" else []))
    (name, options), closed = made
    assert (name, closed, options.pop("dram").latency) == (
        "fpga", "closed", 9 if memory == "dram" else 100)
    assert options == {"corrupt": 0.5, "lose": 0.25, "repeat": 0.125, "seed": 3, "divisor": 9,
                       "sdram": memory == "sdram"}
    shows("board with dram and sdram", "board", "--dram", "latency=9")
    shows("board with nothing", "board", "--memory", "none")


def test_live(shows, monkeypatch):
    served = []

    class Server(contextlib.nullcontext):
        def __init__(self, *arguments):
            super().__init__(self)
            self.url = f"http://{arguments}"

        def serve_forever(self):
            served.append(self.url)
            raise KeyboardInterrupt
    monkeypatch.setattr("sw.show.live.server.LiveServer", Server)
    monkeypatch.setattr("sw.show.live.export.export", lambda folder, tell: (tell("runs"), {
        "index.html": 5000, "runs/a": 1200, "runs/b": 7})[1])
    shows("live", "live")
    shows("live page of a graph", "live", "karate", "--port", "0", "--host", "0.0.0.0")
    assert main(["live", "nothing-there"]) == 2
    shows("live export", "live", "--export", "made")
    for words in (["karate"], ["--port", "0"], ["--host", "x"]):
        shows(f"live export {words[0]}", "live", "--export", "made", *words)
    assert len(served) == 2


# Bitstreams

@pytest.mark.parametrize("memory", ["bram", "sdram"])
def test_synth_board(shows, monkeypatch, memory, tmp_path):
    path = (PathStep(1.25, "clk-to-q", "unit.a"), PathStep(2.5, "setup", None))
    placements = [Placement(seed, 50.0 + seed, 3, path, {"LUT": 9}, 4.6, tmp_path / "logs")
                  for seed in (3, 1)]
    area = Area(**{name: number(name) for name in Area.__dataclass_fields__})

    def build(board, *, seeds, every, jobs, heard):
        heard("synthesis", "yosys")
        heard("synthesis", "more")
        heard("place", "seed 3")
        print(board.config.name, board.frequency, board.memory, board.baud, seeds, every, jobs)
        return types.SimpleNamespace(
            data=b"bits", placement=placements[1], placements=placements,
            logic=types.SimpleNamespace(area=area, seconds=1.5, log=tmp_path / "log", cells={},
                                        memories={}))

    class Board:
        sdram_delay = 2.345

        def __init__(self, config, frequency, memory, baud):
            self.config, self.frequency, self.memory, self.baud = config, frequency, memory, baud
            self.clock = types.SimpleNamespace(margin=1.005) if memory == "sdram" else None
    monkeypatch.setattr("synth.ulx3s.build", build)
    monkeypatch.setattr("synth.ulx3s.Ulx3s", Board)
    words = ["--frequency", "62.5", "--every", "--jobs", "2", "--baud", "1200"] if (
        memory == "sdram") else ["--memory", "bram", "--seeds", "3,1", "--set", "warps=2"]
    shows(f"synth board with {memory}", "synth", "board", *words, "--json", "board.json", "-o",
          "x.bit")
    assert pathlib.Path("x.bit").read_bytes() == b"bits"


# Pages

def test_docs(shows, monkeypatch, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "old.md").write_text("old\n")
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    monkeypatch.setattr(docs, "need", _gives(None))
    monkeypatch.setattr(docs, "_outputs", _gives({"old.md": "old\n", "new/a.md": "a\n",
                                                  "b.svg": "b\n"}))
    (tmp_path / "docs" / "b.svg").write_text("c\n")
    shows("docs --check", "docs", "--check")
    assert not (tmp_path / "docs" / "new").exists()
    shows("docs", "docs")
    assert (tmp_path / "docs" / "new" / "a.md").read_text() == "a\n"
    shows("docs again", "docs")
    shows("docs --check again", "docs", "--check")
    from sw.show.figures import diagram, pictures
    monkeypatch.setattr(docs, "_outputs", _raises(diagram.OutOfDate("the trace is old")))
    monkeypatch.setattr(pictures, "RECORDS", {"made.json": _gives("{}\n")})
    monkeypatch.setattr(pictures, "FOLDER", "docs")
    shows("docs --record", "docs", "--record")
    assert (tmp_path / "docs" / "made.json").read_text() == "{}\n"
    monkeypatch.setattr("sw.show.site.build.serve", lambda port: print("serves", port))
    monkeypatch.setattr("sw.show.site.build.build", lambda folder: ["a line"] * (folder == "bad"))
    for words in (["--serve"], ["--serve", "--port", "9"], ["--port", "9"], ["--site", "good"],
                  ["--site", "bad"], ["--check", "--serve"], ["--record", "--site", "good"]):
        shows(f"docs {' '.join(words)}", "docs", *words)


def test_lint(shows, monkeypatch):
    from sw.cli import lint
    monkeypatch.setattr(lint, "need", lambda *words: print("needs", *words))
    monkeypatch.setattr(lint, "obtain", lambda *words: print("obtains", *words))
    for codes in ((0, 0), (1, 0), (0, 1)):
        left = list(codes)
        monkeypatch.setattr(lint.subprocess, "run", lambda command, left=left, **options: (
            print(*command[1:]), types.SimpleNamespace(returncode=left.pop(0)))[1])
        shows(f"lint {codes}", "lint")


# Microbenchmarks, and times

def test_bench_core(shows, monkeypatch):
    from sw.study.benchmarks import core
    closed = []

    class Machine:
        def __init__(self, config, memory, report):
            report(f"[building] {config.warps} warps, latency {memory.latency}")
            self.close = lambda: closed.append(config)
    monkeypatch.setattr("sim.native.NativeMachine", Machine)
    for name, benchmark in core.BENCHMARKS.items():
        monkeypatch.setitem(core.BENCHMARKS, name, types.SimpleNamespace(
            configure=benchmark.configure, unit=benchmark.unit, doc=benchmark.doc,
            measure=lambda machine, name=name: core.RateMeasurement(
                number(name) / 7000, number(f"{name} peak") / 1000, number(name) * 10)))
    shows("bench core", "bench", "core", "--json", "core.json", "--dram", "latency=77")
    assert len(closed) == 2                             # alu has four warps
    shows("bench core of some", "bench", "core", "gather", "alu", "--preset", "tiny")


def test_bench_compiling(shows, monkeypatch):
    from sw.study.benchmarks import compiling
    monkeypatch.setattr("sw.lang.programs.names", _gives(("bfs", "cc")))
    monkeypatch.setattr(compiling, "measured", lambda name, config, schedule, repeat: {
        step: number(f"{name} {config.name} {schedule} {repeat} {step}") / 1000
        for step in compiling.STEPS} | {"bytes": number(name)})
    shows("bench compiling", "bench", "compiling", "--json", "times.json", "--repeat", "3",
          "--schedule", "em")


def test_bench_ranking(shows, monkeypatch, tmp_path):
    """Ways that are in the file are not measured again; a wrong result ends the command."""
    import datetime

    from sw.study.benchmarks import ranking

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2026, 3, 4, 23, tzinfo=tz)

    def measured(spec, algorithm, weights, repeat, ways):
        asked.append((spec, algorithm, weights, repeat, len(ways)))
        for way in ways:
            if (spec, algorithm, way) == wrong:
                raise RuntimeError(f"{way}: no luck")
            yield way, {"seconds": [number(f"{spec} {algorithm} {way} {turn}") / 1e6
                                    for turn in range(repeat)], "schedule": way.schedule}

    def counted(spec, weights, wanted):
        asked.append({name: len(ways) for name, ways in wanted.items()})
        return {"bfs": {ranking.WAYS[2]: {"dram_bytes": 7}}}
    asked, wrong = [], ("road:side=3", "cc", ranking.WAYS[4])
    monkeypatch.setattr("sw.cli.bench_ranking.datetime.datetime", Clock)
    monkeypatch.setattr(ranking, "described", _gives({"device": "A GPU", "driver": "5"}))
    monkeypatch.setattr(ranking, "measured", measured)
    monkeypatch.setattr(ranking, "counted", counted)
    words = ["bench", "ranking", "karate", "road:side=3", "--algorithms", "bfs,cc", "--repeat", "2",
             "--record", "gpu.jsonl"]
    shows("bench ranking with a wrong result", *words, "--counters")
    kept = (tmp_path / "gpu.jsonl").read_text().splitlines()
    wrong = None
    shows("bench ranking", *words, "--counters")
    shows("bench ranking again", *words)
    shows("bench ranking with other weights", *words, "--weights", "9")
    lines = (tmp_path / "gpu.jsonl").read_text().splitlines()
    assert lines[:len(kept)] == kept and len(kept) == 14 * 3 + 4 and len(lines) == 14 * 8
    expected.check(EXPECTED, "ways of the ranking", "\n".join([
        *map(str, asked), *(line for line in lines if '"dram_bytes"' in line), lines[-1]]))
    shows("bench ranking without a file", "bench", "ranking", "karate")
    shows("bench ranking of a CPU", "bench", "ranking", "karate", "--vm", "cpu")


# Terminals

class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal(monkeypatch):
    """Lines are broken between words; progress is a bar, which ends without a trace."""
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", _Terminal())
    console().say("one line of more-than-thirty characters\nand 1,234,567,890,123,456,789,012,345")
    assert sys.stdout.getvalue().splitlines() == [
        "one line of more-than-thirty", "characters", "and", "1,234,567,890,123,456,789,012,345"]
    monkeypatch.setattr(sys, "stderr", _Terminal())
    monkeypatch.setenv("COLUMNS", "100")
    with progress(7, 2, str, str) as (begun, ended, aside):
        begun("a case")
        begun("a case", "half\ndone")
        ended("a case", {})
        with aside():
            print("[aside]", file=sys.stderr)
        begun("another")
    said = sys.stderr.getvalue()
    assert said.startswith("2 of 7 runs are in the file\n") and "3/7" in said
    assert "a case: half" in said                       # a bar has one line
    assert said.index("\x1b[?25h") < said.index("[aside]") < said.rindex("\x1b[?25l")


def test_progress_without_a_terminal(capsys):
    with progress(7, 0, str, lambda record: record.get("error", "good"), 3) as (begun, ended, _):
        begun("nothing")
        for place in range(1, 7):
            ended(f"case {place}", {"error": "bad"} if place == 4 else {})
    assert capsys.readouterr().err.splitlines() == [
        "3/7 case 3: good", "4/7 case 4: bad", "6/7 case 6: good"]


def test_report(shows, monkeypatch):
    def page(title, plots):
        return types.SimpleNamespace(title=title, kind="runs", blocks=[
            types.SimpleNamespace(variants=variants) for variants in plots])
    for plots in ([{"a": 1}, {}], [{"a": 1}, {"b": 2, "c": 3}]):
        monkeypatch.setattr("sw.show.report.build.build", lambda results, output, plots=plots: [
            (f"{output}/{name}.html", page(name.title(), plots)) for name in results])
        shows(f"report with {len(plots[1])}", "report", "one", *["two"] * bool(plots[1]), "-o",
              "out")


def test_tests(shows, monkeypatch):
    """What the command starts, and its exit codes."""
    from sw.cli import tests
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(tests, "need", _gives(None))
    monkeypatch.setattr(tests, "tied", _gives(None))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)

    def start(code):
        class Process:
            def __init__(self, command, *, cwd, preexec_fn, env):
                assert cwd == tests.ROOT and env["PYTHONPATH"] == str(tests.ROOT)
                print(*command[1:], env.get(tests._VARIABLE))

            def wait(self):
                return code
        monkeypatch.setattr(tests.subprocess, "Popen", Process)
    for code in (0, 1, 2, 3, 5):
        start(code)
        shows(f"test {code}", "test", "--seed", str(code))
    start(0)
    for words in (["--quick"], ["--full", "-n2"], ["-n", "0"], ["--numprocesses", "1"], ["--pdb"],
                  ["-nx"], ["--seed", "4294967295"], ["--seed", "4294967296"],
                  ["--seed=-1"], ["--quick", "--full"]):
        shows(f"test {' '.join(words)}", "test", *words)
    assert main(["test", "--seed", "x"]) == 2
