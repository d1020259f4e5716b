"""The records of a frontier's vertices (CR2, 3.3.4 and 3.5.3).

Before a super-step, init_topology goes through the expand list of the frontier's vertices, by the
task's schedule if that takes rows. It puts each record into the list of its subgraph. These lists
are the super-step's virtual topology. A list's entry is two words, the record's number and its
base. The gather kernel then goes through the lists in place of the subgraphs.

Two tables of the lists' ends change roles: super-step s reads table s mod 2 and makes the other
table ready for the next super-step.
"""

from typing import Any

import numpy as np

from sw.compile.algorithm import Operator
from sw.compile.formats.compressed import CompressedRows
from sw.compile.kernels.gather_pass import gather
from sw.compile.kernels.kernel import Kernel, log2
from sw.compile.kernels.split import passed, reserve

from .expand import fields
from .records import RecordLayout


__all__ = ["ActiveRecords", "RecordExpansion"]


#: The buffers of all lists, and the tables of the lists' ends.
_RECORDS, _BASES, _ENDS = "active_records", "active_bases", "active_ends"


def _to_table(k, parity, table_bytes):
    """Turn ``parity``, the last bit of a super-step's number, into the address of its table."""
    first = k.a.reg("first")
    k.shifted(parity, parity, log2(table_bytes))
    k.a.li(first, k.address(_ENDS))
    k.a.add(parity, parity, first)


class ActiveRecords(RecordLayout):
    """One subgraph's list. If edges are handed out by rows, a row is an entry. If they are handed
    out by edges, a location is the place among the edges of all entries, times an edge's bytes.

    Parameters
    ----------
    start : int
        Number of its first entry in the buffers.
    end_index : int
        Number of its word in a table of ends.
    table_bytes : int
        Size of a table of ends, in bytes.
    """
    active = True
    prefetches = False

    def __init__(self, task, image, part, k, start, end_index, table_bytes):
        super().__init__(task, image, part, k)
        self._start, self.end_index, self._table_bytes = start, end_index, table_bytes

    def entries(self) -> int:
        """Entries to reserve, with those that kernels may run over."""
        schedule, task = self.task.schedule, self.task
        return self.rows + (schedule.edge_block(task) if schedule.needs == "edges"
                            else task.rows_over)

    def reserve(self):
        self.reserve_edges()

    def build(self):
        self._build_edges()

    @property
    def _first_entry(self):
        return self.task.buffers.address(_RECORDS) + 4 * self._start

    def enter(self, k, done):
        a = k.a
        self._end, self._length = k.a.reg("list_end"), k.a.reg("list_length")
        table, start = a.regs("table", "start")
        k.task.frontier.parity(k, table)
        _to_table(k, table, self._table_bytes)
        a.lw(self._end, table, 4 * self.end_index)
        # The other one: as far from the first as the first is from this.
        a.li(start, 2 * k.address(_ENDS) + self._table_bytes & 0xFFFF_FFFF)
        a.sub(table, start, table)
        a.li(start, self._first_entry)
        a.sw(start, table, 4 * self.end_index)
        a.sub(self._length, self._end, start)
        a.beqz(self._length, done)

    def prepare(self, k):
        """Lists have global bases, so there is nothing to keep."""

    # By rows

    def first_row(self, k):
        return self._first_entry

    def rows_end(self, k):
        return self._length

    def get_neighbor(self, k, row, begin, end):
        k.a.lw(begin, row)
        k.shifted(begin, begin, self._row_shift + 2)
        k.a.add(begin, begin, k.constant(self._first))
        k.a.sltu(end, row, self._end)
        self._end_of(k, begin, end)

    def get_base(self, k, row, into):
        where = k.a.reg("where")
        k.a.add(where, row, k.distance(_RECORDS, _BASES))
        k.a.lw(into, where)

    # By edges

    def first_edge(self, k):
        return 0

    def edges_end(self, k):
        k.shifted(self._length, self._length, self._shift - 2)
        return self._length

    def search_vid(self, k, location, bases):
        self._load_entries(k, location, bases, other=True)

    def _load_entries(self, k, location, into, other=False):
        """Load a word of the edges' entries: the record, or with ``other`` the base."""
        regular, apart = self._entries_apart
        entry = k.a.reg("entry")
        for index, register in enumerate(into):
            if regular and index:
                k.a.lw(register, entry, apart * index)
                continue
            k.a.addi(entry, location, self.spacing(k) * index)
            k.shifted(entry, entry, -self._shift)
            k.a.slli(entry, entry, 2)
            k.a.add(entry, entry, k.constant(self._first_entry))
            if other:
                k.a.add(entry, entry, k.distance(_RECORDS, _BASES))
            k.a.lw(register, entry)

    @property
    def _entries_apart(self):
        """``(regular, bytes)``: whether a warp's lanes are whole records, and in that case the
        bytes between the entries of a lane's consecutive edges."""
        regular, apart = self._apart
        return regular, 4 * apart // self._base_bytes

    def get_edge(self, k, place, edges):
        if self.task.schedule.needs == "rows":
            super().get_edge(k, place, edges)
            return
        a, neighbors = k.a, [edge.neighbor.reg for edge in edges]
        self._load_entries(k, place, neighbors)
        within = a.reg("within")
        if self._entries_apart[0]:
            self._within(k, place, 0, within)
        for index, record in enumerate(neighbors):
            if not self._entries_apart[0]:
                self._within(k, place, index, within)
            k.shifted(record, record, self._shift)
            a.add(record, record, within)
        if edges[0].weight:
            where = a.reg("where")
            for edge, record in zip(edges, neighbors):
                self._weight_at(k, record, where)
                a.lw(edge.weight, where)
        for record in neighbors:
            k.load(record, record, self.edge_bytes)
        if self.local:
            self._to_addresses(k, edges)

    def _within(self, k, location, index, into):
        """The address of an edge, less that of its record from the first one."""
        k.a.addi(into, location, self.spacing(k) * index)
        k.a.andi(into, into, (1 << self._shift) - 1)
        k.a.add(into, into, k.constant(k.address(self.array("neighbors"))))


class _ExpandList(CompressedRows):
    """The expand list, with its unchanged pointers in place of neighbours."""

    def __init__(self, task, image):
        offsets, pointers = (image.arrays[f"expand_{what}"] for what in ("offsets", "pointers"))
        super().__init__(task, None, pointers, None, offsets)

    def neighbor_words(self):
        return self._neighbors, 0


class _Expander(Operator):
    """Puts the records of the frontier's vertices into the lists. The schedule runs it as an
    algorithm whose edges are the pointers.

    Parameters
    ----------
    algorithm : Operator
        The algorithm with the frontier.
    warp_bits : int
        The geometry's w.
    table_bytes : int
        Size of a table of ends, in bytes.
    """

    def __init__(self, algorithm, warp_bits, table_bytes):
        super().__init__(algorithm.graph)
        self._algorithm, self._table_bytes = algorithm, table_bytes
        self._upper = 32 - fields(warp_bits)[1]      # bits over a pointer's offset

    def base_array(self, task):
        return self._algorithm.base_array(task)

    def neighbor_array(self, task):
        return None

    def prepare(self, k):
        a = k.a
        k.open_frontier()
        self._ends = k.a.reg("ends")
        a.andi(self._ends, k.frontier.number, 1)
        _to_table(k, self._ends, self._table_bytes)
        self._entry_bytes = k.constant(4, "entry_bytes")

    def gather(self, k, edges):
        return [edge.neighbor.reg for edge in edges]

    def sum(self, k, edge, data, predicate):
        a = k.a
        end = a.reg("end")
        a.srli(end, data, 32 - self._upper)
        a.slli(end, end, 2)
        a.add(end, end, self._ends)
        a.amoadd_w(end, self._entry_bytes, end)
        a.slli(data, data, self._upper)
        a.srli(data, data, self._upper)
        a.sw(data, end)
        a.add(end, end, k.distance(_RECORDS, _BASES))
        a.sw(edge.base.reg, end)


class RecordExpansion:
    """The frontier's path through the graph: the lists and the kernel that fills them.

    Parameters
    ----------
    task : Task
    image : Cr2Image
        With the expand list.

    Attributes
    ----------
    layouts : list of ActiveRecords
        One for each subgraph, in the order of the image's.
    """

    def __init__(self, task, image):
        self._task, self._image = task, image
        geometry = image.geometry
        degree_bits = fields(geometry.warp_bits)[0]
        self._table_bytes = 4 << 1 + degree_bits
        self.layouts, entries = [], 0
        for part, k in image.subgraphs():
            self.layouts.append(ActiveRecords(task, image, part, k, entries,
                                              part << degree_bits | k, self._table_bytes))
            entries += self.layouts[-1].entries()
        self._entries = entries
        self._sub: Any = None

    def reserve(self):
        """Reserve the buffers that are no layout's; the task's layouts have their numbers."""
        task = self._task
        task.buffers.reserve(_RECORDS, self._entries)
        task.buffers.reserve(_BASES, self._entries)
        task.buffers.reserve(_ENDS, 2 * self._table_bytes // 4)
        expander = _Expander(task.algorithm, self._image.geometry.warp_bits, self._table_bytes)
        self._sub = task.beside(expander, lambda sub: [_ExpandList(sub, self._image)])
        for layout in self._sub.layouts:
            layout.reserve()
        reserve(self._sub)

    def build(self):
        """Fill the buffers. Unused entries are of the padding vertex, which has no edges."""
        task = self._task
        base = task.buffers.address(task.algorithm.base_array(task))
        task.buffers.fill(_BASES, rest=base + 4 * task.graph.num_vertices)
        ends = np.zeros((2, self._table_bytes // 4), dtype=np.uint32)
        for layout in self.layouts:
            ends[:, layout.end_index] = layout.first_row(None)
        task.buffers.fill(_ENDS, ends.reshape(-1))
        for layout in self._sub.layouts:
            layout.build()

    def passed(self, k):
        """In the prologue of a kernel that goes through no list: make the next super-step's table
        ready."""
        a = k.a
        table, start = a.regs("table", "start")
        k.superstep(table)
        a.xori(table, table, 1)
        a.andi(table, table, 1)
        _to_table(k, table, self._table_bytes)
        for layout in self.layouts:
            a.li(start, layout.first_row(k))
            a.sw(start, table, 4 * layout.end_index)
        passed(k, self._sub)

    def emit(self, k):
        """The kernel: the task's schedule goes through the expand list."""
        item, = self._sub.schedule.passes(self._sub)
        layout, = self._sub.layouts
        part = Kernel(k.a, self._sub, k.name, k.variant, layout, item, first=False)
        part.clears = True          # warps without work do not enter the superstep's own kernels
        gather(part, item)
