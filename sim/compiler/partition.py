"""Parts of a design that are evaluated together, or not at all.

A part is evaluated in a cycle only if a value that it reads has changed. Small parts are idle more
often, and large parts cost less to look at. Nodes that only one node reads, directly or through
others of this kind, go with that node. These groups, in an order that keeps what belongs together
near, are joined until a part has enough nodes. (Beamer and Donofrio, "Efficiently Exploiting Low
Activity Factors to Accelerate RTL Simulation", DAC 2020.)
"""

import dataclasses

from .netlist import HardwareNetlist
from .optimize import STATE, Design


__all__ = ["Part", "parts"]


#: A group may have this many times the nodes of a part, before it is more than one part.
LARGEST = 2


@dataclasses.dataclass
class Part:
    """Nodes that are evaluated together."""
    nodes: list[int]  #: Combinational nodes, writes and checks, in the order of evaluation.
    sinks: list[int]  #: Registers and reads whose next value this part computes.


def parts(design: Design, size: int) -> list:
    """The parts of a design, each after the parts whose values it reads in the same cycle."""
    netlist = design.netlist
    roots = _roots(netlist, design.order)
    groups = {}
    for n in design.order:
        groups.setdefault(roots[n], []).append(n)
    sinks = [n for n, node in netlist.nodes.items() if node.kind in ("register", "read")]
    for n in sinks:
        groups.setdefault(("next", n), [])
    result, weight, last = [], 0, None
    for root in _sorted(netlist, groups, roots):
        members = groups[root]
        module = _module(netlist, root)
        cost = max(1, len(members))
        if not result or weight + cost > size or module != last:
            result.append(Part([], []))
            weight = 0
        last = module
        weight += cost
        while weight > LARGEST * size:          # a large group begins with an empty part
            result[-1].nodes += members[:size]
            members = members[size:]
            result.append(Part([], []))
            weight = len(members)
        result[-1].nodes += members
        if isinstance(root, tuple):
            result[-1].sinks.append(root[1])
    return result


def _module(netlist, root):
    return netlist.nodes[root[1] if isinstance(root, tuple) else root].module


def _read_by(node):
    return {piece.node for value in node.args for piece in value if piece.node >= 0}


def _roots(netlist: HardwareNetlist, order):
    """For each node the node at the root of its group. The root ``("next", n)`` stands for the next
    value of a state."""
    visible = {piece.node for value in netlist.outputs.values() for piece in value}
    readers = {}
    for n, node in netlist.nodes.items():
        if node.kind in ("register", "read"):
            for source in _read_by(node):
                readers.setdefault(source, []).append(("next", n))
    roots = {}
    for n in reversed(order):
        above = {roots.get(r, r) if not isinstance(r, tuple) else r for r in readers.get(n, ())}
        roots[n] = n if n in visible or len(above) != 1 else above.pop()
        for source in _read_by(netlist.nodes[n]):
            readers.setdefault(source, []).append(n)
    return roots


def _sorted(netlist, groups, roots):
    """The roots of groups, each after the groups that its group reads.

    Groups of values that other groups read come first, then groups of next values. A state can
    take its next value at once if every group that reads the state has been evaluated. So within a
    module, the groups that read a state come before the group of its next value where possible.
    """
    reads, states = {}, {}
    for root, members in groups.items():
        sources = _read_by(netlist.nodes[root[1]]) if isinstance(root, tuple) else set()
        for n in members:
            sources = sources | _read_by(netlist.nodes[n])
        reads[root] = sorted({roots[s] for s in sources if netlist.nodes[s].kind not in STATE}
                             - {root})
        for source in sources:
            if ("next", source) in groups and isinstance(root, tuple) and (
                    _module(netlist, root) == netlist.nodes[source].module):
                states.setdefault(("next", source), []).append(root)
    starts = sorted(groups, key=lambda root: (
        _module(netlist, root), not isinstance(root, tuple),
        root[1] if isinstance(root, tuple) else root))
    values = [r for r in _depth_first(starts, reads) if not isinstance(r, tuple)]
    return values + _depth_first([r for r in starts if isinstance(r, tuple)], states)


def _depth_first(starts, before):
    """All that can be reached from the starts, each after those before it if there is no cycle."""
    done, result = set(), []
    for start in starts:
        if start in done:
            continue
        done.add(start)
        work = [(start, iter(before.get(start, ())))]
        while work:
            root, sources = work[-1]
            for source in sources:
                if source not in done:
                    done.add(source)
                    work.append((source, iter(before.get(source, ()))))
                    break
            else:
                work.pop()
                result.append(root)
    return result
