"""All pictures of the documentation, and the records that they are drawn from."""

import functools

from base.errors import UserError
from base.installation import ROOT

from . import c_lanes, results, waves
from .blocks import BLOCKS
from .timing import TIMING


__all__ = ["FOLDER", "RECORDS", "pictures"]


#: The folder of pictures and records, in the project.
FOLDER = "docs/figures"

_RESULTS = "results.json"

#: The function that makes each record, as text, by the name of its file.
RECORDS = {**{f"{name}.json": run for name, run in TIMING.items()},
           _RESULTS: functools.partial(results.measure, ROOT)}


def _recorded(name):
    """The text of a record. Raises UserError if there is none."""
    path = ROOT / FOLDER / name
    if not path.exists():
        raise UserError(f"{FOLDER}/{name}: there is no such record: run "
                        "`./graphloom docs --record`")
    return path.read_text()


def pictures() -> dict:
    """{file name in docs: text}. The same code and records give the same text.

    Raises
    ------
    OutOfDate
        If a block diagram shows what the RTL is not.
    UserError
        If a record is missing.
    """
    found = {name: draw() for name, draw in BLOCKS.items()}
    for name in TIMING:
        found[f"{name}.svg"] = waves.draw(_recorded(f"{name}.json"))
    found["c-lanes.svg"] = c_lanes.draw()
    found["results.svg"] = results.draw(_recorded(_RESULTS))
    return {f"figures/{name}": text for name, text in found.items()}
