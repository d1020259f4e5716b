"""The Weaver's schedule: hardware hands out the edges (SparseWeaver, figure 4.9).

A lane registers a vertex of the frontier. Then warps request works from the Weaver. A work is as
many edges as there are lanes, of any number of vertices, in the order of the vertices. So the loads
of the edges are coalesced, and no lane is idle.

*With rounds* (all units but ``"stream"``) every lane registers one vertex a round. A barrier
follows, because the table has to be complete before the first request. Another barrier precedes the
next registration. Without it, a warp that has not yet read the end of this round's work would get
new work.

With ``gather = "eghw"`` (SparseWeaver, 4.6.8) a lane writes its vertex's ID to local memory
instead, and the unit reads the offsets and the edges. A warp whose work is ready loads the records
of its edges from local memory.

*Without rounds* (``gather = "stream"``) the first warps, the *registrars*, register rows whenever
the unit asks for some. The other warps only take work, so an answer without work is rare for them.
Where all vertices take part, a registrar registers several rows in a turn, as many as the table has
room for: number i in row *warp + i x registrars*. So a turn's branches and additions serve several
rows.

Places
------
WEAVER_DEC also gives the addresses of the edges, where an edge takes a word. Where it takes fewer
bytes, WEAVER_DEC_ID and WEAVER_DEC_LOC give the edge's location in two steps, and a shift makes the
address.

Tokens
------
The unit hands out whatever was registered as the vertex. If a vertex pushes a word that may be read
early, a lane registers the word, and no edge loads it. If vertices collect in local memory, a lane
registers the address of the vertex's slot (:mod:`sw.compile.kernels.local_sums`).

Latency
-------
If the kernel goes through all vertices in order, the edges handed out are consecutive in memory.
Then a turn of one work prefetches a line into L1, by a load to x0, that is needed some works later.
Every lane subtracts its own place from its location, so the prefetch is one access and not two of
neighbouring lines. Prefetching does not help if the frontier is a queue. Turns of several works
need no prefetch, because their loads are under way together.
"""

import dataclasses

from hw.gather.variants import VARIANTS
from hw.isa import Csr
from hw.operations import REGISTER
from sw.compile.asm.assembler import Condition
from sw.compile.kernels.edge_records import EdgeRecords
from sw.compile.kernels.kernel import Vertex, log2
from sw.compile.kernels.local_sums import LocalSums
from sw.compile.options import Choice, Integer
from sw.compile.kernels.rows import Rows
from sw.compile.schedules.schedule import LONG, Schedule
from sw.compile.schedules.works import Turns, UnitWork


__all__ = ["WeaverSchedule"]


#: Works that each warp may take before the line that a work prefetches is needed.
_PREFETCH_TURNS = 2

#: Works per turn with rounds and a queue, where degrees are high and edges are in rows that are
#: longer than a work.
_WORKS_ROUNDS = 2

#: Works per turn without rounds and with a queue, where edges are in long rows.
_WORKS_LONG = 3

#: Bytes of instruction memory from which on sums are in local memory by default.
_ROOM = 1 << 13

#: Works per turn else.
_WORKS = 1

#: Degrees are high from this mean on.
_HIGH = 8

#: Works per turn without rounds, where all vertices take part.
_WORKS_ALL = 4

#: Rows that a registrar registers in a turn, and registrars, where all vertices take part.
_ROWS_ALL, _REGISTRARS_ALL = 4, 2

#: Else one warp of so many registers rows: where degrees are low, and where they are high.
_SHARE_LOW, _SHARE_HIGH = 2, 4


class WeaverSchedule(Schedule):
    """Registration of rows, and distribution of their edges, in rounds or without."""
    name = "weaver"
    compared = True
    counts_edges = True
    OPTIONS = {"works": Integer(1, 4, None, "works of a warp in a turn; left out, 1 to 4 by "
                                "frontier, rows and unit"),
               "sums": Choice(("local", "global"), None, "where a vertex that pulls collects, with "
                              "gather = 'stream'; left out, local memory where the L1 has one "
                              "bank and atomics take a word each; global memory where local memory "
                              "cannot serve"),
               "registrars": Integer(1, 32, None, "warps of a core that register rows, with "
                                     "gather = 'stream'; left out, two, or with one row a turn a "
                                     "quarter of them if the mean degree is at least 8, else half "
                                     "of them"),
               "rows": Integer(1, 4, None, "rows that a registrar registers in a turn, with "
                               "gather = 'stream', at most; left out, 4. One where a frontier, a "
                               "counter or virtual rows decide which row comes next", power=True)}
    AT_ONCE = "works"

    def check_config(self, config):
        if config.unit is None or not config.unit.registers:
            *others, last = (repr(name) for name, unit in VARIANTS.items() if unit.registers)
            raise self.refuse("needs a Weaver or EGHW, which configuration "
                              f"{config.name!r} does not have (gather = {config.gather!r}); gather "
                              f"= {', '.join(others)} or {last} has one")
        for option in ("registrars", "rows", "sums"):
            if self.options[option] and config.unit.rounds:
                raise self.refuse(f"with the option {option} needs a Weaver without rounds, which "
                                  f"configuration {config.name!r} does not have "
                                  f"(gather = {config.gather!r}); gather = 'stream' has one")

    def check(self, task):
        super().check(task)
        if task.config.gather_reads:
            self.check_plain(task, f"with gather = {task.config.gather!r} ")

    def idle(self, task):
        collects = task.direction == "pull" and task.algorithm.identity is not None
        if self.options["sums"] == "local" and not collects:
            return {"sums": "no vertex collects, so the sums of edges are atomic, in global memory"}
        return {}

    def overread(self, task):
        return _overread(task)

    def emit(self, k):
        task = k.task
        works = self.at_once(task, self._preferred(k))
        if not task.config.unit.rounds:
            _Stream(k, works, *self._shares(task)).emit()
        else:
            rounds = _RecordRounds if task.config.gather_reads else _Rounds
            rounds(k, works, self._table_rows(task)).emit()

    def _shares(self, task):
        """``(registrars, rows)``, without rounds: warps that register rows, and rows that each of
        them registers in a turn."""
        registrars, many, used = self._table_rows(task), 1, task.choices.used
        # All warps register, if only the program of one loop fits.
        if task.choices.divisor == 1 or self.options["registrars"] or task.owns_vertex:
            registrars = self._registering(task, self._rows_asked(task))
        if task.choices.divisor == 1:
            room = self._table_rows(task) // registrars
            many = min(self._rows_asked(task), 1 << room.bit_length() - 1)
        used |= {"registrars": registrars, "rows": many}
        if task.direction == "pull" and task.algorithm.identity is not None:
            used["sums"] = "local" if task.owns_vertex else "global"
        return registrars, many

    def _preferred(self, k):
        """Works a turn, if the user does not say."""
        task = k.task
        if task.config.gather != "stream":
            many = self._degrees_high(task) and task.row_length > task.config.threads
            return _WORKS_ROUNDS if task.queued and many else _WORKS
        if task.queued:
            return _WORKS_LONG if task.row_length >= LONG else _WORKS
        return _WORKS if task.algorithm.first_only(k) else _WORKS_ALL

    @staticmethod
    def _table_rows(task):
        """Warps for which the unit's table has a row."""
        return min(task.warps, task.config.weaver_table_entries // task.config.threads)

    def _registering(self, task, many=1):
        """Warps that register rows, each ``many`` in a turn if the table has room."""
        rows = self._table_rows(task)
        if self.options["registrars"]:
            return min(rows, self.options["registrars"])
        if many > 1:
            return min(_REGISTRARS_ALL, max(1, rows // many))
        return max(1, min(
            rows, task.warps // (_SHARE_LOW, _SHARE_HIGH)[self._degrees_high(task)]))

    def _rows_asked(self, task):
        """Rows that a registrar registers in a turn, if the table has room for them."""
        if self._takes_many(task):
            return self.options["rows"] or _ROWS_ALL
        return 1

    @staticmethod
    def _takes_many(task):
        """Whether a registrar may register several rows in a turn: if the places of all vertices
        are known beforehand."""
        return not (task.queued or task.owns_vertex or task.split != "static"
                    or any(layout.virtual or layout.active for layout in task.layouts))

    def collects_locally(self, task):
        registrars = self._registering(task)
        return (not task.config.unit.rounds and task.direction == "pull"
                and task.algorithm.identity is not None and self._sums_asked(task) == "local"
                and task.split == "static" and not task.layouts[0].based
                and task.warps % registrars == 0 and LocalSums(task, registrars).fits)

    def _sums_asked(self, task):
        """Where vertices shall collect: as the user says, else where it takes fewer cycles."""
        config = task.config
        one = config.l1_banks == 1 and not config.line_atomics and config.imem_bytes >= _ROOM
        return self.options["sums"] or ("local" if one else "global")

    def reserve(self, task):
        if task.owns_vertex:
            LocalSums(task, self._registering(task)).reserve()
        if task.config.gather_reads:
            EdgeRecords.reserve(task)

    @staticmethod
    def _degrees_high(task):
        return task.graph.num_edges >= _HIGH * task.graph.num_vertices

    def go_on(self, k):
        k.barrier()


def _overread(task):
    """Words behind the last edge that may be prefetched."""
    return _PREFETCH_TURNS * task.warps * task.config.threads


class _WeaverTurns(Turns):
    """The common part of the kernels: rows that lanes register, and works that the unit hands out.

    Parameters
    ----------
    k : Kernel
    works : int
        Works of a turn.
    rows : Rows
        What the lanes register.
    apart : int
        Table rows from a row that a warp registers in a turn to its next.
    """
    _sums: LocalSums | None = None

    def __init__(self, k, works, rows, apart=0):
        super().__init__(k, works)
        self._rows, self._apart = rows, apart
        self._form = None               # the array of the vertices that are handed out
        self._behind = None

    def _place_prefetches(self):
        """In the prologue: how far a place is behind the line that it prefetches."""
        k = self._k
        if k.task.queued or not k.layout.prefetches or self._works != 1:
            return
        self._behind = k.a.reg("behind")
        distance = k.a.reg("distance")
        k.a.csrr(self._behind, Csr.THREAD_ID)
        k.shifted(self._behind, self._behind, log2(k.layout.edge_bytes))
        k.a.li(distance, k.layout.edge_bytes * _overread(k.task))
        k.a.sub(self._behind, self._behind, distance)

    # Registration

    def _advance(self):
        self._rows.advance()
        for vertex in self._rows.vertices:
            self._k.algorithm.expect(self._k, vertex)

    def _register(self):
        k, rows = self._k, self._rows
        k.phase(1)
        for number, vertex in enumerate(rows.vertices):
            degree = k.a.reg("degree")
            token = self._token(vertex)
            rows.size(degree, number)
            k.a.weaver_reg(token, rows.ranges[number][0], degree, number * self._apart)

    def _token(self, vertex):
        """The register that is registered for a row's vertex."""
        k = self._k
        if self._hands_words():
            token = k.a.reg("word")
            k.a.lw(token, vertex.reg)
            return token
        vertex = k.algorithm.token(k, vertex)
        self._form = vertex.array
        return vertex.reg

    def _hands_words(self):
        """Whether the unit hands out the words that the vertices send, in place of the vertices."""
        task = self._k.task
        return (task.algorithm.sends_early and task.direction == "push"
                and not self._k.layout.based)

    # Distribution

    def make_work(self, index):
        k = self._k
        token, place = k.a.regs(f"token{index}", f"place{index}")
        if self._hands_words():
            edge = dataclasses.replace(k.edge(None, index), value=token)
        else:
            edge = k.edge(Vertex(token, self._form), index)
        return UnitWork(token, place, edge, (token, place))

    def decode(self, work):
        """Ask for the warp's next work: its tokens and the places of its edges."""
        k = self._k
        k.edge_phase(2)
        if k.layout.edge_bytes == 4:            # the unit gives the addresses of words
            k.a.weaver_dec(work.token, work.place)
        else:
            k.a.weaver_dec_id(work.token)
            k.a.weaver_dec_loc(work.place)
            k.layout.to_place(k, work.place)

    def fetch(self, works):
        k = self._k
        for work in works:
            k.layout.get_edge(k, work.place, [work.edge])
        if self._behind is not None:
            for work in works:
                k.a.sub(work.place, work.place, self._behind)
                k.layout.prefetch(k, work.place)

    def combine(self, work, word, predicate):
        k, algorithm = self._k, self._k.algorithm
        if algorithm.first_only(k):
            k.a.weaver_skip(work.token)
        if self._sums:
            algorithm.collect_at(k, word, work.token)
        else:
            algorithm.sum(k, work.edge, word, predicate)


class _Rounds(_WeaverTurns):
    """The kernel with rounds."""
    _ranged = True

    def __init__(self, k, works, table_rows):
        self._open(k)
        super().__init__(k, works, Rows(k, table_rows, together=True, ranged=self._ranged))
        self._rows.start()
        if self._ranged:
            self._place_prefetches()

    def _open(self, k):
        """The first part of the prologue."""

    def emit(self):
        """Emit the loop."""
        k, a, rows = self._k, self._k.a, self._rows
        top, done = a.label("round"), a.label("gather_done")
        a.place(top)
        answer = rows.ask()
        self._register()
        rows.offer(answer)
        if not rows.waits:
            self._advance()
        k.barrier()
        if rows.waits:
            self._advance()
        k.phase(3)
        self.distribute()
        a.branch(~rows.more(), done)
        k.barrier()
        a.j(top)
        a.place(done)


class _RecordRounds(_Rounds):
    """The kernel with rounds, where the unit reads the edges."""
    _ranged = False

    def _open(self, k):
        self._records = EdgeRecords(k)

    def _register(self):
        self._k.phase(1)
        self._records.register(self._rows)

    def make_work(self, index):
        k = self._k
        token = k.a.reg(f"token{index}")
        edge = k.edge(Vertex(token, self._rows.vertex.array), index)
        return UnitWork(token, None, edge, (token, *self._records.parts(edge)))

    def decode(self, work):
        k = self._k
        k.edge_phase(2)
        k.a.weaver_dec_id(work.token)
        k.edge_phase(3)
        self._records.load(work.edge)

    def fetch(self, works):
        pass


class _Stream(_WeaverTurns):
    """The kernel without rounds.

    Parameters
    ----------
    k : Kernel
    works : int
    registrars, many : int
        Warps that register rows, and rows that each of them registers in a turn.
    """

    def __init__(self, k, works, registrars, many):
        self._divided = registrars < k.task.warps
        self._sums = LocalSums(k.task, registrars) if k.task.owns_vertex else None
        super().__init__(k, works, Rows(k, registrars, together=False, many=many), registrars)
        self._registrars = registrars
        self._place_prefetches()

    def no_work(self):
        return self._k.constant(REGISTER, "no_work")

    def has_work(self, work):
        return Condition("ltu", work.token, self.no_work())

    def _token(self, vertex):
        return self._slot if self._sums else super()._token(vertex)

    def emit(self):
        """Emit the loops. The first warps register a row whenever the unit asks for one. All warps
        work on edges until the end."""
        k, a, rows = self._k, self._k.a, self._rows
        again, ask, takers, end = (a.label(name) for name in (
            "register_row", "ask", "takers", "gather_done"))
        if self._sums:
            self._sums.start(k)
            slot = self._slot = a.reg("slot_of_row")
            parts = a.reg("parts")
            a.li(parts, self._sums.parts)
        if self._divided:
            warp = a.reg("warp")
            a.csrr(warp, Csr.WARP_ID)
            a.bgeu(warp, k.constant(self._registrars), takers)
        rows.start()
        part, close = a.label("part"), a.label("close")
        a.place(part)
        a.weaver_reg(a.zero, a.zero, a.zero)      # opens the warp
        if self._sums:
            self._sums.first(k, slot)
        k.barrier()
        if self._sums:
            a.branch(~rows.more(), close)
        a.j(ask)
        a.place(again)
        self._register()
        self._advance()
        if self._sums:
            self._sums.next(k, slot)
            self._sums.full(k, slot, close)
        a.branch(rows.more(), ask)
        a.place(close)
        a.weaver_skip(k.full)                     # closes the warp
        a.place(ask)
        k.phase(3)
        answer = self.one_by_one() if self._divided else self.distribute()
        a.bne(answer, k.full, again)
        if self._sums:
            self._finish_part(parts, part)
        if self._divided:
            a.j(end)
            a.place(takers)
            part = a.label("part_of_takers")
            a.place(part)
            k.barrier()
            k.phase(3)
            self.distribute()
            if self._sums:
                self._finish_part(parts, part)
            a.place(end)

    def _finish_part(self, parts, again):
        """All words of a part have been collected when all warps are here; go on with the next
        part at ``again``."""
        k = self._k
        assert self._sums is not None
        k.barrier()
        self._sums.finish(k)
        k.a.addi(parts, parts, -1)
        k.a.bnez(parts, again)
