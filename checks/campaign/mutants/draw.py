"""A sample of the mutants that operators make, spread over the rooms; and judged survivors."""

import itertools
import random
import tomllib

from checks.campaign.mutants.mutant import ROOT, Mutant, room
from checks.campaign.mutants.places import files, places


__all__ = ["JUDGED", "draw", "judged", "shares"]


#: The file of judged survivors: the id of a mutant, and why no test notices it.
JUDGED = ROOT / "checks/campaign/mutants/judged.toml"


def judged() -> dict:
    """{id: reason} of the survivors that somebody has judged. A reason begins with
    ``"equivalent: "`` or with ``"no test is worth it: "``."""
    return tomllib.loads(JUDGED.read_text())


def shares(sizes, count) -> dict:
    """How many of ``count`` each room has: in proportion to its places, rounded by the largest
    remainders, and at least one as long as ``count`` is enough for all rooms.

    Parameters
    ----------
    sizes : dict of str to int
        Places of each room, at least one.
    """
    total = sum(sizes.values())
    count = min(count, total)
    exact = {name: count * size / total for name, size in sizes.items()}
    found = {name: int(share) for name, share in exact.items()}
    order = sorted(sizes, key=lambda name: (found[name] - exact[name], name))
    for name in order[:count - sum(found.values())]:
        found[name] += 1
    if count >= len(sizes):
        for name in sizes:
            if not found[name]:
                found[max(found, key=lambda name: (found[name], name))] -= 1
                found[name] = 1
    return found


def draw(count, seed, *, among=None) -> list[Mutant]:
    """A sample of mutants, in a random order, so that its beginning is a sample as well. The same
    sources, seed and files give the same sample.

    Parameters
    ----------
    count, seed : int
    among : iterable of str, optional
        Source files; by default all.
    """
    rooms = {}
    for file in files() if among is None else among:
        rooms.setdefault(room(file), []).extend(places(file))
    rooms = {name: found for name, found in rooms.items() if found}
    drawn = []
    for name, number in shares({name: len(found) for name, found in rooms.items()}, count).items():
        order = random.Random(f"{seed} {name}").sample(rooms[name], len(rooms[name]))
        drawn += itertools.islice((place for place in order if place.is_fault()), number)
    random.Random(seed).shuffle(drawn)
    return [place.mutant() for place in drawn]
