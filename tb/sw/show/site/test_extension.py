"""The API shows everything public, with its documentation."""

import functools

import griffe
import pytest

import graphloom
from sw.show.site.extension import Docstrings
from sw.show.site.places import api_pages
from base.installation import ROOMS, ROOT


@functools.cache
def room(name):
    """A folder of the project, as the site reads it."""
    return griffe.load(name, search_paths=[ROOT], docstring_parser="numpy",
                       extensions=griffe.load_extensions(Docstrings))


def modules(package):
    for member in package.members.values():
        if not member.is_alias and member.is_module:
            yield member
            yield from modules(member)


@pytest.mark.parametrize("name", ROOMS)
def test_public_names_are_there(name):
    """Each name that a module exports is a member, and public."""
    for module in [room(name), *modules(room(name))]:
        for export in module.exports or ():
            assert str(export) in module.members, f"{module.path}.{export}"


def test_names_of_scripts():
    """All that a script can import has documentation, on one page."""
    loader = griffe.GriffeLoader(search_paths=[ROOT], extensions=griffe.load_extensions(Docstrings))
    for package in ("graphloom", *ROOMS):
        loader.load(package, try_relative_path=False)
    page = loader.modules_collection["graphloom"]
    assert set(dir(graphloom)) == {*graphloom.__all__}
    for name in {*graphloom.__all__} - {"__version__"}:
        assert page[name].docstring, name
        assert f"::: graphloom.{name}\n" in api_pages()["graphloom"]


def test_constants_have_the_comment_above_them():
    text = room("hw")["config.LEGAL"].docstring.value
    assert text.startswith("The legal values of every field")
    assert room("synth")["logic.BLOCK"].docstring is not None
    assert room("hw")["config._powers"].docstring is None


def test_members_of_hardware():
    """Ports are a section of their own, with direction and shape."""
    sections = {section.title: section for section in room("hw")["core.core.Core"].docstring.parsed}
    ports = {port.name: str(port.annotation) for port in sections["Members"].value}
    assert ports["launch"] == "In(1)" and ports["fault"] == "Out(fault_layout)"


@pytest.mark.parametrize("place, right", [
    ("config.HardwareConfig", "[`LEGAL`][hw.config.LEGAL]"),
    ("core.l1.L1", "`PATIENCE`"),
    ("top.FlatGpu", "[`hw.core.trace.trace_layout`][hw.core.trace.trace_layout]"),
])
def test_roles_are_links(place, right):
    """To what is public; a private name is code."""
    assert right in room("hw")[place].docstring.value
    assert "](`" not in room("hw")[place].docstring.value
