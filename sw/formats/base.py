"""The interface between a storage format and a kernel (GRAssembler, table 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sw.formats.image import Image


__all__ = ["Layout", "StorageFormat"]


class StorageFormat:
    """Base of the storage formats.

    A format is told by the schedule what it is going to be asked: ``task.schedule.needs`` is
    ``"rows"`` (edges found from their base vertex: getNeighbor) or ``"edges"`` (the base vertex
    found from its edge: searchVID).

    Attributes
    ----------
    name : str
        Its name for users, which is the name of an image (:mod:`sw.formats.image`).
    image : sw.formats.image.Image
        The graph in this format.
    """
    name = None

    def __init__(self, image: Image):
        self.image = image

    def check(self, task):
        """Raise UserError if the format cannot serve this task."""
        self.image.require("getNeighbor" if task.schedule.needs == "rows" else "searchVID")

    def finds_rows(self, task) -> bool:
        """Whether what belongs to a vertex is found from it, so that the frontier may be a queue.
        """
        return task.schedule.needs == "rows" and not self.image.virtual

    def layouts(self, task) -> list:
        """The :class:`Layout` objects that together hold all edges, each edge once."""
        raise NotImplementedError

    def reserve(self, task):
        """Reserve buffers that are no layout's."""

    def build(self, task):
        """Fill them."""

    def passed(self, k):
        """In the prologue of a kernel of the task's other direction: a superstep passes in which
        this format is not gone through."""

    def init_topology(self, assembler, task, name):
        """Emit the kernel ``name``, which then is launched before every gather kernel of the task,
        with the same argument; nothing if there is nothing to prepare."""


class Layout:
    """A piece of the graph that a kernel reads in one way (GRAssembler, algorithm 2.1, line 2).

    A gather kernel goes through one layout after another. Within a layout, where an edge is, is an
    opaque word, its *location*; the edges of one row are consecutive, and their locations differ by
    :attr:`step`. A location is what GRAssembler calls an edge ID.

    Rows are the vertices in their order; or *virtual*: then a vertex may have several or none, and
    the vertex of a row is stored. A row is known by its address in :attr:`row_array`, or where that
    is None by four times its number.

    Parameters
    ----------
    task : sw.kernels.generator.Task

    Attributes
    ----------
    index : int
        Number of the layout in the task's; the task sets it.
    edges : int
        Places for edges. In some there may be none: what is read there is an edge that changes
        nothing (:attr:`sw.algorithms.base.Algorithm.void_edge`).
    edge_bytes : int
        Bytes of a place.
    rows : int
        How many rows there are; of an active layout, at most.
    virtual : bool
        Whether rows are virtual.
    active : bool
        Whether its rows are those of the frontier only, as init_topology has left them; then
        nobody goes through the frontier itself, and nothing is filtered.
    ascending : bool
        Whether the neighbours of a row ascend, as the graph numbers them.
    based : bool
        Whether :meth:`get_edge` must be given the edges' bases.
    gathers : bool
        Whether it has :meth:`topology_gather`.
    prefetches : bool
        Whether it has :meth:`prefetch`.
    row_array : str or None
        See above.
    """
    edges: int
    rows: int
    edge_bytes = 4
    virtual = active = based = gathers = False
    ascending = prefetches = True
    row_array = None
    index = 0

    def __init__(self, task):
        self.task = task

    def array(self, name) -> str:
        """The buffer of the layout that goes by this name in it."""
        return f"{name}_{self.index}" if self.index else name

    @property
    def step(self) -> int:
        """The difference of the locations of consecutive edges."""
        return 1 if self.task.schedule.counts_edges else self.edge_bytes

    @property
    def spacing(self) -> int:
        """Bytes between the edges that a lane works on at once."""
        return self.edge_bytes * self.edges_apart

    @property
    def edges_apart(self) -> int:
        """Distance, in edges, of the edges that a lane works on at once: a warp's lanes if the
        schedule needs ``"edges"``."""
        schedule = self.task.schedule
        return self.task.config.threads if schedule.needs == "edges" else schedule.lanes_apart

    def reserve(self):
        """Reserve buffers; their contents are not asked for yet."""
        raise NotImplementedError

    def build(self):
        """Fill the buffers from the image."""
        raise NotImplementedError

    def enter(self, k, done):
        """Before the prologue: all warps go on to ``done`` if there is nothing to go through."""

    def prepare(self, k):
        """Prologue of a kernel: ask for the constants the methods below use."""

    # By rows

    def first_row(self, k) -> int:
        """The first row."""
        return 0 if self.row_array is None else k.address(self.row_array)

    def rows_end(self, k):
        """In the prologue: how far the row behind the last is from the first one, a number or a
        register."""
        return 4 * self.rows

    def row_of(self, k, vertex, into):
        """The row of a vertex, where rows are not virtual: in ``into``, or where it already is."""
        return k.pointer(vertex, self.row_array, into)

    def get_neighbor(self, k, row, begin, end):
        """Load the locations of the first edge and behind the last edge of a row, for which
        :meth:`get_base` has been called if rows are virtual. Rows behind the last are empty."""
        raise NotImplementedError

    def get_base(self, k, row, into):
        """Load the vertex of a virtual row, as its address in the algorithm's base array. All lanes
        are active, and a lane's rows come in ascending order."""
        raise NotImplementedError

    # By edges

    def first_edge(self, k) -> int:
        """The location of the first edge."""
        return k.address(self.array("neighbors"))

    def edges_end(self, k):
        """In the prologue: a register with the location behind the last edge. A block of edges that
        is only partly there is filled up, unless the layout is active."""
        block = self.task.schedule.edge_block(self.task)
        edges = self.task.round_up(max(1, self.edges), block)
        return k.constant(self.first_edge(k) + self.edge_bytes * edges, "edges_end")

    def search_vid(self, k, location, bases):
        """Load the base vertices of the edges at ``location``, as addresses in the algorithm's base
        array. All lanes are active, and a lane's edges come in ascending order."""
        raise NotImplementedError

    # Both

    def get_edge(self, k, location, edges):
        """Load the neighbours of the edges at ``location``, and their weights if they have
        registers for them. Their bases are known if it is :attr:`based`.

        ``location`` may be changed; it is then what :meth:`prefetch` takes.
        """
        raise NotImplementedError

    def prefetch(self, k, location):
        """Begin to bring what :meth:`get_edge` loads to the core. ``location`` is a place that
        :meth:`get_edge` has left, and :attr:`edge_bytes` for every edge that it is to be further
        on, which may be ``overread`` edges behind the last."""

    def topology_gather(self, k, location, values):
        """Load what init_topology has gathered for the edges at ``location``: the word of each
        one's source in the algorithm's source array."""
        raise NotImplementedError
