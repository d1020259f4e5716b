"""Which operators of a program become one kernel: fusion by dependence.

A *group* is a kernel: operators that follow one another, without a barrier between them. The host
performs the program's instructions in their order (:mod:`sw.vm.host`), and the machine
(:mod:`.machine`) holds an operator back as long as a kernel may take the next one, too. It launches
when the host asks for a result, or when an operator comes that cannot join. So what kernels there
are follows from the program alone: :class:`Groups` walks all ways through it.

An operator joins a group if

*set*
    it goes through the set that the group goes through, or through the result of a member: for an
    edge operator, through the vertices that it changes, when they are added;
*flow*
    it reads what members write at its own vertex only, where the words are final: those of
    functions of vertices are, those that edges reduce where any accepted edge decides them, and
    those of all vertices where the lane that goes on has all edges of its vertex;
*start words*
    nothing that a member reads at other vertices is written by it, or the other way round, unless
    facts tell the word of the start (:mod:`.loads`);
*host*
    numbers of the host that it reads have the values that they had for members before it.

A loop is no barrier: what stands first in a round joins what stands last in the round before.
Functions of vertices before the first other operator have no kernel, as the host performs them
(:class:`_State`). Words that nobody reads again are not stored (:mod:`.flow`).

Where a loop goes on as long as a set has vertices, and begins by an operator of this set, the
kernel that makes the set performs this operator in advance. If the set is empty, it does nothing.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from sw.compile.lower.flow import WordFlow
from sw.lang import graph_ir as ir
from sw.lang.passes.chain import loaded_behind
from sw.lang.passes.liveness import aliases
from sw.lang.types import Type


__all__ = ["EDGES", "Ahead", "Group", "Groups", "Member", "Op", "TOTAL", "VERTICES", "WHERE",
           "group_name", "in_beginning", "op_of"]


#: Kinds of operators.
EDGES, VERTICES, WHERE, TOTAL = "edges", "vertices", "where", "total"


@dataclasses.dataclass(frozen=True)
class Op:
    """An operator, apart from its place in the program."""
    kind: str
    what: Any  #: The name of a function; of an edge operator, its number.
    every: bool  #: Whether it goes through all vertices, and not through a set with a name.

    @property
    def name(self):
        """Its name as a part of a kernel's name."""
        if self.kind == EDGES:
            return f"{self.kind}{self.what}"
        return f"{self.kind}_{self.what}" + "_all" * self.every


@dataclasses.dataclass(frozen=True)
class Member:
    """An operator in a group."""
    op: Op
    #: The member through whose result it goes, by its number; None if it goes through the input of
    #: the group.
    on: int | None


#: Members in their order.
Group = tuple[Member, ...]


def group_name(group: Group, turned=frozenset()) -> str:
    """The name of a group's kernel, for vectors that are in their other array."""
    return "_other_".join(["_".join(member.op.name for member in group), *sorted(turned)])


@dataclasses.dataclass(frozen=True, eq=False)
class Ahead:
    """An operator that a kernel may perform in advance."""
    op: Op
    node: Any
    assigns: tuple[ir.Assign, ...]  #: What the host does between the question and the operator.


def op_of(node, numbers) -> Op:
    """The operator of an instruction, or of a VertexSum. ``numbers`` has those of edge operators,
    by their positions."""
    every = node.input_vset == ir.ALL
    match node:
        case ir.EdgeSetIterator():
            return Op(EDGES, numbers[node.position], every)
        case ir.VertexSetIterator():
            return Op(VERTICES, node.apply_f, every)
        case ir.VertexFilter():
            return Op(WHERE, node.filter, every)
    return Op(TOTAL, node.function, every)


def in_beginning(node, performed, numbers) -> bool:
    """Whether the host performs an operator before the device begins: a function of vertices in a
    program with operators of edges, once. ``performed`` has the positions of those before it, and
    is None once the device has begun."""
    return (performed is not None and bool(numbers) and isinstance(node, ir.VertexSetIterator)
            and node.position not in performed)


@dataclasses.dataclass(eq=False)
class _Event:
    """A step of the program as the machine sees it: ``op``, ``assign`` of a number, ``move`` of a
    set, ``ask`` for the size of a set, ``flush`` for whatever has a kernel of its own, or
    ``fork``."""
    kind: str
    node: Any = None
    after: tuple = ()
    ahead: Any = None  #: Of ``ask``: (Ahead, its event), or None.


@dataclasses.dataclass(frozen=True)
class _State:
    """What the machine holds back."""
    group: Group = ()
    #: The sets by their names: the number of the member whose result a set is, None for the input.
    names: frozenset = frozenset()
    assigned: frozenset = frozenset()  #: Numbers of the host that changed since the group began.
    done: Any = None  #: The event of an operator that was performed in advance.
    #: The functions that the host has performed, each once, by their positions; None once the
    #: device has begun.
    beginning: Any = frozenset()
    #: The vectors whose words are in their other array (:meth:`Dependence.swapped`).
    turned: frozenset = frozenset()


class Groups:
    """All kernels of a program.

    Parameters
    ----------
    program : GraphProgram
    numbers : dict of Position to int
        As of :func:`op_of`.
    dependence : sw.compile.lower.dependence.Dependence
    dropped : frozenset of Position, optional
        Filters that are not performed.

    Attributes
    ----------
    all : list of Group
        In the order in which they were found.
    flow : WordFlow
    ahead : dict
        ``{(group, number): Ahead}``: what to perform in advance when the host asks for the size of
        the result of the member of that number.
    """

    def __init__(self, program, numbers, dependence, dropped=frozenset()):
        self._program, self._numbers, self._dependence = program, numbers, dependence
        self._dropped = dropped
        self._aliases = aliases(program)
        # {group: (the vectors that are in their other array, each set of them as a key; the vectors
        # that are read behind the group)}.
        self._found: dict[Group, tuple[dict, set]] = {}
        self.ahead: dict[tuple, Ahead] = {}
        self._chains: dict[Group, Any] = {}
        # Pairs of a group and a member: those that join, and those that do not on some way.
        self._joined: set[tuple] = set()
        self._refused: set[tuple] = set()
        first = self._block(program.body, (_Event("flush"),))
        self.flow = WordFlow(program, first, dependence.reads, dependence.collected)
        dependence.defined, dependence.marks = self.flow.defined, self.flow.marks
        while self._walk(first):
            pass

    @property
    def all(self):
        return list(self._found)

    def live(self, group) -> set:
        """The vectors with words that are read behind a group."""
        return self._found[group][1]

    @functools.cached_property
    def kernels(self) -> dict:
        """By the names of kernels: their groups, and the vectors whose words are in their other
        array. Groups of which nothing is read have no kernel."""
        return {group_name(group, turned): (group, turned) for group in self.all
                for turned in self._found[group][0]
                if group[0].op.kind == EDGES or (chain := self.chain(group)) is None or chain.body}

    def kernel(self, name, ways) -> tuple:
        """Which of some ways a kernel of that name goes by, or "", and its group or None."""
        way, _, of = name.partition("_")
        if way not in ways:
            way, of = "", name
        group, _ = self.kernels.get(of, (None, None))
        return (way, group) if group else ("", None)

    def chain(self, group):
        """As of :meth:`Dependence.chain`."""
        if group not in self._chains:
            self._chains[group] = self._dependence.chain(group, self.live(group))
        return self._chains[group]

    @functools.cached_property
    def go_over(self) -> bool:
        """Whether functions of vertices may run over places behind the last vertex."""
        return any(group[-1].op.every and self.chain(group) is not None for group in self.all)

    @functools.cached_property
    def used(self) -> set:
        """The vectors whose words kernels read or write in memory."""
        found = set(self._program.outputs) | {
            node.vector for node in ir.instructions(self._program.body)
            if isinstance(node, ir.ElementStore | ir.NewQueue)}
        for group in self.all:
            chain, defined = self.chain(group), frozenset()
            if group[0].op.kind == EDGES:
                read, defined = self._dependence.in_memory(group[0].op.what)
                found |= read
            if chain is None:
                found |= self._dependence.vectors(group[1:] if group[0].op.kind == EDGES else group)
                found |= defined
            else:
                found |= (chain.reads() | chain.writes()) - (defined - self.live(group))
                found |= defined & (self.live(group) | loaded_behind(chain.body))
        return found

    def of(self, number) -> list:
        """Those that begin with the operator of edges of that number."""
        return [group for group in self.all if group[0].op.kind == EDGES
                and group[0].op.what == number]

    def may_join(self, group, member) -> bool:
        """Whether an operator joins a group, on all ways through the program."""
        return (group, member) in self._joined

    # Events

    def _block(self, body, after):
        """The first events of a block, before the events ``after``."""
        for node in reversed(body):
            after = self._instruction(node, after)
        return after

    def _instruction(self, node, after):
        match node:
            case ir.VertexFilter() if node.position in self._dropped:
                return after
            case ir.EdgeSetIterator() | ir.VertexSetIterator() | ir.VertexFilter():
                after = (_Event("op", node, after),)
                if isinstance(node, ir.EdgeSetIterator) and self._queues(node.output_vset):
                    after[0].after = (_Event("flush", node, after[0].after),)
                return self._values(self._uniforms(node), after)
            case ir.Assign():
                kind = "move" if isinstance(node.value, ir.HostName) and \
                    node.value.type is Type.VERTEXSET else "assign"
                return self._values([node.value], (_Event(kind, node, after),))
            case ir.WhileLoop():
                return self._loop(node, node.condition, after)
            case ir.ForLoop():
                return self._values([node.count], self._loop(node, None, after))
            case ir.HostBranch():
                fork = _Event("fork", node, (*self._block(node.then, after),
                                             *self._block(node.otherwise, after)))
                return self._values([node.condition], (fork,))
        return self._values(node.parts(), (_Event("flush", node, after),))

    def _queues(self, name):
        return any(isinstance(node, ir.NewQueue) and node.name == name
                   for node in ir.instructions(self._program.body))

    def _loop(self, node, condition, after):
        fork = _Event("fork", node)
        first = (fork,) if condition is None else self._values([condition], (fork,))
        counts = [_Event("assign", node, first)] if isinstance(node, ir.ForLoop) else []
        body = self._block(node.body, tuple(counts) or first)
        fork.after = (*body, *after)
        if isinstance(condition, ir.SetSize):
            first[0].ahead = self._first(condition.name, body)
        return tuple(counts) or first

    def _first(self, name, body):
        """What stands first in the body of a loop and goes through the set of that name."""
        assigns = []
        event, = body if len(body) == 1 else (None,)
        while event is not None and event.kind == "assign" and isinstance(event.node, ir.Assign) \
                and not any(isinstance(part, ir.SetSize | ir.VertexSum)
                            for part in ir.walk(event.node.value)):
            assigns.append(event.node)
            event = event.after[0] if len(event.after) == 1 else None
        if event is None or not isinstance(event.node, ir.VertexSetIterator | ir.VertexFilter) \
                or event.node.input_vset != name:
            return None
        return Ahead(op_of(event.node, self._numbers), event.node, tuple(assigns)), event

    def _values(self, values, after):
        """The events of the expressions of the host, which are evaluated one after the other."""
        for part in reversed([part for value in values for part in ir.walk(value)]):
            if isinstance(part, ir.SetSize):
                after = (_Event("ask", part, after),)
            elif isinstance(part, ir.VertexSum):
                after = (*self._values(self._uniforms(part), (
                    _Event("op", part, (_Event("flush", part, after),)),)), *after)
        return after

    def _uniforms(self, node):
        return self._of_op(op_of(node, self._numbers))

    # States

    def _walk(self, first):
        """Walk all ways. Returns whether an operator was refused that had joined on another way, so
        that the walk must be repeated."""
        self._found, self._joined, self.ahead = {}, set(), {}
        waiting, seen = [(event, _State()) for event in first], set()
        refused = len(self._refused)
        while waiting:
            event, state = waiting.pop()
            key = (id(event), state.group, state.names, state.assigned, id(state.done),
                   state.beginning, state.turned)
            if key in seen:
                continue
            seen.add(key)
            state = self._after(event, state)
            waiting += [(following, state) for following in event.after]
        return len(self._refused) > refused

    def _launch(self, state, event):
        """The group is launched before an event; nothing is held back any more."""
        turned, group = state.turned, state.group
        if group:
            ways, live = self._found.setdefault(group, ({}, set()))
            ways[turned & self._dependence.vectors(group)] = None
            live |= self.flow.live(event)
            turned ^= self._dependence.swapped(group)
        return _State(beginning=state.beginning, turned=turned)

    def _after(self, event, state):
        match event.kind:
            case "op":
                if state.done is event:
                    return dataclasses.replace(state, done=None)
                return self._op(event, state)
            case "assign":
                return dataclasses.replace(state, assigned=state.assigned | {event.node.name})
            case "move":
                names = dict(state.names)
                number = names.pop(event.node.value.name, -1)
                names.pop(event.node.name, None)
                if number != -1:
                    names |= {event.node.value.name: number, event.node.name: number}
                return dataclasses.replace(state, names=frozenset(names.items()))
            case "ask":
                number = dict(state.names).get(event.node.name)
                if number is None:
                    return state
                return self._asked(event, state, number)
            case "flush":
                state = self._launch(state, event)
                if isinstance(event.node, ir.Dequeue):
                    return dataclasses.replace(state, beginning=None)
        return state

    def _asked(self, event, state, number):
        """The host asks for the size of a member's result."""
        if event.ahead is None:
            return self._launch(state, event)
        ahead, performed = event.ahead
        member, key = Member(ahead.op, number), (state.group, number)
        known = self.ahead.setdefault(key, ahead)
        if known.node is not ahead.node:
            self._refused.add(("ahead", *key))      # of two loops, which begin differently
        if ("ahead", *key) in self._refused \
                or not self._may(state, member, performed.node, ahead.assigns):
            self.ahead.pop(key, None)
            return self._launch(state, event)
        state = self._launch(dataclasses.replace(state, group=(*state.group, member)), event)
        return dataclasses.replace(state, done=performed)

    def _may(self, state, member, node, assigns=()):
        """Whether an operator may join. If it may not, it may not on any way."""
        if (state.group, member) in self._refused:
            return False
        changed = state.assigned | {assign.name for assign in assigns}
        read = {part.name for value in self._uniforms(node) for part in ir.walk(value)
                if isinstance(part, ir.HostName)} & changed
        earlier = {part.name for each in state.group for value in self._of_op(each.op)
                   for part in ir.walk(value) if isinstance(part, ir.HostName)}
        if read & earlier or member.op in [each.op for each in state.group] \
                or not self._dependence.joins(state.group, member):
            self._refused.add((state.group, member))
            return False
        self._joined.add((state.group, member))
        return True

    def _of_op(self, op):
        """The values of the host that an operator reads."""
        return [node.value for node in self._dependence.uniforms(op)]

    def _op(self, event, state):
        node, names = event.node, dict(state.names)
        if in_beginning(node, state.beginning, self._numbers):
            return dataclasses.replace(state, beginning=state.beginning | {node.position})
        number, op = names.get(node.input_vset, -1), op_of(node, self._numbers)
        if number == -1:
            # The machine knows sets whatever their names, and must not find more.
            self._refused |= {(state.group, Member(op, other)) for name, other in names.items()
                              if name in self._aliases.get(node.input_vset, ())}
        if state.group and number != -1 and self._may(state, Member(op, number), node):
            group = (*state.group, Member(op, number))
            state = dataclasses.replace(state, group=group)
        else:
            state = self._launch(state, event)
            group: Group = (Member(op, None),)
            names: dict[str, Any] = {node.input_vset: None}
            state = dataclasses.replace(state, group=group, beginning=None)
        made = getattr(node, "output_vset", None)
        if made is not None:
            names[made] = len(group) - 1
        return dataclasses.replace(state, names=frozenset(names.items()))
