"""The control flow of a function: blocks, edges, dominators, regions and loops."""

import dataclasses
import functools
import re

from sw.cc.assembly import AGREE, AsmLine


__all__ = ["EXIT", "AsmBlock", "AsmFlow", "Loop", "immediate_dominators"]


#: The number of the virtual block to which all returns lead.
EXIT = -1

#: The block before the first instruction. No branch leads to it.
ENTRY = 0


def immediate_dominators(successors, root):
    """The immediate dominator of each node but the root.

    Parameters
    ----------
    successors : dict of node to list of node
        All nodes; each is reached from the root.
    root
        The node at which all ways begin.

    Returns
    -------
    dict of node to node
        By the algorithm of Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm".
    """
    order, seen, stack = [], {root}, [(root, iter(successors[root]))]
    while stack:
        node, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors[following])))
    number = {node: place for place, node in enumerate(order)}
    before = {node: [] for node in successors}
    for node, following in successors.items():
        for other in following:
            before[other].append(node)
    above, changed = {root: root}, True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            found = None
            for other in before[node]:
                if other not in above:
                    continue
                if found is None:
                    found = other
                while found != other:
                    while number[found] < number[other]:
                        found = above[found]
                    while number[other] < number[found]:
                        other = above[other]
            if above.get(node) != found:
                above[node], changed = found, True
    del above[root]
    return above


@dataclasses.dataclass(eq=False)
class AsmBlock:
    """Instructions that are executed one after another, with the text between them."""
    items: list = dataclasses.field(default_factory=list)
    labels: list[str] = dataclasses.field(default_factory=list)

    @functools.cached_property
    def lines(self):
        return [item for item in self.items if isinstance(item, AsmLine)]

    @property
    def last(self):
        """The last instruction, or None."""
        lines = self.lines
        return lines[-1] if lines else None


@dataclasses.dataclass(frozen=True)
class Loop:
    """A natural loop that only one branch leaves."""
    header: int
    body: frozenset[int]


def reached(start, successors, without=()):
    """The nodes that a way leads to from the successors of ``start``, by no node of ``without``."""
    seen, left = set(), [start]
    while left:
        for node in successors[left.pop()]:
            if node not in seen and node not in without:
                seen.add(node)
                left.append(node)
    return seen


class AsmFlow:
    """The blocks of a function by their numbers.

    Parameters
    ----------
    function : sw.cc.assembly.AsmFunction

    Attributes
    ----------
    blocks : list of AsmBlock
        In the order of the text.
    targets : dict of int to list of int
        Where each block that can be reached may lead. Of a branch: if taken, if not.
    successors : dict of int to list of int
        The same, where an endless loop leads to :data:`EXIT` too.
    predecessors : dict of int to list of int
        Of ``targets``.
    meets : dict of int to int
        The immediate post-dominator of each block that can be reached: the first block by which all
        ways from it go.

    Raises
    ------
    UserError
        The function has a jump whose target is not known here.
    """

    def __init__(self, function):
        self.function = function
        self.blocks = self._split()
        self.targets = self._edges()
        self.predecessors = {node: [] for node in self.targets}
        for node, following in self.targets.items():
            for other in following:
                if other != EXIT and node not in self.predecessors[other]:
                    self.predecessors[other].append(node)
        self.successors = self._with_exit()
        backwards = {node: [] for node in (*self.successors, EXIT)}
        for node, following in self.successors.items():
            for other in following:
                backwards[other].append(node)
        self.meets = immediate_dominators(backwards, EXIT)
        self._regions = {}

    def _split(self):
        """Blocks begin at the targets of branches and end behind branches. The first is empty."""
        targets = {line.operands[-1] for line in self.function.lines
                   if line.is_branch or line.name == "j"}
        targets.update(line.operands[1] for line in self.function.lines if line.name == AGREE)
        blocks = [AsmBlock(), AsmBlock()]
        begun = False
        for item in self.function.items:
            if not isinstance(item, AsmLine):
                match = re.match(r"([\w.$]+):", item)
                if match and match[1] in targets:
                    if blocks[-1].items:
                        blocks.append(AsmBlock())
                    blocks[-1].labels.append(match[1])
                # What comes before the first instruction stays before what is inserted there.
                at_start = not begun and not (match and match[1] in targets)
                blocks[ENTRY if at_start and not blocks[-1].labels else -1].items.append(item)
                continue
            begun = True
            blocks[-1].items.append(item)
            if item.ends_block:
                blocks.append(AsmBlock())
        return blocks

    def _edges(self):
        at = {label: number for number, block in enumerate(self.blocks) for label in block.labels}

        def leads(number):
            last = self.blocks[number].last
            following = number + 1 if number + 1 < len(self.blocks) else EXIT
            if last is None or not last.ends_block:
                return [following]
            if last.is_branch or last.name == "j":
                if last.operands[-1] not in at:
                    raise self.function.refuse(last, f"a jump to {last.operands[-1]}, outside the "
                                               "function")
                target = at[last.operands[-1]]
                return [target, following] if last.is_branch else [target]
            if last.name == "jr":
                raise self.function.refuse(last, "a jump to an address that is computed")
            if last.name == "tail":
                raise self.function.refuse(last, "a jump to another function")
            return [EXIT]

        found, left = {}, [ENTRY]
        while left:
            node = left.pop()
            if node not in found and node != EXIT:
                found[node] = leads(node)
                left += found[node]
        return dict(sorted(found.items()))

    def _with_exit(self):
        """The edges, and one more to the exit from each loop without an end."""
        successors = {node: list(following) for node, following in self.targets.items()}
        while True:
            backwards = {node: [] for node in (*successors, EXIT)}
            for node, following in successors.items():
                for other in following:
                    backwards[other].append(node)
            endless = successors.keys() - reached(EXIT, backwards)
            if not endless:
                return successors
            successors[max(endless)].append(EXIT)

    @property
    def branches(self):
        """The blocks that end in a conditional branch with two targets."""
        return [node for node, following in self.targets.items() if len(set(following)) > 1]

    @property
    def is_leaf(self):
        return not any(line.is_call for line in self.function.lines)

    def meet(self, branch, place):
        """Let the lanes of a branch meet at another place, a post-dominator of it."""
        self.meets[branch] = place
        self._regions.pop(branch, None)

    def region(self, branch):
        """The blocks in which lanes may be that have parted at a branch, before they meet."""
        if branch not in self._regions:
            self._regions[branch] = frozenset(
                reached(branch, self.successors | {EXIT: []}, (self.meets[branch], EXIT)))
        return self._regions[branch]

    def leads_back(self, branch, node, without=()):
        """Whether lanes that go from a branch to ``node`` may come to the branch again before they
        meet the others, by no block of ``without``."""
        if node in (self.meets[branch], EXIT, *without):
            return False
        return node == branch or branch in reached(
            node, self.successors | {EXIT: []}, (self.meets[branch], EXIT, *without))

    @functools.cached_property
    def loops(self):
        """dict of int to Loop. The natural loops that have one exit, by the block of this exit; of
        several with one exit block, the smallest."""
        above = immediate_dominators({**self.targets, EXIT: []}, ENTRY)

        def dominates(upper, node):
            while node != upper and node in above:
                node = above[node]
            return node == upper

        bodies = {}
        for node, following in self.targets.items():
            for header in following:
                if header == EXIT or not dominates(header, node):
                    continue
                body, left = bodies.setdefault(header, {header}), [node]
                while left:
                    inner = left.pop()
                    if inner not in body:
                        body.add(inner)
                        left += self.predecessors[inner]
        found = {}
        for header, body in sorted(bodies.items(), key=lambda entry: len(entry[1])):
            exits = [(node, other) for node in sorted(body) for other in self.successors[node]
                     if other not in body]
            if len(exits) == 1 and exits[0][1] in self.targets[exits[0][0]]:
                found.setdefault(exits[0][0], Loop(header, frozenset(body)))
        return found
