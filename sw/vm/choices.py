"""The choices of schedules that a GraphVM honours; it refuses all others."""

from typing import Any

from sw.lang import graph_ir as ir
from sw.lang.choices import FrontierCreation
from sw.lang.types import LanguageError


__all__ = ["check_choices", "parts"]


_NAMES: dict[str, Any] = {
    "load_balance": ("load balance", str), "direction": ("direction", str),
    "pull_input_frontier": ("form of the input set of pull", str),
    "output_representation": ("frontier creation", lambda form: next(
        kind for kind in FrontierCreation if kind.form is form)),
    "apply_deduplication": ("deduplication", lambda applied: "dedup" if applied else "no_dedup"),
    "deduplication_strategy": ("deduplication", lambda form: f"dedup:{form}"),
}


def parts(node) -> list[dict[str, Any]]:
    """The metadata of an operator of edges: of a hybrid schedule, those of both schedules."""
    if "hybrid" in node.metadata:
        return list(node.metadata["hybrid"][2:])
    return [node.metadata]


def check_choices(program, machine, honoured) -> None:
    """Refuse the choices of a program that a GraphVM does not honour.

    Parameters
    ----------
    program : GraphProgram
        After the passes up to :data:`sw.lang.passes.CHOSEN`, so that it has only choices that
        somebody made.
    machine : str
    honoured : dict of str to sequence
        {choice: its values}, by the names of the metadata. Other choices are not checked.

    Raises
    ------
    LanguageError
    """
    for node in ir.instructions(program.body):
        if not isinstance(node, ir.EdgeSetIterator):
            continue
        if isinstance(node.metadata.get("hybrid", (None, 0))[1], str):
            raise LanguageError(node.position, "the hybrid schedule takes its threshold from "
                                f"{node.metadata['hybrid'][1]}; give a number from 0 to 1")
        for metadata in parts(node):
            for key, values in honoured.items():
                given = metadata.get(key)
                if given is None or given in values:
                    continue
                what, name = _NAMES[key]
                raise LanguageError(
                    node.position, f"the GraphVM {machine} has no {what} {name(given)}; it has "
                    f"{', '.join(name(value) for value in values)}")
