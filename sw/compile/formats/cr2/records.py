"""How kernels read the records of CR2 (CR2, 3.4.2).

Every Degree-2^k subgraph of either part is a layout of its own, whose k is a constant in the code.
A record's edges begin at its number times 2^k, and an edge's record is its place divided by 2^k. So
no offsets are read. A row is a record.

A local ID becomes an address by the cluster to which the ID is local. A lane finds the cluster of a
base from the records at which clusters begin. A lane meets records in ascending order, so it goes
on from its last cluster. The cluster of a neighbour is the cluster of its base. If all vertices are
in one cluster, the cluster is a constant.
"""

import numpy as np

from sw.compile.formats.storage_format import Layout, load_edge
from sw.compile.kernels.kernel import log2

from .geometry import INTRA


__all__ = ["RecordLayout"]


_FOREVER = 0xFFFF_FFFF


class RecordLayout(Layout):
    """One subgraph.

    ``bases``
        As in the image, but global IDs are addresses in the algorithm's base array. Behind the last
        record, as far as kernels may read, there is the padding vertex.
    ``neighbors``
        As in the image, but global IDs are addresses in the algorithm's neighbour array. An
        incomplete block of edges is filled with the padding vertex, whose local ID fits its base.
    ``weights``
        As in the image.
    ``cluster_ends``
        Four times the number of the record behind the last record of each cluster. The padding
        vertex's cluster has no end.

    Parameters
    ----------
    task : sw.compile.task.Task
    image : Cr2Image
    part, k : int
        Which subgraph.
    """
    virtual = True

    def __init__(self, task, image, part, k):
        super().__init__(task)
        self.image, self.part, self.k = image, part, k
        self.geometry = image.geometry
        self.rows = image.records(part, k)
        self.edges = self.rows << k
        self.edge_bytes = self.geometry.neighbor_dtype(part).itemsize
        #: Whether neighbours are local IDs, and bases are.
        self.local = part == INTRA
        self.local_bases = image.of(part, k, "starts") is not None
        #: Whether there is more than one cluster that a vertex, or the padding vertex, may be in.
        self.many = image.num_vertices >> self.geometry.cluster_bits > 0
        self.based = self.local and self.many

    @property
    def _shift(self):
        """The logarithm of a record's bytes."""
        return self.k + log2(self.edge_bytes)

    @property
    def _base_bytes(self):
        return self.geometry.base_dtype(self.part).itemsize

    # Memory

    def reserve(self):
        self.reserve_edges()
        rows = self.rows + self.task.rows_over
        if self.task.schedule.needs == "edges":
            rows = -(-self.places >> self.k)
        self.task.buffers.reserve(self.array("bases"), rows, self._base_bytes)
        if self.local_bases and self.many:
            self.task.buffers.reserve(self.array("cluster_ends"), self._clusters)

    @property
    def _clusters(self):
        """Number of clusters, including the padding vertex's."""
        return (self.image.num_vertices >> self.geometry.cluster_bits) + 1

    def build(self):
        self._build_edges()
        self._fill_vertices("bases", self.task.algorithm.base_array(self.task), self.local_bases)
        if self.local_bases and self.many:
            ends = 4 * self.image.of(self.part, self.k, "starts")[1:self._clusters]
            self.task.buffers.fill(self.array("cluster_ends"), ends, _FOREVER)

    def _build_edges(self):
        self._fill_vertices("neighbors", self.task.algorithm.neighbor_array(self.task), self.local)
        if self.task.algorithm.weighted:
            self.task.buffers.fill(self.array("weights"),
                                   self.image.of(self.part, self.k, "weights"))

    def _fill_vertices(self, name, vertex_array, local):
        buffers, values = self.task.buffers, self.image.of(self.part, self.k, name)
        if not local:
            buffers.fill(self.array(name), *self.task.vertices.addresses(vertex_array, values))
            return
        items = 4 * buffers.words(self.array(name)) // values.itemsize
        padding = self.geometry.local(np.full(items - len(values), self.image.num_vertices,
                                              np.uint32))
        buffers.fill(self.array(name), np.concatenate([values, padding]))

    @property
    def _first(self):
        """The location of the first edge."""
        address = self.task.buffers.address(self.array("neighbors"))
        return address >> log2(self.edge_bytes) if self.task.schedule.counts_edges else address

    @property
    def _cluster_bytes(self):
        """Bytes that a cluster's vertices take in the algorithm's base array."""
        return 4 << self.geometry.cluster_bits

    # The prologue

    def prepare(self, k):
        if self.local_bases and self.many:
            self._cluster, self._cluster_ends, self._cluster_end = k.a.regs(
                "cluster", "cluster_ends", "cluster_end")
            k.a.li(self._cluster_ends, k.address(self.array("cluster_ends")))
            k.a.lw(self._cluster_end, self._cluster_ends)
            k.a.li(self._cluster, k.address(self.task.algorithm.base_array(self.task)))

    # By rows

    def get_neighbor(self, k, row, begin, end):
        k.shifted(begin, row, self._row_shift)
        k.a.add(begin, begin, k.constant(self._first))
        k.a.sltu(end, row, k.constant(4 * self.rows))
        self._end_of(k, begin, end)

    def _end_of(self, k, begin, end):
        """Turn ``end``, which says whether there is a record, into where its edges end."""
        k.shifted(end, end, self._row_shift + 2)
        k.a.add(end, end, begin)

    @property
    def _row_shift(self):
        """Bits by which a row is shifted to give the distance of its location from the first."""
        return (self.k if self.task.schedule.counts_edges else self._shift) - 2

    def get_base(self, k, row, into):
        if self._tracks:
            self._to_cluster(k, row)
        where = k.a.reg("where")
        k.shifted(where, row, log2(self._base_bytes) - 2)
        k.a.add(where, where, k.constant(k.address(self.array("bases"))))
        k.load(into, where, self._base_bytes)
        if self.local_bases:
            k.a.slli(into, into, 2)
            k.a.add(into, into, self._cluster if self._tracks else self._vertices(k))

    def _vertices(self, k):
        return k.constant(k.address(self.task.algorithm.base_array(self.task)))

    @property
    def _tracks(self):
        return self.local_bases and self.many

    def _to_cluster(self, k, row):
        """Every lane goes on to the cluster of its record, which is ``row`` / 4."""
        a = k.a
        top, here = a.label("cluster"), a.label("cluster_found")
        beyond = a.reg("beyond")
        a.place(top)
        a.sltu(beyond, row, self._cluster_end)
        a.xori(beyond, beyond, 1)
        k.narrow(beyond, here)
        a.addi(self._cluster_ends, self._cluster_ends, 4)
        a.lw(self._cluster_end, self._cluster_ends)
        a.add(self._cluster, self._cluster, k.constant(self._cluster_bytes))
        a.j(top)
        a.place(here)

    # By edges

    def search_vid(self, k, location, bases):
        if not self._tracks:
            self._load_bases(k, location, bases, self._vertices)
            return
        a = k.a
        same, found = a.label("same_clusters"), a.label("bases_found")
        last, beyond = a.regs("last", "beyond")
        # If the last record is in the lane's current cluster, all records are.
        self._record_of(k, location, len(bases) - 1, last)
        a.slli(last, last, 2)
        a.sltu(beyond, last, self._cluster_end)
        a.xori(beyond, beyond, 1)
        k.narrow(beyond, same)
        k.widen()
        self._search_clusters(k, location, bases)
        a.j(found)
        a.place(same)
        self._load_bases(k, location, bases, lambda k: self._cluster)
        a.place(found)

    def _load_bases(self, k, location, bases, first):
        """The bases of the edges at ``location``. Local bases are all relative to the vertex whose
        address is in the register that ``first(k)`` gives."""
        regular, apart = self._apart
        where = k.a.reg("where")
        for index, base in enumerate(bases):
            if not regular or not index:
                self._record_of(k, location, index, where)
                self._load_base(k, base, where)
            else:
                k.load(base, where, self._base_bytes, apart * index)
        if self.local_bases:
            for base in bases:
                k.a.slli(base, base, 2)
                k.a.add(base, base, first(k))

    def _search_clusters(self, k, location, bases):
        """The bases of the edges at ``location``, whose records may be in different clusters."""
        clusters = k.a.regs(*(f"cluster{index}" for index, _ in enumerate(bases)))
        where, row = k.a.regs("where", "row")
        for index, (base, cluster) in enumerate(zip(bases, clusters)):
            self._record_of(k, location, index, where)
            k.a.slli(row, where, 2)
            self._to_cluster(k, row)
            k.a.mv(cluster, self._cluster)
            self._load_base(k, base, where)
        for base, cluster in zip(bases, clusters):
            k.a.slli(base, base, 2)
            k.a.add(base, base, cluster)

    def _record_of(self, k, location, index, into):
        """The number of the record of edge ``index`` among the edges at ``location``."""
        k.a.add(into, location, k.constant(-k.address(self.array("neighbors"))))
        if index:
            k.a.addi(into, into, self.spacing(k) * index)
        k.shifted(into, into, -self._shift)

    def _load_base(self, k, into, record):
        """The base of a record as it is stored; ``record`` becomes its address."""
        k.shifted(record, record, log2(self._base_bytes))
        k.a.add(record, record, k.constant(k.address(self.array("bases"))))
        k.load(into, record, self._base_bytes)

    @property
    def _apart(self):
        """``(regular, bytes)``: whether a warp's lanes are whole records, and in that case the
        bytes between the bases of a lane's consecutive edges."""
        records = self.task.config.threads >> self.k
        return records > 0, self._base_bytes * records

    # Both

    def get_edge(self, k, place, edges):
        for index, edge in enumerate(edges):
            load_edge(k, edge.neighbor.reg, place, self.edge_bytes, self.spacing(k) * index)
        if edges[0].weight:
            where = k.a.reg("where")
            self._weight_at(k, place, where)
            for index, edge in enumerate(edges):
                load_edge(k, edge.weight, where,
                          offset=self.spacing(k) * 4 // self.edge_bytes * index)
        if self.local:
            self._to_addresses(k, edges)

    def _weight_at(self, k, place, into):
        """The address of the weight of the edge at an address."""
        if self.edge_bytes == 4:
            k.a.add(into, place, k.distance(self.array("neighbors"), self.array("weights")))
            return
        k.a.add(into, place, k.constant(-k.address(self.array("neighbors"))))
        k.shifted(into, into, 2 - log2(self.edge_bytes))
        k.a.add(into, into, k.constant(k.address(self.array("weights"))))

    def _to_addresses(self, k, edges):
        """Turn the neighbours from local IDs into addresses."""
        a, task = k.a, self.task
        array = task.algorithm.neighbor_array(task)
        places = log2(k.width(array))
        first = cluster = k.constant(k.address(array))
        own = a.reg("its_cluster")
        for index, edge in enumerate(edges):
            neighbor = edge.neighbor.reg
            a.slli(neighbor, neighbor, places)
            if self.many and (not index or edge.base.reg is not edges[index - 1].base.reg):
                cluster = own
                self._cluster_of(k, edge.base, own, places)
                a.add(own, own, first)
            a.add(neighbor, neighbor, cluster)

    def _cluster_of(self, k, vertex, into, places):
        """The offset of the first vertex of a vertex's cluster, in an array whose items have
        2^``places`` bytes."""
        if vertex.array is None:
            k.shifted(into, vertex.reg, places)
        else:
            k.a.add(into, vertex.reg, k.constant(-k.address(vertex.array)))
            k.shifted(into, into, places - log2(k.width(vertex.array)))
        k.a.and_(into, into, k.constant(-1 << self.geometry.cluster_bits + places))

    def prefetch(self, k, place):
        k.load(k.a.zero, place, self.edge_bytes)
