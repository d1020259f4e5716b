"""Bad input to the command line: one clear line, exit code 2, and nothing runs or is written."""

import gc
import gzip
import json
import os
import pathlib
import resource

import pytest

from sim import toolchain
from sw.cli.main import main
from sw.device import Device


GENERATED = "rmat:scale=4,degree=2,seed=1"


def refused(capsys, *arguments):
    """Run a command that must be refused, and return its one line."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    assert lines[0].startswith("graphloom: error: ")
    return lines[0]


@pytest.mark.parametrize("arguments, words", [
    (["nonsense"], ["nonsense"]),
    (["run"], ["ALGORITHM"]),
    (["run", "bfs", "missing.el"], ["missing.el"]),
    (["run", "bfs", "nothing:scale=4"], ["nothing"]),
    (["run", "bfs", "rmat:scale=4,degree=2,size=3"], ["size"]),
    (["run", "bfs", "rmat:scale=x,degree=2"], ["scale", "x"]),
    (["run", "sort", GENERATED], ["sort", "bfs", "pagerank"]),
    (["run", "bfs", GENERATED, "--schedule", "lucky"], ["lucky", "weaver"]),
    (["run", "bfs", GENERATED, "--format", "zip"], ["zip", "csr"]),
    (["graph", "formats", GENERATED, "--formats", "csr,zip"], ["zip", "csr", "cr2"]),
    (["graph", "formats", GENERATED, "--formats", "cr2:cluster_bits=20"],
     ["cluster_bits", "20", "1 to 16"]),
    (["graph", "formats", GENERATED, "--formats", ","], ["--formats"]),
    (["graph", "formats", GENERATED, "--direction", "up"], ["up", "push or pull"]),
    (["graph", "formats", "missing.el"], ["missing.el"]),
    (["bench", "formats", "--formats", "tigr:k=0"], ["k", "1 to 65536"]),
    (["run", "bfs", GENERATED, "--preset", "huge"], ["huge", "tiny"]),
    (["run", "bfs", GENERATED, "--set", "warps=3"], ["warps", "3", "power of two"]),
    (["run", "bfs", GENERATED, "--set", "gather=graphpeg", "--set", "alwt_entries=3"],
     ["alwt_entries = 3", "power of two from 4 to 64"]),
    (["run", "bfs", GENERATED, "--set", "gather=graphpeg", "--set", "exchange_interval=64"],
     ["exchange_interval = 64", "must be 0 with one core"]),
    (["run", "bfs", GENERATED, "--set", "gather=graphpeg", "--set", "cores=2", "--set",
      "exchange_interval=100"], ["exchange_interval = 100", "0 or a power of two from 64 to 4096"]),
    (["run", "bfs", GENERATED, "--schedule", "graphpeg", "--set", "gather=stream"],
     ["'graphpeg' needs GraphPEG", "gather = 'stream'", "gather = 'graphpeg' has it"]),
    (["run", "bfs", GENERATED, "--schedule", "weaver", "--set", "gather=graphpeg"],
     ["'weaver' needs a Weaver or EGHW", "gather = 'graphpeg'", "'stream' or 'eghw' has one"]),
    (["compare", "bfs", GENERATED, "--schedules", "graphpeg", "--set", "gather=stream"],
     ["'graphpeg' needs GraphPEG", "gather = 'stream'"]),
    (["run", "sssp", GENERATED, "--schedule", "graphpeg"], ["weights of edges", "--weights"]),
    (["run", "bfs", GENERATED, "--schedule", "graphpeg", "--format", "tigr:k=3"],
     ["rows of vertices by their offsets", "'tigr:k=3'", "format 'csr'"]),
    (["run", "bfs", GENERATED, "--schedule", "graphpeg", "--split", "counter"],
     ["'graphpeg'", "split=counter", "split=static"]),
    (["run", "bfs", GENERATED, "--schedule", "vm", "--frontier", "lists"],
     ["'lists'", "units of the cores keep; graphpeg can", "'vm'"]),
    (["run", "bfs", GENERATED, "--set", "divider=fast"], ["divider", "fast", "serial"]),
    (["run", "bfs", GENERATED, "--set", "warps"], ["warps", "FIELD=VALUE"]),
    (["run", "bfs", GENERATED, "--set", "colour=3"], ["colour"]),
    (["run", "bfs", GENERATED, "--set", "threads=many"], ["threads", "many"]),
    (["run", "bfs", GENERATED, "--dram", "latency=0"], ["latency", "0"]),
    (["run", "bfs", GENERATED, "--trace", "a.csv"], ["a.csv", ".txt", ".json"]),
    (["run", "bfs", GENERATED, "--trace-cycles", "1:2"], ["--trace"]),
    (["run", "bfs", GENERATED, "--trace", "a.txt", "--trace-cycles", "5"], ["5", "FROM:TO"]),
    (["run", "bfs", GENERATED, "--trace", "a.txt", "--trace-cycles", "9:9"], ["9:9", "200000"]),
    (["run", "bfs", GENERATED, "--trace", "a.txt", "--trace-cycles", "0:200001"], ["200000"]),
    (["run", "bfs", GENERATED, "--dram", "speed=1"], ["speed", "latency"]),
    (["run", "bfs", GENERATED, "--dram", "slow_latency=300"],
     ["slow_latency = 300", "no slow region", "slow_bytes_per_cycle from 1 to 1024"]),
    (["run", "bfs", GENERATED, "--dram", "slow_bytes_per_cycle=4", "--dram", "slow_queue=0"],
     ["slow_queue = 0", "1 to 1024"]),
    (["compare", "bfs", GENERATED, "--schedules", "vm", "--dram", "slow_bytes_per_cycle=1025"],
     ["slow_bytes_per_cycle = 1025", "0 to 1024"]),
    (["run", "bfs", GENERATED, "--device", "serial:/dev/null", "--dram", "slow_bytes_per_cycle=4"],
     ["--dram applies to simulations only"]),
    (["exec", "a.elf", "--dram", "slow_bytes_per_cycle=4"],
     ["slow_bytes_per_cycle", "only edges", "a bare-metal program has no graph"]),
    (["bench", "core", "--dram", "slow_bytes_per_cycle=4"],
     ["slow_bytes_per_cycle", "only edges", "a microbenchmark has no graph"]),
    (["run", "bfs", GENERATED, "--direction", "sideways"], ["sideways"]),
    (["run", "bfs", GENERATED, "--frontier", "stack"], ["stack", "queue", "bitmap"]),
    (["run", "bfs", GENERATED, "--frontier", "queue", "--schedule", "em"],
     ["queue", "cannot begin with a list of vertices"]),
    (["run", "pagerank", GENERATED, "--frontier", "counter"], ["pagerank", "all vertices"]),
    (["run", "cc", GENERATED, "--frontier", "rqueue"], ["rqueue", "push"]),
    (["run", "pagerank", GENERATED, "--dedup"], ["pagerank", "deduplication"]),
    (["compare", "sssp", GENERATED, "--weights", "9", "--schedules", "vm,em", "--delta", "5",
      "--frontier", "queue"], ["em", "queue", "cannot begin with a list of vertices"]),
    (["run", "sssp", GENERATED, "--weights", "9", "--delta", "5", "--no-dedup"], ["far pile"]),
    (["run", "sssp", GENERATED, "--weights", "9", "--delta", "0"], ["delta", "0", "4294967295"]),
    (["run", "sssp", GENERATED, "--weights", "9", "--delta", "1.5"], ["delta", "1.5", "whole"]),
    (["run", "bfs", GENERATED, "--delta", "5"], ["bfs", "delta"]),
    (["run", "bfs", GENERATED, "--source", "16"], ["16"]),
    (["run", "bfs"], ["GRAPH"]), (["compare", "bfs"], ["GRAPH"]),
    (["run", "bfs", GENERATED, "--plan", "bfs"], ["--plan bfs", "give GRAPH alone"]),
    (["run", GENERATED, "--plan", "bfs shedule=vm"], ["character 5", "shedule", "schedule"]),
    (["run", GENERATED, "--plan", "bfs | bfs when depth>=1"], ["depth", "frontier"]),
    (["compare", GENERATED, "--plan", "bfs | cc when frontier>=1"], ["algorithm", "bfs", "cc"]),
    (["run", "bfs", GENERATED, "--warps", "99"], ["warps", "99", "from 1 to 64"]),
    (["run", "bfs", GENERATED, "--warps", "0"], ["--warps", "0"]),
    (["run", "bfs", GENERATED, "--source", "first"], ["first"]),
    (["run", "pagerank", GENERATED, "--source", "1"], ["source"]),
    (["run", "bfs", GENERATED, "--max-cycles", "0"], ["0"]),
    (["run", "bfs", GENERATED, "--wave", "run.txt"], ["run.txt", ".fst", ".vcd"]),
    (["run", "bfs", GENERATED, "--output", "out.txt"], ["out.txt", ".npz"]),
    (["compare", "bfs", GENERATED, "--schedules", "vm,lucky"], ["lucky"]),
    (["compare", "bfs", GENERATED, "--schedules", "vm,vm"], ["twice"]),
    (["compare", "bfs", GENERATED, "--schedules", ","], ["--schedules"]),
    (["compare", "bfs", GENERATED, "--schedules", "vm,,em"], ["vm,,em", "empty"]),
    (["bench", "cores", "--cores", "2,1,2"], ["--cores 2,1,2", "2 is given twice"]),
    (["run", "pagerank", GENERATED, "--iterations", "0"], ["--iterations 0", "at least 1"]),
    (["run", "pagerank", GENERATED, "--tolerance", "x"], ["--tolerance", "x"]),
    (["run", "gcn", GENERATED, "--dimension", "65"], ["dimension is 65", "from 1 to 64"]),
    (["run", "gcn", GENERATED, "--features", "none.npz"], ["none.npz", "no such file"]),
    (["run", "gcn", GENERATED, "--density", "2"], ["density is 2", "from 0 to 1"]),
    (["run", "bfs", GENERATED, "--dimension", "3"],
     ["No such option: --dimension", "bfs has the parameters --source"]),
    (["run", "cc", GENERATED, "--rounds=3"], ["No such option: --rounds", "cc has no parameters"]),
    (["run", "lucky", GENERATED, "--rounds", "3"], ["no algorithm 'lucky'"]),
    (["run", "bfs", GENERATED + ","], ["''", "PARAMETER=VALUE"]),
    (["run", "bfs", GENERATED, "--set", "name=x"], ["'name'", "warps"]),
    (["prove", "--timeout", "inf"], ["--timeout inf", "a number from 1 to 10000000"]),
    (["board", "--lose", "2"], ["--lose 2", "from 0.0 to 1.0"]),
    (["campaign", "--only", "x"], ["--only x", "a whole number"]),
    (["campaign", "--only", "3", "--only", "03"], ["--only: 3 is given twice"]),
    (["prove", "barrier", "barrier"], ["UNIT: barrier is given twice"]),
    (["run", "bfs", GENERATED, "--preset", ""], ["--preset is empty"]),
    (["run", "bfs", GENERATED, "--json", ""], ["--json is empty"]),
    (["run", "bfs", ""], ["GRAPH is empty"]),
    (["bench", "core", "alu", ""], ["BENCHMARK is empty"]),
    (["run", "bfs", GENERATED, "--max-cycles", "9" * 30], ["--max-cycles 99", "below 2**64"]),
    (["run", "bfs", GENERATED, "--seed", "3"], ["--seed 3", "no seed"]),
    (["run", "bfs", "rmat:scale=4, seed = 5,degree=2", "--seed", "3"], ["--seed 3", "no seed"]),
    (["run", "bfs", "karate", "--seed", "3"], ["--seed 3", "--weights"]),
    (["run", "bfs", "rmat:", "--seed", "3"], ["rmat:seed=3", "needs scale"]),
    (["graph", "formats", GENERATED, "--formats", "csr,tigr,csr"], ["csr is given twice"]),
    (["graph", "formats", GENERATED, "--formats", "csr,"], ["empty"]),
    (["bench", "sim", "--schedule", "lucky"], ["lucky", "weaver"]),
    (["bench", "schedules"], ["name a graph, --folder or --rmat"]),
    (["bench", "sim", "--graph", "karate", "--set", "gather=none"], ["gather = 'none'"]),
    (["synth", "board", "--frequency", "0"], ["0 MHz", "6.25 MHz"]),
    (["verilog", "toaster"], ["toaster", "weaver", "scu"]),
    (["verilog", "scu"], ["scu = 0", "1 or 4"]),
    (["verilog", "fsm", "--name", "8bit"], ["--name 8bit", "letter"]),
    (["verilog", "fsm", "--name", "module"], ["--name module", "Verilog"]),
    (["verilog", "fsm", "--svd", "a.svd"], ["--svd a.svd", "fsm has no registers"]),
    (["verilog", "fsm", "--page", "a.v"], ["a.v", ".md"]),
    (["verilog", "link", "--frequency", "3"], ["3 MHz", "1000000 baud"]),
    (["verilog", "sdram", "--frequency", "900"], ["900"]),
    (["verilog", "scu", "--set", "scu=2"], ["scu = 2", "0, 1 or 4"]),
    (["lockstep", "--shape", "32x32", "--set", "memory_bytes=0x10000"], ["memory_bytes", "65536"]),
    (["campaign", "--only", "0"], ["--only 0", "configurations 1 to "]),
    (["campaign", "--json", "campaign.txt"], ["campaign.txt", ".json"]),
    (["campaign", "--results", "missing/campaign.jsonl"], ["missing/campaign.jsonl"]),
    (["graph", "info", "missing.mtx.gz"], ["missing.mtx.gz"]),
    (["graph", "generate", "karate", "out.el"], ["karate", "rmat"]),
    (["graph", "generate", GENERATED], ["name the file to write"]),
    (["graph", "convert", "karate", "out.txt"], ["out.txt"]),
])
def test_refused(capsys, arguments, words):
    line = refused(capsys, *arguments)
    for word in words:
        assert word in line


@pytest.mark.parametrize("option, values", [
    ("--source", ["1", "2"]), ("--schedule", ["vm", "em"]), ("--format", ["csr", "csr"]),
    ("--json", ["a.json", "b.json"]), ("--preset", ["tiny", "fpga"]), ("--seed", ["1", "1"]),
    ("--simplify", ["", ""]), ("--max-cycles", ["5", "6"])])
def test_given_twice(capsys, option, values):
    words = [word for value in values for word in (option, value) if word]
    assert f"{option} is given twice" in refused(capsys, "run", "bfs", GENERATED, *words)


@pytest.mark.parametrize("arguments, option", [
    (["run", "bfs", "karate", "--dedup", "--no-dedup"], "--dedup or --no-dedup"),
    (["graph", "info", "karate", "--json", "a", "--json", "b"], "--json"),
    (["bench", "sim", "--graph", "a", "--graph", "b"], "--graph"),
    (["synth", "weaver", "--place", "--no-place"], "--place or --no-place"),
    (["synth", "board", "-o", "a.bit", "--output", "b.bit"], "--output"),
    (["docs", "--check", "--check"], "--check")])
def test_given_twice_in_any_command(capsys, arguments, option):
    assert f"{option} is given twice" in refused(capsys, *arguments)


def test_field_set_twice(capsys):
    for option, field in (("--set", "warps"), ("--dram", "queue")):
        line = refused(capsys, "run", "bfs", GENERATED, option, f"{field}=4", option,
                       f" {field} = 8")
        assert f"{field} is set twice" in line


def test_a_list_may_be_repeated(capsys):
    """A list may be repeated. Help is shown even if other options are wrong."""
    assert main(["run", "--help", "--source", "x", "--source", "y"]) == 0
    capsys.readouterr()
    assert "a.elf" in refused(capsys, "exec", "a.elf", "--read", "a", "--read", "b")


@pytest.mark.parametrize("number", ["٣", "３", "1_0", " 3", "3 ", "+3", "", "3" * 5000])
@pytest.mark.parametrize("before, text", [
    (["run", "bfs", GENERATED, "--source"], "{}"),
    (["run", "bfs", GENERATED, "--seed"], "{}"),
    (["run", "pagerank", GENERATED, "--tolerance"], "{}"),
    (["run", "sssp", GENERATED, "--delta"], "{}"),
    (["run", "bfs", GENERATED, "--device"], "serial:/dev/null@{}"),
    (["run", "bfs", GENERATED, "--trace", "a.txt", "--trace-cycles"], "0:{}"),
    (["exec", "a.elf", "--argument"], "{}"),
    (["lockstep", "--shape"], "{}x4"),
    (["campaign", "--only"], "{}")])
def test_what_is_no_number(capsys, number, before, text):
    refused(capsys, *before, text.format(number))


@pytest.mark.parametrize("number", ["٣", "３", "1_0", "+3", "", "3" * 5000])
@pytest.mark.parametrize("before, text", [
    (["run", "bfs"], "rmat:scale={},degree=2"),
    (["run", "bfs"], "powerlaw:vertices=9,edges=9,exponent={}"),
    (["run", "bfs", GENERATED, "--set"], "warps={}"),
    (["run", "bfs", GENERATED, "--dram"], "queue={}"),
    (["run", "bfs", GENERATED, "--schedule"], "vwc:width={}"),
    (["run", "bfs", GENERATED, "--format"], "tigr:k={}"),
    (["synth", "weaver", "--seeds"], "7,{}"),
    (["bench", "cores", "--cores"], "7,{}")])
def test_what_is_no_number_in_a_list(capsys, number, before, text):
    """The list allows spaces around a number, so these are not tried here."""
    refused(capsys, *before, text.format(number))


@pytest.mark.parametrize("name, text, words", [
    ("far.wel", "0 1 5\n1 2 -3\n", ["far.wel", "2", "-3"]),
    ("half.wel", "0 1 0.5\n", ["half.wel", "0.5"]),
    ("short.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 2\n", ["short.mtx"]),
    ("range.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 4\n",
     ["range.mtx", "4"]),
    ("empty.el", "", ["empty.el"]),
    ("words.el", "0 1\none two\n", ["words.el", "2"]),
])
def test_bad_graph_file(capsys, tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    line = refused(capsys, "run", "sssp", str(path))
    for word in words:
        assert word in line


def test_truncated_gz(capsys, tmp_path):
    whole = gzip.compress(b"0 1\n" * 10_000)
    path = tmp_path / "cut.el.gz"
    path.write_bytes(whole[:len(whole) // 2])
    assert "cut.el.gz" in refused(capsys, "graph", "info", str(path))


@pytest.mark.parametrize("option, name", [("--json", "a.json"), ("--output", "a.npz"),
                                          ("--wave", "a.fst"), ("--trace", "a.txt"),
                                          ("--trace", "a.json")])
def test_output_is_checked_before_the_run(capsys, tmp_path, monkeypatch, option, name):
    monkeypatch.setattr("sw.device.Device.simulate", None)        # a run would fail otherwise
    (tmp_path / name).mkdir()
    for target in (tmp_path / "missing" / name, tmp_path / name):
        assert str(target) in refused(capsys, "run", "bfs", GENERATED, option, str(target))
    if os.geteuid() != 0:
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        assert "denied" in refused(capsys, "run", "bfs", GENERATED, option, str(locked / name))


def test_graph_larger_than_memory(capsys):
    line = refused(capsys, "run", "bfs", "rmat:scale=12,degree=16,seed=1", "--set",
                   "memory_bytes=0x10000")
    assert "memory" in line


#: A name that colours the terminal, rings the bell, and turns the direction of writing.
HOSTILE = "a\x1b[31m\x07\u202e"


@pytest.mark.parametrize("arguments", [
    [HOSTILE], ["--" + HOSTILE], ["run", HOSTILE, "karate"], ["run", "bfs", HOSTILE],
    ["run", "bfs", "karate", HOSTILE], ["run", "bfs", f"{HOSTILE}:scale=4"],
    ["run", "bfs", f"rmat:{HOSTILE}"], ["run", "bfs", "karate", "--set", HOSTILE],
    ["run", "bfs", "karate", "--set", f"warps={HOSTILE}"],
    ["run", "bfs", "karate", "--dram", f"{HOSTILE}=4"],
    ["run", "bfs", "karate", "--format", HOSTILE],
    ["run", "bfs", "karate", "--schedule", f"vwc:{HOSTILE}"],
    ["run", "bfs", "karate", "--source", HOSTILE], ["run", "bfs", "karate", "--output", HOSTILE],
    ["run", "bfs", "karate", "--json", f"{HOSTILE}/a.json"],
    ["run", "bfs", "karate", "--device", f"serial:/{HOSTILE}"],
    ["graph", "info", f"{HOSTILE}.el"], ["graph", "info", f"{HOSTILE}.npz"],
    ["graph", "convert", "karate", f"{HOSTILE}.el/x.el"], ["graph", HOSTILE],
    ["graph", "formats", "karate", "--formats", HOSTILE], ["exec", HOSTILE], ["verilog", HOSTILE],
    ["list", HOSTILE], ["list", "combinations", "--only", HOSTILE],
    ["lockstep", "--shape", HOSTILE], ["course", "check", HOSTILE],
    ["live", HOSTILE], ["live", "--host", HOSTILE], ["live", "--export", f"{HOSTILE}/x/y"],
    ["prove", HOSTILE], ["reproduce", HOSTILE], ["reproduce", "cr2", HOSTILE],
    ["reproduce", "cr2", "--folder", HOSTILE], ["bench", "core", HOSTILE],
    ["bench", "cores", HOSTILE], ["synth", HOSTILE], ["synth", "weaver", "--logs", HOSTILE]])
@pytest.mark.parametrize("change", [lambda text: text,
                                    lambda text: text.replace("a", "a " * 50_000),
                                    lambda text: text.replace("a", "a" * 100_000),
                                    lambda text: text.replace("a", os.fsdecode(b"\xe9"))],
                         ids=["plain", "words", "long", "bytes"])
def test_messages_are_printable_and_bounded(capsys, arguments, change):
    line = refused(capsys, *(change(argument) if HOSTILE in argument else argument
                             for argument in arguments))
    assert line.isprintable() and len(line) < 2000


def test_no_nul(capsys):
    assert "NUL" in refused(capsys, "graph", "info", "a\0.el")


def test_a_part_that_is_refused_leaves_no_warning(capsys):
    """Amaranth warns of unused parts when they are collected."""
    refused(capsys, "synth", "board", "--memory", "bram")
    gc.collect()
    assert capsys.readouterr().err == ""


def test_a_refused_study_leaves_no_folder(capsys, tmp_path):
    (tmp_path / "runs").mkdir()
    refused(capsys, "reproduce", "cr2", "fig3.8", "--output", str(tmp_path / "out"), "--results",
            str(tmp_path / "runs"))
    assert os.listdir(tmp_path) == ["runs"]


def test_names_that_are_not_utf8(capfdbinary, tmp_path, monkeypatch):
    """Such names work as input and as output, and are shown with escapes."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xe9\x1b")
    os.mkdir(folder)
    paths = [f"{folder}/{os.fsdecode(name)}" for name in (
        b"\xff.wel", b"\xff.npz", b"\xff.mtx.gz", b"\xff.gr", b"\xff.wel.gz")]
    for old, new in zip(["road:side=4,seed=1", *paths], paths):
        assert main(["graph", "convert", old, new]) == 0
    assert main(["graph", "info", paths[0], "--json", f"{folder}/\udcff.json"]) == 0
    assert main(["graph", "formats", paths[1], "--formats", "csr", "--repeat", "1", "--json",
                 f"{folder}/\udcfe.json"]) == 0
    assert main(["verilog", "weaver", "--preset", "tiny", "-o", f"{folder}/\udcff.v"]) == 0
    monkeypatch.setattr("sw.device.Device.simulate",
                        lambda config, **settings: Device.functional(config))
    assert main(["run", "bfs", paths[2], "--preset", "tiny", "--json", f"{folder}/\udcfd.json",
                 "--output", f"{folder}/\udcfd.npz"]) == 0
    spec = json.loads(pathlib.Path(f"{folder}/\udcfd.json").read_bytes())["graph"]["spec"]
    assert spec == paths[2]
    assert len(os.listdir(os.fsencode(folder))) == 10
    captured = capfdbinary.readouterr()
    assert b"\xff" not in captured.out + captured.err and b"\x1b" not in captured.out
    assert b"\\xe9\\x1b/\\xff.wel: 16 vertices" in captured.out


@pytest.mark.parametrize("environment, words", [
    ({"GRAPHLOOM_CACHE": "{}/file"}, ["/file:", "set GRAPHLOOM_CACHE"]),
    ({"GRAPHLOOM_CACHE": "{}/file/cache"}, ["/file/cache:", "set GRAPHLOOM_CACHE"]),
    ({"GRAPHLOOM_CACHE": "{}/link"}, ["/link:", "set GRAPHLOOM_CACHE"]),
    ({"GRAPHLOOM_CACHE": "{}/open"}, ["/open can be written", "chmod go-w"]),
    ({"GRAPHLOOM_CACHE": "/proc/graphloom"}, ["/proc/graphloom", "set GRAPHLOOM_CACHE"]),
    ({"GRAPHLOOM_CACHE": "~nobodyofthisname/x"}, ["'~nobodyofthisname/x'", "home folder"]),
    ({"GRAPHLOOM_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "home"},
     ["HOME", "set GRAPHLOOM_CACHE"]),
])
@pytest.mark.parametrize("command", [["run", "bfs", GENERATED], ["prove", "stages"]])
def test_unusable_cache(capsys, tmp_path, monkeypatch, environment, words, command):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("gone")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    line = refused(capsys, *command)
    for word in words:
        assert word in line
    assert {path.name for path in tmp_path.iterdir()} == {"file", "link", "open"}


def test_full_cache(capsys, tmp_path, monkeypatch):
    """No file may be longer than 10 kB, but the C++ of a GPU is longer."""
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))
    monkeypatch.setattr("sim.compiled._write", lambda work, config, assertions:
                        (work / "gpu.cpp").write_text("x" * 20_000))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        assert main(["run", "bfs", GENERATED]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    note, line = capsys.readouterr().err.splitlines()
    assert note == "graphloom: translating the hardware"
    assert "File too large" in line and str(tmp_path) in line and "set GRAPHLOOM_CACHE" in line
    assert not list((tmp_path / "models").glob("*.tmp"))


@pytest.mark.parametrize("text, words", [("'", "quotation"), ("/nothing/here", "does not run"),
                                         ("false", "does not run"), ("true", "made no")])
def test_bad_compiler(capsys, tmp_path, monkeypatch, text, words):
    monkeypatch.setenv("CXX", text)
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))
    monkeypatch.setattr("sim.compiled._write", lambda work, config, assertions:
                        (work / "gpu.cpp").write_text(""))
    toolchain.compiler.cache_clear()
    try:
        assert main(["run", "bfs", GENERATED]) == 2
    finally:
        toolchain.compiler.cache_clear()
    *before, line = capsys.readouterr().err.splitlines()
    assert line.startswith("graphloom: error: ") and words in line and "CXX" in line
    assert all("error" not in other for other in before)  # a message on progress, if there was any
