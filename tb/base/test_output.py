"""Outputs: written whole or not at all, in the place with the given name.

====================  ============================================================================
regular files         test_new_file, test_mode_is_kept, test_owner_is_kept
links                 test_link_is_followed, test_link_to_nothing
devices               test_device, test_fifo, test_descriptor, test_npz_to_a_device
nothing half-written  test_exception, test_no_room
names beside          test_names_beside_are_exclusive
refusals              test_refused, test_check_leaves_nothing
one file              test_identity
folders               test_new_folder, test_folder_stays, test_folder_comes_back,
                      test_folders_refused
====================  ============================================================================
"""

import os
import pathlib
import stat
import threading

import numpy as np
import pytest

from base.errors import UserError
from base.output import Output, check, identity, marked_by, replacing, replacing_folder


ROOT = os.geteuid() == 0


def write(path, data):
    check(os.fspath(path))
    with replacing(path) as stream:
        stream.write(data)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_new_file(tmp_path):
    before = os.umask(0o026)
    try:
        write(tmp_path / "new", b"text")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == b"text" and mode(tmp_path / "new") == 0o640
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.parametrize("old", [0o640, 0o600, 0o755])
def test_mode_is_kept(tmp_path, old):
    path = tmp_path / "file"
    path.write_bytes(b"a longer text than the new one")
    path.chmod(old)
    inode = path.stat().st_ino
    write(path, b"new")
    assert path.read_bytes() == b"new" and mode(path) == old
    assert path.stat().st_ino != inode                     # a reader still has the old file


@pytest.mark.skipif(not ROOT, reason="only root gives files to others")
def test_owner_is_kept(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o4750)
    write(path, b"new")
    status = path.stat()
    assert (status.st_uid, status.st_gid, mode(path)) == (12345, 23456, 0o4750)


def test_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link, second = tmp_path / "folder" / "target", tmp_path / "link", tmp_path / "second"
    target.write_bytes(b"old")
    link.symlink_to("folder/target")
    second.symlink_to("link")
    write(second, b"new")
    assert second.is_symlink() and os.readlink(link) == "folder/target"
    assert target.read_bytes() == b"new" and os.listdir(tmp_path / "folder") == ["target"]


def test_link_to_nothing(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_bytes() == b"new"


def test_device(tmp_path):
    (tmp_path / "link").symlink_to(os.devnull)
    for path in (os.devnull, tmp_path / "link"):
        write(path, b"text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode) and (tmp_path / "link").is_symlink()
    with pytest.raises(UserError, match="^/dev/full: .*No space left"):
        write("/dev/full", b"text")


def test_npz_to_a_device():
    with replacing(os.devnull) as stream:
        np.savez_compressed(stream, a=np.arange(100_000), b=np.arange(5))
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_fifo(tmp_path):
    path, read = tmp_path / "fifo", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    write(path, b"text")
    reader.join(10)
    assert read == [b"text"] and stat.S_ISFIFO(path.stat().st_mode)
    assert os.listdir(tmp_path) == ["fifo"]


def test_descriptor(tmp_path):
    """Process substitution, /dev/stdout and similar names: writing continues on the open file."""
    with open(tmp_path / "file", "w+b", buffering=0) as file:
        file.write(b"before ")
        (tmp_path / "link").symlink_to(f"/dev/fd/{file.fileno()}")
        write(tmp_path / "link", b"text ")
        write(f"/proc/self/fd/{file.fileno()}", b"more ")
        file.write(b"after")
        assert (tmp_path / "file").read_bytes() == b"before text more after"
    end, begin = os.pipe()
    write(f"/dev/fd/{begin}", b"text")
    assert os.read(end, 10) == b"text"
    with pytest.raises(UserError, match="open for reading only"):
        check(f"/dev/fd/{end}")
    for number in (end, begin):
        os.close(number)
    with pytest.raises(UserError, match=f"/dev/fd/{begin}: cannot be written: Bad file descr"):
        check(f"/dev/fd/{begin}")


def test_exception(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    for wrong in (KeyboardInterrupt, ValueError):
        with pytest.raises(wrong):
            with replacing(path) as stream:
                stream.write(b"new")
                stream.flush()
                assert path.read_bytes() == b"old" and len(os.listdir(tmp_path)) == 2
                raise wrong
        assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


def test_no_room(tmp_path, small_files):
    (tmp_path / "old").write_bytes(b"old")
    for path in (tmp_path / "old", tmp_path / "new"):
        with small_files(), pytest.raises(UserError, match=f"{path}: cannot be .*File too large"):
            write(path, b"x" * 20_000)
    assert (tmp_path / "old").read_bytes() == b"old" and os.listdir(tmp_path) == ["old"]


def test_names_beside_are_exclusive(tmp_path, monkeypatch):
    """An existing name is not written, above all not another user's link."""
    (tmp_path / "victim").write_bytes(b"precious")
    names = set()
    for _ in range(2):
        with replacing(tmp_path / "file"):
            names.update(name for name in os.listdir(tmp_path) if name.endswith(".part"))
    assert len(names) == 2
    monkeypatch.setattr("secrets.token_hex", lambda count: "guessed")
    (tmp_path / ".graphloom-guessed.part").symlink_to("victim")
    with pytest.raises(UserError, match="File exists"):
        write(tmp_path / "file", b"text")
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert (tmp_path / ".graphloom-guessed.part").is_symlink()


def test_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for path, why in ((tmp_path, "it is a folder"), (tmp_path / "none" / "file", "no folder"),
                      ("", "empty"), ("a\0b", "NUL"), (tmp_path / "loop", "symbolic links"),
                      (tmp_path / ("x" * 300), "name too long"),
                      # Digits of other scripts are no numbers of descriptors.
                      ("/dev/fd/name", "No such file"), ("/dev/fd/\u0661", "No such file")):
        for attempt in (check, Output):
            with pytest.raises(UserError, match=why):
                attempt(os.fspath(path))
    assert os.listdir(tmp_path) == ["loop"]


def test_check_leaves_nothing(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.mkfifo(tmp_path / "fifo")
    check(None)
    for name in ("file", "fifo", "new"):
        check(str(tmp_path / name))                       # a FIFO needs no reader
    assert path.read_bytes() == b"old" and sorted(os.listdir(tmp_path)) == ["fifo", "file"]
    with pytest.raises(UserError, match=r"must end in \.json"):
        check(str(path), (".json",))
    check(os.devnull, (".json",))
    with pytest.raises(UserError, match=r"must end in \.txt or \.json"):
        check(os.devnull, (".txt", ".json"))


def test_identity(tmp_path):
    path = tmp_path / "file"
    (tmp_path / "link").symlink_to("file")
    assert identity(tmp_path / "link") == identity(path)         # neither file exists
    path.write_bytes(b"")
    os.link(path, tmp_path / "hard")
    (tmp_path / "other").write_bytes(b"")
    assert identity(tmp_path / "link") == identity(path) == identity(tmp_path / "hard")
    assert identity(path) not in (identity(tmp_path / "other"), identity(tmp_path / "new"), None)
    assert identity(os.devnull) is None


MARKED = marked_by("mark")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_new_folder(tmp_path):
    """A folder is new, or takes the place of one of its kind; nothing is left beside it."""
    (tmp_path / "link").symlink_to("place")
    for number, folder in enumerate(("place", "place", "link")):
        with replacing_folder(tmp_path / folder, "--to", MARKED) as made:
            assert names(made) == [] and made.parent.parent == tmp_path
            (made / "mark").touch()
            (made / f"file-{number}").touch()
        assert names(tmp_path / "place") == [f"file-{number}", "mark"]
        assert names(tmp_path) == ["link", "place"]
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("error, raised", [(KeyboardInterrupt(), KeyboardInterrupt),
                                           (OSError(28, "no room"), UserError)])
def test_folder_stays(tmp_path, error, raised):
    place = tmp_path / "place"
    place.mkdir()
    (place / "mark").touch()
    with pytest.raises(raised) as caught, replacing_folder(place, "--to", MARKED) as made:
        (made / "file").touch()
        raise error
    assert raised is KeyboardInterrupt or str(caught.value) == (
        f"--to {place}: cannot be written: no room")
    assert names(place) == ["mark"] and names(tmp_path) == ["place"]


def test_folder_comes_back(tmp_path, monkeypatch):
    """The old folder, if the new one cannot take its place."""
    place, rename = tmp_path / "place", pathlib.Path.rename
    place.mkdir()
    (place / "mark").touch()

    def refuse(path, target):
        if path.name == "made":
            raise OSError(28, "no room")
        return rename(path, target)
    monkeypatch.setattr(pathlib.Path, "rename", refuse)
    with pytest.raises(UserError, match="no room"), replacing_folder(place, "--to", MARKED):
        pass
    assert names(place) == ["mark"] and names(tmp_path) == ["place"]


@pytest.mark.parametrize("name, words", [
    ("none/place", "there is no folder .*none$"), ("file", "it is no folder; name a new folder"),
    ("full", "the folder holds other files, such as a; name a new folder"),
    ("nul\0", "cannot be written: .*null"), ("a" * 300, "cannot be written: File name too long")])
def test_folders_refused(tmp_path, name, words):
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    for file in "ba":
        (tmp_path / "full" / file).touch()
    before = names(tmp_path)
    with (pytest.raises(UserError, match=f"(?s)^--to .*: {words}"),
          replacing_folder(tmp_path / name, "--to", MARKED)):
        pass
    assert names(tmp_path) == before and names(tmp_path / "full") == ["a", "b"]
