"""The host's part of a program as code of the device: blocks of work between launches.

What :class:`~sw.compile.lower.machine.RtlMachine` does while a program runs is found here for all
ways through the program at once, ahead of the run. A *state* is a step of the host, the storage of
each set, and the operators that are held back. From a state follows a :class:`Block`: what the host
computes and which kernels it launches, up to the next state. Storages are given out as in the
machine, so a block names storages in place of sets; only which of a storage's two blocks of the
pool a set has becomes known when the program runs.

What comes before the first operator is in the memory's first contents, as for a run by launches.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from base.errors import UserError
from sw.compile.frontiers.sets import ALL, EMPTY, Fields
from sw.compile.lower.host_actions import (Branch, Call, Further, Keep, Meet, Number, Place,
                                           Sum)
from sw.compile.lower.host_expressions import check, folded, substituted
from sw.compile.lower.fuse import EDGES, TOTAL, WHERE, Group, Member, group_name, op_of
from sw.compile.lower.host_numbers import THRESHOLD
from sw.compile.lower.host_steps import Step, reachable, steps, threshold
from sw.compile.lower.machine import RtlMachine
from sw.lang import graph_ir as ir
from sw.lang.types import Type


__all__ = ["Block", "HostCode"]


#: Storages of the set of all vertices, and of the set without vertices.
_ALL, _EMPTY = ALL // 2, EMPTY // 2

#: Most blocks of a program.
_MOST_BLOCKS = 1000

#: Most steps of the host before the first operator.
_MOST_STEPS = 100_000

#: What the host has read since the last launch, beside sizes of sets, by their storages.
_RESULTS = "results"


# States

@dataclasses.dataclass(frozen=True)
class _Held:
    """The operators that are held back."""
    group: Group
    input: int  #: The storage of the input.
    results: tuple[int | None, ...]  #: The storage of the set that each member makes.
    saved: frozenset = frozenset()  #: Values of the host that are in their slots.

    def with_member(self, member, result):
        """With a further member."""
        return dataclasses.replace(self, group=(*self.group, member),
                                   results=(*self.results, result))

    def result(self, storage):
        """The number of the member that makes a set; -1 if none does."""
        return self.results.index(storage) if storage in self.results else -1

    def on(self, op, storage):
        """As of :class:`~sw.compile.lower.machine.RtlMachine`."""
        if op.every:
            return None if self.group[0].op.every else -1
        return None if storage == self.input else self.result(storage)


@dataclasses.dataclass(frozen=True)
class _State:
    step: Step
    sets: frozenset  #: Pairs of a name and a storage.
    held: _Held | None = None
    #: The operator that was performed in advance: ``(Ahead, storage of its input, of its result)``.
    ahead: tuple | None = None
    read: frozenset = frozenset()  #: What the host has read since the last launch.

    @property
    def storages(self) -> dict:
        """The storages by the names of sets."""
        return dict(self.sets)

    def named(self, name, storage):
        """With a set under a name."""
        return dataclasses.replace(self, sets=frozenset(
            (self.storages | {name: storage}).items()))


@dataclasses.dataclass
class Block:
    """What the host does from a state to the next."""
    actions: list
    #: The end: the numbers of the blocks that follow. Two behind a :class:`Branch`, none at the end
    #: of the program.
    after: list[int]


class HostCode:
    """The blocks of a program.

    Parameters
    ----------
    parent : ProgramAlgorithm
    values : dict of str to number
        The parameters of the run.
    cores : int
        Cores of the device.

    Attributes
    ----------
    blocks : list of Block
        The program begins with the first.
    numbers : dict of str to int or None
        The numbers of the host that change, with the value that they have at the start, if any.
    values : dict of str to number
        The numbers that do not change.
    first : list of int
        The block of each storage of the pool at the start.

    Raises
    ------
    UserError
        Only a host can perform the program; the message tells the line.
    """

    def __init__(self, parent, values, cores):
        self._parent, self._cores = parent, cores
        self._graph, self._dependence = parent.graph, parent.dependence
        step = steps(parent.program, self._functions)
        self._fixed: dict[str, Any] = dict(values)
        step, sets = self._begin(step)
        assigned = {each.node.name for each in reachable(step) if each.kind == "assign"}
        assigned |= {threshold(each.names[0]) for each in reachable(step)
                     if each.kind == "further"}
        self.numbers = {name: self._fixed.pop(name, None) for name in sorted(assigned)}
        self.values = self._fixed
        self._check_numbers(step)
        self._queues = {node.name: node for node in ir.instructions(parent.program.body)
                        if isinstance(node, ir.NewQueue)}
        self.blocks: list[Block] = []
        self._known: dict[_State, int] = {}
        self._waiting: list[_State] = []
        self._number(_State(step, frozenset(sets.items())))
        while self._waiting:
            state = self._waiting.pop()
            self.blocks[self._known[state]] = self._block(state)

    @property
    def kernels(self) -> list[str]:
        """The kernels that are launched."""
        return list(dict.fromkeys(action.kernel for action in self.actions("Call")))

    def actions(self, kind) -> list:
        """All actions of a kind, by the name of its class."""
        return [action for block in self.blocks for action in block.actions
                if type(action).__name__ == kind]

    def _refuse(self, node, why):
        raise UserError(f"{self._parent.name}: fusion=yes cannot have what only the host can do: "
                        f"line {node.position.line}: {why}")

    def _folded(self, node, storages=None):
        """An expression with constants in place of what does not change. ``storages`` has those of
        the sets; without them, the host is at the beginning."""
        def size(name):
            if storages is None:
                return self._sizes.get(name)
            return {_ALL: self._graph.num_vertices, _EMPTY: 0}.get(storages[name])

        return folded(node, self._fixed, size, self._graph)

    def _checked(self, value):
        """An expression that the device can compute."""
        check(value, self._refuse)
        return value

    def _functions(self, node):
        return self._dependence.functions(op_of(node, self._parent.numbers))

    # The beginning

    def _begin(self, step):
        """Go on to the first operator. Returns its step, and the storages of the sets."""
        machine = RtlMachine(self._parent)
        sets: dict[str, Any] = {ir.ALL: machine.make_set(None)}
        self._sizes, left = {}, _MOST_STEPS
        while step.kind in ("assign", "move", "store", "include", "branch"):
            left -= 1
            if not left:
                self._refuse(step.node, f"there are more than {_MOST_STEPS:,} steps before the "
                                        "first operator")
            self._sizes = {name: each.count for name, each in sets.items()}
            values = [self._folded(value) for value in step.values]
            if not all(isinstance(value, ir.Literal) for value in values):
                break
            match step.kind:
                case "assign":
                    self._fixed[step.node.name] = values[0].value
                case "move":
                    name, source = step.names
                    sets[name] = sets[source] if source else machine.make_set([])
                case "include":
                    sets[step.names[0]] = machine.make_set(
                        [int(value.value) for value in values])
            step = step.after[step.kind == "branch" and not values[0].value]
        self.first = machine.blocks
        self._sizes = {}
        return step, {name: each.block // 2 for name, each in sets.items()}

    def _check_numbers(self, first):
        for name, value in self.numbers.items():
            if value is not None and value != int(value):
                node = next(step.node for step in reachable(first)
                            if step.kind == "assign" and step.node.name == name)
                self._refuse(node, "this is computed with decimals")

    # Blocks

    def _number(self, state):
        """The number of a state's block."""
        state = self._live(state)
        if state not in self._known:
            self._known[state] = len(self.blocks)
            self.blocks.append(Block([], []))
            self._waiting.append(state)
            if len(self.blocks) > _MOST_BLOCKS:
                raise UserError(f"{self._parent.name}: fusion=yes needs a host with fewer ways "
                                f"through it: there are more than {_MOST_BLOCKS}, by where sets "
                                "are and which operators share kernels")
        return self._known[state]

    def _live(self, state):
        """A state without the sets that are not read any more."""
        return dataclasses.replace(state, sets=frozenset(
            pair for pair in state.sets if pair[0] == ir.ALL or pair[0] in state.step.live))

    def _block(self, state):
        self._actions: list[Any] = []
        step = state.step
        if step.kind == "end":
            self._flush(state)
            return Block(self._actions, [])
        state, values = self._asked(state, step.values)
        if step.kind == "branch":
            return self._branch(state, values[0])
        state = getattr(self, f"_{step.kind}")(state, step, *values)
        return Block(self._actions, [self._number(
            dataclasses.replace(state, step=step.after[0]))])

    def _branch(self, state, condition):
        ways = [dataclasses.replace(state, step=step) for step in state.step.after]
        ways[1] = dataclasses.replace(ways[1], ahead=None)      # done for the loop, which has ended
        if isinstance(condition, ir.Literal):
            return Block(self._actions, [self._number(ways[not condition.value])])
        self._actions.append(Branch(self._checked(condition), self._of(state, condition)))
        return Block(self._actions, [self._number(self._has_read(way, condition))
                                     for way in ways])

    @staticmethod
    def _of(state, *values):
        """The storages of the sets whose sizes expressions have."""
        return {name: state.storages[name] for name in
                {part.name for part in ir.walk(*values) if isinstance(part, ir.SetSize)}}

    def _has_read(self, state, value):
        """A state after the host has computed an expression."""
        return self._reads(state, self._of(state, value).values())

    def _reads(self, state, what):
        # On one core, the host has read all before a kernel begins.
        return state if self._cores == 1 else dataclasses.replace(state,
                                                                  read=state.read.union(what))

    def _asked(self, state, values):
        """The state when expressions can be computed, and the expressions, folded."""
        values = [self._folded(value, state.storages) for value in values]
        for part in [part for value in values for part in ir.walk(value)]:
            if isinstance(part, ir.SetSize):
                state = self._answer(state, part)
            elif isinstance(part, ir.VertexSum):
                for value in values:
                    self._checked(value)
                state = self._total(state, part)
        return state, values

    def _answer(self, state, node):
        """The host asks for the size of a set."""
        storage, held = state.storages[node.name], state.held
        number = -1 if held is None else held.result(storage)
        if held is None or number == -1:
            return state
        ahead = self._ahead(state.step, node, held, number)
        if ahead is None:
            return self._flush(state)
        values = self._ahead_values(ahead)
        result = None
        if ahead.op.kind == WHERE:
            result = self._new(state)
        held = held.with_member(Member(ahead.op, number), result)
        state = self._flush(dataclasses.replace(state, held=held), values)
        return dataclasses.replace(state, ahead=(ahead, storage, result))

    def _ahead(self, step, node, held, number):
        """What to perform in advance, if the step is the condition of the loop that begins with
        it."""
        ahead = self._parent.groups.ahead.get((held.group, number))
        if ahead is None or step.kind != "branch" or step.node is not node:
            return None
        step = step.after[0]
        while step.kind == "assign" and step.node in ahead.assigns:
            step = step.after[0]
        return ahead if step.kind == "op" and step.node is ahead.node else None

    def _ahead_values(self, ahead):
        """The expressions that an operator will find in place of its values of the host."""
        given: dict[str, Any] = {}
        for node in ahead.assigns:
            given[node.name] = substituted(node.value, given)
        return {node: self._folded(substituted(node.value, given))
                for node in self._dependence.uniforms(ahead.op)}

    # Sets

    def _new(self, state) -> int:
        """A storage that no set has."""
        held = state.held
        used = {_ALL, _EMPTY, *state.storages.values(), *state.read, *(state.ahead or ())[1:]}
        if held is not None:
            used |= {held.input, *held.results}
        free = [number for number in range(self._parent.pool.storages) if number not in used]
        if not free:
            raise UserError(f"{self._parent.name}: fusion=yes needs memory for more sets at a time "
                            f"than {self._parent.pool.storages}")
        return free[0]

    # Operators

    def _take(self, state, node, makes):
        """Hold an operator back. Returns the state, and the storage of the set that it makes."""
        op, vset = op_of(node, self._parent.numbers), state.storages[node.input_vset]
        ahead, state = state.ahead, dataclasses.replace(state, ahead=None)
        if ahead is not None and ahead[0].op == op and ahead[1] == vset:
            return state, ahead[2]
        held = state.held
        member = Member(op, None if held is None else held.on(op, vset))
        if held is None or member.on == -1 \
                or not self._parent.groups.may_join(held.group, member):
            state = self._flush(state)
            held, member = _Held((), vset, ()), Member(op, None)
        result = self._new(state) if makes else None
        held = held.with_member(member, result)
        state = dataclasses.replace(state, held=held)
        return self._save(state, self._dependence.uniforms(op), lambda value: any(
            isinstance(part, ir.SetSize | ir.VertexSum) for part in ir.walk(value))), result

    def _save(self, state, uniforms, chosen):
        """Bring those of the values that are not in slots yet and are chosen to slots."""
        held, slots = state.held, self._parent.host.slots
        for node in uniforms:
            if node in slots and node not in held.saved and chosen(node.value):
                self._keep(state, node, self._folded(node.value, state.storages))
                held = dataclasses.replace(held, saved=held.saved | {node})
        return dataclasses.replace(state, held=held)

    def _keep(self, state, node, value):
        if not isinstance(value, ir.Literal):
            if node.type in (Type.FIXED, Type.FRACTION):
                self._refuse(node, "the host makes a word of fixed point here")
            self._checked(value)
        self._actions.append(Keep(self._parent.host.slots[node], node, value,
                                  self._of(state, value)))

    def _uniforms(self, held):
        return list(dict.fromkeys(node for member in held.group
                                  for node in self._dependence.uniforms(member.op)))

    def _flush(self, state, values=None):
        """Launch what is held back. ``values`` has the expressions of values of the host that
        change until their operator comes."""
        held, values = state.held, values or {}
        if held is None:
            return state
        parent, head = self._parent, held.group[0].op
        if parent.copied(head):
            state = self._call(state, f"copy_{head.name}", Fields(parent.pool, 0))
        host, chosen = parent.host, parent.host.number(held.group)
        for node in self._uniforms(held):
            if node in host.slots and node not in held.saved \
                    and host.offset(node, chosen) is None:
                self._keep(state, node, values.get(node) or self._folded(node.value))
        number = None
        if chosen is not None:
            number = chosen, values.get(chosen) or self._folded(chosen.value), chosen in held.saved
            self._checked(number[1])
        tells = head.kind != EDGES or self._dependence.makes_set(held.group[0])
        made = tuple(each for each in held.results[not tells:] if each is not None)
        sets = (() if head.every else (held.input,)) + made
        if _RESULTS in state.read and any(member.op.kind == TOTAL for member in held.group):
            self._actions.append(Meet())
        state = self._call(state, group_name(held.group), parent.fields(held.group), sets, made,
                           head.name, number, int(head.kind == EDGES))
        state = dataclasses.replace(state, held=None)
        if not tells and held.results[0] is not None:
            state = self._call(state, f"changed{head.what}", Fields(parent.pool, 1),
                               held.results[:1], held.results[:1])
        return state

    def _call(self, state, kernel, fields, storages=(), made=(), head=None, number=None,
              supersteps=0):
        self._actions.append(Call(kernel, fields, storages, made, head, number, supersteps))
        return dataclasses.replace(state, read=frozenset())

    def _total(self, state, node):
        state, _ = self._asked(state, [part.value for part in self._dependence.uniforms(
            op_of(node, self._parent.numbers))])
        state, _ = self._take(state, node, False)
        state = self._flush(state)
        self._actions.append(Sum(node))
        return self._reads(state, {_RESULTS})

    # Steps

    def _assign(self, state, step, value):
        node, held = step.node, state.held
        if node.value.type is Type.DECIMAL and not isinstance(value, ir.Literal):
            self._refuse(node, "this is computed with decimals")
        if held is not None:
            state = self._save(state, self._uniforms(held), lambda value: any(
                isinstance(part, ir.HostName) and part.name == node.name
                for part in ir.walk(value)))
        self._actions.append(Number(node.name, self._checked(value), self._of(state, value)))
        return self._has_read(state, value)

    def _move(self, state, step):
        name, source = step.names
        return state.named(name, state.storages[source] if source else _EMPTY)

    def _op(self, state, step):
        node = step.node
        if isinstance(node, ir.VertexFilter) and node.position in self._parent.dropped:
            return state.named(node.output_vset, _EMPTY)
        state, _ = self._asked(state, [part.value for part in self._dependence.uniforms(
            op_of(node, self._parent.numbers))])
        makes = isinstance(node, ir.VertexFilter) or getattr(node, "tracking", None) is not None
        state, result = self._take(state, node, makes)
        return state.named(step.names[0], result) if step.names else state

    def _join(self, state, step):
        queue, other = map(state.storages.get, step.names)
        state = self._flush(state)
        if queue == _EMPTY:
            return state.named(step.names[0], other)
        joined = self._new(state)
        state = self._call(state, "join", Fields(self._parent.pool, 3), (queue, other, joined),
                           (joined,))
        return state.named(step.names[0], joined)

    def _store(self, state, step, index, value):
        node = step.node
        state = self._flush(state)
        word = ir.Uniform(value=value, type=self._parent.program.vector(node.vector).type,
                          position=node.position)
        if word.type in (Type.FIXED, Type.FRACTION) and not isinstance(value, ir.Literal):
            self._refuse(node, "the host makes a word of fixed point here")
        self._place(state, index, word)
        return self._call(state, f"store_{node.vector}", Fields(self._parent.pool, 0))

    def _place(self, state, vertex, word=None):
        values = [vertex] if word is None else [vertex, word.value]
        for value in values:
            if not isinstance(value, ir.Literal):
                self._checked(value)
        self._actions.append(Place(vertex, word, self._of(state, *values)))

    def _include(self, state, step, *vertices):
        if all(isinstance(vertex, ir.Literal) for vertex in vertices):
            vertices = {int(vertex.value): vertex for vertex in vertices}.values()
        elif len(vertices) > 1:
            self._refuse(step.node, "a set of several vertices that change")
        if not vertices:
            return state.named(step.names[0], _EMPTY)
        state = self._flush(state)
        made = storage = self._new(state)
        for vertex in vertices:
            self._place(state, vertex)
            state = self._call(state, "include", Fields(self._parent.pool, 1), (storage,),
                               () if made is None else (made,))
            made = None
        return state.named(step.names[0], storage)

    def _split(self, state, step):
        ready, queue = step.names
        state, vset = self._flush(state), state.storages[queue]
        state = state.named(_BELOW, self._new(state))
        state = state.named(_ABOVE, self._new(state))
        below, above = state.storages[_BELOW], state.storages[_ABOVE]
        limit = self._folded(ir.HostName(name=threshold(queue), type=Type.WHOLE,
                                        position=step.node.position))
        self._actions.append(Keep(THRESHOLD, None, limit, {}))
        state = self._call(state, f"split_{self._queues[queue].vector}",
                           Fields(self._parent.pool, 3), (vset, below, above), (below, above))
        return state.named(ready, below).named(queue, above)

    def _further(self, state, step):
        queue, = step.names
        node = self._queues[queue]
        delta = self._folded(node.delta)
        if not isinstance(delta, ir.Literal):
            self._refuse(node, "the delta of the queue changes")
        state = self._call(self._flush(state), "infinite", Fields(self._parent.pool, 0))
        state = self._call(state, f"least_{node.vector}", Fields(self._parent.pool, 1),
                           (state.storages[queue],))
        self._actions.append(Further(threshold(queue), int(delta.value)))
        return state


#: Names of the parts of a queue, until these get their own.
_BELOW, _ABOVE = "below", "above"
