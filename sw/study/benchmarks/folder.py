"""Real graphs of a folder, which its MANIFEST.tsv lists."""

import csv
import dataclasses
import pathlib

from base.errors import UserError
from base.input import read_text


__all__ = ["Listed", "listed"]


@dataclasses.dataclass(frozen=True)
class Listed:
    """A graph of the folder."""
    name: str
    path: str
    undirected: bool  #: Whether the file has each edge once, and the reverse arcs have to be added.
    edges: int  #: Lines of the file.


def listed(folder, largest=None):
    """The graphs that MANIFEST.tsv of a folder lists in its columns file, directed (yes or no),
    weighted and edges, each once, without those of more than ``largest`` edges. Copies in Matrix
    Market and copies with synthetic weights are left out. Raises UserError if there is no such
    list, or no graph is left."""
    manifest = pathlib.Path(folder) / "MANIFEST.tsv"
    try:
        rows = list(csv.DictReader(read_text(manifest).split("\n"), delimiter="\t"))
        graphs = [Listed(row["file"].partition(".")[0], str(pathlib.Path(folder) / row["file"]),
                         row["directed"] == "no", int(row["edges"]))
                  for row in rows
                  if row["weighted"] != "synthetic" and not row["file"].endswith(".mtx")]
    except (UserError, KeyError, ValueError, TypeError, AttributeError, csv.Error) as error:
        raise UserError(f"{manifest}: not a list of graphs with columns file, directed, "
                        f"weighted and edges: {error}") from None
    found = [graph for graph in graphs if largest is None or graph.edges <= largest]
    if not found:
        raise UserError(f"{manifest}: lists no graph"
                        + ("" if largest is None else f" of at most {largest} edges"))
    return found
