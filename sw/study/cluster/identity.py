"""The identity of a machine's software: equal identities give equal results.

A client sends pieces only to workers whose identity is its own. The identity has the digest of the
sources, the version of Python and the versions of the packages that Graphloom asks for.
"""

import functools
import importlib.metadata
import platform
import tomllib

from packaging.requirements import Requirement

from base.installation import ROOT, TREE
from sw.study.benchmarks.sources import digest


__all__ = ["differences", "identity", "sources"]


#: Folders of the sources, as far as they are installed. Tests are sources too: mutants run them.
_FOLDERS = ("base", "checks", "datasets", "examples", "hw", "sim", "sw", "synth", "tb")

#: Differences that are told; the others are counted.
_TOLD = 3


def sources() -> str:
    """The digest of all sources, as they are now."""
    return digest(*(folder for folder in _FOLDERS if (ROOT / folder).is_dir()))


@functools.cache
def _packages():
    """The packages that Graphloom asks for, by name, with their versions; None if not installed."""
    if TREE:
        with open(ROOT / "pyproject.toml", "rb") as file:
            project = tomllib.load(file)["project"]
        texts = [*project["dependencies"],
                 *(text for extra in project["optional-dependencies"].values() for text in extra)]
    else:
        texts = importlib.metadata.requires("graphloom") or []
    names = sorted({Requirement(text).name for text in texts} | {"distributed"})
    return {name: _version(name) for name in names}


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def identity() -> dict:
    """The identity of this machine: ``{"sources": digest, "python": version, PACKAGE: version}``.
    """
    return {"sources": sources(), "python": platform.python_version(), **_packages()}


def differences(there, here) -> str:
    """How another identity differs from one's own, in words that name both; empty if it does not.
    """
    found = [f"{name} {_shown(name, there.get(name))} there, {_shown(name, here.get(name))} here"
             for name in dict.fromkeys([*here, *there]) if there.get(name) != here.get(name)]
    more = len(found) - _TOLD
    return "; ".join(found[:_TOLD]) + (f"; and {more} more" if more > 0 else "")


def _shown(name, version):
    if version is None:
        return "not installed"
    return version[:12] if name == "sources" else version
