"""C++ expressions for values and operators.

A value of at most 64 bits is a word. A wider value is several words, the lowest first. Words have
zeros above their value. ``sim/harness/words.h`` has the operators that C++ does not have.
"""

from .netlist import cut, width_of


__all__ = ["WORD", "ValueExpressions", "ones", "words_of"]


#: Bits of a word.
WORD = 64


def words_of(width) -> int:
    """Words of a value."""
    return -(-width // WORD)


def ones(width) -> str:
    """A mask of the lowest bits."""
    return f"0x{(1 << width) - 1:x}ull"


def _runs(value):
    """The pieces of a value, each with a number: a single bit that is repeated is one piece."""
    index = 0
    while index < len(value):
        count = 1
        if value[index].width == 1 and value[index].node != -1:
            while index + count < len(value) and value[index + count] == value[index]:
                count += 1
        yield value[index], count
        index += count


class ValueExpressions:
    """Expressions in a function that has the nodes ``local`` as variables, and the others in its
    state ``s``."""

    def __init__(self, nodes, local):
        self._nodes, self._local = nodes, local

    def names(self, n):
        """Variables that hold the words of a local node."""
        count = words_of(self._nodes[n].width)
        if self._nodes[n].kind == "array":
            return [f"v{n}[{i}]" for i in range(count)]
        return [f"v{n}_{i}" for i in range(count)] if count > 1 else [f"v{n}"]

    def declared(self, n):
        """The declarators of a local node's variables."""
        node = self._nodes[n]
        return [f"v{n}[{words_of(node.width)}]"] if node.kind == "array" else self.names(n)

    def _name(self, n, word):
        if n in self._local:
            return self.names(n)[word]
        return f"s.n{n}[{word}]" if self._nodes[n].width > WORD else f"u64(s.n{n})"

    def _bits(self, piece, low, width):
        """`width` bits of a piece from `low` on, at most a word."""
        if piece.node == -1:
            return f"0x{piece.low >> low & ((1 << width) - 1):x}ull"
        low += piece.low
        size = self._nodes[piece.node].width
        word, shift = divmod(low, WORD)
        text = self._name(piece.node, word)
        if shift:
            text = f"({text} >> {shift})"
        if shift + width > WORD:
            text = f"({text} | {self._name(piece.node, word + 1)} << {WORD - shift})"
            has = WORD
        else:
            has = min(size - word * WORD, WORD) - shift
        return text if has <= width else f"({text} & {ones(width)})"

    def word(self, value, index=0):
        """A word of a value."""
        first = index * WORD
        last = min(first + WORD, width_of(value))
        terms, at = [], 0
        for piece, count in _runs(value):
            low, high = max(at, first), min(at + piece.width * count, last)
            text = None
            if low < high and count > 1:
                text = f"((0 - {self._bits(piece, 0, 1)}) & {ones(high - low)})"
            elif low < high and (piece.node != -1 or
                                 piece.low >> low - at & ((1 << high - low) - 1)):
                text = self._bits(piece, low - at, high - low)
            if text is not None:
                terms.append(f"({text} << {low - first})" if low > first else text)
            at += piece.width * count
        if not terms:
            return "0ull"
        return terms[0] if len(terms) == 1 else f"({' | '.join(terms)})"

    def words(self, value):
        """All words of a value."""
        return [self.word(value, index) for index in range(words_of(width_of(value)))]

    def array(self, value, extra=0):
        """A temporary array of the words of a value, with more words of zeros behind."""
        return f"Words<{words_of(width_of(value)) + extra}>{{{', '.join(self.words(value))}}}"

    def operator(self, n, node):
        """Statements before, and the expression for each word of a node."""
        if node.width <= WORD:
            return [], [self._narrow(node)]
        return self._wide(n, node)

    def _narrow(self, node):
        """A node of at most a word."""
        kind, args, width = node.kind, node.args, node.width
        wide = width_of(args[0]) > WORD
        a = self.word(args[0])                          # of a wide value the lowest word
        b = self.word(args[1]) if len(args) > 1 else None
        match kind:
            case "&" | "|" | "^":
                return f"{a} {kind} {b}"
            case "~":
                return f"~{a} & {ones(width)}"
            case "+" | "-" | "*":
                text = f"{a} {kind} {b}" if len(args) == 2 else f"0 - {a}"
                return text if width == WORD else f"({text}) & {ones(width)}"
            case "m":
                return f"{a} ? {b} : {self.word(args[2])}"
            case "r|" | "b":
                return f"({' | '.join(self.words(args[0]))}) != 0"
            case "r&":
                size = width_of(args[0])
                return " & ".join(f"({text} == {ones(min(WORD, size - i * WORD))})"
                                  for i, text in enumerate(self.words(args[0])))
            case "r^":
                return f"__builtin_parityll({' ^ '.join(self.words(args[0]))})"
            case "==" | "!=" if wide or max(map(len, args)) > 1:
                return f"({self._differences(*args)}) {kind} 0"
            case "==" | "!=":
                return f"{a} {kind} {b}"
            case "u<" | "u<=" | "u>" | "u>=" if wide:
                return f"compare({self.array(args[0])}, {self.array(args[1])}) {kind[1:]} 0"
            case "u<" | "u<=" | "u>" | "u>=":
                return f"{a} {kind[1:]} {b}"
            case "s<" | "s<=" | "s>" | "s>=":
                size = width_of(args[0])
                if wide:
                    return (f"compare({self._extended(args[0])}, {self._extended(args[1])}, true)"
                            f" {kind[1:]} 0")
                return f"signed_({a}, {size}) {kind[1:]} signed_({b}, {size})"
            case "<<" | "u>>":
                text = f"shift_{'left' if kind == '<<' else 'right'}({a}, {self._amount(args[1])})"
                return f"{text} & {ones(width)}" if width < WORD and kind == "<<" else text
            case "s>>":
                return f"shift_signed({a}, {self._amount(args[1])}, {width}) & {ones(width)}"
            case "part":
                return f"{self._part(node)}[0] & {ones(width)}"
            case "matches":
                return self._matches(node)
            case "lowest":
                return f"{a} ? ({b} & (0 - {b})) : 0"
            case "equals":
                return (f"equals<{width}, std::uint{node.extra}_t>({self._address(args[0])}, "
                        f"{self.word(args[1])})")
            case "element":
                return (f"element<std::uint{node.extra}_t>({self._address(args[1])}, "
                        f"{self.word(args[0])})")
            case "selected":
                return (f"selected<std::uint{node.extra}_t>({self.word(args[0])}, "
                        f"{self._address(args[1])})")
            case "lowest-bit":
                return f"{a} && {b} == 0x{1 << width_of(args[1]) - 1:x}ull"
        raise NotImplementedError(f"an operator {kind} of {width} bits")

    def _differences(self, a, b):
        """The bits in which two values differ, in any places: field by field, so that fields need
        not be put together."""
        edges = {0}
        for value in (a, b):
            at = 0
            for piece in value:
                at += piece.width
                edges |= {at, *range(at - piece.width + WORD, at, WORD)}
        places, terms, low = sorted(edges), [], 0
        for high in places[1:]:
            terms.append(f"({self.word(cut(a, low, high - low))}"
                         f" ^ {self.word(cut(b, low, high - low))})")
            low = high
        return " | ".join(terms)

    def _address(self, value):
        """The address of an array."""
        n = value[0].node
        return f"v{n}" if n in self._local else f"s.n{n}"

    def _amount(self, value):
        """A number of bits to shift by, at most as large as a word can say."""
        if width_of(value) <= WORD:
            return self.word(value)
        return f"({' | '.join(self.words(value)[1:])} ? ~0ull : {self.word(value)})"

    def _extended(self, value):
        """A temporary array of a signed value, whose sign fills the last word."""
        size = width_of(value)
        return f"extended({self.array(value)}, {size})"

    def _part(self, node):
        (value, offset), (stride, is_signed) = node.args, node.extra
        if is_signed:
            raise NotImplementedError("a part of a signed value")
        return (f"part<{words_of(node.width)}>({self.array(value)}, {self._amount(offset)}, "
                f"{stride}, false)")

    def _matches(self, node):
        value, tests = node.args[0], []
        for pattern in node.extra:
            mask = int("".join("0" if c == "-" else "1" for c in pattern), 2)
            wanted = int("".join("1" if c == "1" else "0" for c in pattern), 2)
            terms = []
            for index, text in enumerate(self.words(value)):
                full = (1 << min(WORD, width_of(value) - index * WORD)) - 1
                bits = mask >> index * WORD & full
                if bits:
                    left = text if bits == full else f"({text} & 0x{bits:x}ull)"
                    terms.append(f"({left} == 0x{wanted >> index * WORD & full:x}ull)")
            tests.append(f"({' & '.join(terms)})")
        return " | ".join(tests)

    def _wide(self, n, node):
        """A node of several words."""
        kind, args, width = node.kind, node.args, node.width
        count = words_of(width)
        last = ones(width - (count - 1) * WORD)
        match kind:
            case "array":
                return [], self.words(args[0])
            case "&" | "|" | "^":
                return [], [f"{x} {kind} {y}"
                            for x, y in zip(*map(self.words, args), strict=True)]
            case "~":
                return [], [f"~{x}" + (f" & {last}" if i == count - 1 else "")
                            for i, x in enumerate(self.words(args[0]))]
            case "m":
                return [], [f"{self.word(args[0])} ? {x} : {y}"
                            for x, y in zip(*map(self.words, args[1:]), strict=True)]
            case "-" if len(args) == 1:
                call = f"subtract(Words<{count}>{{}}, {self.array(args[0])})"
            case "+" | "-" | "*":
                name = {"+": "add", "-": "subtract", "*": "multiply"}[kind]
                call = f"{name}({self.array(args[0])}, {self.array(args[1])})"
            case "<<" | "u>>":
                call = (f"{'left' if kind == '<<' else 'right'}({self.array(args[0])}, "
                        f"{self._amount(args[1])})")
            case "s>>":
                call = (f"part<{count}>({self._extended(args[0])}, {self._amount(args[1])}, 1, "
                        "true)")
            case "part":
                call = self._part(node)
            case "lowest":
                call = f"lowest({self.array(args[1])}, {self.word(args[0])})"
            case _:
                raise NotImplementedError(f"an operator {kind} of {width} bits")
        return ([f"const auto w{n} = {call};"],
                [f"w{n}[{i}]" + (f" & {last}" if i == count - 1 else "") for i in range(count)])
