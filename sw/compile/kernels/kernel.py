"""The tools for writing a kernel: the assembler, and the addresses of arrays.

A program is generated for one graph, so addresses and sizes are constants in it. No argument is
loaded from memory. :class:`Kernel` keeps a kernel's constants in registers, which the prologue
loads, and converts vertices from one form to another.

Vertices in registers
---------------------
A :class:`Vertex` stands for a vertex in a register: either its number, or the address of its word
in one of the vertex arrays. The format stores neighbours as such addresses, so ``lw`` can use a
loaded neighbour as an address at once. The address in another array takes one addition of a
constant. The number takes a subtraction and a shift, and is computed only where it is stored.

Most vertex arrays have one word for a vertex. An array may have an item of several words for each,
whose bytes are a power of two (:meth:`~sw.compile.buffers.Buffers.width`). The address in an array
of another width takes a shift and an addition. Base vertices are in an array of one word, because
kernels go through the vertices and the offsets of their rows in equal steps.
"""

import contextlib
import dataclasses
import functools
from typing import Any

from hw.isa import Csr
from sw.compile.asm.assembler import AssemblyError, Condition, GeneralRegister
from sw.compile.kernels.passes import Pass
from sw.compile.kernels.reductions import Private
from sw.compile.asm.virtual import VirtualAssembler


__all__ = ["ANY_LANE", "OLD_IDS", "Vertex", "Edge", "Kernel", "log2", "round_up"]


#: The vertex array with the graph's number of each vertex, if they are reordered.
OLD_IDS = "old_ids"

#: Upper bits of a shuffle's operand: no segments, no lane clamped.
ANY_LANE = 63 << 6


#: The pass of a kernel that no schedule has.
_ONLY = Pass("")


def log2(size) -> int:
    """The logarithm of a power of two."""
    return size.bit_length() - 1


def round_up(value, unit) -> int:
    """``value`` or the next multiple of ``unit``."""
    return -(-value // unit) * unit


def _reciprocal(divisor):
    """The factor of :meth:`Kernel.divided`, and the right shift of the product's upper word."""
    bits = (divisor - 1).bit_length()
    return -(-(1 << 31 + bits) // divisor), bits - 1


@dataclasses.dataclass(frozen=True)
class Vertex:
    """A vertex in a register."""
    reg: GeneralRegister  #: The register that holds the vertex.
    #: The register holds the address of the vertex's item in this array; or, for ``None``, the
    #: vertex's number.
    array: str | None


@dataclasses.dataclass(frozen=True)
class Edge:
    """An edge that a lane works on."""
    #: Vertex. The end by which the schedule goes: the destination when pulling, the source when
    #: pushing. None if the algorithm needs only ``value``
    #: (:class:`~sw.compile.algorithm.SentWord`).
    base: Any
    neighbor: Vertex  #: The other end.
    #: Its weight, if the algorithm uses weights. None if ``value`` is the sum of both.
    weight: GeneralRegister | None = None
    #: The word of its source in the algorithm's source array, if that has been gathered before.
    value: GeneralRegister | None = None


class Kernel:
    """One kernel under construction.

    Parameters
    ----------
    assembler : VirtualAssembler
    task : Task
        The task whose kernels are generated.
    name : str
        Entry point.
    variant : object
        The value by which the algorithm tells the kernels of one program apart.
    layout : sw.compile.formats.storage_format.Layout or None
        The layout that a gather kernel, or this part of it, goes through.
    item : Pass
        The pass that is emitted.
    first : bool
        Whether the kernel begins here. Otherwise this part continues it, with all lanes. In a fused
        loop the kernel begins as a section of the loop, and no warps end.

    Attributes
    ----------
    a : Assembler
    algorithm, config, direction
        The task's.
    pass_name : str
        Name of the pass.
    leads, gathers : bool
        As of :class:`~sw.compile.kernels.passes.Pass`.
    full : GeneralRegister
        All ones: the mask of all lanes, and the VID that says that there is no work.
    clears : bool
        Whether this part clears what the superstep's results will be written to. One part does so,
        which all warps go through.
    frontier : sw.compile.frontiers.superstep.Superstep or None
        What the superstep adds to, after :meth:`open_frontier`.
    input : sw.compile.frontiers.frontier.Input or None
        The input that the superstep reads, after :meth:`open_frontier`.
    lanes_apart : int
        Lanes that take consecutive edges of a row, unless these are the lanes of a warp.
    tile : int or None
        While the work on edges of a tile is emitted: the lanes of a warp, a power of two and side
        by side, that have edges of the same base. All of them are active, or none.
    """

    def __init__(self, assembler: VirtualAssembler, task, name, variant, layout=None,
                 item=_ONLY, first=True):
        self.a, self.task, self.name, self.variant = assembler, task, name, variant
        self.algorithm, self.config, self.direction = task.algorithm, task.config, task.direction
        self.layout, self.first = layout, first
        self.pass_name, self.leads, self.gathers = item.name, item.leads, item.gathers
        self.clears = first and item.leads and not (layout is not None and layout.active)
        self._constants = {}
        self.frontier = self.input = self.tile = None
        self.lanes_apart = 1
        if first and assembler.argument is not None:
            self.a.section(name)
        elif first:
            self.a.entry(name)
            self._end_other_warps()
        self.a.part()
        self.full = self._constants[0xFFFF_FFFF] = self.a.constant("full", -1, kept=True)

    def _end_other_warps(self):
        """At the entry: end the warps of each core that take no part."""
        if self.task.warps < self.config.warps:
            mask = self.a.reg("taking_part")
            self.a.csrr(mask, Csr.WARP_ID)
            self.a.sltiu(mask, mask, self.task.warps)
            self.a.neg(mask, mask)              # no lane, or all
            self.a.tmc(mask)

    @functools.cached_property
    def private(self) -> Private:
        """The registers in which a lane collects for its base vertex. The algorithm asks first, in
        the prologue."""
        return Private(self, self.algorithm.private(self.task))

    def address(self, array) -> int:
        """Address of an array."""
        return self.task.buffers.address(array)

    def width(self, array) -> int:
        """Bytes of an item of an array."""
        return self.task.buffers.width(array)

    def phase(self, number):
        """From here on the warp's cycles are counted under this phase (:data:`hw.isa.PHASES`)."""
        self.a.phase(number)

    def edge_phase(self, number):
        """Like :meth:`phase`, within the work on edges. Phases change often there, and each mark is
        an instruction. So unless the task asks for them there are no marks, and all the work counts
        as edge access."""
        if self.task.plan.phases:
            self.a.phase(number)

    # Constants

    def constant(self, value, name="constant", kept=False) -> GeneralRegister:
        """A register that holds ``value`` throughout this part of the kernel, to be read only.
        Where registers are few it may be made anew at each use, unless it is ``kept``."""
        value &= 0xFFFF_FFFF
        if value == 0:
            return self.a.zero
        if value not in self._constants:
            self._constants[value] = self.a.constant(name, value, kept)
        return self._constants[value]

    def distance(self, array, other) -> GeneralRegister:
        """A register with the distance from ``array`` to ``other``, in bytes."""
        return self.constant(self.address(other) - self.address(array), f"{array}_to_{other}")

    def open_frontier(self):
        """In the prologue: prepare the frontier and the input of the task, if it has them. A kernel
        that gathers, but not by the input, leaves the input to the kernels before it."""
        self.frontier, self.input = self.task.frontier, self.task.input
        if self.frontier is not None:
            self.frontier.prepare(self)
        if self.input is not None and (self.leads or not self.gathers):
            self.input.prepare(self)
        if self.frontier is not None:
            self.frontier.make(self)

    @contextlib.contextmanager
    def last_warp(self):
        """The part that only the last warp of each core runs, which is the most likely to have no
        work."""
        warp, last = self.a.regs("warp", "last_warp")
        self.a.csrr(warp, Csr.WARP_ID)
        self.a.li(last, self.task.warps - 1)
        with self.a.if_uniform(Condition("eq", warp, last), "last_warp"):
            yield

    def argument(self, into):
        """``into`` = the argument of the launch; in a fused loop
        (:mod:`sw.compile.kernels.fusion`), of the superstep. Where that is a record, ``into`` is
        the superstep's number."""
        if self.a.argument is None:
            self.a.csrr(into, Csr.MSCRATCH)
        elif self.a.record is not None:
            self.a.lw(into, self.a.argument, self.a.record)
        else:
            self.a.mv(into, self.a.argument)

    @functools.cached_property
    def given(self) -> GeneralRegister:
        """In the prologue: a register with the argument, as of :meth:`argument`, to be read only.
        """
        if self.a.argument is not None and self.a.record is None:
            return self.a.argument
        into = self.a.reg("argument")
        self.argument(into)
        return into

    def superstep(self, into):
        """In the prologue: ``into`` = a word whose last bit is that of the superstep's number."""
        if self.frontier is not None and self.leads:
            self.a.mv(into, self.frontier.number)
        elif self.frontier is not None:
            self.frontier.parity(self, into)
        else:
            self.argument(into)

    # Vertices and edges

    def edge(self, base, index=0) -> Edge:
        """An edge from ``base``, in new registers."""
        a, algorithm = self.a, self.algorithm
        assert self.layout is not None
        return Edge(base, Vertex(a.reg(f"neighbor{index}"), algorithm.neighbor_array(self.task)),
                    a.reg(f"weight{index}") if algorithm.weighted else None,
                    a.reg(f"value{index}") if self.layout.gathers else None)

    def pointer(self, vertex, array, into) -> GeneralRegister:
        """The register with the address of the vertex's item in ``array``: ``into``, or the
        register that already holds it."""
        if vertex.array == array:
            return vertex.reg
        places, distance = self.way(vertex.array, array)
        start = vertex.reg
        if places:
            self.shifted(into, start, places)
            start = into
        self.a.add(into, start, self.constant(distance, array))
        return into

    def way(self, array, other):
        """``(places, distance)`` by which a vertex's address in ``array``, or its number if that is
        None, becomes its address in ``other``: shift it to the left by ``places``, or to the right
        if they are negative, then add ``distance``."""
        if array is None:
            return log2(self.width(other)), self.address(other)
        places = log2(self.width(other)) - log2(self.width(array))
        start = self.address(array)
        start = start << places if places >= 0 else start >> -places
        return places, self.address(other) - start & 0xFFFF_FFFF

    def number(self, vertex, into=None) -> GeneralRegister:
        """The register with the vertex's number: ``into`` or a new register, or the register that
        already holds it."""
        if vertex.array is None:
            return vertex.reg
        into = into or self.a.reg("number")
        self.a.add(into, vertex.reg, self.constant(-self.address(vertex.array)))
        self.shifted(into, into, -log2(self.width(vertex.array)))
        return into

    def original(self, vertex, into=None) -> GeneralRegister:
        """The register with the vertex's number in the graph: ``into`` or a new register, or the
        register that already holds it."""
        if self.task.new_ids is None:
            return self.number(vertex, into)
        into = into or self.a.reg("original")
        self.a.lw(into, self.pointer(vertex, OLD_IDS, into))
        return into

    # Lanes

    def partner(self, into, source, distance):
        """``into`` = ``source`` of the lane whose number differs by ``distance``, a power of two.
        """
        self.a.shfl_bfly(into, source, self.constant(distance | ANY_LANE, f"lane_{distance}"))

    def broadcast(self, into, source, lane):
        """``into`` = ``source`` of the lane of that number, active or not."""
        self.a.shfl_idx(into, source, self.constant(lane | ANY_LANE, f"lane_{lane}"))

    def claim(self, into, amount, address):
        """One lane adds ``amount`` to the word at ``address``; ``into`` = the old word, in all
        lanes. All lanes are active, here and afterwards."""
        self.a.li(into, 1)
        self.a.tmc(into)
        self.a.amoadd_w(into, amount, address)
        self.widen()
        self.a.shfl_idx(into, into, self.a.zero)

    def narrow(self, predicate, otherwise):
        """Go on with the lanes in which ``predicate`` is not 0. If there are none, go to
        ``otherwise`` with all lanes of the warp.

        Lane 0 then decides the branch, and may not have been active. So a lane that is left out
        must hold 0. This is the case if the same register always narrows the lanes.
        """
        self.a.pred(predicate, self.full)
        self.a.beqz(predicate, otherwise)

    def widen(self):
        """Go on with all lanes of the warp."""
        self.a.tmc(self.full)

    @contextlib.contextmanager
    def only(self, predicate, name="skipped"):
        """The part for the lanes in which ``predicate`` is not 0 (:meth:`narrow`). All lanes of the
        warp are active behind it. Gives the label of its end, for branches with all lanes."""
        end = self.a.label(name)
        self.narrow(predicate, end)
        yield end
        self.widen()
        self.a.place(end)

    def any_of(self, predicates, into=None) -> GeneralRegister:
        """A register that is not 0 where any of the predicates is not 0: ``into`` or a new
        register, or the only predicate itself."""
        first, *others = predicates
        for other in others:
            into = into or self.a.reg("some")
            self.a.or_(into, first, other)
            first = into
        return first

    def masked(self, register, predicate, mask=None):
        """``register`` = 0 where ``predicate`` is 0, and unchanged where it is 1. ``mask``, or the
        predicate if there is none, becomes 0 or all ones."""
        mask = mask or predicate
        self.a.neg(mask, predicate)
        self.a.and_(register, register, mask)

    def select(self, into, mask, this, other):
        """``into`` = ``this`` in lanes where ``mask`` is all ones, and ``other`` where it is 0."""
        change = self.a.reg("change")
        self.a.xor(change, this, other)
        self.a.and_(change, change, mask)
        self.a.xor(into, other, change)

    def minimum(self, into, this, other, signed=False):
        """``into`` = the smaller of two numbers."""
        less = self.a.reg("less")
        (self.a.slt if signed else self.a.sltu)(less, this, other)
        self.a.neg(less, less)
        self.select(into, less, this, other)

    def add_word(self, weight, word, fits=False):
        """``weight`` += ``word``. A sum that passes 32 bits becomes all ones, unless all sums are
        known to fit."""
        self.a.add(weight, weight, word)
        if not fits:
            passed = self.a.reg("passed")
            self.a.sltu(passed, weight, word)
            self.a.neg(passed, passed)
            self.a.or_(weight, weight, passed)

    def maximum(self, into, this, other, signed=False):
        """``into`` = the larger of two numbers."""
        less = self.a.reg("less")
        (self.a.slt if signed else self.a.sltu)(less, other, this)
        self.a.neg(less, less)
        self.select(into, less, this, other)

    def barrier(self):
        """All warps of the core that take part wait for each other."""
        self.a.bar(self.a.zero, self.constant(self.task.warps, "warps"))

    def shifted(self, into, source, places):
        """``into`` = ``source`` shifted to the left, or to the right if ``places`` is negative."""
        if places > 0:
            self.a.slli(into, source, places)
        elif places < 0:
            self.a.srli(into, source, -places)
        elif into is not source:
            self.a.mv(into, source)

    def load(self, into, base, width, offset=0, *, once=False):
        """Load an unsigned number of ``width`` bytes. ``once``: its line is not wanted again soon.
        """
        a = self.a
        plain, hinted = {1: (a.lbu, a.lbu_nt), 2: (a.lhu, a.lhu_nt), 4: (a.lw, a.lw_nt)}[width]
        (hinted if once else plain)(into, base, offset)

    def times(self, into, source, factor):
        """``into`` = ``source`` times a constant."""
        if factor & factor - 1:
            self.a.mul(into, source, self.constant(factor))
        else:
            self.shifted(into, source, log2(factor))

    def divided(self, into, source, divisor):
        """``into`` = ``source``, of at most 31 bits, divided by a constant.

        The division is a multiplication: with 2^s >= d, q = n * ceil(2^(31 + s) / d) >> (31 + s) is
        exact, because the relative error of the factor is less than 2^s / 2^(31 + s).
        """
        if divisor & divisor - 1:
            factor, shift = _reciprocal(divisor)
            self.a.mulhu(into, source, self.constant(factor))
            self.shifted(into, into, -shift)
        else:
            self.shifted(into, source, -log2(divisor))

    def lane_index(self, into, per_warp=None, warps=None):
        """``into`` = this lane's place among all lanes of the device that take part.

        Parameters
        ----------
        per_warp : int
            Places of a warp, of which its lanes take the first. The number of lanes if not given.
        warps : int
            Warps of a core that take part; the task's if not given.
        """
        a, config = self.a, self.config
        per_warp = per_warp or config.threads
        warps = warps or self.task.warps
        place = a.reg("place")
        a.csrr(into, Csr.WARP_ID)
        if config.cores > 1:
            count = a.reg("warps")
            a.csrr(place, Csr.CORE_ID)
            a.li(count, warps)
            a.mul(place, place, count)
            a.add(into, into, place)
        if per_warp & per_warp - 1:
            raise AssemblyError(f"{per_warp} places a warp: not a power of two")
        if per_warp > 1:
            a.slli(into, into, log2(per_warp))
        if config.threads > 1:
            a.csrr(place, Csr.THREAD_ID)
            a.add(into, into, place)

    def scaled(self, into, index, array, width=4):
        """``into`` = address of element ``index`` of ``array``, whose elements have ``width``
        bytes. ``array`` may also be the address of the first element."""
        first = array if isinstance(array, int) else self.address(array)
        start = self.a.reg("first")
        if first:
            self.a.li(start, first)
        self.shifted(into, index, log2(width))
        if first:
            self.a.add(into, into, start)

    def step(self, register, amount, source=None):
        """``register`` = ``source``, or itself, + a constant. A register holds a constant that is
        too large for ``addi``."""
        source = source or register
        if -2048 <= amount < 2048:
            self.a.addi(register, source, amount)
        else:
            self.a.add(register, source, self.constant(amount))

    def keep_bits(self, register, mask):
        """``register`` = itself, but for the bits that a constant has not. A register holds a
        constant that is too large for ``andi``."""
        if mask < 2048:
            self.a.andi(register, register, mask)
        else:
            self.a.and_(register, register, self.constant(mask))
