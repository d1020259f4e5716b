"""The set-up of the environment, with scripts in the place of pip. ``tb/cli/test_launcher.py`` has
the whole, with pip.

====================  ==========================================================
pip's command line    test_command
progress              test_progress, test_size
failures              test_no_index, test_an_index_after_all, test_pip_fails, test_main
locks                 test_packages
====================  ==========================================================
"""

import sys

import pytest

from base import bootstrap


LOCK = """\
# A lock.
one==1 \\
    --hash=sha256:00
    # 1.25 MB: small both
two==2 ; sys_platform == 'win32'
    # 30 MB: both
three==3
"""

UNREACHED = ("WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError("
             "\"x: Failed: [Errno 111] Connection refused\")': /simple/one/")


@pytest.fixture
def chosen(tmp_path):
    (tmp_path / "lock").write_text(LOCK)
    return bootstrap.packages(tmp_path, "lock")


@pytest.fixture
def pip(tmp_path, chosen):
    """A function that runs ``_install`` with a script as Python."""
    def run(script):
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return bootstrap._install(path, tmp_path / "requirements.txt", chosen)
    return run


def test_packages(tmp_path, chosen):
    assert [(each.requirement, each.megabytes, each.extras) for each in chosen] == [
        ("one==1", 1.25, {"small", "both"}),
        ("two==2 ; sys_platform == 'win32'", 30, {"both"}), ("three==3", 0, set())]
    assert bootstrap.packages(tmp_path, "lock", "small") == chosen[:1]
    assert bootstrap.packages(tmp_path, "lock", "both") == chosen[:2]
    assert "".join(each.text for each in chosen) == LOCK.partition("\n")[2]


@pytest.mark.parametrize("compiles", [False, True])
def test_command(pip, tmp_path, monkeypatch, compiles):
    """What the user has set for pip's places does not count. Modules are compiled only if Python
    may not do it later."""
    for name in ("PIP_TARGET", "PIP_PREFIX", "PIP_USER"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1" if compiles else "")
    code, lines = pip('echo "$@"; echo "$PIP_TARGET$PIP_PREFIX$PIP_USER"; echo "$PIP_NO_INPUT '
                      '$PIP_DISABLE_PIP_VERSION_CHECK $PYTHONUNBUFFERED"; cat')
    assert (code, lines) == (0, [
        "-m pip install --progress-bar off --no-deps --requirement "
        f"{tmp_path / 'requirements.txt'}" + " --no-compile" * (not compiles), "0", "1 1 1"])
    assert (tmp_path / "requirements.txt").read_text() == LOCK.partition("\n")[2]


@pytest.mark.parametrize("terminal", [False, True])
def test_progress(pip, capsys, monkeypatch, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    pip("for name in one two three more; do echo Collecting $name==1; done\n"
        "echo Installing collected packages: one")
    shown = "".join(f"\r\033[K  fetching {count} of 3: {name}" for count, name in (
        (1, "one"), (2, "two"), (3, "three"), (3, "more"))) + "\r\033[K"
    assert capsys.readouterr().err == shown * terminal + "  installing 3 packages\n"


def test_pip_fails(pip):
    """Its last lines are kept."""
    code, lines = pip('for line in $(seq 20); do echo "$line "; done >&2; exit 3')
    assert (code, lines) == (3, [str(line) for line in range(6, 21)])


def test_no_index(pip):
    """The second attempt ends it."""
    assert pip(f"echo '{UNREACHED.replace(chr(39), '')}'\n" * 2 + "exec sleep 600") == (
        None, ["Connection refused"] * 2)
    assert pip("echo 'Retrying after ConnectTimeoutError'\n" * 2) == (None, ["no answer"] * 2)


@pytest.mark.parametrize("fetched", ["Collecting one", "  Downloading one.whl",
                                     "  Using cached one.whl"])
def test_an_index_after_all(pip, fetched):
    """One failed attempt is no failure, nor are more when something has come."""
    lines = ["Retrying after ProxyError", fetched, *["Retrying after ProxyError"] * 2]
    code, _ = pip("\n".join(f"echo '{line}'" for line in lines))
    assert code == (None if fetched.startswith("Collecting") else 0)
    assert pip("echo 'Retrying after ProxyError'")[0] == 0


def test_size(chosen):
    assert bootstrap._size(chosen) == "3 packages, about 31 MB to fetch, once"
    assert bootstrap._size(chosen[:1]) == "1 package, about 1 MB to fetch, once"
    assert bootstrap._size(chosen[2:]) == "1 package, about 1 MB to fetch, once"


def test_main(tmp_path, monkeypatch, capsys):
    """The environment is made, or extras are added. What goes wrong is told in a line."""
    monkeypatch.setattr(bootstrap, "_make", lambda root: ("made", root))
    monkeypatch.setattr(bootstrap, "_add", lambda root, extras: ("added", root, extras))
    assert bootstrap.main(str(tmp_path)) == ("made", tmp_path)
    assert bootstrap.main(tmp_path, ["test"]) == ("added", tmp_path, ["test"])
    assert capsys.readouterr().err == ""

    def fail(root):
        raise error
    monkeypatch.setattr(bootstrap, "_make", fail)
    for error, code, words in ((KeyboardInterrupt(), 130, "\ngraphloom: set-up interrupted; the "
                                "next use does it again\n"),
                               (OSError("no room"), 2, "graphloom: error: cannot set up "
                                f"{tmp_path / '.venv'}: no room\n")):
        assert bootstrap.main(tmp_path) == code
        assert capsys.readouterr().err == words
