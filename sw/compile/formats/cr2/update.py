"""Adding and deleting an edge of a CR2 graph (CR2, 3.4.3).

The records of a vertex in a part are the binary digits of its degree there. Adding an edge counts
up by one. The records of the lowest degrees are taken out, as long as there is one of each degree.
Their edges and the new edge make a record of the next degree. Deleting counts down by one. The
record of the lowest degree is taken out, and all but one of its edges make one record of each lower
degree. The deleted edge is in the taken record, or first changes places with an edge in it.

Records stay ordered by vertex. So an updated image equals a rebuilt image, except for the order of
edges within a vertex. Inserting a record moves the records behind it, and the pointers to them, by
one: O(records). An added or removed pointer moves the offsets of all later vertices: O(|V|).
"""

import numpy as np

from base.errors import UserError
from sw.graph.graph import LIMIT, WEIGHT_LIMIT

from .builder import array_name
from .expand import fields, pack
from .geometry import INTER, INTRA


__all__ = ["add_edge", "delete_edge"]


class _Vertex:
    """The records of one vertex in one part."""

    def __init__(self, image, part, vertex):
        self.image = image
        self.part = part
        self.vertex = vertex
        self.geometry = image.geometry

    def _array(self, k, what):
        return self.image.of(self.part, k, what)

    def span(self, k):
        """First and end of its records in the Degree-2^k subgraph."""
        bases, starts = self._array(k, "bases"), self._array(k, "starts")
        first, end, wanted = 0, len(bases), self.vertex
        if starts is not None:
            cluster = self.vertex >> self.geometry.cluster_bits
            first, end = int(starts[cluster]), int(starts[cluster + 1])
            wanted = self.vertex & int(self.geometry.local_mask)
        wanted = bases.dtype.type(wanted)
        return (first + int(np.searchsorted(bases[first:end], wanted)),
                first + int(np.searchsorted(bases[first:end], wanted, side="right")))

    def count(self, k):
        """The number of the vertex's records in the Degree-2^k subgraph."""
        first, end = self.span(k)
        return end - first

    def refuse_if_full(self, k):
        """Raise UserError if the expand list could not point to one more record."""
        if "expand_pointers" in self.image.arrays:
            pack(self.part, k, [self.image.records(self.part, k)], self.geometry.warp_bits)

    def insert(self, k, neighbors, weights):
        """Insert a record, behind the vertex's other records in the subgraph."""
        place = self.span(k)[1]
        base = self.vertex
        if self._array(k, "starts") is not None:
            base &= int(self.geometry.local_mask)
        self._replace(k, "bases", np.insert, place, base)
        self._replace(k, "neighbors", np.insert, place << k, neighbors)
        if weights is not None:
            self._replace(k, "weights", np.insert, place << k, weights)
        self._moved(k, place, 1)

    def take(self, k):
        """Remove the vertex's last record in the subgraph. Returns its neighbours and weights."""
        place = self.span(k)[1] - 1
        own = slice(place << k, (place + 1) << k)
        neighbors = self._array(k, "neighbors")[own].copy()
        weights = self._array(k, "weights")
        weights = None if weights is None else weights[own].copy()
        self._replace(k, "bases", np.delete, place)
        self._replace(k, "neighbors", np.delete, own)
        if weights is not None:
            self._replace(k, "weights", np.delete, own)
        self._moved(k, place, -1)
        return neighbors, weights

    def find(self, neighbor, weight):
        """The place of the edge to ``neighbor``, as ``(k, index)``: the edge of that weight, or the
        lightest. None if there is no such edge. Reads the vertex's own edges only."""
        best = None
        for k in self.geometry.classes:
            first, end = (place << k for place in self.span(k))
            here = first + np.flatnonzero(self._array(k, "neighbors")[first:end] == neighbor)
            weights = self._array(k, "weights")
            for index in here.tolist():
                own = 0 if weights is None else int(weights[index])
                if (weight is None and (best is None or own < best[0])) or own == weight:
                    best = own, k, index
        return best and best[1:]

    def _replace(self, k, what, change, *arguments):
        name = array_name(self.part, k, what)
        self.image.arrays[name] = change(self.image.arrays[name], *arguments)

    def _moved(self, k, place, step):
        """Update the image after records of the subgraph from ``place`` on have moved by ``step``.
        """
        starts = self._array(k, "starts")
        if starts is not None:
            cluster = self.vertex >> self.geometry.cluster_bits
            starts = starts.copy()
            starts[cluster + 1:] += np.uint32(step % (1 << 32))
            self.image.arrays[array_name(self.part, k, "starts")] = starts
        if "expand_pointers" in self.image.arrays:
            pointers = self.image.arrays["expand_pointers"]
            shift = np.uint32(fields(self.geometry.warp_bits)[1])
            lowest = pack(self.part, k, place + (step < 0), self.geometry.warp_bits)
            moved = (pointers >> shift == lowest >> shift) & (pointers >= lowest)
            self.image.arrays["expand_pointers"] = \
                pointers + moved.astype(np.uint32) * np.uint32(step % (1 << 32))


def _renew_pointers(image, vertex):
    """Make the pointers of one vertex anew, after its records have changed."""
    if "expand_pointers" not in image.arrays:
        return
    own = []
    for part in (INTRA, INTER):
        view = _Vertex(image, part, vertex)
        for k in image.geometry.classes:
            own.append(pack(part, k, np.arange(*view.span(k), dtype=np.uint32),
                            image.geometry.warp_bits))
    own = np.concatenate(own)
    offsets, pointers = image.arrays["expand_offsets"], image.arrays["expand_pointers"]
    first, end = int(offsets[vertex]), int(offsets[vertex + 1])
    offsets = offsets.copy()
    offsets[vertex + 1:] += np.uint32((len(own) - (end - first)) % (1 << 32))
    image.arrays["expand_offsets"] = offsets
    image.arrays["expand_pointers"] = np.concatenate([pointers[:first], own, pointers[end:]])


def _ends(image, source, destination):
    """The base's records to which an edge belongs, and its neighbour as stored in them."""
    base = image.image_vertex(source, "source")
    neighbor = image.image_vertex(destination, "destination")
    if image.direction == "pull":
        base, neighbor = neighbor, base
    geometry = image.geometry
    part = INTER if base >> geometry.cluster_bits != neighbor >> geometry.cluster_bits else INTRA
    if part == INTRA:
        neighbor &= int(geometry.local_mask)
    return _Vertex(image, part, base), geometry.neighbor_dtype(part).type(neighbor)


def add_edge(image, source, destination, weight=None):
    """Do the work of :meth:`Cr2Image.add_edge`."""
    view, neighbor = _ends(image, source, destination)
    if image.weighted != (weight is not None):
        raise UserError(f"{image.title}: the graph has {'' if image.weighted else 'no '}weights, "
                        f"the edge to add has {'no weight' if image.weighted else 'one'}")
    if weight is not None and not 0 <= weight < WEIGHT_LIMIT:
        raise UserError(f"{image.title}: weight is {weight}, must be from 0 to {WEIGHT_LIMIT - 1}")
    if image.num_edges + 1 >= LIMIT:
        raise UserError(f"{image.title}: it has {image.num_edges} arcs already, the largest "
                        "possible number")
    neighbors = [np.array([neighbor])]
    weights = [np.array([weight], dtype=np.uint32)] if image.weighted else None
    full = next((k for k in range(image.geometry.warp_bits) if not view.count(k)),
                image.geometry.warp_bits)
    view.refuse_if_full(full)
    for k in range(full):
        taken, taken_weights = view.take(k)
        neighbors.append(taken)
        if weights is not None and taken_weights is not None:
            weights.append(taken_weights)
    view.insert(full, np.concatenate(neighbors), weights and np.concatenate(weights))
    _renew_pointers(image, view.vertex)
    image.num_edges += 1


def delete_edge(image, source, destination, weight=None):
    """Do the work of :meth:`Cr2Image.delete_edge`."""
    view, neighbor = _ends(image, source, destination)
    found = view.find(neighbor, weight)
    if found is None:
        heavy = "" if weight is None else f" of weight {weight}"
        raise UserError(f"{image.title}: there is no edge from {source} to {destination}{heavy} "
                        f"to delete")
    lowest = next(k for k in range(image.geometry.warp_bits + 1) if view.count(k))
    for k in range(lowest):
        view.refuse_if_full(k)
    _to_last_place(view, found, lowest)
    neighbors, weights = view.take(lowest)
    for k in range(lowest - 1, -1, -1):
        own = slice((1 << k) - 1, (2 << k) - 1)
        view.insert(k, neighbors[own], None if weights is None else weights[own])
    _renew_pointers(view.image, view.vertex)
    image.num_edges -= 1


def _to_last_place(view, found, lowest):
    """Swap the edge at ``found`` with the last edge of the vertex's last record of degree 2^lowest,
    which will be left out."""
    k, index = found
    last = (view.span(lowest)[1] << lowest) - 1
    for what in ("neighbors", "weights"):
        one = view.image.of(view.part, k, what)
        if one is not None:
            other = view.image.of(view.part, lowest, what)
            one, other = one.copy(), other if k != lowest else None
            other = one if other is None else other.copy()
            one[index], other[last] = other[last], one[index]
            view.image.arrays[array_name(view.part, k, what)] = one
            view.image.arrays[array_name(view.part, lowest, what)] = other
