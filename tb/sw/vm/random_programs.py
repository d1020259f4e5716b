"""Random programs of the algorithm language, as text that is well typed.

A program has vectors of all types, functions that read and reduce them in random ways, and loops of
few rounds. Some programs fail while they run: by an index that is ``none``, by a value that does
not fit, by a division by 0. Most arithmetic fits, because its operands have few bits.
"""

from hypothesis import strategies as st


__all__ = ["program_texts"]


_VECTORS = {"uint": ("a", "b"), "bool": ("c",), "vertex": ("p",), "fixed": ("x", "y")}
_INITIAL = {"uint": ("0", "infinity", "lambda v: uint(v) * 3", "lambda v: edges.out_degree(v)"),
            "bool": ("False", "lambda v: edges.in_degree(v) > 1"),
            "vertex": ("lambda v: v", "none", "0"),
            "fixed": ("0", "0.5", "3", "1.75", "200.5", "lambda v: 0.25")}
_REDUCTIONS = {"uint": ("min", "max", "+", "or"), "bool": ("or",), "vertex": ("min", "max"),
               "fixed": ("min", "max", "+")}
_NUMBERS = ("0", "1", "2", "5", "31", "amount", "turn", "edges.num_vertices", "infinity",
            "2147483648")


class _Writer:
    """Writes one program from choices that Hypothesis draws."""

    def __init__(self, draw):
        self._draw = draw
        self._lines = []
        self._functions = 0
        self._vectors = {}
        for kind, names in _VECTORS.items():
            for name in names:
                self._vectors[name] = kind

    def text(self):
        lines = ["@program", "def drawn(edges: edgeset, source: vertex = 0, amount: uint = 3):"]
        lines += [f"    {name} = vector({kind}, {self._pick(*_INITIAL[kind])})"
                  for name, kind in self._vectors.items()]
        body = ["turn = 0", f"a[source] = {self._pick('0', '7', 'amount')}",
                self._pick("some = vertexset(source)", "some = vertices")]
        for _ in range(self._count(2, 4)):
            body += self._step()
        lines += [f"    {line}" for line in self._lines + body]
        return "\n".join([*lines, f"    return {', '.join(self._vectors)}", ""])

    # Choices

    def _count(self, least, most):
        return self._draw(st.integers(least, most))

    def _pick(self, *choices):
        return self._draw(st.sampled_from(choices))

    def _chance(self, of):
        """True once in so many times."""
        return self._count(0, of - 1) == of - 1

    # Instructions of the host

    def _step(self):
        kind = self._pick("loop", "edges", "vertices", "where", "sum", "fixpoint", "queue")
        match kind:
            case "loop":
                inner = ["turn += 1", f"some = {self._edges('some', True)}"]
                inner += self._pick([], [f"some.apply({self._of_vertex()})"],
                                    [f"some = some.where({self._filter()})"])
                return [f"limit = turn + {self._count(1, 3)}",
                        "while len(some) > 0 and turn < limit:",
                        *(f"    {line}" for line in inner)]
            case "edges":
                return [self._edges("some", False)]
            case "vertices":
                return [f"{self._pick('vertices', 'some')}.apply({self._of_vertex()})"]
            case "where":
                return [f"some = {self._pick('vertices', 'some')}.where({self._filter()})"]
            case "sum":
                result = self._pick("uint", "bool", "fixed")
                few = " & 1023" if result == "uint" and not self._chance(8) else ""
                name = self._function("v", lambda scope: [
                    f"return {self._load(result, scope)}{few}"])
                total = f"total{self._functions}"
                return [f"{total} = {self._pick('vertices', 'some')}.sum({name})",
                        f"if {total} > 2:", "    turn += 1"]
            case "fixpoint":
                vector, form = self._pick(("a", "a[dst].min(a[src] + weight)"),
                                          ("b", "b[dst].max(min(b[src], a[dst]))"),
                                          ("a", "a[dst] |= a[src]"),
                                          ("a", "a[dst] |= a[src] << 3 | 1"),
                                          ("a", "a[dst] |= min(a[src] + 1, 64)"),
                                          ("b", "b[dst].max(min(b[src] + 3, 40))"),
                                          ("p", "p[dst].min(p[src])"),
                                          ("c", "c[dst] |= c[src] and b[dst] > 1"))
                name = self._function("src, dst, weight", lambda scope: [form])
                return [self._pick("some = vertices", "some = vertexset(source)"), "while some:",
                        f"    some = edges.from_(some).apply_modified({name}, {vector})"]
        name = self._function("src, dst, weight", lambda scope: [
            f"a[dst].min(a[src] + {self._pick('weight', '1', 'b[src]')})"])
        queue = f"queue{self._functions}"
        return [f"{queue} = PriorityQueue(a, source, delta={self._pick('1', '5', 'infinity')})",
                f"limit = turn + {self._count(2, 9)}",
                f"while len({queue}) > 0 and turn < limit:", "    turn += 1",
                f"    near = {queue}.dequeue()",
                f"    edges.from_(near).apply_update_priority({name}, {queue})"]

    def _edges(self, source, modified):
        chain = "edges" + self._pick("", ".transpose()") + self._pick("", f".from_({source})")
        if self._chance(2):
            chain += f".to({self._filter()})"
        ways = {}
        name = self._function(self._pick("src, dst", "src, dst, weight"),
                              lambda scope: self._changes(scope, ways))
        if not modified:
            return f"{chain}.apply({name})"
        return f"{chain}.apply_modified({name}, {self._pick(*ways)})"

    def _of_vertex(self):
        return self._function("v", lambda scope: self._changes(scope, {}))

    def _filter(self):
        return self._function("v", lambda scope: [f"return {self._value('bool', scope, 2)}"])

    # Functions

    def _function(self, parameters, write):
        name = f"f{self._functions}"
        self._functions += 1
        first, *others = parameters.split(", ")
        scope = {first: "vertex"} | dict.fromkeys(others[:1], "vertex") \
            | dict.fromkeys(others[1:], "uint")
        lines = []
        if self._chance(3):
            kind = self._pick(*_VECTORS)
            lines.append(f"own = {self._load(kind, scope)}")
            scope["own"] = kind
        lines += write(scope)
        self._lines += [f"def {name}({parameters}):", *(f"    {line}" for line in lines)]
        return name

    def _changes(self, scope, ways):
        """Statements that change vectors; each vector always in the same way."""
        lines = []
        for _ in range(self._count(1, 2)):
            change = self._change(scope, ways)
            if self._chance(3):
                lines += [f"if {self._value('bool', scope, 2)}:", f"    {change}"]
                if self._chance(2):
                    lines += ["else:", f"    {self._change(scope, ways)}"]
            else:
                lines.append(change)
        return lines

    def _change(self, scope, ways):
        own = "v" in scope
        vector = self._pick(*self._vectors)
        kind = self._vectors[vector]
        way = ways.setdefault(vector, self._pick(
            *_REDUCTIONS[kind], *(("=",) * 4 if own else ())))
        if way == "=":
            return f"{vector}[v] = {self._value(kind, scope, 2)}"
        if own:
            index = f"p[{self._index('v', scope)}]"
        else:
            index = self._pick("dst", "dst", "dst", "src", self._vertex(scope))
        value = self._value(kind, scope, 2)
        if way == "+":
            # Most sums of whole numbers fit. Those of fixed point have fewer fraction bits then.
            if kind == "uint" and not self._chance(8):
                value = f"({self._load(kind, scope)} & 15)"
            return f"{vector}[{index}] += {value}"
        if way == "or":
            return f"{vector}[{index}] |= {value}"
        return f"{vector}[{index}].{way}({value})"

    # Expressions. The left operand is never a number, so the type is always known.

    def _vertex(self, scope):
        names = [name for name, kind in scope.items() if kind == "vertex" and name != "own"]
        return self._pick(*names, *names, f"p[{self._index(names[0], scope)}]",
                          f"vertex(({self._load('uint', scope)} & 1023) % edges.num_vertices)",
                          f"min({names[0]}, {names[-1]})")

    def _index(self, name, scope):
        """A vertex, which may be an element of a vector once in a while."""
        return self._pick(*(other for other in ("src", "dst", "v") if other in scope), name)

    def _load(self, kind, scope):
        names = [name for name, known in scope.items() if known == kind]
        vector = self._pick(*_VECTORS[kind])
        simple = f"{vector}[{self._vertex(scope)}]" if self._chance(3) else \
            f"{vector}[{self._index(next(iter(scope)), scope)}]"
        return self._pick(simple, *names) if names else simple

    def _value(self, kind, scope, depth):
        left = self._load(kind, scope)
        if depth == 0 or self._chance(3):
            return left
        if self._chance(6):
            return (f"({left} if {self._value('bool', scope, depth - 1)} else "
                    f"{self._value(kind, scope, depth - 1)})")
        return {"uint": self._uint, "bool": self._bool, "vertex": self._any_vertex,
                "fixed": self._fixed}[kind](left, scope, depth - 1)

    def _uint(self, left, scope, depth):
        form = self._pick("number", "operation", "~", "degree", "converted", "scaled", "least")
        match form:
            case "number":
                return self._pick(*_NUMBERS)
            case "~":
                return f"~{left}"
            case "degree":
                return f"edges.{self._pick('out', 'in')}_degree({self._vertex(scope)})"
            case "converted":
                return f"uint({self._load(self._pick('vertex', 'bool'), scope)})"
            case "scaled":
                degree = f"edges.in_degree({next(iter(scope))})"
                if self._chance(8):
                    return f"{left} * ({self._pick(*_NUMBERS)} / {degree})"
                return (f"({left} & 262143) * "
                        f"{self._pick('0.75', f'(1 / {degree})', f'(3 / ({degree} | 3))')}")
        right = self._pick(self._value("uint", scope, depth), *_NUMBERS)
        if form == "least":
            return f"{self._pick('min', 'max')}({left}, {right})"
        operation = self._pick("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
        if operation in "&|^" or self._chance(12):
            return f"({left} {operation} {right})"
        return {"+": f"(({left} & 65535) + ({right} & 65535))",
                "-": self._pick(f"({left} - min({left}, {right}))",
                                f"(max({left}, {right} & 255) - ({right} & 255))"),
                "*": f"(({left} & 4095) * ({right} & 4095))",
                "//": f"(({left} & 65535) // ({right} & 15 | 1))",
                "%": f"(({left} & 65535) % ({right} & 15 | 1))",
                "<<": f"({left} << ({right} & 31))", ">>": f"({left} >> ({right} & 31))"}[operation]

    def _bool(self, left, scope, depth):
        if self._chance(2):
            return (f"({left} {self._pick('and', 'or')} not "
                    f"{self._value('bool', scope, depth)})")
        kind = self._pick("uint", "vertex", "fixed")
        operation = self._pick("==", "!=", "<", "<=", ">", ">=")
        right = self._pick(self._value(kind, scope, depth),
                           {"uint": "amount", "vertex": "source", "fixed": "1.5"}[kind])
        return f"({self._load(kind, scope)} {operation} {right})"

    def _any_vertex(self, left, scope, depth):
        return self._pick(self._vertex(scope), "none", "source", f"max({left}, source)")

    def _fixed(self, left, scope, depth):
        right = self._value("fixed", scope, depth)
        number = self._value("uint", scope, depth)
        # It is no number of the text.
        any_number = f"({number} | b[{next(iter(scope))}])"
        return self._pick(f"({left} + {right})", f"{left} * 0.625", f"{left} * ({number} & 3)",
                          f"{left} / ({number} & 7 | 1)", f"{left} * (1 / ({any_number} & 65535))",
                          f"(max({left}, {right}) - min({left}, {right}))", "2.5", "1000.5",
                          f"min({left}, {right})", f"({left} - {right})", f"{left} * {number}",
                          f"{left} / {number}")


@st.composite
def program_texts(draw):
    """The texts of random programs, each called ``drawn``."""
    return _Writer(draw).text()
