"""The configurations that the block diagrams show."""

from hw.config import preset


__all__ = ["narrow", "shown", "size"]


#: Several of everything, and the SCU, which no preset has.
_SEVERAL = {"cores": 2, "l2_banks": 2, "scu": 4}


def shown(several=False):
    """The configuration whose numbers a picture gives: preset ``baseline``.

    Parameters
    ----------
    several : bool
        Whether there are two cores, two banks and an SCU.
    """
    return preset("baseline").replace(**_SEVERAL if several else {})


def narrow(several=False):
    """The same with few lanes and warps: the same units, elaborated sooner."""
    return shown(several).replace(threads=4, warps=2)


def size(number) -> str:
    """Bytes, for a reader."""
    return f"{number >> 10} KiB" if number >= 1 << 10 else f"{number} bytes"
