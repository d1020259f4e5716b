"""Colours of plots: one means one thing, and the eye can tell them apart.

======================  ========================================================
one meaning             test_one_meaning
distance                test_distances: in Oklab
schedules               test_schedules: each has one, whatever its options
======================  ========================================================
"""

import itertools
import math

from sw.compile import schedules
from sw.show import colours

PALETTES = {"schedules": list(colours.SCHEDULES.values()),
            "causes": [colour for _, colour in colours.CAUSES.values()],
            "phases": list(colours.PHASES.values()), "series": [*colours.SERIES, colours.NEUTRAL]}


def _oklab(text):
    rgb = [int(text[place:place + 2], 16) / 255 for place in (1, 3, 5)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb)
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
            1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
            0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short)


def test_one_meaning():
    every = [colour for palette in PALETTES.values() for colour in palette]
    assert len(every) == len(set(every))


def test_distances():
    for palette, least in (("schedules", 0.06), ("causes", 0.08), ("phases", 0.08),
                           ("series", 0.03)):
        for one, other in itertools.combinations(PALETTES[palette], 2):
            assert math.dist(_oklab(one), _oklab(other)) > least, (palette, one, other)
    for one, other in itertools.combinations(("schedules", "causes", "phases"), 2):
        assert min(math.dist(_oklab(a), _oklab(b)) for a in PALETTES[one]
                   for b in PALETTES[other]) > 0.1, (one, other)


def test_schedules():
    assert list(colours.SCHEDULES.keys() ^ set(schedules.names())) == []
    assert colours.of_schedule("vwc:width=4") == colours.of_schedule("vwc (2)") \
        == colours.SCHEDULES["vwc"]
    assert colours.of_schedule("nothing") == colours.PLAIN
    assert colours.of_series(["vm", "L1", "L2"]) == {
        "vm": colours.SCHEDULES["vm"], "L1": colours.SERIES[0], "L2": colours.SERIES[1]}
