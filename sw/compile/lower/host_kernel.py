"""A program as one kernel: the kernels of its operators are sections, and one warp is the host.

The first warp of each core performs the host's part of the program (:mod:`.host_code`), on words of
its core's local memory, which no other warp writes. So the hosts of all cores go the same way, and
no word of the host is written while another warp reads it::

    all warps      a section, then the core's barrier
    first warp     meets those of other cores; computes the argument and the next section
    all warps      the core's barrier again; read both, and go to the section

A host reads sizes of sets and sums from global memory. What it reads is not written by the section
that follows, or else the hosts of all cores meet before it.

The host's numbers have 64 bits, as two words, unless they are known to stay within 32: numbers that
only grow or fall by a constant do, as a run has at most :data:`~sw.vm.host.MOST_ROUNDS` rounds.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from base.errors import UserError
from hw.isa import Csr
from sw.compile.asm.assembler import Condition
from sw.compile.kernels import barrier
from sw.compile.kernels.fusion import KERNEL, SUPERSTEPS
from sw.compile.kernels.kernel import Kernel
from sw.compile.lower.host_actions import HostCall, HostFork, HostSum
from sw.compile.lower.host_code import HostCode
from sw.compile.lower.host_numbers import LARGE, SLOTS, VERTEX, WORD
from sw.compile.lower.host_ranges import Ranges, fits
from sw.compile.lower.host_values import HostValues
from sw.lang import graph_ir as ir
from sw.vm.host import value_of


__all__ = ["DeviceProgram"]


#: The place of the host's words in local memory.
_PLACE = "host"


class DeviceProgram:
    """A run of a program as one launch, as :class:`~sw.compile.kernels.fusion.Loop` is.

    Parameters
    ----------
    parent : ProgramAlgorithm
    code : HostCode

    Attributes
    ----------
    turned : frozenset of str
        After a run, the vectors whose words are in their other array.
    """
    turned = frozenset()

    def __init__(self, parent, code: HostCode):
        self.parent, self.code = parent, code

    @property
    def names(self) -> list[str]:
        """The kernels that are sections."""
        return self.code.kernels

    def drive(self, session) -> int:
        """Run the program. Returns the number of executions of operators of edges."""
        session.launch_kernel(KERNEL, 0)
        supersteps, end = session.read(SUPERSTEPS).tolist()
        self.turned = self.code.ends[end]
        return supersteps

    def reserve(self, task):
        """Reserve the host's words. Raises UserError if local memory is full."""
        self.words = _Words(self)
        task.local.reserve(_PLACE, self.words.count)
        task.local.reserve(SLOTS, self.parent.host.words)

    def emit(self, task, assembler):
        """Emit the kernel."""
        _Emitter(self, task, assembler).emit()


class _Words:
    """The host's words: a place for each thing that it knows, in bytes."""

    def __init__(self, program):
        code = program.code
        self.ranges = Ranges(code, program.parent.graph)
        self._places, self.count = {}, 0
        for name in ("return", "argument", "section", "supersteps"):
            self._add(name)
        self._add("results", 2)
        for storage in range(program.parent.pool.storages):
            self._add(("block", storage))
        for action in code.actions(HostCall):
            if action.supersteps:
                self._add(("parity", action.head))
        for name in code.numbers:
            self._add(("number", name), 1 if fits(self.ranges.numbers[name]) else 2)
        for action in code.actions(HostSum):
            self._add(("sum", action.node), 2)

    def _add(self, key, words=1):
        if key not in self._places:
            self._places[key] = 4 * self.count
            self.count += words

    def __getitem__(self, key):
        return self._places[key]


class _Emitter:
    """The kernel under construction."""

    def __init__(self, program, task, assembler):
        self._program, self._task, self._a = program, task, assembler
        self._code, self._words = program.code, program.words
        self._steps = {name: task.kernel_sets[name] for name in program.names}
        self._sections = {name: assembler.label(f"section_{name}") for name in program.names}
        self._labels = {label: assembler.label(label)
                        for label in ("launch", "start", "finish", "last")}
        self._numbers = {name: number for number, name in enumerate([*self._sections, "last"])}

    def emit(self):
        """Emit all sections."""
        a = self._a
        k = Kernel(a, self._task, KERNEL, None)
        a.argument = a.keep("argument")
        a.li(a.argument, 0)
        for step in dict.fromkeys(itertools.chain(*self._steps.values())):
            if step.once:
                step.emit(a)
                k = self.section()
                k.phase(0)
                barrier.meet(k)
        self._first_warp("start")
        _Host(self, self._program, self._task, self._a).emit()
        self._dispatch()
        for name, steps in self._steps.items():
            self.section(self._sections[name])
            for step in [step for step in steps if not step.once]:
                step.emit(a)
                k = self.section()
                if step is not steps[-1]:
                    k.phase(0)
                    barrier.meet(k)
            a.jump_to_section(self._labels["finish"])
        self.section(self._labels["last"])
        a.end_warp()

    def section(self, label=None):
        """Begin a section, at a label if it has one."""
        k = Kernel(self._a, self._task, _PLACE, None)
        if label is not None:
            self._a.place(label)
        return k

    def word(self, k, key, into, place=0, store=False):
        """Load a word of the host, or store it: of several words with one key, that of a place."""
        base = k.constant(self._task.local.address(_PLACE), "host_words")
        (k.a.sw if store else k.a.lw)(into, base, self._words[key] + 4 * place)

    def _first_warp(self, others):
        """Only the first warp of a core goes on; the others go to a label. Returns the section."""
        k = self.section()
        here, warp = k.a.label("first_warp"), k.a.reg("warp")
        k.a.csrr(warp, Csr.WARP_ID)
        k.a.beqz(warp, here)
        k.a.jump_to_section(self._labels[others])
        k.a.place(here)
        return k

    def launch(self, k, section):
        """The host goes on when all warps have done a section."""
        number = k.a.reg("section")
        k.a.li(number, 4 * self._numbers[section])
        self.word(k, "section", number, store=True)
        k.a.jump_to_section(self._labels["launch"], k.a.argument)

    def _dispatch(self):
        """Between the host and sections."""
        a = self._a
        k = self.section(self._labels["launch"])
        self.word(k, "return", a.argument, store=True)
        k = self.section(self._labels["start"])
        k.barrier()
        number, table = a.regs("section", "table")
        self.word(k, "argument", a.argument)
        self.word(k, "section", number)
        behind = a.label("behind_table")
        a.jal(table, behind)
        for label in [*self._sections.values(), self._labels["last"]]:
            a.jump_to_section(label)
        a.place(behind)
        a.add(table, table, number)
        a.jalr(a.zero, table, 0)
        k = self.section(self._labels["finish"])
        k.phase(0)
        k.barrier()
        k = self._first_warp("start")
        if k.config.cores > 1:
            barrier.meet_cores(k)
        self.word(k, "return", a.argument)
        a.jalr(a.zero, a.argument, 0)


class _Host:
    """The host's code."""

    def __init__(self, emitter, program, task, assembler):
        self._emitter, self._program, self._task = emitter, program, task
        self._a, self._code = assembler, program.code
        self._parent = program.parent
        self._k: Any = None

    def emit(self):
        """Emit the code, whose last section goes to the last section of the program."""
        self._section()
        self._begin()
        entered = [number for block in self._code.blocks for number in block.after]
        self._forced = {number for number in entered if entered.count(number) > 1} | {0}
        self._labels = {number: self._a.label(f"block{number}")
                        for number in range(len(self._code.blocks))}
        self._placed, self._waiting = set(), [0]
        while self._waiting:
            number = self._waiting.pop()
            if number not in self._placed:
                self._section(self._labels[number])
                self._chain(number)

    def _section(self, label=None):
        self._k = self._emitter.section(label)
        self._values = HostValues(self._k, self._emitter.word, self._program)

    def _begin(self):
        """The first words."""
        first = {("supersteps", 0): 0, ("results", 0): 0, ("results", 1): 0}
        calls = self._code.actions(HostCall)
        first |= {(("parity", call.head), 0): 0 for call in calls if call.supersteps}
        first |= {(("block", storage), 0): self._parent.pool.distance(block)
                  for storage, block in enumerate(self._code.first) if storage > 1}
        for name, value in self._code.numbers.items():
            if value is not None:
                words = 1 if fits(self._program.words.ranges.numbers[name]) else 2
                first |= {(("number", name), place): int(value) >> 32 * place & 0xFFFF_FFFF
                          for place in range(words)}
        for (key, place), value in first.items():
            self._values.store(key, self._k.constant(value), place)

    def _chain(self, number):
        """A block, and those behind it that nothing else leads to."""
        while True:
            self._placed.add(number)
            block, other = self._code.blocks[number], None
            for action in block.actions:
                if isinstance(action, HostFork):
                    other = block.after[1]
                    self._fork(action, other)
                else:
                    getattr(self, _method(action))(action)
            if not block.after:
                return
            number = block.after[0]
            if number in self._placed:
                self._a.jump_to_section(self._labels[number])
                return
            if number in self._forced:
                self._section(self._labels[number])

    def _fork(self, action, other):
        a, on = self._a, self._a.label("on")
        a.bnez(self._values.truth(action.condition, action.sets), on)
        a.jump_to_section(self._labels[other])
        a.place(on)
        self._waiting.append(other)
        self._forced.add(other)

    # Actions

    def _end(self, action):
        place = self._a.reg("place")
        self._a.li(place, self._k.address(SUPERSTEPS))
        self._a.sw(self._values.load("supersteps"), place)
        self._a.sw(self._k.constant(action.number), place, 4)
        self._emitter.launch(self._k, "last")

    def _number(self, action):
        self._values.keep(action.name, self._values.value(action.value, action.sets))

    def _sum(self, action):
        a, values = self._a, self._values
        place, carry = a.regs("place", "carry")
        a.li(place, self._k.address("results"))
        for number in range(2):
            now, grown = a.regs("now", "grown")
            before = values.load("results", number)
            a.lw(now, place, 4 * number)
            values.store("results", now, number)
            a.sub(grown, now, before)
            if number:
                a.sub(grown, grown, carry)
            else:
                a.sltu(carry, now, before)
            values.store(("sum", action.node), grown, number)

    def _word(self, action):
        self._slot(action.slot, self._constant(action.uniform, action.value, action.sets))

    def _slot(self, slot, register):
        base = self._k.constant(self._task.local.address(SLOTS), "slots")
        self._a.sw(register, base, 4 * slot)

    def _constant(self, uniform, value, sets):
        """A register with the word of a value of the host."""
        if not isinstance(value, ir.Literal):
            return self._values.word(value, sets)
        if uniform is None:
            return self._k.constant(int(value.value))
        parent = self._parent
        node = dataclasses.replace(uniform, value=value)
        return self._k.constant(value_of(node, {}, parent.graph, parent.bits))

    def _vertex(self, action):
        k, vertex = self._k, action.vertex
        if isinstance(vertex, ir.Literal):
            vertex = k.constant(self._task.vertices.number(int(vertex.value)))
        elif self._task.new_ids is not None:
            raise UserError(f"{self._task.plan.text}: the format orders the vertices anew, and "
                            "the host takes a vertex from a number that changes")
        else:
            vertex = self._values.word(vertex, action.sets)
        self._slot(VERTEX, vertex)
        if action.word is not None:
            self._slot(WORD, self._constant(action.word, action.word.value, action.sets))

    def _threshold(self, action):
        """The threshold: (least // delta + 1) * delta."""
        a, k = self._a, self._k
        least, rest, place, one, bit = a.regs("least", "rest", "bits", "quotient", "bit")
        a.li(place, k.address("least"))
        a.lw(least, place)
        a.mv(one, a.zero)
        a.mv(rest, a.zero)
        a.li(place, 32)
        with a.while_uniform(Condition("ne", place, a.zero), "divide"):
            a.srli(bit, least, 31)
            a.slli(least, least, 1)
            a.srli(a_high := a.reg("high"), rest, 31)
            a.slli(rest, rest, 1)
            a.or_(rest, rest, bit)
            a.sltu(bit, rest, k.constant(action.delta, "delta"))
            a.xori(bit, bit, 1)
            a.or_(bit, bit, a_high)
            a.slli(one, one, 1)
            a.or_(one, one, bit)
            a.neg(bit, bit)
            a.and_(bit, bit, k.constant(action.delta, "delta"))
            a.sub(rest, rest, bit)
            a.addi(place, place, -1)
        a.lw(least, self._address("least"))
        # least - rest is a multiple of delta, to which one more is added.
        low, high = a.regs("low", "high")
        a.sub(low, least, rest)
        a.add(low, low, k.constant(action.delta, "delta"))
        a.sltu(high, low, k.constant(action.delta, "delta"))
        self._values.keep(action.name, (low, high))

    def _address(self, name):
        place = self._a.reg("place")
        self._a.li(place, self._k.address(name))
        return place

    def _meeting(self, _):
        barrier.meet_cores(self._k)

    def _call(self, call):
        a, k, values, parts = self._a, self._k, self._values, []

        def part(place, *given):
            if given[-1] is not a.zero:
                parts.append(a.reg("part"))
                place(k, parts[-1], *given)

        for index, storage in enumerate(call.storages):
            part(call.fields.of_distance, index, values.block(storage, storage in call.made))
        if call.number is not None:
            part(call.fields.of_number, self._number_field(call))
        if call.supersteps:
            parity, count = values.load(("parity", call.head)), values.load("supersteps")
            following = a.reg("parity")
            a.xori(following, parity, 1)
            values.store(("parity", call.head), following)
            a.addi(count, count, 1)
            values.store("supersteps", count)
            parts.append(parity)
        argument = parts[0] if parts else a.zero
        for other in parts[1:]:
            a.or_(argument, argument, other)
        values.store("argument", argument)
        self._emitter.launch(k, call.kernel)
        self._section()

    def _number_field(self, call):
        """A register with the number of the host for an argument plus one, or with 0."""
        uniform, value, saved = call.number
        a, k, most = self._a, self._k, call.fields.most
        if isinstance(value, ir.Literal) and not saved:
            word = value_of(dataclasses.replace(uniform, value=value), {}, self._parent.graph,
                            self._parent.bits)
            if word <= most:
                return k.constant(word + 1)
            self._slot(LARGE, k.constant(word))
            return a.zero
        into, fits_in = a.reg("number"), a.label("number_fits")
        if saved:
            number = a.reg("number")
            base = k.constant(self._task.local.address(SLOTS), "slots")
            a.lw(number, base, 4 * self._parent.host.slots[uniform])
        else:
            number = self._values.word(value, {})
            low, high = self._program.words.ranges.of(value)
            if low >= 0 and high <= most:
                a.addi(into, number, 1)
                return into
        a.addi(into, number, 1)
        a.bgeu(k.constant(most), number, fits_in)
        self._slot(LARGE, number)
        a.mv(into, a.zero)
        a.place(fits_in)
        return into


def _method(action):
    """The name of the method that emits an action."""
    return f"_{type(action).__name__.removeprefix('Host').lower()}"
