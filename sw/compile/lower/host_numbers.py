"""The host's values in a program's kernels.

Values that do not change during a run are constants. Of those that change, one number of the host
is in the launch's argument, with all values that differ from it by a constant. Others are in slots
of memory, and so is the number where the argument has no room for it. A record has room.
"""

from typing import Any

from sw.compile.asm.assembler import Condition
from sw.compile.frontiers.pool import Record
from sw.lang import graph_ir as ir
from sw.lang.types import Type


__all__ = ["FIRST_SLOT", "LARGE", "SLOTS", "THRESHOLD", "VERTEX", "WORD", "HostNumbers",
           "load_slot", "slots"]


#: The buffer of the slots; in a program that is one launch, a place in each core's local memory.
SLOTS = "slots"

#: Slots: the threshold of a queue, an element to be stored, and the number of the host that an
#: argument has no room for.
THRESHOLD, VERTEX, WORD, LARGE = range(4)

#: The first slot of a value of the host.
FIRST_SLOT = 4


def load_slot(k, number, name):
    """A register with the word of a slot."""
    into = k.a.reg(name)
    local = k.task.local
    k.a.li(into, local.address(SLOTS) if SLOTS in local else k.address(SLOTS))
    k.a.lw(into, into, 4 * number)
    return into


def slots(program, dependence) -> dict:
    """The values of the host that change during a run, with the numbers of their slots."""
    assigned = {node.name for node in ir.instructions(program.body)
                if isinstance(node, ir.Assign | ir.ForLoop)}
    nodes = [node for function in program.functions for node in ir.walk(*function.body)]
    nodes += ir.walk(*dependence.all_members())
    changing = dict.fromkeys(node for node in nodes if isinstance(node, ir.Uniform) and any(
        isinstance(part, ir.SetSize | ir.VertexSum)
        or (isinstance(part, ir.HostName) and part.name in assigned)
        for part in ir.walk(node.value)))
    return {node: number for number, node in enumerate(changing, FIRST_SLOT)}


class HostNumbers:
    """The values of the host of a program.

    Parameters
    ----------
    slots : dict of Uniform to int
        As of :func:`slots`.
    dependence : sw.compile.lower.dependence.Dependence
    constant : callable
        ``constant(node)``: the word of a Uniform that does not change.

    Attributes
    ----------
    slots : dict of Uniform to int
    """

    def __init__(self, slots, dependence, constant):
        self.slots, self._dependence, self._constant = slots, dependence, constant

    @property
    def words(self) -> int:
        """The number of slots."""
        return FIRST_SLOT + len(self.slots)

    # The number in the argument

    def _changing(self, group):
        return [node for member in group for node in self._dependence.uniforms(member.op)
                if node in self.slots]

    def number(self, group) -> ir.Uniform | None:
        """The value that is in the argument of a group, if there is one: of the number of the host
        with which most values go, the first."""
        nodes = [node for node in self._changing(group) if node.type is Type.UINT]
        bases = [_affine(node)[0] for node in nodes]
        if not bases:
            return None
        base = max(bases, key=bases.count)
        return nodes[bases.index(base)]

    def offset(self, node, number) -> int | None:
        """By how much a value differs from the value ``number``, as a constant; None if that is not
        known."""
        if number is None or node not in self.slots or node.type is not Type.UINT:
            return None
        (base, own), (other, offset) = _affine(node), _affine(number)
        return own - offset if base == other else None

    def earlier(self, group, stamps) -> dict:
        """The values that are surely smaller than some others, if these are equal, and by how much.
        """
        number = self.number(group)
        offsets = {self.offset(node, number) for node in stamps}
        offset = offsets.pop() if len(offsets) == 1 else None
        if offset is None:
            return {}
        found = {node: self.offset(node, number) for node in self._changing(group)}
        return {node: offset - own for node, own in found.items()
                if own is not None and own < offset}

    # Kernels

    def load(self, k, group, fields) -> list:
        """In the prologue: for each member of a group, the registers with the values that it uses,
        by their nodes."""
        number, register, found = self.number(group), None, []
        more = int(k.a.record is None)      # what the register has more than the number
        for member in group:
            words = {}
            for node in self._dependence.uniforms(member.op):
                offset = self.offset(node, number)
                if node not in self.slots:
                    words[node] = k.constant(self._constant(node), "value")
                elif offset is None:
                    words[node] = load_slot(k, self.slots[node], "value")
                else:
                    register = register or self._argument(k, fields)
                    words[node] = register
                    if offset != more:
                        words[node] = k.a.reg("value")
                        k.step(words[node], offset - more, register)
            found.append(words)
        return found

    @staticmethod
    def _argument(k, fields):
        """A register with the number of the group; plus one, if the argument is no record."""
        a, number = k.a, k.a.reg("number")
        if a.record is not None:
            a.lw(number, a.argument, Record.NUMBER)
            return number
        fields.number(k, number)
        with a.if_uniform(Condition("eq", number, a.zero), "large"):
            a.addi(number, load_slot(k, LARGE, "large_number"), 1)
        return number


def _affine(node):
    """``(number, offset)``: a Uniform is a number of the host and a constant."""
    value: Any = node.value
    offset: Any = 0
    while isinstance(value, ir.Binary) and value.operation in ("+", "-") \
            and isinstance(value.right, ir.Literal) and value.right.type is Type.WHOLE:
        offset += value.right.value * (1 if value.operation == "+" else -1)
        value = value.left
    return value, offset
