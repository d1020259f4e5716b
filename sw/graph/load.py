"""Loading a graph by the text with which a user names it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from base.errors import UserError

from .catalogue import catalogue
from .generators import GENERATORS, generate, seeded
from .graph import Graph, check_density
from .readers import SUFFIXES, read
from .reading import Reading
from .source import PACKED, unpacked_name
from .weights import Weighing


__all__ = ["GraphSource", "load"]


#: Called with a line of text on anything that looks odd but may be right.
_Note: TypeAlias = Callable[[str], object]


def _named(name: str) -> Graph:
    entry = catalogue()[name]
    graph = generate(entry.generator or "") if entry.path is None else read(entry.path)
    if entry.undirected:
        graph = graph.undirected()
    return dataclasses.replace(graph, name=name)


def _is_file(spec: str) -> bool:
    """Whether ``spec`` is a file's path, by its suffix or since there is such a file."""
    if spec in catalogue() or spec.partition(":")[0].strip() in GENERATORS:
        return False
    return unpacked_name(spec).lower().endswith(SUFFIXES) or os.path.exists(spec)


def _found(spec: str) -> Graph:
    if spec in catalogue():
        return _named(spec)
    if spec.partition(":")[0].strip() in GENERATORS:
        return generate(spec)
    word, colon, _ = spec.partition(":")
    if colon and "/" not in word and "\\" not in word:
        return generate(spec)  # which refuses the name
    raise UserError(
        f"{spec}: there is no such graph; a graph is a file ({', '.join(SUFFIXES)}, or an edge "
        f"list of any name; each may be {', '.join(PACKED)}), a name of the catalogue "
        f"({', '.join(catalogue())}) "
        f"or a generator ({', '.join(name + ':...' for name in GENERATORS)})")


def _says_nothing(text: str) -> None:
    """Take a note that nobody asked for."""


@dataclasses.dataclass(frozen=True)
class GraphSource:
    """How to get a graph: the text with which a user names it, and the options of a command line.

    Parameters
    ----------
    spec : str
        A file's path, a name of the catalogue, or the text of a generator such as
        ``rmat:scale=14,degree=16,seed=1``.
    weights : int, optional
        Largest weight: a graph without weights gets random weights from 1 to this.
    input_format, columns, relabel, first : optional
        Only for files; see :class:`sw.graph.reading.Reading`.
    weight_scale : float, optional
        Only for files: multiply weights by this and round to the nearest integer.
    seed : int, optional
        Seed of the random weights, 0 if left out; :meth:`seeded` also gives it to a generator.
    undirected : bool
        Add the reverse of each arc, unless all are there already.
    simplify : bool
        Then drop self-loops, and keep only the lightest of parallel arcs.
    no_weights : bool
        Give the graph without weights. The weights of a file are not read.

    Raises
    ------
    UserError
        If the columns are not two or three that differ, the scale is not a number above 0, or
        ``first`` is no vertex or is given with ``relabel``.
    """
    spec: str
    weights: int | None = None
    input_format: str | None = None
    columns: str | None = None
    first: int | None = None
    weight_scale: float | None = None
    seed: int | None = None
    undirected: bool = False
    simplify: bool = False
    relabel: bool = False
    no_weights: bool = False

    def __post_init__(self) -> None:
        self._reading(_says_nothing)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> GraphSource:
        """The source of a record (:meth:`record`), which may lack options and have more."""
        return cls(**{field.name: record[field.name] for field in dataclasses.fields(cls)
                      if record.get(field.name) is not None})

    def record(self) -> dict[str, Any]:
        """The options by name, as files of results have them."""
        return dataclasses.asdict(self)

    def words(self) -> list[str]:
        """The words of a command line that name the graph: the text, and the options that change
        something."""
        found = [self.spec]
        for name, value in self.record().items():
            said = not (value is None or value is False)
            if name != "spec" and said and (name != "seed" or self.draws):
                found += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        return found

    @property
    def draws(self) -> bool:
        """Whether something is drawn at random that the text has no seed for."""
        return self.weights is not None or seeded(self.spec, 0) is not None

    def seeded(self) -> GraphSource:
        """The source whose text has the seed, if it is that of a generator without one. Raises
        UserError for a seed that nothing uses."""
        if self.seed is None:
            return self
        if not self.draws:
            raise UserError(f"--seed {self.seed}: nothing is drawn at random; --seed is for a "
                            "generator whose text has no seed, and for --weights")
        return dataclasses.replace(self, spec=seeded(self.spec, self.seed) or self.spec)

    def used_by(self, algorithm: Any) -> GraphSource:
        """The source for an algorithm's class: one that uses no weights gets none. Raises UserError
        for ``weight_scale`` without weights."""
        if self.weight_scale is not None and not algorithm.weighted:
            raise UserError(f"--weight-scale: {algorithm.name} uses no weights")
        return dataclasses.replace(self, no_weights=self.no_weights or not algorithm.weighted)

    def load(self, note: _Note = _says_nothing) -> Graph:
        """The graph. ``note`` is called with a line of text on anything in a file that looks odd
        but may be right.

        Raises
        ------
        UserError
            If there is no such graph, or something is wrong with it. The error names the file and
            the line, if any.
        """
        return self.changed(self._unchanged(note), note)

    def changed(self, graph: Graph, note: _Note = _says_nothing) -> Graph:
        """A graph with what the options add to it and drop of it; errors as of :meth:`load`."""
        check_density(graph.num_vertices, graph.num_edges, self.spec)
        if self.weights is not None:
            graph = graph.weighted(self.weights, self.seed or 0)
        if self.undirected:
            graph = self._with_reverses(graph, note)
        return graph.simplify() if self.simplify else graph

    def _reading(self, note: _Note) -> Reading:
        return Reading(input_format=self.input_format, columns=self.columns,
                       weighing=Weighing(self.weight_scale, not self.no_weights),
                       relabel=self.relabel, first=self.first, note=note)

    def _unchanged(self, note: _Note) -> Graph:
        """The graph as the file or the generator has it."""
        if _is_file(self.spec):
            return read(self.spec, self._reading(note))
        if self.relabel or not (self.input_format is self.weight_scale is self.columns
                                is self.first is None):
            raise UserError(f"{self.spec}: is not a file; --input-format, --columns, --first, "
                            "--relabel and --weight-scale apply to files only")
        graph = _found(self.spec)
        return dataclasses.replace(graph, weights=None) if self.no_weights else graph

    def _with_reverses(self, graph: Graph, note: _Note) -> Graph:
        """The graph and the reverse of each arc; ``note`` is told what a file has of them already.
        """
        found = graph.undirected()
        if found is graph and graph.num_edges:
            note(f"{self.spec}: has each arc in both directions already; --undirected adds none")
        elif _is_file(self.spec) and not self.simplify and graph.num_returned:
            note(f"{self.spec}: has {graph.num_returned} arcs in both directions already, which "
                 "--undirected doubles; --simplify keeps one of each")
        return found


#: Options of :func:`load` that say how an object becomes a graph.
_OF_OBJECTS = ("columns", "weight_scale", "relabel", "no_weights", "name")

#: Those that change any graph.
_OF_GRAPHS = {"weights", "seed", "undirected", "simplify"}


def load(spec: Any, *, note: _Note = _says_nothing, weight: str | None = None,
         **options: Any) -> Graph:
    """The graph a user means by ``spec``.

    Parameters
    ----------
    spec : str, path or object
        A text or a path is that of a :class:`GraphSource`, which is :meth:`loaded
        <GraphSource.load>`. Else a graph, or an object that one can be made of
        (:mod:`sw.graph.objects`).
    note : callable, optional
        Called with a line of text on anything that looks odd but may be right.
    weight : str, optional
        The attribute with the weights of a networkx or igraph graph.
    **options
        Those of a :class:`GraphSource`. For objects ``columns``, ``relabel``, ``weight_scale``
        and ``no_weights``, and also ``name``, are those of
        :class:`~sw.graph.objects.GraphObjects`.

    Raises
    ------
    UserError
        If there is no such graph, or something is wrong with it.
    """
    if isinstance(spec, (str, os.PathLike)):
        if weight is not None:
            raise UserError(f"{os.fspath(spec)}: weight={weight!r} is for graphs of networkx and "
                            "igraph; columns names the column of a file")
        if isinstance(options.get("columns"), (list, tuple)):
            options["columns"] = ",".join(map(str, options["columns"]))
        return GraphSource(os.fspath(spec), **options).load(note)
    given = {name: options.pop(name) for name in _OF_OBJECTS if name in options}
    for name in options.keys() - _OF_GRAPHS:
        raise UserError(f"{name}={options[name]!r} applies to files only")
    source = GraphSource("graph", **options)
    if isinstance(spec, Graph):
        if given.pop("no_weights", False):
            spec = dataclasses.replace(spec, weights=None)
        for name in given:
            raise UserError(f"{name} does not apply to a graph, which is made already")
    graph = Graph.of(spec, weight=weight, **given)
    return dataclasses.replace(source, spec=graph.name).changed(graph, note)
