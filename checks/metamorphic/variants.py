"""Variants of programs: texts by some rules, from a seed."""

import ast
import pathlib
import random
from typing import NamedTuple

from base.errors import UserError
from checks.metamorphic.rules import RULES, Text
from sw.lang import programs
from sw.lang.reader import read_text


__all__ = ["Variant", "bases", "variant", "without_labels"]


_ROOT = pathlib.Path(__file__).parents[2]
_FOLDERS = (_ROOT / "examples" / "programs", pathlib.Path(__file__).parent / "texts")

#: Tries of a rule, of which some find no place, or make a text that is not of the language.
_TRIES = 60


class Variant(NamedTuple):
    """A text that means what another one does, or not, by the kinds of its rules."""
    text: str
    rules: tuple[str, ...]  #: The names of the rules, in the order in which they were applied.


def bases() -> dict[str, pathlib.Path]:
    """{name: file} of the programs from which variants are made."""
    found = {name: programs.path(name) for name in programs.names()}
    found["widest"] = _ROOT / "examples" / "widest_path.py"
    for folder in _FOLDERS:
        found |= {path.stem: path for path in sorted(folder.glob("[!_]*.py"))}
    return found


def variant(text: str, seed: int, count: int, rules) -> Variant:
    """A variant of a text.

    Parameters
    ----------
    text : str
        A file with one program.
    seed : int
    count : int
        Rules that are applied, or fewer if no more find a place.
    rules : sequence of str
        Names of :data:`~checks.metamorphic.rules.RULES`, from which they are drawn.
    """
    rng, done = random.Random(seed), []
    text = _program(text)
    for _ in range(_TRIES):
        if len(done) == count:
            break
        name = rng.choice(sorted(rules))
        tree = ast.parse(text)
        if not RULES[name].apply(Text(_of(tree)), rng):
            continue
        tried = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        try:
            read_text(tried)
        except UserError:
            continue
        if tried != text:
            text = tried
            done.append(name)
    return Variant(text, tuple(done))


def without_labels(text: str) -> str:
    """A text without the labels of its operators and loops, which may not stand before all that a
    rule puts there."""
    tree = ast.parse(text)

    class Labels(ast.NodeTransformer):
        """Takes the labels out."""

        def visit_AnnAssign(self, node):
            return None

    return ast.unparse(Labels().visit(tree)) + "\n"


def _of(tree) -> ast.FunctionDef:
    """The program of a module."""
    return next(node for node in tree.body if isinstance(node, ast.FunctionDef))


def _program(text):
    """The text of the program alone, with all words of the language and without labels."""
    tree = ast.parse(without_labels(text))
    tree.body = [*ast.parse("from graphloom import *").body, _of(tree)]
    return ast.unparse(tree) + "\n"
