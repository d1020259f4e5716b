"""The code of the host of a program on the device: from each launch to the next.

Behind a launch, the other warps may still be in the section. What the host can compute without its
results, it computes before all have come, beyond forks too; it stores its words only when they
have. If it comes to the next launch so, and has found but one question to the device, it makes the
record of this launch, too, and all warps ask the question themselves.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from base.errors import UserError
from sw.compile.asm.assembler import Condition
from sw.compile.frontiers.pool import Record, lead
from sw.compile.kernels import barrier
from sw.compile.kernels.fusion import SUPERSTEPS
from sw.compile.lower.host_actions import (HostCall, HostEnd, HostFork, HostNumber, HostSum,
                                           HostWord)
from sw.compile.lower.host_numbers import VERTEX, WORD
from sw.compile.lower.host_ranges import fits
from sw.compile.lower.host_values import HostValues
from sw.lang import graph_ir as ir
from sw.vm.host import value_of


__all__ = ["HostPaths", "Onward", "onward_of"]


class Onward(enum.Enum):
    """What follows a section, as of :mod:`.host_kernel`."""
    GO = "go"
    ASK = "ask"
    WAIT = "wait"


def onward_of(code) -> dict[str, Onward]:
    """What follows each section of a program, by its name. Behind a section that several launches
    have, it is ASK if they differ."""
    found: dict[str, set] = {}
    for number, block in enumerate(code.blocks):
        for index, action in enumerate(block.actions):
            if isinstance(action, HostCall):
                found.setdefault(action.kernel, set()).add(_onward(code, number, index + 1)[0])
    return {name: ways.pop() if len(ways) == 1 else Onward.ASK for name, ways in found.items()}


def _onward(code, number, index):
    """What follows a launch that stands before a place of the blocks, and the HostCall, unless it
    is WAIT."""
    seen, asks, forks = set(), 0, 0
    while number not in seen:
        seen.add(number)
        block = code.blocks[number]
        for action in block.actions[index:]:
            if isinstance(action, HostCall):
                if asks > 1:
                    return Onward.WAIT, None
                return Onward.ASK if forks else Onward.GO, action
            if _needs_device(action) or isinstance(action, HostWord):
                return Onward.WAIT, None       # sections before may still read the word
            if isinstance(action, HostFork):
                asks, forks = asks + isinstance(action.condition, ir.SetSize), forks + 1
        number, index = block.after[0], 0
    return Onward.WAIT, None


class HostPaths:
    """Emits this code.

    Parameters
    ----------
    emitter : object
        Emits the rest: has ``sections``, ``end``, ``behind``, ``section``, ``word``, ``answer``,
        ``next_record`` and ``launch``.
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
        # Places in the blocks, by numbers of blocks and of actions, with their labels.
        self._labels, self._emitted, self._waiting = {}, set(), []
        self._section()
        self._begin()
        place, call = self._path((0, 0), None)
        while place is not None or self._waiting:
            if place is None:
                place, call = self._waiting.pop(), None
            while place is not None and place not in self._emitted:
                self._emitted.add(place)
                self._section(self._label(place))
                place, call = self._path(place, call)
            place = None

    def _label(self, place):
        """The label of a place, to which the code goes."""
        if place not in self._labels:
            self._labels[place] = self._a.label("block{}_{}".format(*place))
        return self._labels[place]

    def _section(self, label=None):
        self._k = self._emitter.section(label)
        self._values = HostValues(self._k, self._emitter.word, self._program)

    def _begin(self):
        """The first words. Registers have them, too."""
        ready = {call.kernel for number, block in enumerate(self._code.blocks)
                 for index, action in enumerate(block.actions) if isinstance(action, HostCall)
                 if (call := _onward(self._code, number, index + 1)[1]) is not None}
        self._only = ready.pop() if len(ready) == 1 else None
        if self._only is not None:
            self._section_word((self._a.argument, self._emitter.next_record(self._k)),
                               self._emitter.sections[self._only], Record.SECTION)
        first: dict = {(("count", head), 0): 0 for head in self._heads()}
        first |= {(("block", storage), 0): self._parent.pool.address(self._k, block)
                  for storage, block in enumerate(self._code.first)
                  if storage in self._code.storages - {0, 1}}
        if Onward.ASK in self._emitter.behind.values():
            first |= {("answers", place): place // 2 for place in range(3)}
        if self._code.actions(HostSum):
            first |= {("results", 0): 0, ("results", 1): 0}
        for name, value in self._code.numbers.items():
            if value is not None:
                words = 1 if fits(self._program.words.ranges.numbers[name]) else 2
                first |= {(("number", name), place): int(value) >> 32 * place & 0xFFFF_FFFF
                          for place in range(words)}
        for (key, place), value in first.items():
            self._values.begin(key, self._k.constant(value), place)

    def _heads(self):
        """The operators whose executions are counted."""
        return list(dict.fromkeys(call.head for call in self._code.actions(HostCall)
                                  if call.supersteps))

    # Paths

    def _path(self, start, before) -> tuple:
        """The code from a place on up to the next launch. Returns the place behind that, which
        needs code of its own, and the HostCall; two times None at the end of the program.

        ``before`` is the HostCall behind which the place is, if the other warps may still be in
        that section. Then what needs no word of the device is computed before all have come, beyond
        forks too, but no word is stored yet."""
        number, index = start
        self._forks, seen = [], {number}
        self._values.late, self._behind, ready = None, Onward.WAIT, False
        if before is not None:
            call = _onward(self._code, *start)[1]
            self._values.late, self._behind = [], self._emitter.behind[before.kernel]
            ready = call is not None
            _expect(self._values, before, call)
            self._lead(before)
        while True:
            block = self._code.blocks[number]
            for place, action in list(enumerate(block.actions))[index:]:
                if self._values.late is not None and _needs_device(action):
                    self._arrive()
                if isinstance(action, HostFork):
                    self._fork(action, (block.after[1], 0))
                    continue
                if isinstance(action, HostCall):
                    self._call(action, (number, place + 1), ready)
                    return (number, place + 1), action
                getattr(self, _method(action))(action)
                if isinstance(action, HostEnd):
                    return None, None
            number, index = block.after[0], 0
            if number in seen:
                if self._values.late is not None:
                    self._arrive()
                self._waiting.append((number, 0))
                self._a.jump_to_section(self._label((number, 0)))
                return None, None
            seen.add(number)

    def _lead(self, call):
        """A section has made sets."""
        pool = self._parent.pool
        if pool.leads:
            for storage in call.made:
                lead(self._k, pool, self._values.address(storage), storage)

    def _arrive(self, record=None):
        """Wait until all warps have done the section; then go where the forks lead, and store what
        was put off. If there is the ``record`` of the section that comes next, the other warps do
        not wait for the host."""
        ready = record is not None
        if ready:
            _store_ahead(self._values, self._forks)
        if self._behind is Onward.ASK:
            record = record or self._emitter.next_record(self._k)
            self._a.sw(self._question() if ready else self._emitter.answer(self._k, False),
                       record, Record.ASK)
        self._k.barrier()
        if self._k.config.cores > 1:
            barrier.meet_cores(self._k)
            if self._behind is not Onward.WAIT:
                self._k.barrier()
        late, self._values.late, done = self._values.late, None, 0
        for address, truth, other, before in self._forks:
            if not ready:
                _store(self._values, late[done:before])
            done = before
            self._leave(truth or self._values.some(address), other, late[done:] if ready else [])
        if not ready:
            _store(self._values, late[done:])

    def _question(self):
        """A register with the address of two words that differ if all forks go the first way."""
        a, answer = self._a, self._emitter.answer
        place = next((address for address, *_ in self._forks if address is not None), None)
        place = place or answer(self._k, True)
        for truth in [truth for _, truth, *_ in self._forks if truth is not None]:
            mask, chosen = a.regs("mask", "question")
            a.snez(mask, truth)
            a.neg(mask, mask)
            self._k.select(chosen, mask, place, answer(self._k, False))
            place = chosen
        return place

    def _fork(self, action, other):
        """The first way goes on; ``other`` is the place of the second."""
        condition, late = action.condition, self._values.late
        if late is None:
            self._leave(self._values.truth(condition, action.sets), other, [])
        elif isinstance(condition, ir.SetSize):
            address = self._values.address(action.sets[condition.name])
            self._forks.append((address, None, other, len(late)))
        else:
            truth = self._values.truth(condition, action.sets)
            self._forks.append((None, truth, other, len(late)))

    def _leave(self, truth, other, stored):
        """Go to another place unless ``truth`` is not 0; ``stored`` is undone there."""
        on = self._a.label("on")
        self._a.bnez(truth, on)
        for key, place, _, before in reversed(stored):
            self._emitter.word(self._k, key, before, place, store=True)
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
        record = self._emitter.next_record(self._k)
        self._section_word([record], self._emitter.end, Record.LATER)
        self._k.barrier()
        self._emitter.launch(self._k, record, self._emitter.end)

    def _section_word(self, records, label, word):
        section = self._a.reg("section")
        self._a.section_address(section, label)
        for record in records:
            self._a.sw(section, record, word)

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

    def _call(self, call, place, ready):
        """A launch, which comes back to a place. ``ready`` tells whether the other warps do not
        wait for the host."""
        a, k, values = self._a, self._k, self._values
        record, back = self._emitter.next_record(k), a.reg("return")
        for index, storage in enumerate(call.storages):
            if storage in call.made:
                values.turn(storage)
            a.sw(values.address(storage), record, Record.BLOCKS + 4 * index)
        if call.number is not None:
            a.sw(self._number_word(call), record, Record.NUMBER)
        if call.supersteps:
            count, more = values.count(call.head), a.reg("count")
            a.sw(count, record, Record.SUPERSTEP)
            a.addi(more, count, 1)
            values.store(("count", call.head), more)
        a.section_address(back, self._label(place))
        self._emitter.word(k, "return", back, store=True)
        section = self._emitter.sections[call.kernel]
        if not ready or call.kernel != self._only:
            self._section_word([record], section, Record.SECTION if ready else Record.LATER)
        if values.late is not None:
            self._arrive(record if ready else None)
        if not ready:
            k.barrier()
        self._emitter.launch(k, record, section)

    def _number_word(self, call):
        """A register with the number of the host for a record."""
        uniform, value, saved = call.number
        if saved:
            return self._values.slot(self._parent.host.slots[uniform])
        return self._constant(uniform, value, {})


def _expect(values, before, call):
    """Load words that will be needed, all before the first is awaited."""
    for storage in dict.fromkeys((*before.made, *(call.storages if call else ()))):
        values.address(storage)
    if call is not None and call.supersteps:
        values.count(call.head)
    if call is not None and call.number is not None:
        for part in ir.walk(call.number[1]):
            if isinstance(part, ir.HostName):
                values.number(part.name)


def _store_ahead(values, forks):
    """Store what is put off, so that this is undone where a fork leads away."""
    if forks:
        values.late = [(key, place, register, before or values.stored(key, place))
                       for key, place, register, before in values.late]
    late, values.late = values.late, None
    _store(values, late)
    values.late = late


def _store(values, late):
    for key, place, register, _ in late:
        values.store(key, register, place)


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
