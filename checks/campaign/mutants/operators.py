"""Operators: each makes small faults of one kind from the syntax tree of a Python source.

An operator is a function of :data:`OPERATORS`. It takes a node and gives pairs: a part of the node
(or the node), and what stands there instead, a node or a text. The kinds are those that people make
in RTL, kernels and models: a condition the wrong way round, a bound off by one, an operand in the
place of the other, an assignment or a reset that is missing.

:func:`exempt` says which parts of a source no test can or should notice.
"""

import ast

from checks.campaign.mutants import opposites


__all__ = ["OPERATORS", "exempt"]


#: {name: operator}, in the order of the file.
OPERATORS = {}


def _operator(function):
    OPERATORS[function.__name__.strip("_")] = function
    return function


def _callee(node):
    """Last name of the function that a node calls; empty if it is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _conditions(node):
    """(condition, whether it is a signal) for the conditions that a node decides by."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield node.test, False
    elif isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield condition, False
    elif _callee(node) in ("If", "Elif") and len(node.args) == 1:
        yield node.args[0], True


@_operator
def _negate(node):
    """A condition is the wrong way round. Comparisons and negations have operators of their own."""
    for condition, signal in _conditions(node):
        if isinstance(condition, ast.UnaryOp) or (
                isinstance(condition, ast.Compare) and len(condition.ops) == 1
                and type(condition.ops[0]) in opposites.NEGATED):
            continue
        yield condition, (ast.Compare(condition, [ast.Eq()], [ast.Constant(0)]) if signal
                          else ast.UnaryOp(ast.Not(), condition))


@_operator
def _compare(node):
    """A comparison is another: of equality its contrary, of order with or without equality."""
    if isinstance(node, ast.Compare):
        for index, operation in enumerate(node.ops):
            other = opposites.COMPARISONS.get(type(operation))
            if other is not None:
                ops = [*node.ops[:index], other(), *node.ops[index + 1:]]
                yield node, ast.Compare(node.left, ops, node.comparators)


@_operator
def _logic(node):
    """``and`` is ``or``; ``not`` or ``~`` is missing."""
    if isinstance(node, ast.BoolOp):
        yield node, ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        yield node, node.operand


@_operator
def _always(node):
    """A condition holds always, or never; a choice is always one of its sides."""
    for condition, signal in _conditions(node):
        if not isinstance(condition, ast.Constant):
            yield condition, ast.Constant(0 if signal else False)
            if not isinstance(node, ast.While):
                yield condition, ast.Constant(1 if signal else True)
    if _callee(node) == "Mux" and len(node.args) == 3:
        for side in node.args[1:]:
            yield node, side


def _is_text(node):
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)))


@_operator
def _arithmetic(node):
    """An operation of arithmetic or on bits is another. Joins of texts and lists stay."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        other = opposites.ARITHMETIC.get(type(node.op))
        if other is None or _statement_of_a_domain(node) or any(
                _is_text(side) or isinstance(side, (ast.List, ast.ListComp)) for side in sides):
            return
        if isinstance(node, ast.BinOp):
            yield node, ast.BinOp(node.left, other(), node.right)
        else:
            signs = f"{opposites.SIGNS[other]}="
            yield node, f"{ast.unparse(node.target)} {signs} {ast.unparse(node.value)}"


@_operator
def _operand(node):
    """An operand is missing: the second, or the first of a sum or of what is joined bit by bit."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            rest = [other for other in node.values if other is not value]
            yield node, ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
    elif isinstance(node, ast.BinOp) and not _is_text(node.left) and not _is_text(node.right):
        yield node, node.left
        if isinstance(node.op, opposites.JOINING):
            yield node, node.right


@_operator
def _swap(node):
    """Two operands that have different meanings change places."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, opposites.ORDERED) and not (
            _is_text(node.left)):
        yield node, ast.BinOp(node.right, node.op, node.left)
    name = _callee(node)
    if name == "Cat" and len(node.args) > 1:
        yield node, ast.Call(node.func, node.args[::-1], node.keywords)
    elif name in ("Mux", *opposites.ORDERED_CALLS) and len(node.args) > 2:
        *first, one, two = node.args
        yield node, ast.Call(node.func, [*first, two, one], node.keywords)


@_operator
def _opposite(node):
    """A function or an instruction is its opposite, such as ``min`` for ``max``."""
    other = opposites.CALLS.get(_callee(node))
    if other is not None:
        function = (ast.Attribute(node.func.value, other, ast.Load())
                    if isinstance(node.func, ast.Attribute) else ast.Name(other, ast.Load()))
        yield node, ast.Call(function, node.args, node.keywords)


@_operator
def _more(node):
    """A whole number is one more; a truth value is the other."""
    types = getattr(node, "returns", None), getattr(node, "annotation", None)
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Constant) and part not in types:
            if isinstance(part.value, bool):
                yield part, ast.Constant(not part.value)
            elif isinstance(part.value, int):
                yield part, ast.Constant(part.value + 1)


@_operator
def _less(node):
    """A whole number is one less."""
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0:
        yield node, ast.Constant(node.value - 1)


@_operator
def _bound(node):
    """The end of a slice or of a range, which is no plain number, is one less."""
    end = None
    if isinstance(node, ast.Slice):
        end = node.upper
    elif _callee(node) == "range" and node.args:
        end = node.args[min(1, len(node.args) - 1)]
    if end is not None and not isinstance(end, (ast.Constant, ast.Starred)):
        yield end, ast.BinOp(end, ast.Sub(), ast.Constant(1))


@_operator
def _reset(node):
    """A signal has no value of its own after a reset."""
    if isinstance(node, ast.Call):
        for word in node.keywords:
            if word.arg == "init" and not (isinstance(word.value, ast.Constant)
                                           and not word.value.value):
                yield node, ast.Call(node.func, node.args,
                                     [other for other in node.keywords if other is not word])


def _statement_of_a_domain(node):
    """Whether a statement is Amaranth's ``m.d.comb += ...``."""
    target = getattr(node, "target", None)
    return (isinstance(node, ast.AugAssign) and isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Attribute) and target.value.attr == "d")


@_operator
def _drop(node):
    """A statement is missing: an assignment to a signal, a field, or a variable that has a value
    before; a call; an exception; what ends a turn of a loop."""
    if _statement_of_a_domain(node) and isinstance(node.value, ast.List) and (
            len(node.value.elts) > 1):
        for part in node.value.elts:
            yield node.value, ast.List([one for one in node.value.elts if one is not part],
                                       ast.Load())
    elif isinstance(node, (ast.AugAssign, ast.Raise, ast.Break, ast.Continue)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or (
            isinstance(node, ast.Assign) and all(
                isinstance(target, (ast.Subscript, ast.Attribute)) for target in node.targets)):
        yield node, "pass"


# Changes that no test can or should notice

#: Calls that make assertions of RTL.
_ASSERTIONS = ("Assert", "Assume", "Cover", "check_stream")

#: Functions whose calls are left alone, with the reason.
_CALLS = {
    **dict.fromkeys(_ASSERTIONS, "an assertion of RTL that is missing is no fault of the unit"),
    "Option": "options' help; a command's test sees a wrong default elsewhere",
    "Argument": "as an option",
    "collect": "a garbage collection changes times only", "freeze": "as a collection",
    "SdramTiming": "numbers of data sheets: a test would be a second copy",
    "warn": "a text", "need": "says which packages a command installs; the tests have all",
}

#: Keyword arguments that are left alone: texts, names and places in generated files, limits of
#: time, checks of equal lengths, and whether a payload has a reset, which nobody may read.
_KEYWORDS = frozenset((
    "attrs", "description", "encoding", "epilog", "help", "hidden", "label", "markup", "metavar",
    "name", "no_args_is_help", "overflow", "path", "reset_less", "show_default", "soft_wrap",
    "src_loc", "src_loc_at", "stacklevel", "strict", "timeout", "title"))


def _only_asserts(node, own=frozenset()):
    """Whether a statement of RTL makes nothing but assertions, and signals of these names."""
    if isinstance(node, (ast.With, ast.For, ast.If)):
        return all(_only_asserts(one, own) for one in [*node.body, *getattr(node, "orelse", ())])
    if isinstance(node, ast.FunctionDef):
        own = {name.id for one in ast.walk(node) if isinstance(one, ast.Assign)
               for name in one.targets if isinstance(name, ast.Name)}
        body = node.body[1:] if ast.get_docstring(node) else node.body
        return any(_callee(one) in _ASSERTIONS for one in ast.walk(node)) and all(
            isinstance(one, ast.Assign) or _only_asserts(one, own) for one in body)
    if _statement_of_a_domain(node):
        made = node.value.elts if isinstance(node.value, ast.List) else [node.value]
        made = [one.value if isinstance(one, ast.Starred) else one for one in made]
        made = [one.elt if isinstance(one, ast.GeneratorExp) else one for one in made]
        return all(_callee(one) in _ASSERTIONS or (
            _callee(one) == "eq" and getattr(one.func.value, "id", "") in own) for one in made)
    return isinstance(node, ast.Expr) and _callee(node.value) in _ASSERTIONS


def exempt(node) -> bool:
    """Whether a node and all below it are left alone.

    These are messages of errors, progress, layout of texts, types, names in generated files, limits
    of time, and checks themselves. A fault that is merely hard to notice is not left out.
    """
    if isinstance(node, ast.stmt) and _only_asserts(node):
        return True
    if isinstance(node, ast.Call):
        name = _callee(node)
        progress = name == "print" and any(word.arg in ("file", "flush") for word in node.keywords)
        return progress or name in _CALLS or name.lower().endswith("error")
    if isinstance(node, ast.BinOp):          # columns of a text
        return isinstance(node.op, ast.Mult) and _is_text(node.left)
    if isinstance(node, ast.Subscript):
        return getattr(node.value, "id", "") == "Annotated"
    if isinstance(node, ast.keyword):
        return node.arg in _KEYWORDS
    if isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, ast.Raise):          # says what cannot be: nothing gets there
        return _callee(node.exc) == "AssertionError"
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id in ("__all__", "__slots__")
                   for target in node.targets)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name == "__repr__"
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test) or "__name__" in ast.unparse(node.test)
    return False
