"""The cache heals damage, keeps out code of other users, and reports a failed write.

====================  ==========================================================
entries               test_built_once, test_failed_build, test_readable_by_others
damage                test_damage, test_damaged_simulator, test_damaged_verilog
processes             test_waits, test_left_by_a_killed_build, test_forgotten
trust                 test_written_by_others, test_of_another_user
sharing               test_shared, test_shared_damaged, test_shared_refused
where                 test_place, test_bad_place
writing               test_unwritable, test_no_permission, test_no_room, test_program_without_room
====================  ==========================================================
"""

import errno
import os
import pathlib
import resource
import shutil
import stat
import subprocess
import tempfile
import threading
import time

import pytest

from hw.config import preset
from sim import build, cache
from sim.errors import BuildError, ToolError
from sim.toolchain import Compiler


NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The folder of the cache."""
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GRAPHLOOM_CACHE_SHARED", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def made():
    """One item for each time that :func:`entry` has built."""
    return []


@pytest.fixture
def entry(made):
    """A function that gives the path of a small entry, and builds the entry if it is missing."""
    def make(work):
        made.append(work)
        (work / "part").mkdir()
        (work / "part" / "data.o").write_bytes(b"object" * 100)
        (work / "gpu.so").write_bytes(b"library" * 1000)
    return lambda: cache.entry("things", "key", make, what="thing")


def test_built_once(entry, made, place):
    first = entry()
    assert first == place / "things" / "key" == entry() and len(made) == 1
    assert (first / "gpu.so").read_bytes() == b"library" * 1000
    assert {path.name for path in first.parent.iterdir()} == {"key", "key.lock"}
    # ``sha256sum``, the usual program, reads the file too.
    check = shutil.which("sha256sum")
    if check:
        assert subprocess.run([check, "-c", "--strict", "--quiet", cache.DIGESTS], cwd=first,
                              capture_output=True, check=False).returncode == 0


def test_failed_build(place):
    def make(work):
        (work / "half").write_text("half")
        raise BuildError("the compiler failed")
    with pytest.raises(BuildError, match="the compiler failed"):
        cache.entry("things", "key", make, what="thing")
    assert [path.name for path in (place / "things").iterdir()] == ["key.lock"]


@pytest.mark.parametrize("umask, folder, file", [(0o022, 0o755, 0o644), (0o077, 0o700, 0o600),
                                                 (0o002, 0o755, 0o644), (0, 0o755, 0o644)])
def test_readable_by_others(entry, umask, folder, file):
    """Other users may read as far as the umask permits, and may write under no umask."""
    before = os.umask(umask)
    try:
        path = entry()
    finally:
        os.umask(before)
    for at, mode in [(path.parent.parent, folder), (path, folder), (path / "part", folder),
                     (path / "gpu.so", file), (path / "part" / "data.o", file),
                     (path / cache.DIGESTS, file)]:
        assert stat.S_IMODE(at.stat().st_mode) == mode, at


def altered(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def replaced(path):
    shutil.rmtree(path)
    path.write_text("no folder")


def linked(path):
    shutil.move(path, path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


DAMAGE = {
    "empty": lambda path: (path / "gpu.so").write_bytes(b""),
    "cut": lambda path: os.truncate(path / "gpu.so", 3000),
    "longer": lambda path: (path / "gpu.so").open("ab").write(b"more"),
    "altered": lambda path: altered(path / "part" / "data.o"),
    "missing": lambda path: (path / "gpu.so").unlink(),
    "more": lambda path: (path / "evil.so").write_text("more"),
    "linked file": lambda path: linked(path / "gpu.so"),
    "linked folder": linked,
    "no digests": lambda path: (path / cache.DIGESTS).unlink(),
    "empty digests": lambda path: (path / cache.DIGESTS).write_text(""),
    "cut digests": lambda path: os.truncate(path / cache.DIGESTS, 90),
    "other digests": lambda path: altered(path / cache.DIGESTS),
    "no text": lambda path: (path / cache.DIGESTS).write_bytes(b"\xff\xfe\n"),
    "a file": replaced,
    "a folder": lambda path: ((path / "gpu.so").unlink(), (path / "gpu.so").mkdir()),
    "empty folder": lambda path: (shutil.rmtree(path), path.mkdir()),
    "writable": lambda path: (path / "gpu.so").chmod(0o666),
    "writable folder": lambda path: (path / "part").chmod(0o777),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage(entry, made, capsys, damage):
    """A damaged entry is built again and is whole then. A line says so."""
    path = entry()
    assert capsys.readouterr().err == ""
    DAMAGE[damage](path)
    assert entry() == path and len(made) == 2
    line, = capsys.readouterr().err.splitlines()
    assert line.startswith("graphloom: note: the thing in the cache is damaged and is built again")
    assert (path / "gpu.so").read_bytes() == b"library" * 1000
    assert (path / "part" / "data.o").read_bytes() == b"object" * 100
    assert not list(path.parent.glob("*.tmp"))
    assert entry() == path and len(made) == 2 and capsys.readouterr().err == ""


#: Stands in for a compiler. The file that it makes holds the number of its call.
_FAKE = """\
#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo >> "$0.calls"
wc -l < "$0.calls" > "$2"
"""


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """A file with a line for each call of the compiler, which is a stand-in. There is no Verilator.
    """
    script = tmp_path / "c++"
    script.write_text(_FAKE)
    script.chmod(0o755)

    def translate(verilator, work, tops, flags):
        (work / "cc").mkdir()
        (work / "cc" / "Vgpu.cpp").write_text("// a model\n")
    monkeypatch.setattr(build, "_translate", translate)
    command = (str(script),)
    monkeypatch.setattr("sim.toolchain.compiler", lambda: Compiler(command, command, "a fake",
                                                                   "clang", "fake"))
    return tmp_path / "c++.calls"


@pytest.mark.usefixtures("optimized")
def test_damaged_simulator(calls, place, capsys):
    """The library, then also the run-time and the precompiled headers are damaged: each is made
    again."""
    def library():
        before = len(calls.read_text()) if calls.exists() else 0
        path = build.library(("module graphloom_gpu; endmodule",), preset("tiny"))
        return path, len(calls.read_text()) - before
    path, count = library()
    # All models share two headers and two files of the run-time. A model adds two files and a link.
    assert count == 7 and library() == (path, 0) and not capsys.readouterr().err
    path.write_bytes(b"")
    assert library() == (path, 3) and path.read_bytes()
    assert capsys.readouterr().err.startswith("graphloom: note: the simulator in the cache is dama")
    parts = [*(place / "runtime").glob("*/*.o"), *(place / "runtime").glob("*/*.pch")]
    assert len(parts) == 4
    for damaged in (path, *parts):
        altered(damaged)
    assert library() == (path, 7)
    text = capsys.readouterr().err
    assert len(text.splitlines()) == 4 and "run-time of the simulator in the cache" in text
    assert library() == (path, 0) and not capsys.readouterr().err


@pytest.mark.parametrize("damage", [lambda path: path.write_text(""),
                                    lambda path: os.truncate(path, 10), altered])
def test_damaged_verilog(place, monkeypatch, damage):
    texts = ["module graphloom_gpu(clk, rst); endmodule\n"]
    monkeypatch.setattr("hw.top.verilog", lambda config: texts[0])
    assert build.gpu_verilog(preset("tiny")) == tuple(texts)
    path, = place.rglob("*.v")
    damage(path)
    assert build.gpu_verilog(preset("tiny")) == tuple(texts)
    assert path.read_text() == texts[0]


def test_waits(entry, made, capsys, tmp_path):
    """A second process names the process that it waits for, and takes the entry built by the first.
    """
    begun, end = tmp_path / "begun", tmp_path / "end"

    def make(work):
        (work / "data").write_text("of the other process")
        begun.touch()
        while not end.exists():
            time.sleep(0.01)
    child = os.fork()
    if child == 0:
        try:
            cache.entry("things", "key", make, what="thing")
        finally:
            os._exit(0)
    while not begun.exists():
        time.sleep(0.01)
    timer = threading.Timer(0.3, end.touch)
    timer.start()
    assert (entry() / "data").read_text() == "of the other process" and not made
    os.waitpid(child, 0)
    timer.join()
    assert capsys.readouterr().err == ("graphloom: note: waiting for another process that builds "
                                       f"the same thing (pid {child})\n")


def test_left_by_a_killed_build(entry, made, place):
    """The next build of an entry deletes what a killed build has left, and is not locked out."""
    begun = place.parent / "begun"

    def make(work):
        (work / "half").write_text("half")
        begun.touch()
        time.sleep(60)
    child = os.fork()
    if child == 0:
        cache.entry("things", "key", make, what="thing")
    while not begun.exists():
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    assert list((place / "things").glob("key.*.tmp"))
    assert len(list(entry().iterdir())) == 3
    assert not list((place / "things").glob("key.*.tmp"))


def test_forgotten(entry, place):
    """Entries not used for a month are deleted, and so are remains of builds killed over a day ago.
    """
    days = 24 * 3600
    for name, age in [("old", 31), ("young", 29), ("x.1.tmp", 2), ("y.2.tmp", 0.5)]:
        (place / "things" / name).mkdir(parents=True)
        os.utime(place / "things" / name, (time.time() - age * days,) * 2)
    entry()
    assert {path.name for path in (place / "things").iterdir()} == {"young", "y.2.tmp", "key",
                                                                    "key.lock"}


# Trust

@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775])
@pytest.mark.parametrize("which", [".", "things"])
def test_written_by_others(entry, made, place, mode, which):
    entry()
    (place / which).chmod(mode)
    with pytest.raises(ToolError, match="can be written by others.*chmod go-w.*GRAPHLOOM_CACHE"):
        entry()
    (place / which).chmod(0o755)
    assert entry() and len(made) == 1


@as_root
@pytest.mark.parametrize("which", [".", "things"])
def test_of_another_user(entry, place, which):
    entry()
    os.chown(place / which, NOBODY, NOBODY)
    with pytest.raises(ToolError, match="belongs to another user.*a folder of your own"):
        entry()


@as_root
@pytest.mark.parametrize("which", ["key", "key/gpu.so", "key/part/data.o"])
def test_entry_of_another_user(entry, made, place, which):
    """Another user may have left such an entry while all users could write to the folder."""
    entry()
    os.chown(place / "things" / which, NOBODY, NOBODY)
    path = entry()
    assert len(made) == 2 and (path / "gpu.so").stat().st_uid == 0


# Sharing

@pytest.fixture
def shared(entry, made, place, monkeypatch):
    """A shared cache that has the entry, and an empty cache of the user's own."""
    entry()
    made.clear()
    other = place.rename(place.with_name("shared"))
    monkeypatch.setenv("GRAPHLOOM_CACHE_SHARED", str(other))
    return other


def test_shared(entry, made, place, shared):
    """An entry of the shared cache is used, and the shared cache is not written. A missing entry
    goes into the user's own."""
    for path in shared.rglob("*"):
        if path.is_dir():
            path.chmod(0o555)
    assert entry() == shared / "things" / "key" and not made and not place.exists()
    own = cache.entry("things", "other", lambda work: (work / "a").touch(), what="thing")
    assert own == place / "things" / "other"


def test_shared_damaged(entry, made, place, shared, capsys):
    altered(shared / "things" / "key" / "gpu.so")
    assert entry() == place / "things" / "key" and len(made) == 1
    assert "the shared cache is damaged and not used" in capsys.readouterr().err


@pytest.mark.parametrize("spoil, words", [
    (lambda path: path.chmod(0o777), "can be written by others"),
    (shutil.rmtree, "is no folder"),
    (replaced, "is no folder"),
])
def test_shared_refused(entry, shared, spoil, words):
    spoil(shared)
    with pytest.raises(ToolError, match=f"GRAPHLOOM_CACHE_SHARED=.*{words}.*belongs to root"):
        entry()


@as_root
def test_shared_of_another_user(entry, shared):
    os.chown(shared, NOBODY, NOBODY)
    with pytest.raises(ToolError, match="GRAPHLOOM_CACHE_SHARED=.*belongs to another user"):
        entry()


# Where

def test_place(monkeypatch, tmp_path):
    for name in ("GRAPHLOOM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.root() == tmp_path / ".cache" / "graphloom"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")    # ignored, as its specification says
    assert cache.root() == tmp_path / ".cache" / "graphloom"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.root() == tmp_path / "xdg" / "graphloom"
    monkeypatch.setenv("GRAPHLOOM_CACHE", "~/own")
    assert cache.root() == tmp_path / "own"


@pytest.mark.parametrize("environment, words", [
    ({"GRAPHLOOM_CACHE": "~nobodyofthisname/x"}, ["'~nobodyofthisname/x'", "home folder"]),
    ({"HOME": "relative"}, ["HOME", "GRAPHLOOM_CACHE"]),
    ({}, ["home folder", "GRAPHLOOM_CACHE"]),
])
def test_bad_place(monkeypatch, environment, words):
    for name in ("GRAPHLOOM_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, text in environment.items():
        monkeypatch.setenv(name, text)

    def unknown(user):
        raise KeyError(user)
    monkeypatch.setattr("pwd.getpwuid", unknown)        # as in a container whose user has no name
    with pytest.raises(ToolError) as caught:
        cache.root()
    for word in words:
        assert word in str(caught.value)


# Writing

@pytest.mark.parametrize("spoil", [
    lambda path: path.write_text("a file"), lambda path: path.symlink_to("gone"),
    lambda path: path.symlink_to(path.name),
])
@pytest.mark.parametrize("below", ["", "deeper"])
def test_unwritable(entry, place, monkeypatch, spoil, below):
    spoil(place)
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(place / below))
    with pytest.raises(ToolError, match="cannot create the cache folder") as caught:
        entry()
    assert str(place) in str(caught.value) and "set GRAPHLOOM_CACHE" in str(caught.value)


@as_root
@pytest.mark.parametrize("inside", [False, True])
def test_no_permission(entry, monkeypatch, inside):
    """The user may not write the parent of the cache, or, with ``inside``, the cache itself."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        monkeypatch.setenv("GRAPHLOOM_CACHE", f"{folder}/cache")
        if inside:
            entry()
            (pathlib.Path(folder) / "cache" / "things" / "key" / "gpu.so").unlink()
        os.seteuid(NOBODY)
        try:
            with pytest.raises(ToolError, match="cannot (create|write) the cache folder "
                               ".*Permission denied.*set GRAPHLOOM_CACHE"):
                entry()
        finally:
            os.seteuid(0)


def test_read_only(entry, made, monkeypatch):
    """An entry that is whole can still be used on a read-only file system."""
    path = entry()

    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
    for name in ("mkdir", "rename", "utime"):
        monkeypatch.setattr(os, name, refuse)
    assert entry() == path
    with pytest.raises(ToolError, match="cannot write the cache folder .*Read-only file system.*"
                       "set GRAPHLOOM_CACHE"):
        cache.entry("things", "other", lambda work: None, what="thing")


def test_no_room(place):
    """No file may be longer than 10 kB in this test."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(ToolError, match="cannot write the cache folder .*File too large: make "
                           "room in it, or set GRAPHLOOM_CACHE"):
            cache.entry("things", "key", lambda work: (work / "a").write_bytes(bytes(20_000)),
                        what="thing")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list((place / "things").glob("*.tmp"))


@pytest.mark.parametrize("text", [
    "LLVM ERROR: IO failure on output stream: No space left on device", "x: File too large"])
def test_program_without_room(text):
    def make(work):
        raise BuildError(f"compiling a.cpp failed with exit code 1:\n{text}\n")
    with pytest.raises(ToolError, match="cannot write the cache folder .*make room") as caught:
        cache.entry("things", "key", make, what="thing")
    assert "\n" not in str(caught.value)
