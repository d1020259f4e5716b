"""What becomes of errors: a line, or some, and an exit code; and files on the standard output."""

import errno
import os
import sys

import pytest
import typer

from base.errors import ConfigError, RunError, UserError
from sim.errors import BuildError, ToolError
from sw.cli import files, main as module, process
from sw.cli.main import main


def _raises(error):
    def app(arguments, **settings):
        assert settings == {"standalone_mode": False, "prog_name": "graphloom"}
        print("begun")
        if error is not None:
            raise error
        return 5 if arguments == ["five"] else None
    return app


_NO_PACKAGE = ModuleNotFoundError("No module named 'plotly'", name="plotly")


@pytest.mark.parametrize("error, code, words", [
    (None, 0, ""), (UserError("one\ntwo"), 2, "graphloom: error: one two\n"),
    (ConfigError("odd\x1b"), 2, "graphloom: error: odd\\x1b\n"),
    (ToolError("none"), 2, "graphloom: error: none\n"),
    (RunError("no luck"), 2, "graphloom: error: no luck\n"),
    (BuildError("one\ntwo\x1b"), 2, "one\ntwo\\x1b\ngraphloom: error: the simulator could not be "
     "built; the output of its tools is above (`graphloom doctor` shows which tools are used)\n"),
    (typer.BadParameter("it is odd. "), 2, "graphloom: error: Invalid value: it is odd (see "
     "--help)\n"),
    (typer.Abort(), 130, "graphloom: interrupted\n"),
    (KeyboardInterrupt(), 130, "graphloom: interrupted\n"),
    (OSError(errno.ENOENT, "No such file", "a\nb"), 2, "graphloom: error: a b: No such file\n"),
    (OSError(errno.EIO, "Broken"), 2, "graphloom: error: Broken\n"),
    (OSError("odd"), 2, "graphloom: error: odd\n"),
    (MemoryError(), 2, "graphloom: error: not enough memory on this machine\n")])
def test_errors(capsys, monkeypatch, error, code, words):
    monkeypatch.setattr(module, "app", _raises(error))
    monkeypatch.setattr(process, "received", None)
    assert main(["run"]) == code
    assert capsys.readouterr() == ("begun\n", words)


def test_codes(monkeypatch):
    monkeypatch.setattr(module, "app", _raises(None))
    assert main(["five"]) == 5 and main([]) == 0
    monkeypatch.setattr(sys, "argv", ["graphloom", "five"])
    assert main() == 5


def test_nul(capsys, monkeypatch):
    monkeypatch.setattr(module, "app", _raises(None))
    assert main(["a", "b\0"]) == 2
    assert capsys.readouterr() == ("", "graphloom: error: an argument has a NUL character\n")


def test_packages(capsys, monkeypatch):
    """A package of an extra is asked for; another that is missing is a defect."""
    monkeypatch.setattr(module, "app", _raises(_NO_PACKAGE))
    assert main([]) == 2
    assert capsys.readouterr().err.startswith(
        "graphloom: error: the package plotly is not installed: ")
    for error in (ModuleNotFoundError("x", name="nothing_of_ours"), ModuleNotFoundError("x")):
        monkeypatch.setattr(module, "app", _raises(error))
        with pytest.raises(ModuleNotFoundError):
            main([])


def test_defects(monkeypatch, capsys):
    """A defect keeps its traceback, unless it came of a signal."""
    monkeypatch.setattr(module, "app", _raises(ZeroDivisionError()))
    monkeypatch.setattr(process, "received", None)
    with pytest.raises(ZeroDivisionError):
        main([])
    for number, word in ((15, "terminated"), (1, "hung up"), (2, "interrupted")):
        monkeypatch.setattr(process, "received", number)
        assert main([]) == 128 + number
        assert capsys.readouterr().err == f"graphloom: {word}\n"


def test_the_standard_output(capfd, tmp_path):
    """A file may be the standard output: what is printed then goes to standard error, and after
    that to the standard output again."""
    sys.stdout.flush()
    files.check(files.STANDARD, (".json",))
    os.write(1, b"printed\n")
    files.write_json(files.STANDARD, {"b": [1], "a": None})
    files.write_pieces(files.STANDARD, iter(["one ", "two\n"]))
    files.release()
    os.write(1, b"again\n")
    files.release()
    assert capfd.readouterr() == ('{\n  "a": null,\n  "b": [\n    1\n  ]\n}\none two\nagain\n',
                                  "printed\n")
    files.write_json(None, {})
    with pytest.raises(UserError, match="-"):           # whose suffix says its format
        files.check(files.STANDARD, (".a", ".b"))


def test_folders(tmp_path):
    default = str(tmp_path / "results" / "deep" / "tuned.jsonl")
    files.check(default, (), default)                   # only its folder is missing
    files.make_folder(str(tmp_path / "other" / "a"), default)
    assert not (tmp_path / "other").exists()
    files.make_folder(default, default)
    files.make_folder(default, default)
    assert (tmp_path / "results" / "deep").is_dir()
    with pytest.raises(UserError, match="other/a"):
        files.check(str(tmp_path / "other" / "a"), (), default)
    (tmp_path / "file").write_text("")
    inside = str(tmp_path / "file" / "a")
    with pytest.raises(UserError, match="its folder cannot be made: "):
        files.make_folder(inside, inside)
