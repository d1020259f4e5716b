"""A digest of the sources. Figures taken with other sources say nothing about these sources."""

import hashlib

from base.installation import ROOT
from hw.gather.variants import OUTSIDE, source


__all__ = ["digest"]


_SUFFIXES = (".py", ".S", ".c", ".cpp", ".cuh", ".el", ".gt", ".h", ".jinja", ".json", ".lark",
             ".ld", ".sv", ".toml", ".v")


def digest(*places) -> str:
    """SHA-256 over source files of the project and their names. A place is a file, or a folder such
    as ``"hw"``, with all source files in it. Units outside of the project count as well."""
    found = hashlib.sha256()
    for place in places:
        place = ROOT / place
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.suffix in _SUFFIXES:
                found.update(f"{path.relative_to(ROOT)}\0".encode())
                found.update(path.read_bytes())
    for name in OUTSIDE:
        found.update(f"{name}\0".encode() + source(name))
    return found.hexdigest()
