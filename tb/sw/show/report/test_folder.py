"""The folder of a report: what is in it, what it replaces, and what is left as it was.

======================  ========================================================
contents                test_contents, test_texts: no text becomes markup
places                  test_replaced, test_refused
whole or not at all     test_a_failure_leaves_the_old_report, test_a_full_disk
======================  ========================================================
"""

import html.parser
import json
import re

import pytest

from base.errors import UserError
from sw.show.report import folder
from sw.show.report.build import build
from sw.show.report.plots import Block, Page, PlotPoint, bars


def _names(path):
    return sorted(entry.name for entry in path.iterdir())


class _Links(html.parser.HTMLParser):
    """Collects what a page refers to."""

    def __init__(self):
        super().__init__()
        self.found, self.ids = set(), set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.found |= {values[name] for name in ("href", "src") if values.get(name)}
        self.ids |= {values["id"]} if "id" in values else set()


def test_contents(made, tmp_path):
    target = tmp_path / "report"
    pages = build([str(made.folder)], str(target))
    assert [page.kind for _, page in pages] == ["compare", "run", "trace"]
    names = ["compare-compare.html", "index.html", "plotly.min.js", "report.css", "report.js",
             "report.json", "run-run.html", "trace-trace.html"]
    assert _names(target) == names
    assert json.loads((target / "report.json").read_text())["files"] == names
    assert _names(tmp_path) == ["report"]
    for name in names:
        if name.endswith(".html"):
            links = _Links()
            links.feed((target / name).read_text())
            for link in links.found:
                assert link.startswith("data:") or link in names or link[1:] in links.ids, link
    assert "plotly.min.js" in (target / "run-run.html").read_text()


HOSTILE = "</script><script>alert(1)</script><b>\"&'"


def test_texts(tmp_path):
    point = PlotPoint(HOSTILE, ((HOSTILE, HOSTILE),), HOSTILE, HOSTILE)
    drawn = bars({HOSTILE: [1], "b": [2]}, [HOSTILE], {HOSTILE: [point], "b": [point]}, x=HOSTILE,
                 y="")
    shown = Block(HOSTILE, HOSTILE, {HOSTILE: drawn, "other": drawn}, (HOSTILE,),
                  (((HOSTILE,), point),), HOSTILE)
    page = Page(HOSTILE, HOSTILE, ((HOSTILE, HOSTILE),), (shown, shown), (HOSTILE,), HOSTILE, "run")
    folder.write(str(tmp_path / "report"), [(HOSTILE, page)], Page("Report", ""))
    name, = (name for name in _names(tmp_path / "report") if name.startswith("run-"))
    text = (tmp_path / "report" / name).read_text()
    assert "<script>alert" not in text and text.count("<b>") == 0
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert len(data["points"]) == 1 and len(data["blocks"]) == 2
    trace = next(iter(data["blocks"].values()))[0]["data"][0]
    assert trace["customdata"] == [0] and "<b>&lt;/script&gt;" in trace["hovertext"][0]


def test_replaced(made, tmp_path):
    target = tmp_path / "report"
    target.mkdir()                                              # an empty folder is taken
    build([str(made.folder / "run.json")], str(target))
    assert "run-run.html" in _names(target)
    build([str(made.folder / "compare.json")], str(target))     # and an earlier report
    assert "run-run.html" not in _names(target) and "compare-compare.html" in _names(target)
    link = tmp_path / "link"
    link.symlink_to(target)
    build([str(made.folder / "run.json")], str(link))
    assert link.is_symlink() and "run-run.html" in _names(target)
    assert _names(tmp_path) == ["link", "report"]


def test_refused(made, tmp_path):
    run = str(made.folder / "run.json")

    def refused(target, message):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(UserError, match=message):
            build([run], str(target))
        assert sorted(tmp_path.rglob("*")) == before

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    refused(tmp_path / "other", "thesis.tex; name a new folder")
    (tmp_path / "other" / "report.json").write_text('{"kind": "shopping", "files": ["thesis.tex"]}')
    refused(tmp_path / "other", "report.json")
    refused(made.folder, "other files")
    (tmp_path / "file").write_text("")
    refused(tmp_path / "file", "no folder; name a new folder")
    refused(tmp_path / "no" / "report", "there is no folder .*/no$")
    build([run], str(tmp_path / "report"))
    (tmp_path / "report" / "mine.txt").write_text("")
    refused(tmp_path / "report", "mine.txt")
    refused("bad\0name", "cannot be written")


def test_a_failure_leaves_the_old_report(made, tmp_path, monkeypatch):
    target = tmp_path / "report"
    build([str(made.folder / "run.json")], str(target))
    before = {name: (target / name).read_bytes() for name in _names(target)}
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(UserError, match="is not JSON"):
        build([str(tmp_path / "broken.json")], str(target))

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "_rendered", fail)
    with pytest.raises(UserError, match="No space left"):
        build([str(made.folder / "compare.json")], str(target))
    assert {name: (target / name).read_bytes() for name in _names(target)} == before
    assert _names(tmp_path) == ["broken.json", "report"]


def test_a_full_disk(made, tmp_path, small_files):
    with small_files(), pytest.raises(UserError, match="File too large"):
        build([str(made.folder / "run.json")], str(tmp_path / "report"))
    assert _names(tmp_path) == []
