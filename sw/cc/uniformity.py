"""Which branches of a program may depend on the lane.

Forward over the blocks of each function: the set of registers, and of places in the frame where
Clang saves registers, whose values may differ between the active lanes. Lanes that have parted run
apart until they meet, so within one path a value stays as uniform as its sources. Where the lanes
of a branch meet, everything that was written since the branch may differ: on the sides of an ``if``
it was written differently, and lanes leave a loop in different turns.

Over the program: an argument of a function is uniform if it is at every call, and a result if it is
at every return. A function whose address is taken may be called with anything. Functions that
nothing calls are kernels, which the host calls with the same arguments in all lanes; only the
argument of ``main``, the lane, differs.

A load is as uniform as its address. So what lies in the frame differs, apart from saved registers:
each lane has its own frame.
"""

from sw.cc.assembly import AGREE, ARGUMENTS, CALLER_SAVED
from sw.cc.flow import ENTRY, EXIT, AsmFlow


__all__ = ["Analysis", "WholeProgram"]


_RESULTS = frozenset(("a0", "a1"))

#: Registers whose values at the entry of a function are those of the lane's own caller.
_INHERITED = frozenset(("sp", "gp", "tp", *(f"s{number}" for number in range(12)), *CALLER_SAVED)) \
    - {*ARGUMENTS, "ra"}


class WholeProgram:
    """All functions of a program.

    Parameters
    ----------
    units : list of sw.cc.assembly.AsmUnit
    all_parted : bool
        Whether to take every branch as one that depends on the lane.

    Attributes
    ----------
    analyses : dict of sw.cc.assembly.AsmFunction to Analysis
    """

    def __init__(self, units, all_parted=False):
        self.units, self.all_parted = units, all_parted
        self._own, self._shared = {}, {}
        self.analyses = {}
        taken = set().union(*(unit.taken() for unit in units))
        for unit in units:
            names = {function.name: function for function in unit.functions}
            aliases = {name: names[of] for name, of in unit.aliases.items() if of in names}
            for name, function in (names | aliases).items():
                self._own[unit.file, name] = function
                if name in unit.shared:
                    self._shared.setdefault(name, function)
            for name, function in names.items():
                also = {other for other, of in aliases.items() if of is function}
                self.analyses[function] = Analysis(function, bool(taken & {name, *also}))
        for analysis in self.analyses.values():
            for line in analysis.function.lines:
                callee = line.callee and self.find(analysis.function, line.callee)
                if callee:
                    callee.called = True
        changed = True
        while changed:
            changed = False
            for analysis in self.analyses.values():
                changed |= analysis.update(self)

    def find(self, caller, name):
        """The analysis of the function that a name means to a caller; None for one that is not C.
        """
        function = self._own.get((caller.file, name)) or self._shared.get(name)
        return self.analyses.get(function)


class Analysis:
    """A function and what may differ between lanes in it.

    Attributes
    ----------
    flow : sw.cc.flow.AsmFlow
    taken : bool
        Whether its address is taken.
    called : bool
        Whether a function of the program may call it.
    arguments : set of str
        Registers of arguments that may differ.
    results : set of str
        Registers of results that may differ.
    parted : set of int
        Blocks at whose branch the lanes may part.
    waits : dict of int to set of int
        The branches that leave a loop in which lanes wait for each other; and the blocks
        in which a lane that has left it lets the next one go.
    guards : set of int
        The blocks that end before a call by a pointer. Lanes meet behind the call.
    """

    def __init__(self, function, taken):
        self.function, self.taken = function, taken
        self.called = taken
        function.free_scratch()
        function.guard_pointers()
        self.flow = AsmFlow(function)
        self.arguments = set(ARGUMENTS) if taken else {"a0"} if function.name == "main" \
            else set()
        self.results, self.parted = set(), set()
        self._changed = {node: frozenset(name for line in self.flow.blocks[node].lines
                                         for name in line.written) for node in self.flow.targets}
        self.waits = self._waiting()
        for branch in self.waits:
            self.flow.meet(branch, EXIT)
        behind = {label: node for node in self.flow.targets
                  for label in self.flow.blocks[node].labels}
        self.guards = {node for node in self.flow.branches
                       if self.flow.blocks[node].last.name == AGREE}
        for branch in self.guards:
            self.flow.meet(branch, behind[self.flow.blocks[branch].last.operands[1]])

    def _waiting(self):
        """A loop whose exit depends on an atomic that acquires: lanes that leave the loop must be
        able to go on to their release, so the lanes meet only at the end of the function."""
        flow, found = self.flow, {}
        if not any(line.acquires for line in self.function.lines):
            return found
        releases = {node for node in flow.targets
                    if any(line.releases for line in flow.blocks[node].lines)}
        for branch in flow.branches:
            body = {branch, *(node for node in flow.region(branch)
                              if flow.leads_back(branch, node))}
            acquired = {line.operands[0] for node in body for line in flow.blocks[node].lines
                        if line.acquires}
            if branch in flow.region(branch) and acquired & set(flow.blocks[branch].last.read):
                found[branch] = releases - {branch}
        return found

    def _written(self, branch):
        """What is written between a branch and the place where its lanes meet."""
        return set().union(*(self._changed[node] for node in self.flow.region(branch)))

    def update(self, program):
        """Analyse it with what is known of the others. Returns whether it tells them anything new.
        """
        flow, changed = self.flow, False
        states = {ENTRY: _INHERITED | self.arguments}
        met = {}
        self.parted = set()
        left = [ENTRY]
        while left:
            node = left.pop(0)
            differing = set(states[node]) | met.get(node, set())
            for line in flow.blocks[node].lines:
                changed |= self._step(line, differing, program)
            last = flow.blocks[node].last
            if last is not None and len(set(flow.targets[node])) > 1 and (
                    node not in self.parted) and (
                    program.all_parted or not differing.isdisjoint(last.read)):
                self.parted.add(node)
                written, place = self._written(node), flow.meets[node]
                if place == EXIT:
                    changed |= self._returns(written)
                else:
                    met.setdefault(place, set()).update(written)
                    if place in states and place not in left:
                        left.append(place)
            for following in flow.targets[node]:
                if following == EXIT:
                    continue
                known = states.get(following)
                if known is None or not differing <= known:
                    states[following] = differing | (known or set())
                    if following not in left:
                        left.append(following)
        return changed

    def _returns(self, differing):
        new = (_RESULTS & differing) - self.results
        self.results |= new
        return bool(new)

    def _step(self, line, differing, program):
        """Change the set of what differs by an instruction."""
        changed = False
        if line.is_call:
            callee = program.find(self.function, line.callee)
            if callee is not None:
                new = (differing & set(ARGUMENTS)) - callee.arguments
                callee.arguments |= new
                changed = bool(new)
            differing.update(CALLER_SAVED)
            if callee is not None:
                differing -= _RESULTS - callee.results
            return changed
        if line.name == "ret":
            return self._returns(differing)
        differs = line.reads_lane or (not line.agrees and not differing.isdisjoint(line.read))
        for name in line.written:
            (differing.add if differs else differing.discard)(name)
        return changed
