"""Half of the combinations of several axes, for tests in which a whole product would take long.

``./graphloom list combinations --run`` runs whole products.
"""

import itertools


__all__ = ["every_second"]


def every_second(*axes):
    """Every second combination of the axes: those whose values' places add up to an even number.

    Each pair of values of two axes comes up, if there is a third axis of two or more values.
    """
    places = itertools.product(*(range(len(axis)) for axis in axes))
    return [tuple(axis[place] for axis, place in zip(axes, places_))
            for places_ in places if sum(places_) % 2 == 0]
