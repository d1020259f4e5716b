"""The interface between a storage format and a kernel (GRAssembler, table 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sw.compile.kernels.kernel import log2, round_up

if TYPE_CHECKING:
    from sw.compile.formats.image import Image


__all__ = ["Layout", "StorageFormat", "load_edge"]


def load_edge(k, into, place, width=4, offset=0):
    """Load an unsigned number of ``width`` bytes that belongs to an edge.

    A superstep reads a number of an edge once. So its line is not wanted again, if the lanes of a
    warp take a line of such numbers at once. A lane that goes through a row alone comes back for
    the rest of the line.
    """
    lanes = k.lanes_apart if k.task.schedule.owns_base else k.config.threads
    k.load(into, place, width, offset,
           once=k.config.load_hints and lanes * width >= k.config.line_bytes)


class StorageFormat:
    """Base of the storage formats.

    The schedule tells the format which access it needs: ``task.schedule.needs`` is ``"rows"``
    (edges found from their base vertex: getNeighbor) or ``"edges"`` (the base vertex found from its
    edge: searchVID).

    Attributes
    ----------
    name : str
        Its name for users, which is the name of an image (:mod:`sw.compile.formats.image`).
    image : sw.compile.formats.image.Image
        The graph in this format.
    """
    name = None

    def __init__(self, image: Image):
        self.image = image

    def check(self, task):
        """Raise UserError if the format does not have edges in the way in which the task's schedule
        finds them."""
        self.image.require("getNeighbor" if task.schedule.needs == "rows" else "searchVID")

    def finds_rows(self, task) -> bool:
        """Whether a vertex's edges are found from the vertex, so that the frontier may be a queue.
        """
        return task.schedule.needs == "rows" and not self.image.virtual

    @property
    def has_lists(self) -> bool:
        """Whether kernels go through lists that the format makes before each superstep."""
        return False

    def layouts(self, task) -> list:
        """The :class:`Layout` objects that together hold all edges, each edge once."""
        raise NotImplementedError

    def reserve(self, task):
        """Reserve the buffers that belong to no layout."""

    def build(self, task):
        """Fill these buffers."""

    def passed(self, k):
        """In the prologue of a kernel of the task's other side: prepare for a superstep in
        which no kernel goes through this format."""

    def passes(self, task) -> list:
        """The kernels that are launched before the schedule's (initTopology), a list of
        :class:`~sw.compile.kernels.passes.Pass`. Nothing has been emitted but the kernel's
        entry."""
        return []


class Layout:
    """A piece of the graph that a kernel reads in one way (GRAssembler, algorithm 2.1, line 2).

    A gather kernel goes through one layout after another. The place of an edge within a layout is
    an opaque word, the edge's *location*. The edges of one row are consecutive, and their locations
    differ by :attr:`step`. GRAssembler calls a location an edge ID.

    Rows are the vertices in their order, or *virtual*. A vertex may have several virtual rows or
    none, and the vertex of a virtual row is stored. A row is known by its address in
    :attr:`row_array`. If :attr:`row_array` is None, a row is known by four times its number.

    Attributes
    ----------
    index : int
        Number of the layout among the task's layouts; the task sets it.
    edges : int
        Number of places for edges. An empty place reads as an edge that changes nothing
        (:attr:`sw.compile.algorithm.Operator.void_edge`).
    edge_bytes : int
        Bytes of a place.
    rows : int
        Number of rows; of an active layout, the largest number.
    virtual : bool
        Whether rows are virtual.
    active : bool
        Whether the layout has only rows of the frontier, which init_topology has put there. Then
        kernels do not go through the frontier itself, and filter nothing.
    ascending : bool
        Whether the neighbours of a row ascend, by the graph's numbers. They ascend by the device's
        numbers, so not if the vertices are reordered.
    based : bool
        Whether :meth:`get_edge` must be given the edges' bases.
    gathers : bool
        Whether edges have words that init_topology has gathered for them.
    voids : bool
        Whether it has places without edges, which come up as
        :attr:`~sw.compile.algorithm.Operator.void_edge`.
    filled : bool
        Whether the last block of edges is filled up with edges from the padding vertex to itself.
        They change no vertex, but an algorithm that adds or counts has to tell them.
    prefetches : bool
        Whether it has :meth:`prefetch`.
    row_array : str or None
        The array whose addresses name the rows; see above.
    plain : bool
        Whether rows are vertices in their order, whose offsets lie in :attr:`row_array`, and whose
        neighbours and weights lie in arrays of words, as a unit that reads memory
        reads them.
    """
    edges: int
    rows: int
    edge_bytes = 4
    virtual = active = based = gathers = voids = plain = False
    prefetches = True
    row_array = None
    index = 0

    def __init__(self, task):
        self.task = task
        self.ascending = task.new_ids is None

    def array(self, name) -> str:
        """The name of the task's buffer for this layout's array ``name``."""
        return f"{name}_{self.index}" if self.index else name

    @property
    def step(self) -> int:
        """The difference of the locations of consecutive edges."""
        return 1 if self.task.schedule.counts_edges else self.edge_bytes

    def spacing(self, k) -> int:
        """Bytes between the edges that a lane works on at once."""
        return self.edge_bytes * self.edges_apart(k)

    def edges_apart(self, k) -> int:
        """Distance, in edges, of the edges that a lane works on at once."""
        schedule = self.task.schedule
        whole = schedule.needs == "edges" or schedule.shares_rows
        return self.task.config.threads if whole else k.lanes_apart

    @property
    def places(self) -> int:
        """Places for edges to reserve: with those over which kernels may run, or whole blocks."""
        schedule, edges = self.task.schedule, max(1, self.edges)
        if schedule.needs == "rows":
            return edges + schedule.overread(self.task)
        return round_up(edges, schedule.edge_block(self.task))

    @property
    def filled(self) -> bool:
        return self.task.schedule.needs == "edges" and not self.active \
            and self.places != self.edges

    def reserve_edges(self):
        """Reserve the neighbours, and the weights if there are any."""
        buffers = self.task.buffers
        buffers.reserve(self.array("neighbors"), self.places, self.edge_bytes, edges=True)
        if self.task.algorithm.weighted:
            buffers.reserve(self.array("weights"), self.places, edges=True)

    def reserve(self):
        """Reserve buffers, without their contents."""
        raise NotImplementedError

    def build(self):
        """Fill the buffers from the image."""
        raise NotImplementedError

    def enter(self, k, done):
        """Before the prologue: all warps go to ``done`` if the superstep has no work in the layout.
        """

    def prepare(self, k):
        """Prologue of a kernel: ask for the constants the methods below use."""

    # By rows

    def first_row(self, k) -> int:
        """The first row."""
        return 0 if self.row_array is None else k.address(self.row_array)

    def rows_end(self, k):
        """In the prologue: the distance from the first row to the row behind the last, a number or
        a register."""
        return 4 * self.rows

    def row_of(self, k, vertex, into):
        """The register with the row of a vertex, if rows are not virtual: ``into``, or the register
        that already holds the row."""
        return k.pointer(vertex, self.row_array, into)

    def get_neighbor(self, k, row, begin, end):
        """Load the locations of the first edge and behind the last edge of a row. If rows are
        virtual, :meth:`get_base` has been called for the row. Rows behind the last are empty."""
        raise NotImplementedError

    def get_neighbor_behind(self, k, row, distance, begin, end):
        """As :meth:`get_neighbor`, for the row that lies ``distance`` bytes behind ``row``."""
        behind = k.a.reg("row_behind")
        k.a.addi(behind, row, distance)
        self.get_neighbor(k, behind, begin, end)

    def get_base(self, k, row, into):
        """Load the vertex of a virtual row, as its address in the algorithm's base array. All lanes
        are active, and a lane's rows come in ascending order."""
        raise NotImplementedError

    # By edges

    def first_edge(self, k) -> int:
        """The location of the first edge."""
        return k.address(self.array("neighbors"))

    def edges_end(self, k):
        """In the prologue: a register with the location behind the last edge. An incomplete block
        of edges is filled up, unless the layout is active."""
        return k.constant(self.first_edge(k) + self.edge_bytes * self.places, "edges_end")

    def search_vid(self, k, location, bases):
        """Load the base vertices of the edges at ``location``, as addresses in the algorithm's base
        array. All lanes are active, and a lane's edges come in ascending order."""
        raise NotImplementedError

    # Both

    def to_place(self, k, location):
        """Turn the location of an edge into the address of its place."""
        if self.task.schedule.counts_edges:
            k.shifted(location, location, log2(self.edge_bytes))

    def get_edge(self, k, place, edges):
        """Load the neighbours of the edges from the one at ``place`` on, and their weights, and the
        words that init_topology has gathered for them (of their sources, in the algorithm's source
        array), if they have registers for them. Their bases are known if it is :attr:`based`.

        ``place`` is the address of the edge's place (:meth:`to_place`).
        """
        raise NotImplementedError

    def prefetch(self, k, place):
        """Prefetch data that :meth:`get_edge` will load for the edge at ``place``. The edge may be
        ``overread`` edges behind the last."""

