"""What users may ask of schedules, formats and generators: each option with its legal values, its
default and what the tuner tries, in a text; and each bound of a number, by trying it."""

import pathlib

import pytest

from base.errors import UserError
from sw.compile import formats, schedules
from sw.compile.options import Integer
from sw.graph.generators import GENERATORS
from tb import expected


EXPECTED = pathlib.Path(__file__).parent / "contract.txt"

KINDS = {**{f"schedule {name}": type(schedules.make(name)) for name in schedules.names()},
         **{f"format {name}": formats.find_image(name) for name in formats.image_names()}}


def test_options():
    expected.check(EXPECTED, "options", "\n".join(
        f"{kind}: {name}: {option.legal}; {option.default}; tried: {option.tries}"
        for kind, its in KINDS.items() for name, option in its.OPTIONS.items()))


def test_generators():
    expected.check(EXPECTED, "generators", "\n".join(
        f"{kind}: {name}: {what.legal}; {what.default}"
        for kind, entry in GENERATORS.items() for name, what in entry.parameters.items()))


def test_schedules():
    expected.check(EXPECTED, "schedules", "\n".join(
        f"{name}: unit {schedules.make(name).needs_unit}, SCU {schedules.make(name).needs_scu}, "
        f"in software {schedules.in_software(name)}" for name in schedules.names()))
    assert formats.ALIASES == {"block-coo": "coo:block=4096"}


@pytest.mark.parametrize("kind", KINDS)
def test_bounds(kind):
    what, name = kind.split()
    canonical = {"schedule": schedules, "format": formats}[what].canonical
    for option, its in KINDS[kind].OPTIONS.items():
        if not isinstance(its, Integer):
            continue
        for value in (its.low, its.high):
            assert its.accept(value) == its.accept(str(value)) == (
                None if its.power and value & value - 1 else value)
        for value in (its.low - 1, its.high + 1, True, 1.5, "x"):
            assert its.accept(value) is None
            with pytest.raises(UserError, match=f"{option} is .*must be {its.legal}|no such format"
                               "|has no option"):
                canonical(f"{name}:{option}={value}")
