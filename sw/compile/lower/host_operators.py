"""The operators of a program that the host holds back, and how they become launches.

This is what :class:`~sw.compile.lower.machine.RtlMachine` does while a program runs, for states of
the host (:mod:`.host_state`): which operators share a kernel, which storages their sets get, and
which words the host brings to a launch.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from base.errors import UserError
from sw.compile.frontiers.pool import ALL, EMPTY, Fields
from sw.compile.lower.fuse import EDGES, TOTAL, WHERE, Member, op_of
from sw.compile.lower.held import GroupLaunch, HeldBack
from sw.compile.lower.host_actions import HostCall, HostMeeting, HostSum, HostWord
from sw.compile.lower.host_expressions import check, folded, substituted
from sw.lang import graph_ir as ir
from sw.lang.types import Type


__all__ = ["EMPTY_STORAGE", "HostOperators"]


#: Storages of the set of all vertices, and of the set without vertices.
_ALL, EMPTY_STORAGE = ALL // 2, EMPTY // 2

#: What the host has read since the last launch, beside sizes of sets, by their storages.
_RESULTS = "results"


class HostOperators:
    """What a state of the host holds back.

    Parameters
    ----------
    parent : ProgramAlgorithm
    values : dict of str to number
        The numbers of the host that do not change.
    cores : int
        Cores of the device.
    """

    def __init__(self, parent, values, cores):
        self._parent, self._cores, self.values = parent, cores, values
        self._graph, self._dependence = parent.graph, parent.dependence
        self._actions: list[Any] = []       # of the block that is found

    def _refuse(self, node, why):
        raise UserError(f"{self._parent.name}: fusion=yes cannot have what only the host can do: "
                        f"line {node.position.line}: {why}")

    def _folded(self, node, storages=None):
        """An expression with constants in place of what does not change. ``storages`` has those of
        the sets, unless it has no sizes."""
        sizes = {_ALL: self._graph.num_vertices, EMPTY_STORAGE: 0}
        known = {name: sizes.get(storage) for name, storage in (storages or {}).items()}
        return folded(node, self.values, known.get, self._graph)

    def _checked(self, value):
        """An expression that the device can compute."""
        check(value, self._refuse)
        return value

    # Expressions

    @staticmethod
    def _of(state, *values):
        """The storages of the sets whose sizes expressions have."""
        return {name: state.storages[name] for name in
                {part.name for part in ir.walk(*values) if isinstance(part, ir.SetSize)}}

    def _has_read(self, state, value):
        """A state after the host has computed an expression."""
        return self._reads(state, self._of(state, value).values())

    @staticmethod
    def _reads(state, what):
        return dataclasses.replace(state, read=state.read.union(what))

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
        used = {_ALL, EMPTY_STORAGE, *state.storages.values(), *state.read,
                *(state.ahead or ())[1:]}
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
        member = held and held.member(op, vset, self._parent.groups)
        if member is None:
            state = self._flush(state)
            held, member = HeldBack((), vset, ()), Member(op, None)
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
        self._actions.append(HostWord(self._parent.host.slots[node], node, value,
                                  self._of(state, value)))

    def _uniforms(self, held):
        return list(dict.fromkeys(node for member in held.group
                                  for node in self._dependence.uniforms(member.op)))

    def _flush(self, state, values=None):
        """Launch what is held back. ``values`` has the expressions of values of the host that
        change until their operator comes."""
        held, values = state.held, values or {}
        launch = GroupLaunch.of(self._parent, held, state.turned)
        state = dataclasses.replace(state, held=None)
        if launch is None:
            return state
        pool, head = self._parent.pool, held.group[0].op
        state = dataclasses.replace(state, turned=state.turned ^ launch.swapped)
        if launch.before is not None:
            state = self._call(state, launch.before, Fields(pool, 0))
        for node in launch.slotted:
            if node not in held.saved:
                self._keep(state, node, values.get(node) or self._folded(node.value))
        number, chosen = None, launch.number
        if chosen is not None:
            number = chosen, values.get(chosen) or self._folded(chosen.value), chosen in held.saved
            self._checked(number[1])
        # On one core, the host has read the results before a kernel begins.
        if self._cores > 1 and _RESULTS in state.read and any(
                member.op.kind == TOTAL for member in held.group):
            self._actions.append(HostMeeting())
        state = self._call(state, launch.kernel, launch.fields, launch.sets, launch.made,
                           head.name, number, int(head.kind == EDGES))
        if launch.behind is not None:
            state = self._call(state, launch.behind, Fields(pool, 1), held.results[:1],
                               held.results[:1])
        return state

    def _call(self, state, kernel, fields, storages=(), made=(), head=None, number=None,
              supersteps=0):
        self._actions.append(HostCall(kernel, fields, storages, made, head, number, supersteps))
        return dataclasses.replace(state, read=frozenset())

    def _total(self, state, node):
        state, _ = self._asked(state, [part.value for part in self._dependence.uniforms(
            op_of(node, self._parent.numbers))])
        state, _ = self._take(state, node, False)
        state = self._flush(state)
        self._actions.append(HostSum(node))
        return self._reads(state, {_RESULTS})
