"""What is compared if nobody names schedules: the records of schedules and units decide."""

import dataclasses

from hw.config import preset
from hw.gather.variants import VARIANTS
from sw.compile import schedules


DEFAULT = preset("baseline")


def chosen(config=DEFAULT, said=()):
    return [(name, own.gather, own.scu) for name, own in schedules.compared(config, said)]


def test_compared():
    """Software is on the hardware as it is, and each schedule of a unit on hardware with that
    unit, where all else is the same."""
    found = schedules.compared(DEFAULT)
    own = {config.gather for name, config in found if not schedules.in_software(name)}
    assert own == {name for name, unit in VARIANTS.items() if unit.compared}
    assert any(config.scu for _, config in found)
    assert all(config == DEFAULT for name, config in found if schedules.in_software(name))
    assert all(config.replace(gather=DEFAULT.gather, scu=0, name=DEFAULT.name) == DEFAULT
               for _, config in found)
    assert [config == DEFAULT for _, config in found] == sorted(
        (config == DEFAULT for _, config in found), reverse=True)


def test_records_decide(monkeypatch):
    before = chosen()
    monkeypatch.setitem(VARIANTS, "scan", dataclasses.replace(VARIANTS["scan"], compared=True))
    assert set(chosen()) == {*before, ("weaver", "scan", 0)}
    monkeypatch.setattr(type(schedules.make("graphpeg")), "compared", False)
    monkeypatch.setattr(type(schedules.make("tile")), "compared", True)
    assert set(chosen()) == {*before, ("weaver", "scan", 0), ("tile", "fsm", 0)} - {
        ("graphpeg", "graphpeg", 0)}


def test_what_the_user_says_stays():
    stream = DEFAULT.replace(gather="stream", scu=1)
    assert {tuple(each[1:]) for each in chosen(stream, ("gather", "scu"))} == {("stream", 1)}
