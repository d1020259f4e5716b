"""C++ of a design that evaluates only the parts whose inputs have changed.

The text is a header with the state and the ports of the design, and files of functions, in a
namespace of the design's name:

``power_on(State&)``
    Gives states their initial values and settles the first cycle.
``direct(State&, const Ports&)``
    Takes inputs that the current cycle sees. Whether any has changed.
``commit(State&)``
    The clock edge: rows that are read and written, and registers. Reports failed assertions.
``take(State&, const Ports&)``
    Takes the other inputs, which the cycle after the edge sees.
``settle(State&)``
    Evaluates the marked parts. Afterwards all values of the cycle are known.
``show(const State&, Ports&)``
    Sets the outputs.

A value that changes marks the parts that read the value. A register takes its next value in
``settle`` if everything that reads the register has been evaluated by then (``at once``), and in
``commit`` otherwise. Parts that read inputs which are taken twice in a cycle may be evaluated
twice, so they and what they read wait for ``commit``.
"""

import textwrap
from collections.abc import Callable

from .blocks import schedule
from .expressions import WORD, ValueExpressions, words_of
from .netlist import cut, width_of
from .optimize import Design
from .partition import parts
from .statements import PartLines


__all__ = ["emitted"]


#: Nodes of a part. Measured on preset ``baseline``: with 64, one in twenty cycles a second less;
#: with 256 as many.
SIZE = 128

#: Values that change are stored and marked without a branch if at most so many words are marked,
#: and so many values stored. Measured on preset ``baseline``: 1.08 of the speed of branches.
FEW_MARKS, FEW_STORES = 2, 8

#: Marks of parts in a word. Code has shorter constants of 32 bits: 8 % fewer of its lines are
#: fetched in a cycle than with 64.
MARKS = 32

#: Parts that are looked at together. Parts that are neighbours often rest together.
GROUP = 8


def emitted(design: Design, name: str, *, direct=(), port_name: Callable[[str], str] = str) -> dict:
    """The C++ of a design: file name to text.

    Parameters
    ----------
    design : Design
    name : str
        The namespace, and the beginning of the files' names. The header is ``NAME.h``.
    direct : tuple of str
        Inputs that the current cycle sees. The others are seen in the cycle after the clock edge.
    port_name : callable
        The name in C++ of a port.
    """
    return _Emitter(design, name, direct, port_name).files()


def _type(width):
    """The C++ type of a value in the state, at most a word."""
    for bits in (8, 16, 32):
        if width <= bits:
            return f"std::uint{bits}_t"
    return "std::uint64_t"


def _member(name, width):
    """The declaration of a value in the state."""
    return (f"{_type(width)} {name}{{}};" if width <= WORD else
            f"std::uint64_t {name}[{words_of(width)}]{{}};")


def _places(name, width):
    """The words of a value in the state; none if it has no bits."""
    if not width:
        return []
    return [name] if width <= WORD else [f"{name}[{i}]" for i in range(words_of(width))]


def _store(name, words, width):
    """Statements that store words."""
    return [f"{place} = {text};"
            for place, text in zip(_places(name, width), words, strict=True)]


def _difference(name, words, width):
    """An expression that is not 0 if a value in the state has other words."""
    return "(" + " | ".join(f"(u64({place}) ^ u64({text}))" for place, text in
                            zip(_places(name, width), words, strict=True)) + ")"


class _Emitter:
    """The text of one design."""

    def __init__(self, design, name, direct, port_name):
        self._netlist, self._nodes, self._name = design.netlist, design.netlist.nodes, name
        self._port_name = port_name
        self._direct = [port for port in self._netlist.inputs if port in direct]
        self._parts = parts(design, SIZE)
        self._part_of = {n: index for index, part in enumerate(self._parts)
                         for n in (*part.nodes, *part.sinks)}
        self._mark_words = -(-len(self._parts) // MARKS)
        self._outputs = {piece.node for value in self._netlist.outputs.values()
                         for piece in value}
        self._readers = self._find_readers()
        self._visible = {n for part in self._parts for n in part.nodes if self._nodes[n].width
                         and (n in self._readers or n in self._outputs)}
        kinds = {kind: [n for n, node in self._nodes.items() if node.kind == kind]
                 for kind in ("register", "read", "write")}
        self._reads, self._writes = kinds["read"], kinds["write"]
        again = self._evaluated_again()
        self._at_once = {
            n for n in kinds["register"] if n not in self._outputs
            and not {self._part_of[n], *self._readers.get(n, ())} & again
            and all(reader <= self._part_of[n] for reader in self._readers.get(n, ()))}

    def _find_readers(self):
        """The parts that read a node from the state."""
        readers = {}
        for index, part in enumerate(self._parts):
            mine = set(part.nodes)
            for n in (*part.nodes, *part.sinks):
                for value in self._nodes[n].args:
                    for piece in value:
                        if piece.node >= 0 and piece.node not in mine:
                            readers.setdefault(piece.node, set()).add(index)
        return readers

    def _evaluated_again(self):
        """The parts that depend on a direct input in the same cycle."""
        found = set()
        work = [self._netlist.inputs[port] for port in self._direct]
        while work:
            for index in self._readers.get(work.pop(), ()):
                if index not in found:
                    found.add(index)
                    work += [n for n in self._parts[index].nodes if n in self._visible]
        return found

    def files(self):
        """The header, and the sources."""
        header = f'#include "{self._name}.h"\n#include "words.h"\n\nnamespace {self._name} {{\n\n'
        result = {f"{self._name}.h": self._header()}
        result[f"{self._name}.cpp"] = header + "\n".join(
            [self._power_on(), self._take("direct", self._direct),
             self._take("take", [port for port in self._netlist.inputs
                                 if port not in (*self._direct, "clk")]),
             self._commit(), self._settle(), self._show()]) + "}\n"
        for word in range(0, self._mark_words, 2):          # two words of parts in a file
            result[f"{self._name}_{word // 2}.cpp"] = header + "\n".join(
                self._settle_word(w) for w in range(word, min(word + 2, self._mark_words))) + "}\n"
        return result

    # State and ports

    def _header(self):
        nodes, lines = self._nodes, []
        for n, node in nodes.items():
            if node.kind in ("register", "read", "input") or n in self._visible:
                lines.append(_member(f"n{n}", node.width))
            if node.kind == "register" and n not in self._at_once:
                lines.append(_member(f"next{n}", node.width))
            if node.kind == "read":
                lines.append(_member(f"address{n}", width_of(node.args[0])))
            if node.kind == "write":
                lines += [_member(f"{field}{n}", width_of(value)) for field, value in
                          zip(("address", "data", "enable"), node.args, strict=True)]
            if node.kind == "check":
                lines.append(_member(f"failed{n}", 1))
        for index, memory in enumerate(self._netlist.memories):
            if memory.reads:
                count = words_of(memory.width)
                lines.append(f"{_type(memory.width)} m{index}[{memory.depth}]"
                             + (f"[{count}]" if count > 1 else "") + "{};")
        words = self._mark_words
        lines += [f"std::uint32_t {name}[{words}]{{}};" for name in ("active", "later", "dirty")]
        lines += [f"bool {name}[{max(1, len(ports))}]{{}};"
                  for name, ports in (("reading", self._reads), ("writing", self._writes))]
        ports = [(name, nodes[n].width) for name, n in self._netlist.inputs.items()]
        ports += [(name, width_of(value)) for name, value in self._netlist.outputs.items()]
        declared = [f"{_type(width)} {self._port_name(name)}{{}};" if width <= WORD else
                    f"std::array<std::uint32_t, {-(-width // 32)}> {self._port_name(name)}{{}};"
                    for name, width in ports]
        functions = ["void power_on(State&);", "bool direct(State&, const Ports&);",
                     "void commit(State&);", "void take(State&, const Ports&);",
                     "void settle(State&);", "void show(const State&, Ports&);",
                     *(f"void settle_{word}(State&);" for word in range(words))]
        return "\n".join([
            "#pragma once", "#include <array>", "#include <cstdint>", "",
            f"namespace {self._name} {{", "", "struct State {",
            *(f"    {line}" for line in lines), "};", "", "struct Ports {",
            *(f"    {line}" for line in declared), "};", "", *functions, "", "}", ""])

    def _power_on(self):
        out = []
        for n, node in self._nodes.items():
            if node.kind == "register":
                out += self._initial(f"n{n}", node.extra, node.width)
        for index, memory in enumerate(self._netlist.memories):
            if memory.reads:
                for row, number in enumerate(memory.rows):
                    out += self._initial(f"m{index}[{row}]", number, memory.width)
        return self._function("void power_on(State& s)", [
            *out, "for (auto& flags : s.active) flags = ~0u;", "settle(s);"])

    @staticmethod
    def _initial(name, number, width):
        """Statements for a value that does not begin as 0."""
        return [f"s.{place} = 0x{number >> i * WORD & (1 << WORD) - 1:x}ull;"
                for i, place in enumerate(_places(name, width)) if number]

    @staticmethod
    def _function(head, lines):
        return f"{head} {{\n" + textwrap.indent("\n".join(lines), "    ") + "\n}\n"

    @staticmethod
    def _masks(targets):
        """The marks of parts: word to bits."""
        masks = {}
        for target in targets:
            masks[target // MARKS] = masks.get(target // MARKS, 0) | 1 << target % MARKS
        return masks

    @staticmethod
    def _marks(masks, array, condition=""):
        """Statements that mark parts."""
        return "".join(f" s.{array}[{word}] |= {condition}0x{mask:x}u;"
                       for word, mask in sorted(masks.items()))

    def _changes(self, items, array, more=""):
        """Statements that store values where they differ, and mark the parts that read them.

        ``items`` are ``(node, words)``. Values with the same readers are compared together. Few
        values are stored and marked without a branch, which processors often predict wrongly.
        ``more`` is a statement for values that differ.
        """
        groups, out = {}, []
        for n, words in items:
            groups.setdefault(frozenset(self._readers.get(n, ())), []).append((n, words))
        for number, (readers, members) in enumerate(groups.items()):
            stores, tests = [], []
            for n, words in members:
                width = self._nodes[n].width
                stores += _store(f"s.n{n}", words, width)
                tests.append(_difference(f"s.n{n}", words, width))
            masks = self._masks(readers)
            test = " | ".join(tests)
            if masks and not more and len(masks) <= FEW_MARKS and len(stores) <= FEW_STORES:
                out.append(f"const u32 {array}{number} = -u32(({test}) != 0); {' '.join(stores)}"
                           + self._marks(masks, array, f"{array}{number} & "))
            elif masks or more:
                out.append(f"if ({test}) {{ {more}{' '.join(stores)}{self._marks(masks, array)} }}")
            else:
                out += stores
        return out

    # Ports

    def _take(self, function, ports):
        out = []
        for port in ports:
            n = self._netlist.inputs[port]
            width, name = self._nodes[n].width, f"p.{self._port_name(port)}"
            if width <= WORD:
                words = [name]
            else:
                halves = -(-width // 32)
                words = [f"(u64({name}[{2 * i}])"
                         + (f" | u64({name}[{2 * i + 1}]) << 32" if 2 * i + 1 < halves else "")
                         + ")" for i in range(words_of(width))]
            out.append((n, words))
        if function == "take":
            return self._function("void take(State& s, const Ports& p)",
                                  self._changes(out, "active"))
        return self._function("bool direct(State& s, const Ports& p)", [
            "bool changed = false;", *self._changes(out, "active", "changed = true; "),
            "return changed;"])

    def _show(self):
        out, values = [], ValueExpressions(self._nodes, set())
        for port, value in self._netlist.outputs.items():
            width, name = width_of(value), f"p.{self._port_name(port)}"
            if width <= WORD:
                out.append(f"{name} = {values.word(value)};")
            else:
                halves = [cut(value, low, min(32, width - low)) for low in range(0, width, 32)]
                out += [f"{name}[{i}] = {values.word(half)};" for i, half in enumerate(halves)]
        return self._function("void show(const State& s, Ports& p)", out)

    # The clock edge

    def _commit(self):
        out = [f"if (s.reading[{slot}]) read_{n}(s);" for slot, n in enumerate(self._reads)]
        out += [f"if (s.writing[{slot}]) write_{n}(s);" for slot, n in enumerate(self._writes)
                if self._memory_of(n).reads]
        for word in range(self._mark_words):
            body = []
            for index in self._parts_of_word(word):
                lines = self._commit_part(index)
                if lines:
                    body += [f"    if (dirty & 0x{1 << index % MARKS:x}u) {{",
                             *(f"        {line}" for line in lines), "    }"]
            if body:
                out += [f"if (const u32 dirty = s.dirty[{word}]) {{", f"    s.dirty[{word}] = 0;",
                        *body, "}"]
            out += [f"s.active[{word}] |= s.later[{word}];", f"s.later[{word}] = 0;"]
        ports = [self._read(slot, n) for slot, n in enumerate(self._reads)]
        ports += [self._write(n) for n in self._writes if self._memory_of(n).reads]
        return "\n".join([*ports, self._function("void commit(State& s)", out)])

    def _parts_of_word(self, word):
        return range(word * MARKS, min((word + 1) * MARKS, len(self._parts)))

    def _memory_of(self, n):
        return self._netlist.memories[self._nodes[n].extra[0]]

    def _commit_part(self, index):
        """Statements for the checks of a part, and for its registers that take their next value
        at the edge."""
        part, out = self._parts[index], []
        for n in part.nodes:
            node = self._nodes[n]
            if node.kind == "check":
                place = node.place.rpartition("/")[2]
                text = f"{node.extra or 'an assertion failed'} ({place})"
                text = text.replace("\\", "\\\\").replace('"', '\\"')
                out.append(f'if (s.failed{n}) failed("{text}");')
        waiting = [(n, _places(f"s.next{n}", self._nodes[n].width)) for n in part.sinks
                   if self._nodes[n].kind == "register" and n not in self._at_once]
        return out + self._changes(waiting, "active")

    def _read(self, slot, n):
        """The function of a read: a register takes a row.

        A transparent port takes what is written at the same edge. The port reads at each edge at
        which it is enabled, because a write does not mark its part before the edge.
        """
        index, transparent = self._nodes[n].extra
        memory = self._netlist.memories[index]
        names = [f"x{i}" for i in range(words_of(memory.width))]
        places = _places(f"s.m{index}[a]", memory.width)
        out = [*([] if transparent else [f"s.reading[{slot}] = false;"]),
               f"const u64 a = s.address{n};",
               *(f"u64 {name} = a < {memory.depth} ? u64({place}) : 0;"
                 for name, place in zip(names, places, strict=True))]
        for w in memory.writes:
            if w in transparent:
                merged = [f"{name} = ({name} & ~u64({enable})) | (u64({data}) & {enable});"
                          for name, enable, data in zip(
                              names, _places(f"s.enable{w}", memory.width),
                              _places(f"s.data{w}", memory.width), strict=True)]
                out.append(f"if (s.address{w} == a) {{ {' '.join(merged)} }}")
        return self._function(f"static inline void read_{n}(State& s)",
                              out + self._changes([(n, names)], "active"))

    def _write(self, n):
        """The function of a write, which marks the parts that read the memory."""
        index = self._nodes[n].extra[0]
        memory = self._memory_of(n)
        names = [f"x{i}" for i in range(words_of(memory.width))]
        places = _places(f"s.m{index}[a]", memory.width)
        out = [f"const u64 a = s.address{n};", f"if (a >= {memory.depth}) return;",
               *(f"const u64 {name} = (u64({place}) & ~u64({enable})) | (u64({data}) & {enable});"
                 for name, place, enable, data in zip(
                     names, places, _places(f"s.enable{n}", memory.width),
                     _places(f"s.data{n}", memory.width), strict=True))]
        tests = " | ".join(f"(u64({place}) ^ {name})"
                           for name, place in zip(names, places, strict=True))
        stores = " ".join(f"{place} = {name};" for name, place in zip(names, places, strict=True))
        marks = self._marks(self._masks(self._part_of[reader] for reader in memory.reads), "active")
        return self._function(f"static inline void write_{n}(State& s)",
                              [*out, f"if ({tests}) {{ {stores}{marks} }}"])

    # Combinational logic

    def _settle(self):
        return self._function("void settle(State& s)", [
            f"if (s.active[{word}]) settle_{word}(s);"
            for word in range(self._mark_words)])

    def _settle_word(self, word):
        """The parts whose marks are in a word, and the function that evaluates those marked."""
        functions, calls = [], []
        numbers = self._parts_of_word(word)
        for first in range(0, len(numbers), GROUP):
            tests, group = [], numbers[first:first + GROUP]
            for index in group:
                bit = f"0x{1 << index % MARKS:x}u"
                functions.append(self._part(index))
                tests.append(f"if (s.active[{word}] & {bit}) {{ s.active[{word}] &= ~{bit}; "
                             f"part_{index}(s); }}")
            name = f"group_{group[0]}"
            functions.append(self._function(f"GROUP void {name}(State& s)", tests))
            mask = self._masks(group)[word]
            calls.append(f"if (s.active[{word}] & 0x{mask:x}u) {name}(s);")
        return "\n".join([*functions, self._function(f"void settle_{word}(State& s)", calls)])

    def _part(self, index):
        part = self._parts[index]
        local = {n for n in part.nodes if self._nodes[n].width}
        lines = PartLines(self._netlist, local)
        values, out = lines.values, lines.lines
        needed = {piece.node for n in part.sinks for value in self._nodes[n].args
                  for piece in value}
        plan = schedule(self._nodes, part.nodes, needed | self._visible)
        branched = {item.node for item in plan if item.arm is not None}
        if local:
            names = (name for n in part.nodes if n in local for name in values.declared(n))
            lines.add(f"u64 {', '.join(names)};")
        for item in plan:
            kind = self._nodes[item.node].kind
            if kind in ("write", "check"):
                lines.enter(None)
                lines.add(*(self._keep_write if kind == "write" else self._keep_check)(
                    item.node, index, values))
            else:
                lines.statement(item, branched)
        lines.enter(None)
        out += self._changes([(n, values.names(n)) for n in part.nodes if n in self._visible],
                             "active")
        out += self._next_values(index, values)
        return self._function(f"PART void part_{index}(State& s)", out)

    def _keep_write(self, n, index, values):
        """Statements that keep what a write will do at the edge."""
        out = []
        for field, value in zip(("address", "data", "enable"), self._nodes[n].args, strict=True):
            out += _store(f"s.{field}{n}", values.words(value), width_of(value))
        enabled = " | ".join(values.words(self._nodes[n].args[2]))
        return [*out, f"s.writing[{self._writes.index(n)}] = ({enabled}) != 0;"]

    def _keep_check(self, n, index, values):
        """Statements that keep whether an assertion fails."""
        test, enable = self._nodes[n].args
        return [f"s.failed{n} = {values.word(enable)} ? ~{values.word(test)} & 1 : 0;",
                f"s.dirty[{index // MARKS}] |= u32{{s.failed{n}}} << {index % MARKS};"]

    def _next_values(self, index, values):
        """Statements that give registers their next values, or keep the values for the edge."""
        out, tests, at_once = [], [], []
        for n in self._parts[index].sinks:
            node = self._nodes[n]
            if node.kind == "read":
                address, enable = node.args
                out += _store(f"s.address{n}", values.words(address), width_of(address))
                out.append(f"s.reading[{self._reads.index(n)}] = {values.word(enable)};")
                continue
            names = [f"x{n}_{i}" for i in range(words_of(node.width))]
            out += [f"const u64 {name} = {text};"
                    for name, text in zip(names, values.words(node.args[0]), strict=True)]
            if n in self._at_once:
                at_once.append((n, names))
            else:
                out += _store(f"s.next{n}", names, node.width)
                tests.append(_difference(f"s.n{n}", names, node.width))
        if tests:
            out.append(f"s.dirty[{index // MARKS}] |= u32(({' | '.join(tests)}) != 0) << "
                       f"{index % MARKS};")
        return out + self._changes(at_once, "later")
