"""The launcher, on a copy of it whose lock file lists no package, with a stub as command line."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from base import bootstrap
from sw.cli.tests import ROOT


STUB = "import os, sys\nprint(os.getcwd(), sys.prefix, *sys.argv[1:], sep='|')\nsys.exit(7)\n"


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "a project"
    (root / "sw" / "cli").mkdir(parents=True)
    shutil.copy(ROOT / "graphloom", root)
    (root / "base").mkdir()
    shutil.copy(ROOT / "base" / "bootstrap.py", root / "base")
    (root / "sw" / "cli" / "__main__.py").write_text(STUB)
    (root / "requirements.lock").write_text("# nothing\n")
    (root / "requirements-extras.lock").write_text("# nothing more\n")
    return root


def start(program, *arguments, cwd, **environment):
    environment = {**os.environ, "GRAPHLOOM_PYTHON": sys.executable, **environment}
    return subprocess.Popen([str(program), *arguments], cwd=cwd, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(program, *arguments, cwd, **environment):
    process = start(program, *arguments, cwd=cwd, **environment)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def test_launcher(project, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "sw").mkdir()                    # must not be taken for the project's folder
    (elsewhere / "random.py").write_text("raise SystemExit('shadowed')\n")

    # Two start at once: one sets up, the other waits; both run.
    both = [start(project / "graphloom", "run", "a b", cwd=elsewhere) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 7, err
        assert out == f"{elsewhere}|{project / '.venv'}|run|a b\n"

    # A start through symbolic links, by a relative path, has nothing to set up.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "one").symlink_to("../a project/graphloom")
    (elsewhere / "two").symlink_to(tmp_path / "bin" / "one")
    code, out, err = run("./two", "x", cwd=elsewhere)
    assert (code, out, err) == (7, f"{elsewhere}|{project / '.venv'}|x\n", "")
    code, out, err = run("one", "y", cwd=elsewhere,
                         PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert (code, err) == (7, "")

    # A set-up that was interrupted has no stamp, and is done again, whatever else is there.
    (project / ".venv" / "graphloom-stamp").unlink()
    shutil.rmtree(project / ".venv" / "lib")
    code, out, err = run(project / "graphloom", cwd=elsewhere)
    assert code == 7 and "setting up" in err

    # A set-up is also done again if the lock has changed. Without a network, the error comes at
    # pip's second attempt of five, and names the system's reason. No stamp is left.
    (project / "requirements.lock").write_text("no-such-package==1\n    # 1.00 MB\n")
    code, out, err = run(project / "graphloom", cwd=elsewhere,
                         PIP_INDEX_URL="http://127.0.0.1:9/x", PIP_CONFIG_FILE=os.devnull,
                         PIP_RETRIES="5", no_proxy="127.0.0.1")
    assert code == 2
    assert err.splitlines()[-1] == (
        "graphloom: error: pip reaches no index of packages (Connection refused): set-up needs a "
        "network, once; the next use tries again")
    assert not (project / ".venv" / "graphloom-stamp").exists()


def wheel(folder, name):
    """A file that pip can install: a package with one module."""
    path = folder / f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for member, text in (
                (f"{name}.py", "VALUE = 1\n"),
                (f"{name}-1.dist-info/METADATA",
                 f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"),
                (f"{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: "
                                              "py3-none-any\n"),
                (f"{name}-1.dist-info/RECORD", "")):
            file.writestr(member, text)
    return path


def test_extras(project):
    """bootstrap.py adds the packages of the extras that are asked for, once for each content of the
    lock. A failure is told, and leaves the environment as it was for what runs graphs."""
    def add(*extras, **environment):
        return run(project / ".venv" / "bin" / "python", "-P", project / "base" / "bootstrap.py",
                   project, *extras, cwd=project, **environment)

    def lock(**packages):
        (project / "requirements-extras.lock").write_text("# A lock.\n" + "".join(
            f"{name}\n    # 0.01 MB: {extras}\n" for name, extras in packages.values()))

    def installed():
        return sorted(path.stem for path in project.glob(".venv/lib/*/site-packages/part*.py"))

    parts = {name: (wheel(project, name), extras) for name, extras in (
        ("part1", "small both"), ("part2", "large both"), ("part3", "other"))}
    assert run(project / "graphloom", cwd=project)[0] == 7
    # Modules are compiled if Python may not do so when it imports them. The packages come to the
    # environment, whatever place the user has pip install others.
    lock(**parts)
    elsewhere = str(project / "elsewhere")
    code, out, err = add("small", PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX="",
                         PIP_TARGET=elsewhere)
    assert code == 0 and "adding small" in err and "1 package, " in err
    assert installed() == ["part1"] and not list(project.glob(".venv/lib/**/part1.*.pyc"))
    code, out, err = add("both", PYTHONDONTWRITEBYTECODE="1", PYTHONPYCACHEPREFIX="",
                         PIP_PREFIX=elsewhere, PIP_USER="1")
    assert code == 0 and "1 package, " in err       # the other one is there
    assert installed() == ["part1", "part2"] and list(project.glob(".venv/lib/**/part2.*.pyc"))
    assert [bootstrap.has(project, extra) for extra in ("small", "both", "large", "other")] \
        == [True, True, True, False]
    assert add("large", "small") == (0, "", "")
    # A change of the lock concerns those that have the package.
    lock(**parts | {"part2": ("./no-such-package", "large both")})
    assert bootstrap.has(project, "small") and not bootstrap.has(project, "both")
    code, out, err = add("both")
    assert code == 2 and "pip could not install" in err
    lock(**parts)
    assert bootstrap.has(project, "small") and not bootstrap.has(project, "large")
    assert run(project / "graphloom", cwd=project)[0] == 7


@pytest.mark.parametrize("script, why", [
    ("echo 'is Python 3.9'", "is Python 3.9"),
    # The launcher's own look at the version, on a Python that says that it is older.
    (f"""exec '{sys.executable}' -c 'import sys
sys.version_info = 3, 10, 13
exec(sys.argv[1])' "$2" """, "is Python 3.10"),
    ("echo 'has no venv module'", "has no venv module"),
    ("exit 127", "there is no Python"),
])
def test_no_python_that_will_do(project, tmp_path, script, why):
    fake = tmp_path / "fake-python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    code, out, err = run(project / "graphloom", cwd=tmp_path, GRAPHLOOM_PYTHON=str(fake))
    assert code == 2
    assert "needs Python 3.11 or newer" in err and why in err
    assert len(err.splitlines()) == 1


def test_an_environment_of_another_copy_is_kept(project, tmp_path):
    """A link to an environment that is not set up for this copy is refused; it stays as it was."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "graphloom-stamp").write_text("the other copy")
    (project / ".venv").symlink_to(other)
    code, out, err = run(project / "graphloom", cwd=tmp_path)
    assert code == 2 and f"is a link to {other}" in err and "remove the link" in err
    assert (other / "graphloom-stamp").read_text() == "the other copy"
