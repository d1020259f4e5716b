"""The site: links that lead nowhere are errors, no other host is asked for anything, and its pages
can be read as files."""

import pathlib
import re
import shutil

import pytest
import yaml

from base.errors import UserError
from sw.show.site import build
from base.installation import ROOT
from tb.browser import chromium, open_page      # noqa: F401


@pytest.fixture
def settings(tmp_path):
    """Writes the settings of a small site: those of the project, but for pages and plugins."""
    def write(**pages):
        docs = tmp_path / "docs"
        docs.mkdir()
        for name, text in pages.items():
            (docs / f"{name}.md").write_text(text)
        for name in ("style.css", "iframe-worker.js"):
            shutil.copy(ROOT / "docs" / name, docs)
        given = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
        given |= {"docs_dir": str(docs), "hooks": [], "plugins": ["search", "offline"],
                  "nav": [f"{name}.md" for name in pages]}
        path = tmp_path / "mkdocs.yml"
        path.write_text(yaml.safe_dump(given))
        return path
    return write


def test_a_site(settings, tmp_path):
    """All of its files are there, the search has its words, and no other host is named."""
    made = tmp_path / "site"
    assert build._make(made, settings(
        index="# One\n\n[two](two.md#part)\n", two="# Two\n\n## Part\n\nfrobnicate\n")) == []
    assert (made / "two.html").exists()
    assert "frobnicate" in (made / "search" / "search_index.json").read_text()
    for page in made.glob("*.html"):
        # A browser loads these by itself; a link waits for the reader.
        loads = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"([^\"]*)\"",
                           page.read_text())
        assert loads and not [url for url in loads if "//" in url]
    for sheet in made.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?(?:https?:)?//", sheet.read_text()), sheet


def test_pages_as_files(settings, tmp_path, open_page):         # noqa: F811
    """Search finds a word, links lead on, and names of code are not cut."""
    made = tmp_path / "site"
    name = "scu-enhanced_with_a_name"
    build._make(made, settings(index=f"# One\n\n[two](two.md)\n\n| a | b | c |\n| - | - | - |\n"
                               f"| `{name}` | {'word ' * 60} | {'`of_code` ' * 40} |\n",
                               two="# Two\n\nfrobnicate\n"))
    for width in (1400, 400):
        tab = open_page(made / "index.html", width=width)
        assert tab.overflow() == 0
        heights = tab.page.eval_on_selector_all("td code", """codes => codes.map(
            code => code.getClientRects().length)""")
        assert set(heights) == {1} and len(heights) == 41
        tab.page.click(".md-content a[href='two.html']")
        tab.page.wait_for_url("**/two.html")
        if width == 400:
            tab.page.click(".md-header__button[for=__search]")
        tab.page.click("input.md-search__input")
        tab.page.keyboard.type("frobnicate")
        tab.page.wait_for_selector(".md-search-result__item a[href*='two.html']")


@pytest.mark.parametrize("text, words", [
    ("[x](nothing.md)", "nothing.md"), ("[x](two.md#nothing)", "nothing"),
    ("![x](figures/nothing.svg)", "nothing.svg")])
def test_a_link_that_leads_nowhere(settings, tmp_path, text, words):
    found = build._make(tmp_path / "site", settings(index=f"# One\n\n{text}\n", two="# Two\n"))
    assert any(words in line for line in found)


def test_a_page_that_the_navigation_lacks(settings, tmp_path):
    path = settings(index="# One\n")
    (tmp_path / "docs" / "lost.md").write_text("# Lost\n")
    assert any("lost.md" in line for line in build._make(tmp_path / "site", path))


@pytest.fixture
def small(monkeypatch):
    """Building takes no time: a site of one file, or with one broken link."""
    def make(folder, found=()):
        (folder / "index.html").write_text("new")
        return list(found)
    monkeypatch.setattr(build, "_make", make)
    return lambda found: monkeypatch.setattr(build, "_make",
                                             lambda folder: make(folder, found))


def test_a_folder_is_replaced_as_a_whole(small, tmp_path):
    site = tmp_path / "site"
    assert build.build(str(site)) == []
    (site / "old.html").write_text("old")
    assert build.build(str(site)) == []
    assert {path.name for path in site.iterdir()} == {"index.html", build._MARK}
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_broken_site_leaves_the_old_one(small, tmp_path):
    site = tmp_path / "site"
    build.build(site)
    (site / "index.html").write_text("old")
    small(["a link"])
    assert build.build(site) == ["a link"]
    assert (site / "index.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_other_files_are_kept(small, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="holds other files"):
        build.build(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_an_empty_folder_is_used(small, tmp_path):
    assert build.build(tmp_path / "site") == []
    (tmp_path / "empty").mkdir()
    assert build.build(tmp_path / "empty") == []
    assert (pathlib.Path(tmp_path) / "empty" / "index.html").exists()
