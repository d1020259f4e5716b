"""The code of the host of a program on the device: from each launch to the next.

Behind a launch, the other warps may still be in the section. What the host can compute without its
results, it computes before all have come, beyond forks too; it stores words only when they have.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from base.errors import UserError
from sw.compile.asm.assembler import Condition
from sw.compile.kernels import barrier
from sw.compile.kernels.fusion import SUPERSTEPS
from sw.compile.lower.host_actions import (HostCall, HostEnd, HostFork, HostNumber, HostWord)
from sw.compile.lower.host_numbers import LARGE, VERTEX, WORD
from sw.compile.lower.host_ranges import fits
from sw.compile.lower.host_values import HostValues
from sw.lang import graph_ir as ir
from sw.vm.host import value_of


__all__ = ["HostPaths"]


class HostPaths:
    """Emits this code.

    Parameters
    ----------
    emitter : object
        Emits the rest: has ``section``, ``word``, ``section_of`` and ``launch``.
    program : DeviceProgram
    task : Task
    assembler : VirtualAssembler
    """

    def __init__(self, emitter, program, task, assembler):
        self._emitter, self._program, self._task = emitter, program, task
        self._a, self._code = assembler, program.code
        self._parent = program.parent
        self._k: Any = None

    def emit(self):
        """Emit the code."""
        self._section()
        self._begin()
        # Places in the blocks, by numbers of blocks and of actions, with their labels.
        self._labels, self._emitted, self._waiting = {}, set(), [(0, 0)]
        while self._waiting:
            place: Any = self._waiting.pop()
            waits = False
            while place is not None and place not in self._emitted:
                self._emitted.add(place)
                self._section(self._label(place))
                place, waits = self._path(place, waits), True
            if place is not None and waits:
                self._section()
                self._a.jump_to_section(self._label(place))

    def _label(self, place):
        """The label of a place, to which the code goes."""
        if place not in self._labels:
            self._labels[place] = self._a.label("block{}_{}".format(*place))
        return self._labels[place]

    def _section(self, label=None):
        self._k = self._emitter.section(label)
        self._values = HostValues(self._k, self._emitter.word, self._program)

    def _begin(self):
        """The first words."""
        first = {("results", 0): 0, ("results", 1): 0}
        first |= {(("count", head), 0): 0 for head in self._heads()}
        first |= {(("block", storage), 0): self._parent.pool.distance(block)
                  for storage, block in enumerate(self._code.first) if storage > 1}
        for name, value in self._code.numbers.items():
            if value is not None:
                words = 1 if fits(self._program.words.ranges.numbers[name]) else 2
                first |= {(("number", name), place): int(value) >> 32 * place & 0xFFFF_FFFF
                          for place in range(words)}
        for (key, place), value in first.items():
            self._values.store(key, self._k.constant(value), place)

    def _heads(self):
        """The operators whose executions are counted."""
        return list(dict.fromkeys(call.head for call in self._code.actions(HostCall)
                                  if call.supersteps))

    # Paths

    def _path(self, start, waits) -> Any:
        """The code from a place on up to the next launch. Returns the place behind that, which
        needs code of its own; None at the end of the program.

        With ``waits``, the other warps may still be in a section. What needs no word of the device
        is computed before all have come, beyond forks too, but no word is stored yet."""
        number, index = start
        self._forks, seen = [], {number}
        self._values.late = [] if waits else None
        while True:
            block = self._code.blocks[number]
            for place, action in list(enumerate(block.actions))[index:]:
                if self._values.late is not None and _needs_device(action):
                    self._arrive()
                if isinstance(action, HostFork):
                    self._fork(action, (block.after[1], 0))
                    continue
                getattr(self, _method(action))(action)
                if isinstance(action, HostEnd):
                    self._emitter.launch(self._k)
                    return None
                if isinstance(action, HostCall):
                    if self._values.late is not None:
                        self._arrive()
                    self._emitter.launch(self._k)
                    return number, place + 1
            number, index = block.after[0], 0
            if number in seen:
                if self._values.late is not None:
                    self._arrive()
                self._waiting.append((number, 0))
                self._a.jump_to_section(self._label((number, 0)))
                return None
            seen.add(number)

    def _arrive(self):
        """Wait until all warps have done the section; then go where the forks lead, and store what
        was put off."""
        self._k.barrier()
        if self._k.config.cores > 1:
            barrier.meet_cores(self._k)
        late, self._values.late, done = self._values.late, None, 0
        for address, truth, other, before in self._forks:
            for stored in late[done:before]:
                self._values.store(*stored)
            done = before
            self._leave(truth or self._values.some(address), other)
        for stored in late[done:]:
            self._values.store(*stored)

    def _fork(self, action, other):
        """The first way goes on; ``other`` is the place of the second."""
        condition, late = action.condition, self._values.late
        if late is None:
            self._leave(self._values.truth(condition, action.sets), other)
        elif isinstance(condition, ir.SetSize):
            address = self._values.address(action.sets[condition.name])
            self._forks.append((address, None, other, len(late)))
        else:
            truth = self._values.truth(condition, action.sets)
            self._forks.append((None, truth, other, len(late)))

    def _leave(self, truth, other):
        """Go to another place unless ``truth`` is not 0."""
        on = self._a.label("on")
        self._a.bnez(truth, on)
        self._a.jump_to_section(self._label(other))
        self._a.place(on)
        self._waiting.append(other)

    # Actions

    def _end(self, action):
        a, supersteps, place = self._a, self._a.zero, self._address(SUPERSTEPS)
        for head in self._heads():
            before, supersteps = supersteps, a.reg("supersteps")
            a.add(supersteps, before, self._values.count(head))
        a.sw(supersteps, place)
        a.sw(self._k.constant(action.number), place, 4)
        self._values.store("section", self._emitter.section_of(self._k, "last"))

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
        self._values.keep_slot(action.slot, self._constant(action.uniform, action.value,
                                                           action.sets))

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
        self._values.keep_slot(VERTEX, vertex)
        if action.word is not None:
            self._values.keep_slot(WORD, self._constant(action.word, action.word.value,
                                                        action.sets))

    def _threshold(self, action):
        """The threshold: the least word, less the rest of its division, plus delta; at most 2**32,
        whose lower word is 0: all words are below."""
        a, k = self._a, self._k
        bits, rest, left, less, high = a.regs("bits", "rest", "left", "less", "high")
        delta, least = k.constant(action.delta, "delta"), a.reg("least")
        a.lw(least, self._address("least"))
        a.mv(bits, least)
        a.mv(rest, a.zero)
        a.li(left, 32)
        with a.while_uniform(Condition("ne", left, a.zero), "divide"):
            a.srli(high, rest, 31)                  # the rest may have 33 bits
            a.slli(rest, rest, 1)
            a.srli(less, bits, 31)
            a.or_(rest, rest, less)
            a.slli(bits, bits, 1)
            a.sltu(less, rest, delta)
            a.sltu(less, high, less)                # 1 if the rest is less than delta
            a.addi(less, less, -1)
            a.and_(less, less, delta)
            a.sub(rest, rest, less)
            a.addi(left, left, -1)
        low = a.reg("low")
        a.sub(low, least, rest)
        a.add(low, low, delta)
        a.sltu(high, low, delta)
        a.addi(less, high, -1)
        a.and_(low, low, less)
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
            count, parity = values.count(call.head), a.reg("parity")
            a.andi(parity, count, 1)
            a.addi(count, count, 1)
            values.store(("count", call.head), count)
            parts.append(parity)
        argument = parts[0] if parts else a.zero
        for other in parts[1:]:
            a.or_(argument, argument, other)
        values.store("argument", argument)
        values.store("section", self._emitter.section_of(k, call.kernel))

    def _number_field(self, call):
        """A register with the number of the host for an argument plus one, or with 0."""
        uniform, value, saved = call.number
        a, k, most = self._a, self._k, call.fields.most
        if isinstance(value, ir.Literal) and not saved:
            word = value_of(dataclasses.replace(uniform, value=value), {}, self._parent.graph,
                            self._parent.bits)
            if word <= most:
                return k.constant(word + 1)
            self._values.keep_slot(LARGE, k.constant(word))
            return a.zero
        low, high = self._program.words.ranges.of(value)
        number = self._values.slot(self._parent.host.slots[uniform]) if saved \
            else self._values.word(value, {})
        into = a.reg("number")
        a.addi(into, number, 1)
        if low >= 0 and high <= most:
            return into
        fits_in = a.reg("fits")
        if low >= 0 and high < (1 << 32) - 1:
            a.srli(fits_in, into, (most + 1).bit_length())
            a.seqz(fits_in, fits_in)
        else:
            a.sltu(fits_in, k.constant(most), number)
            a.xori(fits_in, fits_in, 1)
        k.masked(into, fits_in)
        self._values.keep_slot(LARGE, number)
        return into


def _needs_device(action):
    """Whether an action needs words that kernels write, but for a fork that is decided by whether a
    set has vertices."""
    if isinstance(action, HostFork) and isinstance(action.condition, ir.SetSize):
        return False
    match action:
        case HostNumber(value=value) | HostWord(value=value) | HostFork(condition=value):
            return any(isinstance(part, ir.SetSize | ir.VertexSum) for part in ir.walk(value))
    return not isinstance(action, HostCall)


def _method(action):
    """The name of the method that emits an action."""
    return f"_{type(action).__name__.removeprefix('Host').lower()}"
