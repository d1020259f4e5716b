"""Texts with random faults.

======================  ===========================================================================
both syntaxes           test_mutations: a text with a few wrong tokens is refused at a place in the
                        text, or is a program that can be compiled and shown
======================  ===========================================================================
"""

import pathlib
import re

import numpy as np
import pytest

from sw.lang import programs
from sw.lang.graphit import read_graphit
from sw.lang.passes import analysed
from sw.lang.reader import read_text
from sw.lang.show import shown
from sw.lang.types import LanguageError
from tb.sw.lang.test_graphit import FIGURE_2_1, FIGURE_3_1, FIGURE_3_2


_TOKENS = re.compile(r"\n *|#\w+#|\w+|[^\w\s]|[ ]+")

FOLDER = pathlib.Path(programs.__file__).parent
TEXTS = {"figure 3-1": FIGURE_2_1 + FIGURE_3_1, "figure 3-2": FIGURE_2_1 + FIGURE_3_2,
         **{name: (FOLDER / f"{name}.py").read_text() for name in programs.names()}}


def mutated(text, rng):
    """The text with one to three tokens left out, put elsewhere, or exchanged."""
    tokens = _TOKENS.findall(text)
    others = list(tokens)
    for _ in range(rng.integers(1, 4)):
        place, token = int(rng.integers(len(tokens))), others[int(rng.integers(len(others)))]
        match rng.integers(4):
            case 0:
                del tokens[place]
            case 1:
                tokens.insert(place, token)
            case _:
                tokens[place] = token
    return "".join(tokens)


@pytest.mark.parametrize("name", TEXTS)
def test_mutations(name):
    rng, accepted = np.random.default_rng(len(name)), 0
    for _ in range(300):
        text = mutated(TEXTS[name], rng)
        try:
            program = read_graphit(text, "x")[0] if name.startswith("figure") else read_text(
                text, "x")
        except LanguageError as error:
            at = error.position
            lines = text.split("\n")
            assert 1 <= at.line <= len(lines) + 1 and at.column >= 1, error
            if at.line <= len(lines):
                assert at.column <= len(lines[at.line - 1]) + 1, f"{error}\n{text}"
        except Exception as error:
            # A text whose `@program` is gone has no place to name.
            assert "there is no program" in str(error), text
        else:
            assert shown(analysed(program)).startswith("Program ")
            accepted += 1
    assert accepted > 10
