"""Graphs that are sent to the live page: their names and bounds."""

from sw.show.live import uploads
from sw.show.live.uploads import Uploads


def test_bounds(tmp_path, monkeypatch):
    """The oldest go first, whatever their number or bytes; what is used stays."""
    monkeypatch.setattr(uploads, "_MOST", 3)
    monkeypatch.setattr(uploads, "_MOST_KEPT", 100)
    kept = Uploads(tmp_path)
    first, second, third, fourth = (kept.keep("a.el", b"0123456789")[0] for _ in range(4))
    assert len({first, second, third, fourth}) == 4
    assert kept.find(first) is None and kept.find(second).read_bytes() == b"0123456789"
    large, path = kept.keep("b.el", b"x" * 85)
    assert kept.find(third) is None and kept.find(fourth) is None
    assert kept.find(second) is not None and kept.find(large) == path
    assert len(list(tmp_path.iterdir())) == 2


def test_expiry(tmp_path, monkeypatch):
    kept = Uploads(tmp_path)
    text, path = kept.keep("a.el", b"")
    monkeypatch.setattr(uploads, "_SECONDS", -1)
    assert kept.find(text) is None and not path.exists() and not list(tmp_path.iterdir())


def test_names(tmp_path):
    kept = Uploads(tmp_path)
    for name in ("", "..", ".hidden", "-x", "a/b\\c.el", "\0", "é" * 300, "a" * 300 + ".el"):
        text, path = kept.keep(name, b"")
        assert path.is_file() and path.parents[1] == tmp_path
        assert path.name[0] not in ".-" and len(path.name) <= 80
        assert text == f"upload:{path.parent.name}/{path.name}"
