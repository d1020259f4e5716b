"""Opening and reading of the user's files (``base.input``), and the commands that do so."""

import os
import threading

import pytest

from base import input as files
from base.errors import UserError
from sw.cli.main import main


_PROGRAM = """
from graphloom import edgeset, program, uint, vector

@program
def tried(edges: edgeset):
    words = vector(uint, 0)
    x = NUMBER
    return words
"""

_GRAPHIT = """
element Vertex end
element Edge end
const edges : edgeset{Edge}(Vertex,Vertex) = load(argv[1]);
const vertices : vertexset{Vertex} = edges.getVertices();
const words : vector{Vertex}(int) = 0;
func main()
    var x : int = NUMBER;
end
"""


def _error(capsys, *arguments):
    assert main(list(arguments)) == 2
    text = capsys.readouterr().err
    assert text.startswith("graphloom: error: ") and text.count("\n") == 1, text
    return text


def test_texts(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert files.read_text(path) == "one\ntwo\nthree\n"
    path.write_bytes(b"\xff")
    with pytest.raises(UserError, match="is no text in UTF-8: byte 0"):
        files.read_text(path)
    path.write_bytes(b"a" * 101)
    assert len(files.read_bytes(path, 101)) == 101
    with pytest.raises(UserError, match="which is too much"):
        files.read_bytes(path, 100)
    for name, why in ((tmp_path, "it is a folder"), ("/dev/zero", "it is a device"),
                      (tmp_path / "none", "No such file"), ("a\0b", "is not the name of a file"),
                      ("a" * 5000, "too long")):
        with pytest.raises(UserError, match=why):
            files.read_bytes(name)


def test_a_pipe_that_is_open():
    """A pipe is read to its end, and no further than the limit."""
    reading, writing = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(writing, b"0 1\n"), os.close(writing)))
    writer.start()
    assert files.read_bytes(f"/dev/fd/{reading}") == b"0 1\n"
    writer.join()
    os.close(reading)


@pytest.mark.parametrize("command", [["report", "FILE", "-o", "out"], ["lang", "show", "FILE.py"],
                                     ["lang", "show", "FILE.gt"], ["run", "FILE.py", "karate"]])
def test_no_file(command, capsys, tmp_path, monkeypatch):
    """A FIFO that nobody writes to and a device without end are refused at once."""
    monkeypatch.chdir(tmp_path)
    for make in (os.mkfifo, lambda name: os.symlink("/dev/zero", name)):
        names = [word.replace("FILE", "odd") for word in command if "FILE" in word]
        make(names[0])
        assert "cannot be read: it is a " in _error(
            capsys, *(word.replace("FILE", "odd") for word in command))
        os.unlink(names[0])


@pytest.mark.parametrize("suffix, text", [(".py", _PROGRAM), (".gt", _GRAPHIT)])
@pytest.mark.parametrize("number", ["9" * 5000, "9" * 50, "0x" + "f" * 5000])
def test_long_numbers(capsys, tmp_path, suffix, text, number):
    path = tmp_path / f"long{suffix}"
    path.write_text(text.replace("NUMBER", number))
    assert f"{path}:" in _error(capsys, "lang", "show", str(path))


@pytest.mark.parametrize("suffix, text", [(".py", _PROGRAM), (".gt", _GRAPHIT)])
def test_a_byte_order_mark(tmp_path, suffix, text):
    path = tmp_path / f"marked{suffix}"
    path.write_text(text.replace("NUMBER", "3"), encoding="utf-8-sig")
    assert main(["lang", "show", str(path)]) == 0
