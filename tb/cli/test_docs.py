"""``graphloom docs``: bad input gives one line and exit code 2."""

import contextlib
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from base import installation
from sw.cli import docs
from sw.cli.main import main
from sw.show.site import build
from tb.cli.test_errors import refused


@pytest.mark.parametrize("arguments, words", [
    (["--check", "--serve"], ["--check and --serve"]),
    (["--record", "--site", "x"], ["--record and --site"]),
    (["--port", "8000"], ["--port", "--serve"]),
    (["--serve", "--port", "0"], ["--port 0", "1 to 65535"]),
    (["--serve", "--port", "65536"], ["--port 65536", "1 to 65535"]),
    (["--site", ""], ["--site is empty"]),
    (["--site", "/dev/null"], ["/dev/null", "no folder"]),
    (["--site", "/proc/graphloom"], ["/proc/graphloom", "cannot be written"]),
    (["--site", "/nothing/site"], ["/nothing/site", "there is no folder /nothing"]),
])
def test_refused(capsys, arguments, words):
    line = refused(capsys, "docs", *arguments)
    for word in words:
        assert word in line


def test_a_port_in_use(capsys):
    with socket.socket() as other:
        other.bind((build.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        line = refused(capsys, "docs", "--serve", "--port", str(port))
    assert f"--port {port}" in line and "in use" in line


@pytest.mark.parametrize("option", [["--serve"], ["--site", "site"], ["--check"], []])
def test_a_missing_extra(capsys, monkeypatch, tmp_path, option):
    """The line says what is missing and how to install it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(installation, "TREE", False)
    monkeypatch.setitem(sys.modules, "wavedrom", None)
    monkeypatch.setattr(docs, "need_tree", lambda command: None)
    line = refused(capsys, "docs", *option)
    assert "wavedrom" in line and "graphloom[docs]" in line
    assert not list(tmp_path.iterdir())


def test_a_site_with_a_broken_link(capsys, monkeypatch):
    """It is not written; the links are named, and the exit code is that of a failed check."""
    monkeypatch.setattr(build, "build", lambda folder: ["page.md has a link that leads nowhere"])
    assert main(["docs", "--site", "site"]) == 1
    captured = capsys.readouterr()
    assert "was not written" in captured.out and "leads nowhere" in captured.err


def test_a_picture_that_is_not_so(capsys, monkeypatch):
    """`docs --check` says which one, in a line."""
    from sw.show.figures import pictures
    from sw.show.figures.diagram import OutOfDate

    def draw():
        raise OutOfDate("Block diagram of the core: no box stands for core/newcomer")
    monkeypatch.setattr(pictures, "pictures", draw)
    assert main(["docs", "--check"]) == 1
    assert "core/newcomer" in capsys.readouterr().out


def test_recording(capsys, monkeypatch, tmp_path):
    """Records are made first; what is drawn from them is written then."""
    from sw.cli import docs
    from sw.show.figures import pictures
    (tmp_path / "docs" / "figures").mkdir(parents=True)
    record = tmp_path / "docs" / "figures" / "one.json"
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    monkeypatch.setattr(docs, "_outputs", lambda: {"figures/one.svg": record.read_text() * 2})
    monkeypatch.setattr(pictures, "RECORDS", {"one.json": lambda: "new"})
    assert main(["docs", "--record"]) == 0
    assert record.read_text() == "new"
    assert (tmp_path / "docs" / "figures" / "one.svg").read_text() == "newnew"
    assert "recording one.json" in capsys.readouterr().err


def test_serving(tmp_path):
    """The site is served to this machine alone, until the process is interrupted."""
    with socket.socket() as free:
        free.bind((build.HOST, 0))
        port = free.getsockname()[1]
    code = ("import sys, pathlib; from sw.show.site import build, places\n"
            "build.serve(int(sys.argv[1]), pathlib.Path(sys.argv[2]))\n")
    settings = tmp_path / "mkdocs.yml"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# One\n")
    settings.write_text("site_name: small\ntheme: {name: material, font: false}\n")
    server = subprocess.Popen([sys.executable, "-c", code, str(port), str(settings)],
                              stderr=subprocess.PIPE, text=True)
    try:
        text = None
        for _ in range(1500):
            with contextlib.suppress(OSError):
                text = urllib.request.urlopen(f"http://{build.HOST}:{port}/").read().decode()
                break
            time.sleep(0.2)
        assert text and re.search("<h1[^>]*>One", text)
    finally:
        server.terminate()
        server.communicate(timeout=300)
