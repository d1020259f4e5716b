"""Input files that would take all memory, never end or block are refused after little reading.

====================================  ==========================================================
feature                               tests
====================================  ==========================================================
contents that expand without bound    test_bomb, test_blank_lines, test_arcs,
                                      test_archive_bomb, test_large_but_honest
a line without end                    test_long_line
text that is slow to match            test_time
devices, folders, named pipes         test_device, test_folder, test_named_pipe
pipes                                 test_pipe, test_archive_from_a_pipe
gzip of several members               test_members
more vertices than the arcs need      test_sparse, test_sparse_generator,
                                      test_not_too_sparse, test_in_little_memory
====================================  ==========================================================
"""

import gzip
import io
import os
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib

import numpy as np
import pytest

from base.errors import UserError
from sw.cli.tests import ROOT
from sw.graph import load
from sw.graph.source import opened


MIB = 1 << 20


def refused(path, words, most=200 * MIB):
    """Assert that a graph is refused in one line, and without much memory."""
    tracemalloc.start()
    try:
        with pytest.raises(UserError) as caught:
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and words in message and "\n" not in message
    assert peak < most, f"{peak / MIB:.0f} MiB"


def repeated(path, block, times, before=b""):
    """Write a gzip file quickly, with ``before`` and then this number of blocks."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    with open(path, "wb") as stream:
        stream.write(packer.compress(before))
        stream.writelines(packer.compress(block) for _ in range(times))
        stream.write(packer.flush())
    return path


@pytest.mark.parametrize("byte, name, before", [
    (b"\0", "a.el.gz", b""), (b"0", "a.el.gz", b""), (b"0", "a.wel.gz", b"0 1 "),
    (b"\0", "a.txt.gz", b"0 1\n"), (b"0", "a.graph.gz", b"2 1\n2 "), (b"\0", "a.mtx.gz", b""),
    (b"0", "a.mtx.gz", b"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n"),
    (b"0", "a.mtx.gz", b"%%MatrixMarket matrix coordinate pattern general\n%"),
    (b"0", "a.gr.gz", b"p sp 2 1\na 1 2 "), (b"\0", "a.gr.gz", b"c"),
])
def test_bomb(tmp_path, byte, name, before):
    """Many bytes of one kind on a line are refused after one or two MiB."""
    refused(repeated(tmp_path / name, byte * MIB, 40, before), "", 32 * MIB)


@pytest.fixture
def little_free(monkeypatch):
    """Files may expand by any factor up to 4 MiB only, so that tests are quick."""
    for module in ("source", "npz"):
        monkeypatch.setattr(f"sw.graph.{module}.FREE", 4 * MIB)


def test_blank_lines(tmp_path, little_free):
    """Empty lines do not go on for ever."""
    path = repeated(tmp_path / "a.el.gz", b"\n" * MIB, 24)
    refused(path, "expands to more than 100 times its size, which no graph does", 48 * MIB)


def test_arcs(tmp_path, little_free):
    """Equal arcs do not go on for ever."""
    path = repeated(tmp_path / "a.el.gz", b"0 1\n" * (MIB // 4), 24)
    refused(path, "expands to more than 100 times its size", 48 * MIB)


def test_archive_bomb(tmp_path, little_free):
    """A compressed .npz of zeros is refused, and so is an .npz that is compressed again."""
    path = tmp_path / "a.npz"
    np.savez_compressed(path, graphloom_graph=1, num_vertices=1,
                        src=np.zeros(8 * MIB, np.uint32), dst=np.zeros(1, np.uint32))
    refused(path, "expands to more than 100 times its size", 8 * MIB)
    path = repeated(tmp_path / "b.npz.gz", b"\0" * MIB, 40, before=b"PK\3\4")
    refused(path, "expands to more than 100 times its size", 32 * MIB)


def test_large_but_honest(tmp_path):
    """A small file may expand by any factor."""
    path = repeated(tmp_path / "a.el.gz", b"0 1\n" * 1000, 1000)
    assert path.stat().st_size * 100 < 4_000_000
    assert load(path).num_edges == 1_000_000


def test_long_line(tmp_path):
    path = tmp_path / "a.el"
    path.write_bytes(b"0 1\n" + b" " * (4 * MIB))
    refused(path, "line 2: is longer than 1048576 bytes")


@pytest.mark.parametrize("blank", [" ", "\n", "\t", ",", "{", "# ", "c\n", "\"", "a"])
@pytest.mark.parametrize("end", ["{x", "# graphloom: vertices 2x", ",", "p spx", "%"])
def test_time(tmp_path, blank, end):
    """No pattern scans a file again and again."""
    path = tmp_path / "a.txt"
    path.write_text(blank * 60_000 + end)
    began = time.process_time()
    with pytest.raises(UserError):
        load(path)
    assert time.process_time() - began < 1


@pytest.mark.parametrize("name", ["a.el", "a.mtx", "a.npz", "a.txt"])
def test_device(tmp_path, name):
    """A link to a device without end is refused."""
    (tmp_path / name).symlink_to("/dev/zero")
    refused(tmp_path / name, "cannot be read: it is a device or socket, not a file", MIB)


def test_folder(tmp_path):
    refused(tmp_path, "cannot be read: it is a folder")


def test_named_pipe(tmp_path):
    """A named pipe that nobody writes to would block."""
    os.mkfifo(tmp_path / "a.el")
    refused(tmp_path / "a.el", "cannot be read: it is a named pipe; write into the command, and "
                               "name /dev/stdin")


def piped(content, **options):
    """Load a graph from a pipe."""
    reading, writing = os.pipe()

    def write():
        with open(writing, "wb") as stream:
            stream.write(content)
    thread = threading.Thread(target=write)
    thread.start()
    try:
        return load(f"/dev/fd/{reading}", **options)
    finally:
        os.close(reading)
        thread.join()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_pipe(pack):
    content = b"# c\n" + b"0 1\n1 2\n" * 50_000
    graph = piped(pack(content))
    assert graph.num_edges == 100_000 and graph.num_vertices == 3
    assert piped(pack(b"0 1 2\n"), input_format="wel").weights.tolist() == [2]


def test_archive_from_a_pipe():
    with pytest.raises(UserError, match="an archive cannot be read from a pipe, give its file"):
        piped(b"PK\3\4")


@pytest.mark.parametrize("padding", [b"", b"\0" * 700])
def test_members(tmp_path, padding):
    """Several gzip files one behind the other count as one file, as gzip itself reads them."""
    path, text = tmp_path / "a.gz", bytes(range(256)) * 1000
    path.write_bytes(padding.join([gzip.compress(text), gzip.compress(b""), gzip.compress(text)])
                     + padding)
    with opened(path) as source:
        assert source.head == text[:1 << 16] and source.stream.read() == text + text
    with opened(path) as source:
        assert isinstance(source.seekable(), io.BytesIO)
    path.write_bytes(gzip.compress(text) + b"more")
    with pytest.raises(UserError, match="damaged or not gzip"), opened(path) as source:
        source.stream.read()


@pytest.mark.parametrize("name, content", [
    ("a.el", "0 2147483646\n"), ("a.el", "# graphloom: vertices 2000000000\n0 1\n"),
    ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n9999999 9999999 1\n1 1\n"),
    ("a.gr", "p sp 2000000000 1\na 1 2 3\n"),
])
def test_sparse(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    refused(path, "vertices are too many for 1 arcs: a graph of more than 4194304 vertices must "
                  "have an arc for every 32", 4 * MIB)


@pytest.mark.parametrize("text", ["powerlaw:vertices=2000000000,edges=1", "rmat:scale=30,degree=0",
                                  "uniform:vertices=2000000000,edges=1",
                                  "community:vertices=2000000000,edges=1,communities=9"])
def test_sparse_generator(text):
    refused(text, "vertices are too many for", 4 * MIB)


def test_not_too_sparse(tmp_path):
    """The rule applies above 4,194,304 vertices, and is met if one vertex in 32 has an arc."""
    path = tmp_path / "a.el"
    path.write_text("0 4194303\n")
    assert load(path).num_vertices == 1 << 22
    path.write_text("0 4194304\n")
    refused(path, "too many")
    path.write_text("0 4194304\n" * (1 + (1 << 17)))
    assert load(path).num_vertices == (1 << 22) + 1


@pytest.mark.parametrize("command", [["graph", "info"], ["run", "bfs"]])
def test_in_little_memory(tmp_path, command):
    """In a process limited to 2 GiB, commands refuse a vertex with a huge number."""
    limited = ("import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); "
               "from sw.cli.main import main; sys.exit(main())")
    path = tmp_path / "a.el"
    path.write_text("2147483646 0\n")
    ran = subprocess.run(
        [sys.executable, "-c", limited, *command, str(path)], cwd=ROOT, capture_output=True,
        check=False, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr.startswith(f"graphloom: error: {path}: 2147483647 vertices are too many")
    assert len(ran.stderr.splitlines()) == 1
