"""The host's part of a program as code of the device: blocks of work between launches.

What :class:`~sw.compile.lower.machine.RtlMachine` does while a program runs is found here for all
ways through the program at once, ahead of the run. A *state* is a step of the host, the storage of
each set, and the operators that are held back. From a state follows a :class:`HostBlock`: what the
host computes and which kernels it launches, up to the next state. Storages are given out as in the
machine, so a block names storages in place of sets; only which of a storage's two blocks of the
pool a set has becomes known when the program runs.

What comes before the first operator is in the memory's first contents, as for a run by launches.
"""

from __future__ import annotations

import dataclasses
import functools

from base.errors import UserError
from sw.compile.frontiers.pool import Fields
from sw.compile.lower.fuse import op_of
from sw.compile.lower.host_actions import (HostCall, HostEnd, HostFork, HostNumber, HostThreshold,
                                           HostVertex, HostWord)
from sw.compile.lower.host_beginning import HostBeginning
from sw.compile.lower.host_numbers import THRESHOLD
from sw.compile.lower.host_operators import EMPTY_STORAGE, HostOperators
from sw.compile.lower.host_state import HostState
from sw.compile.lower.host_steps import steps, threshold
from sw.lang import graph_ir as ir
from sw.lang.types import Type


__all__ = ["HostBlock", "HostCode"]


#: Most blocks of a program.
_MOST_BLOCKS = 1000


@dataclasses.dataclass
class HostBlock:
    """What the host does from a state to the next."""
    actions: list
    #: The numbers of the blocks that follow: two behind a HostFork, none behind a HostEnd.
    after: list[int]


class HostCode(HostOperators):
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
    blocks : list of HostBlock
        The program begins with the first.
    ends : list of frozenset of str
        The vectors whose words are in their other array at the end, for each way to end.
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
        first = steps(parent.program, lambda node: parent.dependence.functions(
            op_of(node, parent.numbers)))
        begun = HostBeginning(parent, values, first)
        self.first, self.numbers = begun.blocks, begun.numbers
        super().__init__(parent, begun.values, cores)
        self._queues: dict[str, ir.NewQueue] = {}
        for node in ir.instructions(parent.program.body):
            if isinstance(node, ir.NewQueue) \
                    and self._queues.setdefault(node.name, node).delta != node.delta:
                self._refuse(node, f"{node.name} begins again with another delta")
        self.blocks: list[HostBlock] = []
        self.ends: list[frozenset] = []
        self._known: dict[HostState, int] = {}
        self._waiting: list[HostState] = []
        self._number(HostState(begun.step, frozenset(begun.sets.items())))
        while self._waiting:
            state = self._waiting.pop()
            self.blocks[self._known[state]] = self._block(state)

    @property
    def kernels(self) -> list[str]:
        """The kernels that are launched."""
        return list(dict.fromkeys(action.kernel for action in self.actions(HostCall)))

    @functools.cached_property
    def storages(self) -> frozenset[int]:
        """The storages of the sets that kernels get, or whose sizes are asked."""
        found = [storage for block in self.blocks for action in block.actions
                 for storage in (*getattr(action, "storages", ()),
                                 *getattr(action, "sets", {}).values())]
        return frozenset(found)

    def actions(self, kind) -> list:
        """All actions of a class."""
        return [action for block in self.blocks for action in block.actions
                if isinstance(action, kind)]

    # Blocks

    def _number(self, state):
        """The number of a state's block."""
        state = self._live(state)
        if state not in self._known:
            self._known[state] = len(self.blocks)
            self.blocks.append(HostBlock([], []))
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
        self._actions = []
        step = state.step
        if step.kind == "end":
            state = self._flush(state)
            if state.turned not in self.ends:
                self.ends.append(state.turned)
            return HostBlock([*self._actions, HostEnd(self.ends.index(state.turned))], [])
        state, values = self._asked(state, step.values)
        if step.kind == "branch":
            return self._branch(state, values[0])
        state = getattr(self, f"_{step.kind}")(state, step, *values)
        return HostBlock(self._actions, [self._number(
            dataclasses.replace(state, step=step.after[0]))])

    def _branch(self, state, condition):
        ways = [dataclasses.replace(state, step=step) for step in state.step.after]
        ways[1] = dataclasses.replace(ways[1], ahead=None)      # done for the loop, which has ended
        if isinstance(condition, ir.Literal):
            return HostBlock(self._actions, [self._number(ways[not condition.value])])
        self._actions.append(HostFork(self._checked(condition), self._of(state, condition)))
        return HostBlock(self._actions, [self._number(self._has_read(way, condition))
                                     for way in ways])

    # Steps

    def _assign(self, state, step, value):
        node, held = step.node, state.held
        if node.value.type is Type.DECIMAL and not isinstance(value, ir.Literal):
            self._refuse(node, "this is computed with decimals")
        if held is not None:
            state = self._save(state, self._uniforms(held), lambda value: any(
                isinstance(part, ir.HostName) and part.name == node.name
                for part in ir.walk(value)))
        self._actions.append(HostNumber(node.name, self._checked(value), self._of(state, value)))
        return self._has_read(state, value)

    def _move(self, state, step):
        name, source = step.names
        return state.named(name, state.storages[source] if source else EMPTY_STORAGE)

    def _op(self, state, step):
        node = step.node
        if isinstance(node, ir.VertexFilter) and node.position in self._parent.dropped:
            return state.named(node.output_vset, EMPTY_STORAGE)
        state, _ = self._asked(state, [part.value for part in self._dependence.uniforms(
            op_of(node, self._parent.numbers))])
        makes = isinstance(node, ir.VertexFilter) or getattr(node, "tracking", None) is not None
        state, result = self._take(state, node, makes)
        return state.named(step.names[0], result) if step.names else state

    def _join(self, state, step):
        queue, other = map(state.storages.get, step.names)
        state = self._flush(state)
        if queue == EMPTY_STORAGE:
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
        self._actions.append(HostVertex(vertex, word, self._of(state, *values)))

    def _include(self, state, step, *vertices):
        if all(isinstance(vertex, ir.Literal) for vertex in vertices):
            vertices = {int(vertex.value): vertex for vertex in vertices}.values()
        elif len(vertices) > 1:
            self._refuse(step.node, "a set of several vertices that change")
        if not vertices:
            return state.named(step.names[0], EMPTY_STORAGE)
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
        self._actions.append(HostWord(THRESHOLD, None, limit, {}))
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
        self._actions.append(HostThreshold(threshold(queue), int(delta.value)))
        return state


#: Names of the parts of a queue, until these get their own.
_BELOW, _ABOVE = "below", "above"
