"""Loops of the host as C: a loop whose operators are short would mostly be work of the host.

Such a loop is *fused*: the host does nothing from its first round to its last. The pass
``kernel_fusion`` decides which loops can be (``can_fuse``). Its whole numbers are of 64 bits. The
loop returns now and then, so that Python sees signals, and is entered again.
"""

import abc
import dataclasses
from typing import Any

from base.errors import UserError
from sw.lang import graph_ir as ir
from sw.lang.facts import deferring
from sw.lang.passes.kernel_fusion import uniforms, varies
from sw.lang.types import LARGEST, Named, Type
from sw.lang.uses import assigned
from sw.vm.host import MOST_ROUNDS, Machine, endless


__all__ = ["AGAIN", "ENDLESS", "FAULT", "LARGE", "STOPPED", "FusedLoop", "LoopCode", "LoopEnd",
           "LoopMachine", "LoopValues", "Unmade"]


#: Results of a loop: of one that a signal stopped, with an exception of Python; of one with too
#: many rounds, of one that must be entered again, and of one in which an operator failed; of one
#: whose next round is too large for it. The result is 0 at the end of a loop, and 1 more than the
#: number of a uniform that does not fit.
LARGE, STOPPED, ENDLESS, AGAIN, FAULT = -5, -4, -3, -2, -1

#: Largest number with which a loop may be entered.
_LARGEST = 1 << 33

#: In place of a name, the number of the next round of a ForLoop, which begins with 0.
_NEXT = ""

#: In place of a name, the number of the rounds so far, of this loop and the loops in it.
_ROUNDS = "."

_OPERATIONS = {"+": "({} + {})", "-": "({} - {})", "and": "({} && {})", "or": "({} || {})",
               "min": "smaller({}, {})", "max": "larger({}, {})",
               **{name: f"({{}} {name} {{}})" for name in ("==", "!=", "<", "<=", ">", ">=")}}


@dataclasses.dataclass
class FusedLoop:
    """A loop as a function of C."""
    name: str  #: The function.
    partly: bool = False  #: Whether it performs rounds of small sets only, and the host the others.
    queues: list[str] = dataclasses.field(default_factory=list)  #: Queues that the loop uses.
    #: Variables of the host that the loop changes, then :data:`_ROUNDS`, and for a ForLoop last
    #: :data:`_NEXT`.
    numbers: list[str] = dataclasses.field(default_factory=list)
    #: Sets that the loop uses, and changes if they are in ``changed``.
    sets: list[str] = dataclasses.field(default_factory=list)
    changed: set[str] = dataclasses.field(default_factory=set)
    #: list of Node. Numbers and truth values that do not change in the loop.
    constants: list = dataclasses.field(default_factory=list)
    #: list of Uniform. Those that are the same in all rounds, and the others.
    words: list = dataclasses.field(default_factory=list)
    checked: list = dataclasses.field(default_factory=list)  #: See `words`.


@dataclasses.dataclass
class LoopValues:
    """The numbers with which a loop is entered, as integers of 64 bits."""
    constants: list[int]
    words: list[int]
    numbers: list[int]

    @classmethod
    def of(cls, loop, values, evaluate, word) -> "LoopValues | None":
        """Those of a FusedLoop; None if the host has to perform the loop: a number is too large, or
        is ``infinity`` or ``none``, or a value has an error, which matters only if it is needed."""
        try:
            constants = [evaluate(each) for each in loop.constants]
            words = [word(each) for each in loop.words]
        except UserError:
            return None
        numbers = [0 if name == _ROUNDS else values.get(name, 0) for name in loop.numbers]
        if not all(isinstance(each, int) and abs(each) <= _LARGEST and not isinstance(each, Named)
                   for each in numbers + constants):
            return None
        return cls(list(map(int, constants)), words, numbers)


@dataclasses.dataclass
class LoopEnd:
    """With what a loop ended."""
    result: int
    operators: int  #: Operators that were performed.
    numbers: list[int]  #: As of :attr:`LoopValues.numbers`.
    thresholds: list[int]  #: Of the queues.
    sets: list[Any]  #: Those that are ``changed``, in the order of ``sets``.


class Unmade:
    """In place of a set that a loop makes before it reads it."""


class LoopMachine(Machine):
    """A machine whose loops may be functions of C."""

    @property
    @abc.abstractmethod
    def loops(self) -> dict[Any, FusedLoop]:
        """{place of a loop: the function}."""

    @abc.abstractmethod
    def run_loop(self, loop, given, sets, queues) -> LoopEnd:
        """Perform a FusedLoop with these LoopValues, with its sets, some of them :class:`Unmade`,
        and the WaitingQueue of each of its queues. Raises UserError if an operator fails."""

    def loop(self, node, values, queues, evaluate, word):
        loop = self.loops.get(node.position)
        if loop is None or loop.partly:
            return None
        return self._performed(loop, node, values, queues, evaluate, word)

    def rounds(self, node, values, queues, evaluate, word):
        loop = self.loops.get(node.position)
        if loop is None or not loop.partly or not self.suits([
                values[name] for name in loop.sets if name in values]):
            return None
        return self._performed(loop, node, values, queues, evaluate, word)

    def suits(self, sets) -> bool:
        """Whether sets are small enough for a loop that performs rounds of such sets."""
        return True

    def _performed(self, loop, node, values, queues, evaluate, word):
        """As :meth:`loop`, and None if no round was performed."""
        given = LoopValues.of(loop, values, evaluate, word)
        if given is None:
            return None
        waiting = [queues[name] for name in loop.queues]
        end = self.run_loop(loop, given, [values.get(name, Unmade()) for name in loop.sets],
                            waiting)
        if end.result == ENDLESS:
            raise endless(node.position)
        values |= {name: number for name, number in zip(loop.numbers, end.numbers)
                   if name not in (_NEXT, _ROUNDS)}
        for queue, threshold in zip(waiting, end.thresholds):
            queue.threshold = threshold
        values |= zip((name for name in loop.sets if name in loop.changed), end.sets)
        if end.result > 0:
            word(loop.checked[end.result - 1])
        rounds = end.numbers[loop.numbers.index(_ROUNDS)]
        return None if loop.partly and not rounds else end.operators


def _number(items, item):
    """The number of an item in a list, to which it is appended if it is new."""
    if item not in items:
        items.append(item)
    return items.index(item)


class LoopCode(abc.ABC):
    """Writes one loop. A GraphVM says how sets and operators are reached.

    The text uses ``number…``, ``constants[…]``, ``words[…]``, ``count`` (operators) and
    ``leave(result)``.

    Parameters
    ----------
    writer : ProgramCode
        Has written all operators.
    name : str
        The name of the function.
    loop : WhileLoop or ForLoop
        One that ``can_fuse``.
    partly : bool
        As of :class:`FusedLoop`, for a WhileLoop.
    """

    def __init__(self, writer, name, loop, partly=False):
        self.writer, self.loop, self.fused = writer, loop, FusedLoop(name, partly)
        self.queues = {node.name for node in ir.instructions(writer.program.body)
                       if isinstance(node, ir.NewQueue)}
        self._names = assigned(loop)
        self._branches = 0
        for node in ir.instructions((loop,)):
            match node:
                case ir.Assign(value=value) if value.type is Type.VERTEXSET:
                    self.fused.changed.add(node.name)
                case ir.Assign() | ir.ForLoop():
                    _number(self.fused.numbers, node.name)
                case ir.EdgeSetIterator() | ir.VertexFilter() if node.output_vset is not None:
                    self.fused.changed.add(node.output_vset)
                case ir.Dequeue():
                    self.fused.changed.update((node.output_vset, node.queue))

    # For GraphVMs

    @abc.abstractmethod
    def size(self, number) -> str:
        """The expression of the size of a set."""

    @abc.abstractmethod
    def is_vertex(self, value) -> str:
        """The expression of whether a number is a vertex or ``none``."""

    @abc.abstractmethod
    def move(self, source, target) -> str:
        """The statement that gives a set another name."""

    @abc.abstractmethod
    def dequeue(self, queue, source, target, indent) -> str:
        """The statements of a Dequeue: of the number of the queue, and of its set."""

    @abc.abstractmethod
    def operator(self, node, source, target, indent) -> str:
        """The statements of an operator of edges or vertices, or of a filter, from one set to
        another, which is None if there is none. Its uniforms are in place."""

    @abc.abstractmethod
    def total(self, function, source, name, indent) -> str:
        """The statements that give a variable the sum of a function over a set."""

    @abc.abstractmethod
    def settle(self, node, indent) -> str:
        """The statements at the end of a loop with such an operator, as of
        :meth:`~sw.vm.host.Machine.settle`."""

    @abc.abstractmethod
    def text(self) -> str:
        """The function. The sets and numbers that it uses are known from then on."""

    #: The expression of whether the loop should return for a while.
    late = "late()"

    #: The expression of whether the sets of the loop are too large for it.
    large = "false"

    #: The expression of the array of uniforms.
    uniforms = "uniforms"

    #: The expression of whether a signal stops the loop, for loops in it, which cannot be entered
    #: again; None if they are not stopped.
    stopped = None

    # Expressions

    def set(self, name) -> int:
        """The number of a set."""
        return _number(self.fused.sets, name)

    def value(self, node, sums=None) -> str:
        """The expression of C for one of the host. ``sums`` are the variables of sums."""
        if not varies(node, self._names):
            return f"constants[{_number(self.fused.constants, node)}]"
        match node:
            case ir.HostName():
                return f"number{self.fused.numbers.index(node.name)}"
            case ir.SetSize():
                return self.size(self.set(node.name))
            case ir.VertexSum():
                return (sums or {})[id(node)]
            case ir.Unary():
                return f"(!{self.value(node.operand, sums)})"
            case ir.Select():
                return (f"({self.value(node.condition, sums)} ? {self.value(node.then, sums)} : "
                        f"{self.value(node.otherwise, sums)})")
        return _OPERATIONS[node.operation].format(self.value(node.left, sums),
                                                  self.value(node.right, sums))

    def _evaluated(self, node, indent):
        """Statements for the sums in an expression of the host, and the expression."""
        text, sums = "", {}
        for part in ir.walk(node):
            if isinstance(part, ir.VertexSum):
                name = sums[id(part)] = f"sum{self._branches}"
                self._branches += 1
                inner = indent + "    "
                text += (f"{indent}int64_t {name} = 0;\n{indent}{{\n{self._uniforms(part, inner)}"
                         f"{self.total(part.function, self.set(part.input_vset), name, inner)}"
                         f"{indent}}}\n")
        return text, self.value(node, sums)

    def _uniforms(self, node, indent):
        """Statements that put the words of an instruction's uniforms where its functions find them,
        all of them once all are legal."""
        lines, places = [], []
        for each in dict.fromkeys(uniforms(self.writer.program, node)):
            if not varies(each.value, self._names):
                word = f"words[{_number(self.fused.words, each)}]"
            else:
                number = _number(self.fused.checked, each)
                word = f"value{number}"
                legal = f"{word} >= 0 && {word} <= {LARGEST}ll"
                if each.type is Type.VERTEX:
                    legal = self.is_vertex(word)
                lines += [f"const int64_t {word} = {self.value(each.value)};",
                          f"if (!({legal})) return leave({number + 1});"]
            places.append(f"{self.uniforms}[{self.writer.uniforms[each]}] = (word){word};")
        return "".join(f"{indent}{line}\n" for line in lines + places)

    # Instructions

    def body(self, indent="    ") -> str:
        """The loop, to its end. ``leave`` is called where it ends early."""
        inner = indent + "    "
        self._rounds = _number(self.fused.numbers, _ROUNDS)
        leave = f"{inner}if ({self.late}) return leave({AGAIN});\n"
        if self.fused.partly:
            leave += f"{inner}if ({self.large}) return leave({LARGE});\n"
        if isinstance(self.loop, ir.ForLoop):
            self.fused.numbers.append(_NEXT)
            place, own = len(self.fused.numbers) - 1, self.fused.numbers.index(self.loop.name)
            count = f"constants[{_number(self.fused.constants, self.loop.count)}]"
            return (f"{indent}while (number{place} < {count}) {{\n{leave}{self._counted(inner)}"
                    f"{inner}number{own} = number{place}++;\n"
                    f"{self._block(self.loop.body, inner)}{indent}}}\n")
        return self._while(self.loop, leave, indent)

    def _while(self, node, first, indent):
        inner = indent + "    "
        sums, condition = self._evaluated(node.condition, inner)
        edges = deferring(node)
        end = "" if edges is None else self.settle(edges, indent)
        return (f"{indent}for (;;) {{\n{first}{sums}{inner}if (!{condition}) break;\n"
                f"{self._counted(inner)}{self._block(node.body, inner)}{indent}}}\n{end}")

    def _counted(self, indent):
        """The statement that counts a round."""
        return f"{indent}if (++number{self._rounds} > {MOST_ROUNDS}) return leave({ENDLESS});\n"

    def _stop(self, indent):
        """The statement by which a loop in the loop is stopped."""
        return f"{indent}if ({self.stopped}) return leave({STOPPED});\n" if self.stopped else ""

    def _block(self, body, indent):
        return "".join(self._instruction(node, indent) for node in body)

    def _instruction(self, node, indent):
        inner = indent + "    "
        match node:
            case ir.Assign(value=ir.HostName(type=Type.VERTEXSET)):
                return f"{indent}{self.move(self.set(node.value.name), self.set(node.name))}\n"
            case ir.Assign():
                number = self.fused.numbers.index(node.name)
                sums, value = self._evaluated(node.value, indent)
                return f"{sums}{indent}number{number} = {value};\n"
            case ir.HostBranch():
                sums, condition = self._evaluated(node.condition, indent)
                return (f"{sums}{indent}if ({condition}) {{\n{self._block(node.then, inner)}"
                        f"{indent}}} else {{\n{self._block(node.otherwise, inner)}{indent}}}\n")
            case ir.WhileLoop():
                return self._while(node, self._stop(inner), indent)
            case ir.ForLoop():
                own, self._branches = self.fused.numbers.index(node.name), self._branches + 1
                last, place = f"last{self._branches}", f"round{self._branches}"
                sums, count = self._evaluated(node.count, indent)
                return (f"{sums}{indent}const int64_t {last} = {count};\n"
                        f"{indent}for (int64_t {place} = 0; {place} < {last}; ++{place}) {{\n"
                        f"{self._stop(inner)}{self._counted(inner)}{inner}number{own} = {place};\n"
                        f"{self._block(node.body, inner)}{indent}}}\n")
            case ir.Dequeue():
                return self.dequeue(_number(self.fused.queues, node.queue), self.set(node.queue),
                                    self.set(node.output_vset), indent)
        target = getattr(node, "output_vset", None)
        source, target = self.set(node.input_vset), None if target is None else self.set(target)
        return (f"{indent}{{\n{self._uniforms(node, inner)}"
                f"{self.operator(node, source, target, inner)}{indent}}}\n")
