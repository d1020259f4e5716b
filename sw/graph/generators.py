"""Generators of graphs, each from a line of text such as ``rmat:scale=14,degree=16,seed=1``.

The same text gives the same graph, on any machine: all randomness comes from numpy's
``Generator(PCG64(seed))``. The table :data:`GENERATORS` defines the parameters of each generator
and their legal values. The error for a fault in the text names the legal values.
"""

import dataclasses
import os
from collections.abc import Callable

import numpy as np

from base.errors import UserError
from base import numbers

from .graph import LIMIT, WEIGHT_LIMIT, Graph, check_density


__all__ = ["GENERATORS", "Generator", "Parameter", "generate", "seeded", "size_of"]


#: Least peak memory of a generator, in bytes for each vertex and for each arc. Measured peaks are
#: up to 28 for a vertex and 8 to 56 for an arc. The rows of a graph take about as much later.
_VERTEX_BYTES, _ARC_BYTES = 16, 16


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a generator."""

    low: int | float  #: Smallest legal value; its type is the parameter's.
    high: int | float  #: Largest legal value.
    #: Its value if it is not given. ``None`` for a parameter that must be given.
    default: int | float | None
    doc: str  #: A description of the parameter.

    @property
    def legal(self):
        """The legal values, in words."""
        kind = "an integer" if isinstance(self.low, int) else "a number"
        return f"{kind} from {self.low} to {self.high}"

    def parse(self, text):
        """The value ``text`` spells, or ``None`` if it is not legal."""
        value = (numbers.integer if isinstance(self.low, int) else numbers.real)(text)
        return value if value is not None and self.low <= value <= self.high else None


@dataclasses.dataclass(frozen=True)
class Generator:
    """A generator."""

    #: Takes a ``numpy.random.Generator`` and the parameters by name, ``seed`` and ``weights``
    #: excepted. Gives ``(num_vertices, src, dst)`` or ``(num_vertices, src, dst, weights)``.
    make: Callable
    #: Takes the same parameters; gives the number of vertices and the largest number of arcs.
    size: Callable
    parameters: dict[str, Parameter]  #: All of its parameters.
    doc: str  #: A description of the graphs that it makes.


def _check_size(num_vertices, arcs):
    """Refuse a graph that has too many arcs, or that this machine cannot hold while it is made.
    Without this check, the system ends the process when all memory is taken."""
    if arcs >= LIMIT:
        raise UserError(f"{arcs} arcs are too many, at most {LIMIT - 1}")
    needed, there = _VERTEX_BYTES * num_vertices + _ARC_BYTES * arcs, _memory()
    if needed > there:
        raise UserError(f"{num_vertices} vertices and {arcs} arcs need {needed / 1e9:.1f} GB of "
                        f"memory to be made, this machine has {there / 1e9:.1f} GB")


def _memory():
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _rmat(rng, *, scale, degree):
    """Graph500's Kronecker generator: each bit of both ends falls into one of four quadrants."""
    a, b, c = 0.57, 0.19, 0.19
    num_vertices, arcs = 1 << scale, degree << scale
    src = np.zeros(arcs, dtype=np.uint32)
    dst = np.zeros(arcs, dtype=np.uint32)
    right_if_low, right_if_high = np.float32(b / (a + b)), np.float32((1 - a - b - c) / (1 - a - b))
    for _ in range(scale):
        low = rng.random(arcs, dtype=np.float32) >= np.float32(a + b)
        right = rng.random(arcs, dtype=np.float32) < np.where(low, right_if_high, right_if_low)
        src <<= 1
        src |= low
        dst <<= 1
        dst |= right
    label = rng.permutation(num_vertices).astype(np.uint32)
    return num_vertices, label[src], label[dst]


def _uniform(rng, *, vertices, edges):
    """Both ends of every arc are drawn uniformly and independently."""
    return (vertices, rng.integers(vertices, size=edges, dtype=np.uint32),
            rng.integers(vertices, size=edges, dtype=np.uint32))


def _powerlaw(rng, *, vertices, edges, exponent):
    """Chung and Lu's model: both ends of every arc are drawn independently, each vertex with a
    chance in proportion to (its rank) ** (-1 / (exponent - 1)), which makes the number of vertices
    of degree k fall as k ** -exponent. Ranks are dealt to the vertices at random."""
    share = np.arange(1, vertices + 1, dtype=np.float64) ** (-1 / (exponent - 1))
    total = np.cumsum(share)
    total /= total[-1]
    label = rng.permutation(vertices).astype(np.uint32)
    src = label[np.searchsorted(total, rng.random(edges), side="right")]
    dst = label[np.searchsorted(total, rng.random(edges), side="right")]
    return vertices, src, dst


def _community(rng, *, vertices, edges, communities, mixing, exponent, shuffle):
    """A planted partition whose degrees follow a power law. Vertices have weights as in
    :func:`_powerlaw` and are dealt to communities of the same size, vertex v to the v * communities
    / vertices-th. An arc's start is drawn by weight. With the chance ``mixing`` its end is drawn
    by weight among all vertices, else among those of the start's community."""
    if communities > vertices:
        raise UserError(f"{communities} communities are too many for {vertices} vertices")
    share = np.arange(1, vertices + 1, dtype=np.float64) ** (-1 / (exponent - 1))
    total = np.concatenate([[0.0], np.cumsum(rng.permutation(share))])
    total /= total[-1]
    src = np.searchsorted(total[1:], rng.random(edges), side="right").astype(np.uint32)
    inside = rng.random(edges) >= mixing
    first = -(-np.arange(communities + 1, dtype=np.int64) * vertices // communities)
    home = src[inside].astype(np.int64) * communities // vertices
    draw = rng.random(edges)
    draw[inside] = total[first[home]] + draw[inside] * (total[first[home + 1]]
                                                         - total[first[home]])
    dst = np.searchsorted(total[1:], draw, side="right").astype(np.uint32)
    # A rounding error may put a draw just beyond its community.
    dst[inside] = np.clip(dst[inside], first[home], first[home + 1] - 1)
    if shuffle:
        label = rng.permutation(vertices).astype(np.uint32)
        src, dst = label[src], label[dst]
    return vertices, src, dst


def _road(rng, *, side, removed, diagonals, longest):
    """A square grid of crossings. A part of its streets is missing, and a part of its blocks has a
    diagonal. Every street can be driven both ways and has the same length in both."""
    vertex = np.arange(side * side, dtype=np.uint32).reshape(side, side)
    starts = np.concatenate([vertex[:, :-1].ravel(), vertex[:-1, :].ravel()])
    ends = np.concatenate([vertex[:, 1:].ravel(), vertex[1:, :].ravel()])
    kept = rng.random(len(starts)) >= removed
    falling = rng.random((side - 1) ** 2) < 0.5
    crossed = rng.random((side - 1) ** 2) < diagonals
    north_west, south_east = vertex[:-1, :-1].ravel(), vertex[1:, 1:].ravel()
    north_east, south_west = vertex[:-1, 1:].ravel(), vertex[1:, :-1].ravel()
    starts = np.concatenate([starts[kept], np.where(falling, north_west, north_east)[crossed]])
    ends = np.concatenate([ends[kept], np.where(falling, south_east, south_west)[crossed]])
    weights = rng.integers(1, longest, size=len(starts), dtype=np.uint32, endpoint=True)
    return (side * side, np.concatenate([starts, ends]), np.concatenate([ends, starts]),
            np.concatenate([weights, weights]))


def _rmat_size(*, scale, degree):
    return 1 << scale, degree << scale


def _asked(*, vertices, edges, **others):
    return vertices, edges


def _road_size(*, side, **others):
    return side * side, 6 * side * side


_SEED = Parameter(0, (1 << 64) - 1, 1, "seed of the random numbers")
_VERTICES = Parameter(1, LIMIT - 1, None, "vertices")
_EDGES = Parameter(0, LIMIT - 1, None, "arcs")
_WEIGHTS = Parameter(0, WEIGHT_LIMIT - 1, 0, "largest weight, from 1 up; 0 for no weights")

#: The generators by name.
GENERATORS = {
    "rmat": Generator(_rmat, _rmat_size, {
        "scale": Parameter(0, 30, None, "the graph has 2 ** scale vertices"),
        "degree": Parameter(0, 1 << 16, None, "arcs per vertex, on average"),
        "seed": _SEED, "weights": _WEIGHTS,
    }, "Graph500's R-MAT: A, B, C, D = 0.57, 0.19, 0.19, 0.05, vertex labels permuted"),
    "uniform": Generator(_uniform, _asked, {
        "vertices": _VERTICES, "edges": _EDGES, "seed": _SEED, "weights": _WEIGHTS,
    }, "arcs between any two vertices with equal probability"),
    "powerlaw": Generator(_powerlaw, _asked, {
        "vertices": _VERTICES, "edges": _EDGES,
        "exponent": Parameter(1.5, 10.0, 2.5, "exponent of the degree distribution"),
        "seed": _SEED, "weights": _WEIGHTS,
    }, "Chung-Lu: in- and out-degrees follow a power law"),
    "community": Generator(_community, _asked, {
        "vertices": _VERTICES, "edges": _EDGES,
        "communities": Parameter(1, LIMIT - 1, None, "communities, all of the same size"),
        "mixing": Parameter(0.0, 1.0, 0.1, "share of the arcs whose end may be anywhere"),
        "exponent": Parameter(1.5, 10.0, 2.5, "exponent of the degree distribution"),
        "shuffle": Parameter(0, 1, 0, "1 numbers the vertices at random, 0 by community"),
        "seed": _SEED, "weights": _WEIGHTS,
    }, "a planted partition: most arcs stay in a community; degrees follow a power law"),
    "road": Generator(_road, _road_size, {
        "side": Parameter(1, 46340, None, "the graph has side x side vertices"),
        "removed": Parameter(0.0, 1.0, 0.1, "share of the streets that are missing"),
        "diagonals": Parameter(0.0, 1.0, 0.05, "share of the blocks that have a diagonal"),
        "longest": Parameter(1, WEIGHT_LIMIT - 1, 16, "largest weight, from 1 up"),
        "seed": _SEED,
    }, "a grid of streets, undirected, weighted, some missing and some diagonal"),
}


def _values(name, text, where):
    """The parameters' values of generator ``name`` that ``text`` gives."""
    parameters = GENERATORS[name].parameters
    legal = ", ".join(parameters)
    values = {}
    for item in text.split(",") if text.strip(" ") else ():
        key, equals, value = (part.strip(" ") for part in item.partition("="))
        if not equals:
            raise UserError(f"{where}: {item!r} must be PARAMETER=VALUE; parameters of {name}: "
                            f"{legal}")
        if key not in parameters:
            raise UserError(f"{where}: {name} has no parameter {key!r}, it has {legal}")
        if key in values:
            raise UserError(f"{where}: {key} is given twice")
        values[key] = parameters[key].parse(value)
        if values[key] is None:
            raise UserError(f"{where}: {key} is {value!r}, must be {parameters[key].legal}")
    for key, parameter in parameters.items():
        if key not in values and parameter.default is None:
            raise UserError(f"{where}: {name} needs {key}, {parameter.legal} ({parameter.doc})")
        values.setdefault(key, parameter.default)
    return values


def seeded(text: str, seed: int) -> str | None:
    """The text of a generator with a seed added to it; None if ``text`` is not that of a generator,
    or has a seed."""
    name, colon, rest = text.partition(":")
    given = [item.partition("=")[0].strip(" ") for item in rest.split(",")]
    if name.strip(" ") not in GENERATORS or "seed" in given:
        return None
    return f"{name}:{rest}{',' if rest.strip(' ') else ''}seed={seed}"


def _asked_for(text):
    """The name of a generator and the values of its parameters."""
    name, _, rest = text.partition(":")
    name = name.strip(" ")
    if name not in GENERATORS:
        raise UserError(f"{text}: there is no generator {name!r}, there are "
                        f"{', '.join(GENERATORS)}")
    return name, _values(name, rest, text)


def size_of(text: str) -> tuple[int, int]:
    """The vertices and the largest number of arcs of the graph that :func:`generate` would make.
    Nothing is made. Raises UserError, as :func:`generate` does for a fault in the text."""
    name, values = _asked_for(text.strip(" "))
    return GENERATORS[name].size(**{key: value for key, value in values.items()
                                    if key not in ("seed", "weights")})


def generate(text: str) -> Graph:
    """Make the graph that ``text`` describes: ``NAME:PARAMETER=VALUE,...``.

    Parameters
    ----------
    text : str
        For example ``"road:side=128,seed=1"``; also the graph's name.

    Returns
    -------
    Graph

    Raises
    ------
    UserError
        For an unknown generator or parameter, or a value that is missing, given twice, not a number
        or out of range; the message names what is legal.
    """
    text = text.strip(" ")
    name, values = _asked_for(text)
    rng = np.random.Generator(np.random.PCG64(values.pop("seed")))
    heaviest = values.pop("weights", 0)
    if "vertices" in values:
        check_density(values["vertices"], values["edges"], text)
    elif "scale" in values:
        check_density(1 << values["scale"], values["degree"] << values["scale"], text)
    try:
        _check_size(*GENERATORS[name].size(**values))
        num_vertices, src, dst, *weights = GENERATORS[name].make(rng, **values)
        if heaviest:
            weights = [rng.integers(1, heaviest, size=len(src), dtype=np.uint32, endpoint=True)]
    except UserError as error:
        raise UserError(f"{text}: {error}") from None
    except MemoryError:
        raise UserError(f"{text}: this machine has too little memory for the graph") from None
    return Graph(num_vertices, src, dst, *weights, name=text)
