"""Verdicts on answers: right or wrong, with a hint, and never the right answer."""

import json
from collections.abc import Collection
from typing import Any

import pytest


__all__ = ["judge"]


def judge(question: str, answers: dict, right: Collection, hint: str) -> None:
    """Fail the test of a question unless it was answered rightly.

    Parameters
    ----------
    question : str
        The name of the answer.
    answers : dict
        All answers. One that is None, or has None in it, is not given yet.
    right : collection
        The right answers. No message tells them.
    hint : str
        Where the answer is found.
    """
    given: Any = answers.get(question)
    parts = list(given.values()) if isinstance(given, dict) else given \
        if isinstance(given, list) else [given]
    if None in parts:
        pytest.fail(f"{question}: no answer yet. {hint}", pytrace=False)
    if given not in right:
        pytest.fail(f"{question}: {json.dumps(given)} is wrong. {hint}", pytrace=False)
