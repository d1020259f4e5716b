"""A mutant: a source file with one small fault, and the tests that ought to notice the fault."""

import dataclasses
import difflib
import pathlib


__all__ = ["ROOT", "Mutant", "MutantError", "Refutation", "room"]


#: The project's folder.
ROOT = pathlib.Path(__file__).resolve().parents[3]


class MutantError(Exception):
    """A mutant does not fit the sources. The message names the mutant and the reason."""


def room(file) -> str:
    """The room of a source file, such as ``"hw/core"`` or ``"synth"``: the first two folders."""
    return "/".join(file.split("/")[:-1][:2])


@dataclasses.dataclass(frozen=True)
class Refutation:
    """A proof that must refute a mutant."""
    unit: str  #: Unit, property and shape, as :mod:`checks.formal.registry` calls them.
    name: str  #: Unit, property and shape, as :mod:`checks.formal.registry` calls them.
    shape: str  #: Unit, property and shape, as :mod:`checks.formal.registry` calls them.
    depth: int = 0  #: Cycles from reset to check; 0 for a proof by structure.
    #: Whether the refutation takes too long for the tests, and only ``mutants`` does it.
    full: bool = False

    def __str__(self):
        return f"{self.unit}, {self.name}: {self.shape}" + f", {self.depth} cycles" * bool(
            self.depth)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A fault in a source file."""
    #: The mutant's name. A curated mutant has words joined by hyphens; a generated one has file,
    #: place, operator and a hash, with colons between.
    id: str
    file: str  #: Source file, from the project's folder.
    line: int  #: The line of the fault.
    before: str  #: The file's text without and with the fault.
    after: str  #: The file's text without and with the fault.
    #: Arguments for pytest, one tuple for each call. The calls are made in turn until a test fails.
    #: Empty if a proof is named.
    rungs: tuple[tuple[str, ...], ...] = ()
    #: The proof that must find a run from reset in which an assertion fails.
    proof: Refutation | None = None

    @property
    def room(self) -> str:
        """Room of the file."""
        return room(self.file)

    @property
    def module(self) -> str:
        """Name of the file's module."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def notices(self) -> tuple[str, ...]:
        """The tests or the proof that ought to notice, as text: arguments of calls of pytest."""
        return (str(self.proof),) if self.proof else tuple(map(" ".join, self.rungs))

    def diff(self) -> str:
        """The fault as a unified diff."""
        return "".join(difflib.unified_diff(
            self.before.splitlines(keepends=True), self.after.splitlines(keepends=True),
            f"a/{self.file}", f"b/{self.file}"))
