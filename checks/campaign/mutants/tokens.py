"""The operators for C++, on tokens: binary operators stand between spaces, and a statement that can
be missing stands alone on its line.

Comments, texts and lines of the preprocessor have no places. Nor have ``static_assert`` and
``template``.
"""

import re


__all__ = ["places"]


#: {name of an operator: {token: other token}}, as :mod:`checks.campaign.mutants.operators` names
#: them.
_TOKENS = {
    "compare": {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"},
    "logic": {"&&": "||", "||": "&&"},
    "arithmetic": {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<",
                   "&": "|", "|": "&", "^": "|", "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|="},
}
_TOKEN = re.compile(r"(?<=[\w)\]] )([=!<>]=|[<>+\-*/%&|^]|&&|\|\||<<|>>|[-+|&]=)(?= [\w(~!*&-])")

_NUMBER = re.compile(r"(?<![\w.'])(0x[0-9a-fA-F]+|\d+)(u?)(?![\w.'])")
_CONDITION = re.compile(r"\b(?:if|while) \(")
_NOT = re.compile(r"(?<=[ (])!(?=[\w(])")

#: A line with an assignment to what exists, or a call.
_STATEMENT = re.compile(r"(?m)^ +((?:[\w.\[\]()*+]|->|::)+(?: (?:[-+*/|&^]|<<|>>)?= .*|\(.*\));)$")

_BLANK = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"\w*\(.*?\)\w*"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'"""
    r"|(?m:^ *(?:#(?:\\\n|[^\n])*|template[^\n]*|static_assert[^\n]*))", re.DOTALL)


def places(text) -> list:
    """Tuples (begin, end, operator, empty place, context, new) for a text of bytes."""
    # One character a byte, so that places are those of the bytes.
    text = text.decode("latin-1")
    bare = _BLANK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found = []

    def add(operator, begin, end, new):
        first = text.rfind("\n", 0, begin) + 1
        found.append((begin, end, operator, "", " ".join(text[first:text.find("\n", end)].split()),
                      new))

    for match in _TOKEN.finditer(bare):
        for operator, tokens in _TOKENS.items():
            if match[1] in tokens:
                add(operator, match.start(1), match.end(1), tokens[match[1]])
    for match in _NUMBER.finditer(bare):
        value = int(match[1], 0)
        add("more", *match.span(), f"{value + 1}{match[2]}")
        if value:
            add("less", *match.span(), f"{value - 1}{match[2]}")
    for match in _NOT.finditer(bare):
        add("logic", *match.span(), "")
    for match in _CONDITION.finditer(bare):
        end = _closed(bare, match.end())
        if end is not None:
            inside = text[match.end():end]
            add("negate", match.end(), end, f"!({inside})")
    for match in _STATEMENT.finditer(bare):
        if not re.match(r"return\b|assert\b|throw\b", match[1]):
            add("drop", match.start(1), match.end(1), ";")
    return [(begin, end, operator, where, context.encode("latin-1").decode(),
             new.encode("latin-1").decode())
            for begin, end, operator, where, context, new in found]


def _closed(text, begin):
    """Where the bracket is closed that was opened just before ``begin``."""
    depth = 1
    for index in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return index
    return None
