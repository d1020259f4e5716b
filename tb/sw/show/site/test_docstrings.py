"""Docstrings of the project as Markdown, and the pages of the site that are made."""

import pytest

from sw.show.site.docstrings import MEMBERS, comment, markdown
from base.installation import ROOMS, ROOT
from sw.show.site.places import api_pages, published, without_files


def path(name):
    return f"hw.{name}" if name != "unknown" else None


@pytest.mark.parametrize("text, right", [
    ("See :class:`Core`.", "See [`Core`][hw.Core]."),
    ("See :func:`~core.alu.join`.", "See [`join`][hw.core.alu.join]."),
    ("See :data:`unknown`, ``code``.", "See `unknown`, ``code``."),
    ("Members\n-------\ni : In(1)\n    In.",
     f"{MEMBERS}\n{'-' * len(MEMBERS)}\ni : In(1)\n    In."),
    ("Members are here.", "Members are here."),
    ("As here::\n\n    a b\n      c\n\nText.",
     "As here:\n\n    a b\n      c\n\nText."),
    ("Text.\n\n====  ====\none   two\n====  ====\na     b|c\n      more\nd     e\n====  ====\n",
     "Text.\n\n\n| one | two |\n| --- | --- |\n| a | b\\|c more |\n| d | e |\n\n"),
    ("====  ====\na     b\n====  ====", "\n|  |  |\n| --- | --- |\n| a | b |\n"),
])
def test_markdown(text, right):
    assert markdown(text, path) == right


def test_comments_of_a_name():
    lines = ["x = 1", "#: One", "#: two.", "NAME = 2", "", "OTHER = 3", "w: int  #: Behind."]
    assert comment(lines, 4) == "One\ntwo."
    assert comment(lines, 6) == "" and comment(lines, 1) == ""
    assert comment(lines, 7) == "Behind."


def test_every_package_has_a_page():
    pages = api_pages()
    assert {"hw", "hw.core", "sw.compile.frontiers", "sim", "checks.campaign"} <= pages.keys()
    assert "::: hw.core.alu\n" in pages["hw.core"] and "::: graphloom.load\n" in pages["graphloom"]
    assert "::: hw.core.alu\n" not in pages["hw"]
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.py"):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            module = module.removesuffix(".__init__")
            if not module.endswith("__main__"):
                assert any(f"::: {module}\n" in text for text in pages.values()), module


def test_published():
    assert published("hw.core.alu.Alu") and not published("hw.core.alu._join")
    assert not published("amaranth.hdl.Signal")


def test_links_to_files_that_the_site_lacks():
    folder = ROOT / "docs"
    assert without_files("[a](../README.md) [b](core.md#x) [c](nothing.md) ![d](../e.svg)",
                         folder) == "a [b](core.md#x) [c](nothing.md) ![d](../e.svg)"
