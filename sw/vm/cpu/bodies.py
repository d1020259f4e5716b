"""Bodies of functions in C++ that reach memory through a ``Task`` of ``machine.h``."""

import dataclasses

from sw.vm.c_code import FunctionCode, most


__all__ = ["TaskCode", "Threads", "declarations"]


@dataclasses.dataclass(frozen=True)
class Threads:
    """What threads do with vectors."""
    #: One thread has the element of ``dst`` for itself. The reductions go to variables ``sum…``.
    owned: frozenset[str] = frozenset()
    fresh: frozenset[str] = frozenset()  #: They are read while other threads change them.
    #: All calls reduce an element by one word, so that no atomics are needed.
    equal: frozenset[str] = frozenset()


class TaskCode(FunctionCode):
    """A body that reaches memory through a Task.

    Parameters
    ----------
    kernels : Kernels
    function : Function
    first : int
        The number of its first uniform among those of the operator.
    threads : Threads
    tracking : str or None
        The vector whose changed vertices are the result.
    stamped, leave
        As of :class:`~sw.vm.c_code.FunctionCode`.
    """

    num_vertices = "task.num_vertices"

    def __init__(self, kernels, function, *, first=0, threads=Threads(), tracking=None,
                 stamped=None, leave=""):
        super().__init__(function, kernels.faults, kernels.literals, stamped, leave)
        self._kernels, self.first = kernels, first
        self._threads, self.tracking = threads, tracking
        self.used: set[str] = set()
        self.sums: dict[str, int | None] = {}

    def array(self, kind, vector):
        """The name of a vector: ``now``, or ``start`` for its words at the start."""
        name = f"{kind}{self._kernels.number(vector)}"
        self.used.add(name)
        return name

    def load(self, vector, index, live):
        if live:
            return f"{self.array('now', vector)}[{index}]"
        array = self.array("start", vector)
        return f"fresh({array} + {index})" if vector in self._threads.fresh else f"{array}[{index}]"

    def store(self, vector, index, value):
        array = self.array("now", vector)
        return f"put({array} + {index}, {value});" if vector in self._threads.fresh \
            else f"{array}[{index}] = {value};"

    def reduce(self, node, index, value, fault):
        if node.vector in self._threads.owned:
            name = f"sum{self._kernels.number(node.vector)}"
            self.sums.setdefault(node.vector, fault)
            form = {"min": "{0} = least({0}, {1});", "max": "{0} = greatest({0}, {1});",
                    "+": "{0} += {1};", "or": "{0} |= {1};"}[node.operation]
            return form.format(name, value)
        array = self.array("now", node.vector)
        if node.operation == "+":
            limit = most(self._kernels.program.vector(node.vector).type)
            call = f"reduce_sum(shared, {array}, place, {value}, {limit}u, errors, {fault})"
        elif node.vector in self._threads.equal:
            form = {"min": "least({}, {})", "max": "greatest({}, {})", "or": "({} | {})"}
            word = form[node.operation].format(f"fresh({array} + place)", value)
            call = f"put_new({array} + place, {word})"
        else:
            call = f"reduce_{node.operation}(shared, {array} + place, {value})"
        then = f"if ({call}) append_new(task, errors, place)" if node.vector == self.tracking \
            else call
        return f"{{ const word place = {index}; {then}; }}"

    def lose(self, node, fault):
        return f"lose(task, {self._kernels.number(node.vector)}, {fault}, at);"

    def degree(self, vertex, leaving):
        offsets = f"task.{'out' if leaving else 'in'}_offsets"
        if vertex in self.parameters:
            return f"({offsets}[{vertex} + 1] - {offsets}[{vertex}])"
        return f"degree({offsets}, {vertex})"

    def uniform(self, number):
        return f"uniform{self.first + number}"

    def literal(self, number):
        self.used.add(f"literal{number}")
        return f"literal{number}"

    def text(self, of=None, levels=2) -> str:
        """The body, indented, and for a function that gives a result a statement of it."""
        indent = "    " * levels
        return self.body(indent) + (f"{indent}{of.format(self.result)}\n" if of else "")


def declarations(*codes):
    """The local names that bodies need."""
    lines = ["const bool shared = task.shared;"]
    for name in sorted(set().union(*(code.used for code in codes))):
        kind = name.rstrip("0123456789")
        number = name[len(kind):]
        lines.append({"now": f"word *const {name} = task.vectors[{number}];",
                      "start": f"const word *const {name} = task.starts[{number}];",
                      "literal": f"const wide {name} = task.literals[{number}];"}[kind])
    count = max((code.first + len(code.uniforms) for code in codes), default=0)
    lines += [f"const word uniform{i} = task.uniforms[{i}];" for i in range(count)]
    return "".join(f"    {line}\n" for line in lines)
