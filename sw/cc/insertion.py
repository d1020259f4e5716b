"""The text of a function with the instructions that let its lanes part and meet.

``t6`` and ``gp`` are scratch registers. What is kept lies in registers that the function does not
use, as far as it is not needed across a call; in a function that only the host starts, in saved
registers too; and else in *slots*: a second stack of each lane, which grows upwards from ``tp``.
"""

import dataclasses
import re

from hw.instruction import CUSTOM_0
from hw.isa import Csr
from hw.operations import WarpOp
from sw.cc.assembly import (AGREE, ARGUMENTS, BRANCHES, GLOBAL_SCRATCH, SCRATCH, SLOTS,
                            ZERO_BRANCHES, AsmLine)
from sw.cc.flow import ENTRY, EXIT
from sw.cc.joins import Joins, Saved


__all__ = ["Counts", "Insertion"]


#: Registers for what is kept, those first that Clang uses last. The first two arguments may be
#: passed on as results without being mentioned.
_FREE = ("t5", "t4", "t3", "t2", "t1", "t0", *reversed(ARGUMENTS[2:]))

#: Registers that a function gives back to its caller as they were, and that calls leave alone. A
#: function that only the host starts need not.
_SAVED = tuple(f"s{number}" for number in reversed(range(12)))

#: Bytes of the frame that a function with calls has at least, as it saves ``ra``; and those that
#: stay free at the beginning of each stack.
LEAST_FRAME = 16

#: Bits of a shuffle's second operand that allow any lane to be read.
_ANY_LANE = 63 << 6


@dataclasses.dataclass
class Counts:
    """What was inserted."""
    branches: int = 0  #: Conditional branches in all.
    splits: int = 0
    predicated: int = 0  #: Loops with PRED.
    joins: int = 0  #: Places where lanes meet.


def _warp(op, rd="x0", rs1="x0", rs2="x0"):
    return f"\t.insn r {CUSTOM_0:#x}, {op.value}, 0, {rd}, {rs1}, {rs2}"


def _level(register):
    """Brings the level to a register: a SPLIT that never parts lanes."""
    return _warp(WarpOp.SPLIT, register)


def _mask(register):
    return f"\tcsrr\t{register}, {int(Csr.ACTIVE_MASK):#x}"


class Insertion:
    """Writes a function.

    Parameters
    ----------
    analysis : sw.cc.uniformity.Analysis

    Attributes
    ----------
    counts : Counts
    slots : int
        Bytes of its slots.
    """

    def __init__(self, analysis):
        self._flow, self._joins = analysis.flow, Joins(analysis)
        self._name = analysis.function.name
        self._stubs, self._at_start, self._after, self._taken = [], {}, {}, {}
        self._places, self.slots = self._keep(analysis)
        self._place_savings()
        self.counts = Counts(len(self._flow.branches) - len(analysis.guards),
                             len(self._joins.splits), len(self._joins.loops),
                             len(self._joins.places))

    def _keep(self, analysis):
        """Where each value is kept: a register or an offset from ``tp``; and the bytes of slots."""
        function = analysis.function
        used = set().union(*(line.mentioned() for line in function.lines))
        calls = {node for node in self._flow.targets
                 if any(line.is_call for line in self._flow.blocks[node].lines)}
        # A call may read arguments that nothing here mentions.
        free = [name for name in _FREE if name not in used and not (calls and name in ARGUMENTS)]
        saved = [name for name in _SAVED if name not in used and not analysis.called]
        places, slots = {}, []
        for kept in self._joins.saved:
            if free and not calls & self._joins.spans[kept]:
                places[kept] = free.pop(0)
            elif saved:
                places[kept] = saved.pop(0)
            else:
                slots.append(kept)
        for number, kept in enumerate(slots):
            places[kept] = 4 * (number - len(slots))
        self._moved = saved.pop(0) if function.moved and saved else None
        return places, 4 * (len(slots) + (function.moved and self._moved is None))

    def _save(self, kept):
        code = _mask if kept.kind == "mask" else _level
        place = self._places[kept]
        if isinstance(place, str):
            return [code(place)]
        return [code(SCRATCH), f"\tsw\t{SCRATCH}, {place}({SLOTS})"]

    def _load(self, kept):
        """The instructions that bring what is kept to a register, and the register."""
        place = self._places[kept]
        if isinstance(place, str):
            return [], place
        return [f"\tlw\t{GLOBAL_SCRATCH}, {place}({SLOTS})"], GLOBAL_SCRATCH

    def _place_savings(self):
        """Distribute what is saved on edges to the ends and starts of blocks, or into stubs."""
        flow, joins = self._flow, self._joins
        on_edges = {edge: list(kept) for edge, kept in joins.on_edges.items()}
        for node in flow.targets:
            edges = [(before, node) for before in flow.predecessors[node]]
            if node in joins.places or not edges:
                continue
            for kept in [*on_edges.get(edges[0], ())]:
                if all(kept in on_edges.get(edge, ()) for edge in edges):
                    self._at_start.setdefault(node, []).extend(self._save(kept))
                    for edge in edges:
                        on_edges[edge].remove(kept)
        for (before, node), saved in on_edges.items():
            code = [text for kept in saved for text in self._save(kept)]
            targets = flow.targets[before]
            if not code:
                continue
            if len(set(targets)) > 1 and targets[0] == node:
                self._taken[before] = code
            else:
                self._after[before] = code

    def _label(self, what):
        return f".Lsimt_{what}_{self._name}"

    def _meet(self, place):
        """The JOIN of a place; where the stack may be several levels above, until it is not."""
        code, level = self._load(self._joins.level_of[place])
        join = _warp(WarpOp.JOIN, rs1=level)
        if place not in self._joins.repeated:
            return [*code, join]
        label = self._label("exit_again" if place == EXIT else f"again{place}")
        return [*code, f"{label}:", join, _level(SCRATCH), f"\tbne\t{SCRATCH}, {level}, {label}"]

    def _part(self, node, line):
        """What comes before a branch at which lanes may part."""
        flow, joins = self._flow, self._joins
        taken, other = flow.targets[node]
        if node in joins.loops:
            code, register = condition(line, taken in joins.loops[node].body)
            load, mask = self._load(Saved("mask", node))
            return [*code, *load, _warp(WarpOp.PRED, rs1=register, rs2=mask)]
        wanted = None
        if node in flow.region(node):           # lanes that leave a loop go first
            releases = joins.waits.get(node, ())
            back = [flow.leads_back(node, way, releases) for way in (taken, other)]
            wanted = back[1] if back[0] != back[1] else None
        code, register = condition(line, wanted)
        kept = joins.by_split.get(node)
        if kept is None:
            return [*code, _warp(WarpOp.SPLIT, rs1=register)]
        place = self._places[kept]
        if isinstance(place, str):
            return [*code, _warp(WarpOp.SPLIT, place, register)]
        # The lanes left behind resume at the store.
        return [*code, _warp(WarpOp.SPLIT, GLOBAL_SCRATCH, register),
                f"\tsw\t{GLOBAL_SCRATCH}, {place}({SLOTS})"]

    def _agree(self, node, line):
        """Before a call by a pointer, the first active lane's value for all, by a loop over the
        mask; lanes that have another one come again when those that have it have returned."""
        if node not in self._joins.splits:
            return []
        again = self._label(f"first{node}")
        return [_mask(GLOBAL_SCRATCH), f"\tneg\t{SCRATCH}, {GLOBAL_SCRATCH}",
                f"\tand\t{GLOBAL_SCRATCH}, {GLOBAL_SCRATCH}, {SCRATCH}",
                f"\tli\t{SCRATCH}, {_ANY_LANE - 1}", f"{again}:",
                f"\tsrli\t{GLOBAL_SCRATCH}, {GLOBAL_SCRATCH}, 1",
                f"\taddi\t{SCRATCH}, {SCRATCH}, 1", f"\tbnez\t{GLOBAL_SCRATCH}, {again}",
                f"\t.insn r {CUSTOM_0:#x}, 7, 1, {SCRATCH}, {line.operands[0]}, {SCRATCH}",
                f"\tsub\t{GLOBAL_SCRATCH}, {line.operands[0]}, {SCRATCH}",
                f"\tseqz\t{SCRATCH}, {GLOBAL_SCRATCH}", _warp(WarpOp.SPLIT, rs1=SCRATCH)]

    def _branch(self, node, line):
        """A branch, with what comes before it, and what follows on both ways."""
        if line.name == AGREE:
            code = self._agree(node, line)
            if not code:
                return self._after.get(node, [])
            operands = GLOBAL_SCRATCH, line.operands[-1]
            line = dataclasses.replace(line, name="bnez", operands=operands,
                                       text=f"\tbnez\t{', '.join(operands)}")
        else:
            code = self._part(node, line) if node in self._joins.splits or \
                node in self._joins.loops else []
        if node in self._taken:
            label = self._label(f"edge{node}")
            self._stubs += [f"{label}:", *self._taken[node], f"\tj\t{line.operands[-1]}"]
            code.append(f"\t{line.name}\t{', '.join((*line.operands[:-1], label))}")
        else:
            code.append(line.text)
        return code + self._after.get(node, [])

    def _alone(self, line):
        """An instruction that follows its own line; one that changes the mask gives it back."""
        if line.moved:
            if self._moved is not None:
                return [re.sub(rf"\b{GLOBAL_SCRATCH}\b", self._moved, line.text)]
            access = f"{GLOBAL_SCRATCH}, {-self.slots}({SLOTS})"
            return [*([f"\tlw\t{access}"] if GLOBAL_SCRATCH in line.read else []), line.text,
                    *([f"\tsw\t{access}"] if GLOBAL_SCRATCH in line.written else [])]
        if not line.sets_mask:
            return [line.text]
        return [_mask(SCRATCH), line.text, _warp(WarpOp.TMC, rs1=SCRATCH)]

    def _leave(self):
        """What comes before a return, or in place of it."""
        back = [f"\taddi\t{SLOTS}, {SLOTS}, {-self.slots}"] if self.slots else []
        if EXIT not in self._joins.places:
            return [*back, "\tret"]
        label = self._label("exit")
        end = [f"{label}:", *self._meet(EXIT), *back, "\tret"]
        if f"{label}:" not in self._stubs:
            self._stubs += end
        return [f"\tj\t{label}"]

    def _last(self, node, line):
        """The last instruction of a block, with what is saved behind the block."""
        if line.is_branch and len(set(self._flow.targets[node])) > 1:
            return self._branch(node, line)
        if line.name == "ret":
            return self._leave()
        if line.ends_block:
            return [*self._after.get(node, []), line.text]
        return [*self._alone(line), *self._after.get(node, [])]

    def _start(self, node):
        if node == ENTRY:
            entry = [f"\taddi\t{SLOTS}, {SLOTS}, {self.slots}"] if self.slots else []
            at_entry = Saved("level", None)
            if at_entry in self._places:
                entry += self._save(at_entry)
            return entry + self._after.get(node, [])
        return [*(self._meet(node) if node in self._joins.places else ()),
                *self._at_start.get(node, ())]

    def text(self):
        """The lines of the function."""
        out = []
        for node, block in enumerate(self._flow.blocks):
            if node not in self._flow.targets:
                out += [item.text if isinstance(item, AsmLine) else item for item in block.items]
                continue
            last, begun = block.last, False
            for item in block.items:
                if not isinstance(item, AsmLine):
                    out.append(item)
                    continue
                if not begun:
                    out += self._start(node)
                    begun = True
                out += self._last(node, item) if item is last else self._alone(item)
            if not begun:
                out += self._start(node) + (self._after.get(node, []) if node != ENTRY else [])
        end = next((place for place in reversed(range(len(out)))
                    if out[place].startswith(".Lfunc_end")), len(out) - 1)
        return out[:end] + self._stubs + out[end:]


def condition(line, taken=None):
    """Instructions, and a register that is not 0 in the lanes that go one way.

    ``taken`` says which: those that branch, or those that do not. None leaves it open.
    """
    if line.name in ZERO_BRANCHES:
        name, swapped = ZERO_BRANCHES[line.name]
        first, second = line.operands[0], "zero"
    else:
        name, swapped = BRANCHES[line.name]
        first, second = line.operands[:2]
    if swapped:
        first, second = second, first
    if name in ("beq", "bne"):
        branches = name == "bne"
        code, register = ([], first) if second == "zero" else (
            [f"\tsub\t{SCRATCH}, {first}, {second}"], SCRATCH)
    else:
        branches = not name.startswith("bge")
        less = "sltu" if name.endswith("u") else "slt"
        code, register = [f"\t{less}\t{SCRATCH}, {first}, {second}"], SCRATCH
    if taken is not None and taken != branches:
        code.append(f"\tseqz\t{SCRATCH}, {register}")
        register = SCRATCH
    return code, register
