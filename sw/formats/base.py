"""What a storage format is (GRAssembler, table 2.3)."""

__all__ = ["StorageFormat"]


class StorageFormat:
    """Base of the storage formats.

    A format is told by the schedule what it is going to be asked: ``task.schedule.needs`` is
    ``"rows"`` (edges found from their base vertex: :meth:`get_neighbor`) or ``"edges"`` (the base
    vertex found from its edge: :meth:`search_vid`).

    Where an edge is, is an opaque word, its *location*; those of one row are consecutive multiples
    of ``task.schedule.location_step``. An edge's location is what GRAssembler calls its edge ID.

    Rows are the vertices in their order; or *virtual*: then a vertex may have several or none, and
    the vertex of a row is stored.

    Attributes
    ----------
    name : str
        What users call it: the name of an image (:mod:`sw.formats.image`).
    image : sw.formats.image.Image
        The graph in this format.
    """
    name = None

    def __init__(self, image):
        self.image = image

    @property
    def virtual(self) -> bool:
        """Whether rows are virtual."""
        return self.image.virtual

    @property
    def rows(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def check(self, task):
        """Raise UserError if the format cannot serve this task."""

    def reserve(self, task):
        """Reserve buffers; their contents are not asked for yet."""
        raise NotImplementedError

    def build(self, task):
        """Fill the buffers from the image."""
        raise NotImplementedError

    def prepare(self, k):
        """Prologue of a kernel: ask for the constants the methods below use."""

    def get_neighbor(self, k, row, begin, end):
        """Load the locations of the first edge and behind the last edge of a row.

        ``row`` is the row as its address in the array :attr:`row_array`.
        """
        raise NotImplementedError

    def get_base(self, k, row, into):
        """Load the vertex of a virtual row, as its address in the algorithm's base array."""
        raise NotImplementedError

    def get_edge(self, k, location, neighbors, weights=()):
        """Load the neighbours of the edges at ``location``, one register of ``neighbors`` each, and
        likewise their weights if there are registers for them.

        The lane's edges are consecutive in its row, or a warp's lanes apart if the schedule needs
        ``"edges"``. ``location`` may be changed; it is then what :meth:`prefetch` takes.
        """
        raise NotImplementedError

    def prefetch(self, k, location):
        """Begin to bring what :meth:`get_edge` loads to the core. ``location`` is a place that
        :meth:`get_edge` has left, and 4 bytes for every edge that it is to be further on, which
        may be ``overread`` edges behind the last."""

    def search_vid(self, k, location, bases):
        """Load the base vertices of the edges at ``location``."""
        raise NotImplementedError
