"""GraphIR as text, in the form of UGF's figure 4-1: arguments in ``()``, metadata in ``<>``."""

import dataclasses
import enum
import textwrap
from fractions import Fraction

from sw.lang import facts, graph_ir as ir
from sw.lang.types import WORD, Type


__all__ = ["shown"]


_WIDTH = 100
_FACT = 68  #: Of a fact, which stands within loops.
_STEP = " " * 4


def shown(program: ir.GraphProgram) -> str:
    """The program as text of many lines. Places in the source are left out.

    Parameters
    ----------
    program : GraphProgram
        A program, after passes or not.
    """
    given = ", ".join(_argument(argument) for argument in program.arguments)
    body = [*(line for vector in program.vectors for line in _vector(vector)),
            *(line for function in program.functions for line in _function(function)),
            *_call("Function main", {}, [], _block(program.body))]
    needs = {"needs": program.needs} if program.needs else {}
    return "\n".join([*_call(f"Program {program.name}", needs, [given], body)]) \
        + f" -> {', '.join(program.outputs)}\n"


def _argument(argument):
    text = f"{argument.name}: {argument.type.value}"
    if argument.default is None:
        return text
    return f"{text} = {_number(argument.default, argument.type)}"


def _vector(vector):
    name = f"[{vector.variable}]" if vector.variable else ""
    return _head("Vector", vector.metadata, f" {vector.name}{name}: {vector.type.value} = "
                                            f"{_value(vector.initial)}")


def _function(function):
    return _call(f"Function {function.name}", {}, function.parameters, _block(function.body))


# Instructions and statements

def _block(body):
    return [line for node in body for line in _instruction(node)]


def _instruction(node):
    label = getattr(node, "label", None)
    name = (f"#{label}# " if label else "") + type(node).__name__
    arguments, blocks = _arguments(node)
    return _call(name, getattr(node, "metadata", {}), arguments, *map(_block, blocks))


def _arguments(node):
    """The arguments of an instruction that are no blocks, and its blocks."""
    match node:
        case ir.Let() | ir.Assign():
            return [node.name, _value(node.value)], ()
        case ir.VectorStore() | ir.ElementStore():
            return [f"{node.vector}[{_value(node.index)}]", _value(node.value)], ()
        case ir.Reduce():
            return [node.operation, f"{node.vector}[{_value(node.index)}]",
                    _value(node.value)], ()
        case ir.Give():
            return [_value(node.value)], ()
        case ir.Branch() | ir.HostBranch():
            return [_value(node.condition)], (node.then, node.otherwise)
        case ir.WhileLoop():
            return [_value(node.condition)], (node.body,)
        case ir.ForLoop():
            return [node.name, _value(node.count)], (node.body,)
        case ir.NewVertexSet():
            return [node.name, *map(_value, node.vertices)], ()
        case ir.NewQueue():
            delta = [] if node.delta is None else [f"delta={_value(node.delta)}"]
            return [node.name, node.vector, *map(_value, node.vertices), *delta], ()
        case ir.Dequeue():
            return [node.queue, node.output_vset], ()
        case ir.EdgeSetIterator():
            return _edges(node), ()
        case ir.VertexSetIterator():
            return [node.input_vset, node.apply_f], ()
        case ir.VertexFilter():
            return [node.input_vset, node.output_vset, node.filter], ()
    raise TypeError(f"no instruction: {type(node).__name__}")


def _edges(node):
    graph = "edges.transpose()" if node.transposed else "edges"
    sets = [node.input_vset] + [node.output_vset] * (node.output_vset is not None)
    filters = [] if node.to_filter is None else [node.to_filter]
    tracking = [] if node.tracking is None else [f"tracking={node.tracking}"]
    return [graph, *sets, node.apply_f, *filters, *tracking]


def _call(name, metadata, arguments, *blocks):
    """The lines of ``name<metadata>(arguments, {block}, …)``."""
    inside = ", ".join(arguments)
    opening = "{" if blocks and blocks[0] else "{}" if blocks else ""
    inside += ", " * bool(inside and opening) + opening
    lines = _head(name, metadata, f"({inside}")
    for i, block in enumerate(blocks):
        lines += [_STEP + line for line in block]
        if i + 1 < len(blocks):
            following = "{" if blocks[i + 1] else "{}"
            if block:
                lines.append(f"}}, {following}")
            else:
                lines[-1] += f", {following}"
        elif block:
            lines.append("}")
    lines[-1] += ")"
    return lines


def _head(name, metadata, rest):
    """The lines before the first block: on one line, or an entry of the metadata on each."""
    if not metadata:
        return [name + rest]
    entries = [_fact(key, value) if isinstance(value, facts.Fact)
               else f"{key}={_hybrid(value) if key == 'hybrid' else _entry(value)}"
               for key, value in sorted(metadata.items())]
    line = f"{name}<{', '.join(entries)}>{rest}"
    if len(line) <= _WIDTH - 4 * len(_STEP):
        return [line]
    *most, last = [line for entry in entries for line in (f"{entry},").split("\n")]
    last = f"{2 * _STEP}{last.removesuffix(',')}>"
    end = [last + rest] if len(last + rest) <= _WIDTH - 2 * len(_STEP) else [last, _STEP + rest]
    return [f"{name}<", *(2 * _STEP + line for line in most), *end]


def _hybrid(value):
    """The two schedules of a hybrid one, each on a line."""
    *choice, first, second = map(_entry, value)
    return f"({', '.join(choice)},\n{_STEP}{first},\n{_STEP}{second})"


def _entry(value):
    """An entry of the metadata."""
    match value:
        case bool():
            return str(value).lower()
        case enum.Enum():
            return value.name
        case facts.Access() | facts.Line() | facts.Stamp():
            return str(value)
        case tuple() | list():
            return f"({', '.join(map(_entry, value))})"
        case dict():
            return "<" + ", ".join(f"{key}={_entry(each)}"
                                   for key, each in sorted(value.items())) + ">"
        case ir.Node():
            return _value(value)
        case frozenset():
            return f"{{{', '.join(sorted(map(_entry, value)))}}}"
    return str(value)


def _fact(key, fact):
    """A fact: what it says, and why, on lines that are not too long."""
    fields = [(field.name, value) for field in dataclasses.fields(fact)
              if field.name != "why" and (value := getattr(fact, field.name)) != field.default]
    said = ", ".join(_entry(value) if len(fields) == 1 else f"{name}={_entry(value)}"
                     for name, value in fields)
    return textwrap.fill(f"{key}=[{said}{'; ' * bool(said)}{fact.why}]", _FACT,
                         subsequent_indent=_STEP, break_long_words=False, break_on_hyphens=False)


# Expressions

def _value(node, inside=False):
    """An expression. ``inside`` another, an operation has parentheses."""
    match node:
        case ir.Literal():
            return _number(node.value, node.type)
        case ir.Uniform():
            return _value(node.value, inside)
        case ir.Local() | ir.HostName():
            return node.name
        case ir.VectorLoad():
            return f"{node.vector}[{_value(node.index)}]"
        case ir.Degree():
            return f"{'out' if node.leaving else 'in'}_degree({_value(node.vertex)})"
        case ir.SetSize():
            return f"VertexSetSize({node.name})"
        case ir.GraphSize():
            return node.count
        case ir.VertexSum():
            return f"VertexSum({node.input_vset}, {node.function})"
        case ir.Binary(operation="min" | "max"):
            return f"{node.operation}({_value(node.left)}, {_value(node.right)})"
        case ir.Unary(operation="uint" | "vertex"):
            return f"{node.operation}({_value(node.operand)})"
    text = _operation(node)
    return f"({text})" if inside else text


def _operation(node):
    match node:
        case ir.Unary(operation="recip"):
            return f"1 / {_value(node.operand, True)}"
        case ir.Binary(operation="times"):
            return f"{_value(node.left, True)} / {_value(node.right.operand, True)}"
        case ir.Unary(operation="not"):
            return f"not {_value(node.operand, True)}"
        case ir.Unary():
            return f"{node.operation}{_value(node.operand, True)}"
        case ir.Select():
            return (f"{_value(node.then, True)} if {_value(node.condition, True)} "
                    f"else {_value(node.otherwise, True)}")
    return f"{_value(node.left, True)} {node.operation} {_value(node.right, True)}"


def _number(value, kind):
    if kind is Type.BOOL:
        return "true" if value else "false"
    if value == WORD - 1 and kind in (Type.UINT, Type.WHOLE, Type.VERTEX):
        return "none" if kind is Type.VERTEX else "infinity"
    if isinstance(value, Fraction) and value.denominator > 1:
        nearest = repr(float(value))
        return nearest if Fraction(nearest) == value else str(value)
    return str(value)
