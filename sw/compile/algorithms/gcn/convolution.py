"""The algorithm: features times weights, and the sum over each vertex's in-neighbours.

The algorithm has two parts. Each is an algorithm with a graph of its own, which goes through any
schedule and format:

*SpMM* multiplies the features by the weight matrix. Its graph has an arc from feature f to vertex v
for each entry (v, f) of the features. The arc's weight is the entry's value.
*GraphSum* adds up the products of the vertices' in-neighbours, each times the coefficient of the
arc (:mod:`.fixed_point`).

Where sums are added by atomics, a kernel *init* clears them before.
"""

import operator
import weakref

import numpy as np

from base.errors import UserError
from sw.compile.algorithm import Algorithm
from sw.golden.gcn import gcn
from sw.golden.results.gcn import CHECK
from sw.graph.citations import read_content
from sw.graph.features import random_features, read_features
from sw.graph.graph import Graph
from sw.compile.kernels.vertices import each_vertex

from .fixed_point import COEFFICIENTS, choose, draw_weight, scales
from .parts import GraphSum, Spmm


__all__ = ["GraphConvolution"]


#: Largest number of columns of the weight matrix.
_MOST_DIMENSION = 64

#: Contents of sums before the kernels clear or store them.
_UNUSED = -1


#: The results of :func:`_drawn` for each graph, by its other arguments.
_made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _in_words(graph, features, weight, kind):
    """The matrices in words, and the entries of the features as a graph."""
    matrices = choose(graph, features, weight, kind)
    return matrices, Graph(max(graph.num_vertices, features.num_columns), features.columns,
                           features.rows, matrices.values.view(np.uint32),
                           f"features of {graph.name}")


def _drawn(graph, columns, density, seed, dimension, kind):
    """Features and weights that are drawn, the matrices in words, and the entries as a graph. They
    are made once as long as there is the graph, so that plans share the images of the entries as
    well."""
    made, key = _made.setdefault(graph, {}), (columns, density, seed, dimension, kind)
    if key not in made:
        features = random_features(graph.num_vertices, columns, density, seed)
        weight = draw_weight(columns, dimension, seed)
        made[key] = features, weight, *_in_words(graph, features, weight, kind)
    return made[key]


class GraphConvolution(Algorithm):
    """Features times weights, and the sum over each vertex's in-neighbours.

    Parameters
    ----------
    graph : Graph
    dimension : int, optional
        Columns of the weight matrix, 1 to 64; left out, those of the file's matrix, or 16.
    features : str, optional
        An ``.npz`` file (:mod:`sw.graph.features`), whose matrix has a row for each vertex, or a
        ``.content`` file of a citation graph (:mod:`sw.graph.citations`). If the
        file has no weight matrix, one is drawn at random. Left out, the features are drawn too.
    columns : int, optional
        Number of features that are drawn; 64 if left out.
    density : float, optional
        Share of the features that a vertex has, if they are drawn; 0.1 if left out.
    matrix_seed : int
        Seed of all that is drawn.
    together : str, optional
        ``"yes"`` or ``"no"``: whether the lanes of a warp do the work of an edge together, where no
        lane owns the row; left out, if the algorithm pulls.
    coefficients : str
        ``"stored"``: the coefficient of an arc is the product of two words of a table.
        ``"computed"``: kernels compute it from the degrees of both ends.
    """
    name = "gcn"
    ARRAYS = ("end_in", "end_out", "weight", "product", "output")
    options = {"dimension": (int,), "features": (str,), "columns": (int,), "density": (float,),
               "matrix_seed": (int,), "together": (str,), "coefficients": (str,)}
    TRIES = {"together": (None, "yes", "no")}
    check = CHECK

    def __init__(self, graph, dimension=None, features=None, columns=None, density=None,
                 matrix_seed=0, together=None, coefficients=COEFFICIENTS[0]):
        super().__init__(graph)
        self._together = together
        if together not in (None, "yes", "no"):
            raise UserError(f"gcn: together is {together!r}, must be yes or no")
        if coefficients not in COEFFICIENTS:
            raise UserError(f"gcn: coefficients is {coefficients!r}, must be "
                            f"{' or '.join(COEFFICIENTS)}")
        self._coefficients = coefficients
        self._path, self._seed = features, self._number("matrix_seed", matrix_seed, 0, 1 << 31)
        if dimension is not None:
            dimension = self._number("dimension", dimension, 1, _MOST_DIMENSION)
        if features is not None:
            for name, value in (("columns", columns), ("density", density)):
                if value is not None:
                    raise UserError(f"gcn: {name} is for features that are drawn, and features is "
                                    f"{features}")
            self._features, weight = self._read(features, dimension)
            self._weight = weight
            self.matrices, entries = _in_words(graph, self._features, weight, coefficients)
        else:
            columns = self._number("columns", 64 if columns is None else columns, 1, 1 << 20)
            density = 0.1 if density is None else density
            if not 0 <= density <= 1:
                raise UserError(f"gcn: density is {density!r}, must be from 0 to 1")
            self._features, self._weight, self.matrices, entries = _drawn(
                graph, columns, density, self._seed, dimension or 16, coefficients)
        self._dimension = self.matrices.weight.shape[1]
        self._operators = {"spmm": Spmm(entries, self._dimension, together),
                           "graphsum": GraphSum(graph, self._dimension, together, coefficients)}

    def _read(self, file, dimension):
        """The features of a file, and its weight matrix or one that is drawn. Raises UserError."""
        plain = file.lower().removesuffix(".gz")
        found = (read_content if plain.endswith(".content") else read_features)(file)
        if found.num_vertices != self.graph.num_vertices:
            raise UserError(f"{file}: has {found.num_vertices} rows, must have "
                            f"{self.graph.num_vertices}, one for each vertex of {self.graph.name}")
        weight = found.weight
        if weight is None:
            weight = draw_weight(found.num_columns, dimension or 16, self._seed)
        count = self._number("dimension", weight.shape[1], 1, _MOST_DIMENSION)
        if dimension not in (None, count):
            raise UserError(f"{file}: weight has {count} columns, and dimension is {dimension}")
        return found, weight

    @staticmethod
    def _number(name, value, low, high):
        if not low <= operator.index(value) <= high:
            raise UserError(f"gcn: {name} is {value}, must be from {low} to {high}")
        return operator.index(value)

    def operators(self):
        return self._operators

    # Memory

    @property
    def _row_words(self):
        """Words from a vertex's row to the next: a power of two."""
        return 1 << (self._dimension - 1).bit_length()

    def reserve(self, task):
        vertices = max(side.vertex_words for side in task.sides.values())
        for name in self.ARRAYS:
            task.buffers.reserve(name, vertices,
                                 4 if name.startswith("end") else 4 * self._row_words)

    def init_vertex_value(self, task):
        weight = np.zeros((self._features.num_columns, self._row_words), np.int32)
        weight[:, :self._dimension] = self.matrices.weight
        task.buffers.fill("weight", weight.reshape(-1))
        of_end = scales if self._coefficients == COEFFICIENTS[0] else np.uint32
        task.buffers.fill("end_in", of_end(self.graph.in_degrees))
        task.buffers.fill("end_out", of_end(self.graph.out_degrees))
        # Behind the last vertex there are zeros: an edge from the padding vertex adds nothing.
        unused = np.full(self.graph.num_vertices * self._row_words, _UNUSED, np.int32)
        for name in ("product", "output"):
            task.buffers.fill(name, unused)

    # Kernels

    def _shared_sums(self, task):
        """The arrays to which sums are added, and not stored."""
        return [each.TARGET for name, each in self._operators.items()
                if not each.owns(task.sides[name])]

    def kernels(self, task):
        kernels: dict[str, tuple] = dict.fromkeys(self._operators, ("gather", None))
        return ({"init": ("apply", None)} if self._shared_sums(task) else {}) | kernels

    def apply(self, k):
        sums = self._shared_sums(k.task)
        with each_vertex(k, *sums, words=self._row_words) as pointers:
            for name in sums:
                k.a.sw(k.a.zero, pointers[name])

    # Host

    def drive(self, session):
        if self._shared_sums(session.task):
            session.launch("init")
        for name, each in self._operators.items():
            for number in range(each.share(session.task.sides[name])[2]):
                session.launch(name, number)
        return len(self._operators)

    def outputs(self, session):
        found = {}
        for name in ("product", "output"):
            words = session.read_vertices(name, np.int32)
            found[name] = np.ascontiguousarray(
                words.reshape(self.graph.num_vertices, -1)[:, :self._dimension])
        return found

    def derived(self, outputs):
        """``fraction_bits`` of products and outputs, and ``output_float``: the outputs as
        float64."""
        return {"fraction_bits": np.int64(self.matrices.fraction_bits),
                "output_float": self.matrices.to_float(outputs["output"])}

    def golden(self):
        product, output = gcn(self.graph, self._features, self.matrices.values,
                              self.matrices.weight, self._coefficients != COEFFICIENTS[0])
        return {"product": product, "output": output}

    def fault(self, outputs):
        values = {"features": self._features, "weight": self._weight,
                  "bounds": self.matrices.error_bounds(self.graph, self._features, self._weight)}
        return self.check.fault(self.graph, values, outputs, self.matrices.fraction_bits)

    def parameters(self):
        return {"dimension": self._dimension, "features": self._path, "matrix_seed": self._seed,
                "together": self._together,
                "columns": self._features.num_columns, "entries": len(self._features.values),
                "coefficients": self._coefficients, "feature_bits": self.matrices.value_bits,
                "weight_bits": self.matrices.weight_bits}
