"""Texts of one loop from a frontier to the next."""

__all__ = ["OTHERS", "SAME", "TEXTS"]


def _indented(text, by):
    return "".join(f"{' ' * by}{line}\n" if line else "\n" for line in text.split("\n"))


def _text(vectors, functions, begin, step, returns, arguments="source: vertex = 0"):
    """A program; ``step`` has the lines of a round, in which ``frontier`` is the set."""
    loop = step if step.startswith("while") else "while frontier:\n" + _indented(step, 4)
    parts = [vectors, functions, begin, loop.rstrip("\n"), f"return {returns}"]
    return f"@program\ndef loop(edges: edgeset, {arguments}):\n" + "".join(
        _indented(part, 4) for part in parts)


def _search(vectors="parent = vector(vertex, none)", visit="parent[dst].min(src)", settle="",
            track="parent", to=".to(unvisited)", begin="", returns="depth, parent", weight="",
            test="depth[v] == infinity", **more):
    """The shipped BFS, changed."""
    return _text(
        f"depth = vector(uint, infinity)\n{vectors}",
        f"def unvisited(v):\n    return {test}\n\ndef visit(src, dst{weight}):\n"
        + _indented(visit, 4) + "\ndef settle(v):\n    depth[v] = level\n" + _indented(settle, 4),
        f"depth[source] = 0\n{begin}\nfrontier = vertexset(source)\nlevel = 0",
        f"level += 1\nfrontier = edges.from_(frontier){to}.apply_modified(visit, {track})\n"
        "frontier.apply(settle)", returns, **more)


def _relax(vectors="", visit="", after="", to="", begin="", step="", returns="distance",
           first="distance[source] = 0\nfrontier = vertexset(source)", weight=", weight",
           own="distance = vector(uint, infinity)", track="distance",
           value="distance[dst].min(distance[src] + weight)", **more):
    """Shortest paths, changed."""
    return _text(
        f"{own}\n{vectors}",
        f"def relax(src, dst{weight}):\n    {value}\n{_indented(visit, 4)}\n"
        f"def allowed(v):\n    return keep[v] != 2\n\ndef note(v):\n    mark[v] = 1\n"
        if "keep" in vectors or "mark" in vectors else
        f"def relax(src, dst{weight}):\n    {value}\n{_indented(visit, 4)}",
        f"{first}\n{begin}",
        f"frontier = edges.from_(frontier){to}.apply_modified(relax, {track})\n{after}\n{step}",
        returns, **more)


_KEEP = "keep = vector(uint, lambda v: uint(v) % 5)\nmark = vector(uint, 0)"
_FLAGS = _text(
    "parent = vector(vertex, none)\nseen = vector(bool, False)",
    "def open(v):\n    return not seen[v]\n\ndef visit(src, dst):\n    parent[dst].min(src)\n\n"
    "def settle(v):\n    seen[v] = True", "seen[source] = True\nfrontier = vertexset(source)",
    "frontier = edges.from_(frontier).to(open).apply_modified(visit, parent)\n"
    "frontier.apply(settle)", "parent, seen")

#: {name: (what is known of it, text)}: of a search the stamps' vector or None, what changes words,
#: and which edges suffice; else whether edges of other vertices change nothing ("reached" if words
#: tell of which), and whether it sends words.
TEXTS = {
    "levels-only": (("depth", "certain", ("any",)), _search(
        vectors="", visit="depth[dst].min(level)", track="depth", returns="depth").replace(
            "        frontier.apply(settle)\n", "")),
    "levels-without-filter": (("depth", "atomic", ("any",)), _search(
        vectors="", visit="depth[dst].min(level)", track="depth", to="", returns="depth").replace(
            "        frontier.apply(settle)\n", "")),
    "harmless-vector": (("depth", "certain", ("first",)), _search(
        vectors="parent = vector(vertex, none)\nfound = vector(uint, 0)", settle="found[v] = 1",
        returns="depth, parent, found")),
    "counted-edges": (("depth", "certain", ("first", None)), _search(
        vectors="parent = vector(vertex, none)\ntries = vector(uint, 0)",
        visit="parent[dst].min(src)\ntries[dst] += 1", returns="depth, parent, tries")),
    "paths": (("depth", "addend", None), _search(
        vectors="ways = vector(uint, 0)", visit="ways[dst] += ways[src]", track="ways",
        begin="ways[source] = 1", returns="depth, ways")),
    "largest-parent": (("depth", "atomic", None), _search(
        vectors="parent = vector(vertex, 0)", visit="parent[dst].max(src)")),
    "parents-only": ((None, "certain", ("first",)), _text(
        "parent = vector(vertex, none)", "def open(v):\n    return parent[v] == none\n\n"
        "def visit(src, dst):\n    parent[dst].min(src)", "parent[source] = source\n"
        "frontier = vertexset(source)",
        "frontier = edges.from_(frontier).to(open).apply_modified(visit, parent)", "parent")),
    "flags": ((None, "certain", ("first",)), _FLAGS),
    "flags-before": ((None, "certain", ("first",)), _FLAGS.replace(
        "    seen[source] = True\n", "").replace("        frontier.apply(settle)\n", "").replace(
        "while frontier:\n", "while frontier:\n        frontier.apply(settle)\n")),
    "settles-before": (("depth", "certain", ("first",)), _search().replace(
        "        frontier.apply(settle)\n", "").replace("        level += 1\n",
        "        frontier.apply(settle)\n        level += 3\n").replace("level = 0", "level = 5")
        .replace("    depth[source] = 0\n", "")),
    "two-starts": (("depth", "certain", ("first",)), _search(
        begin="depth[other] = 0", arguments="source: vertex = 0, other: vertex = 5").replace(
            "vertexset(source)", "vertexset(source, other)")),
    "words-of-levels": (("depth", "atomic", None), _search(
        vectors="best = vector(uint, infinity)\nlast = vector(uint, 0)", weight=", weight",
        visit="best[dst].min(weight + level)\nlast[dst].max(depth[src])", track="best",
        returns="depth, best, last")),
    "heavy-edges": (("depth", "certain", ("first",)), _search(
        weight=", weight",
        visit="if weight > 3 and edges.out_degree(src) > 1:\n    parent[dst].min(src)")),
    "some-vertices": (("depth", "certain", ("first",)), _search(
        vectors="parent = vector(vertex, none)\nkeep = vector(uint, lambda v: uint(v) % 3)",
        test="depth[v] == infinity and keep[v] != 1")),
    "work-when-found": (("depth", "certain", ("first",)), _search(
        vectors="parent = vector(vertex, none)\nk = vector(uint, lambda v: uint(v) % 7)\n"
        "o = vector(uint, 3)\np = vector(uint, 0)", settle="o[v] = depth[v] * 2 + k[v]\n"
        "if k[v] > 3:\n    p[v] = o[v] + 1\nelse:\n    p[v] = k[v]",
        returns="depth, parent, o, p")),
    "touched": (("reached", False), _relax(
        vectors="touched = vector(uint, 0)\nnear = vector(vertex, none)",
        visit="touched[dst] |= 1\nnear[dst].min(src)", returns="distance, touched, near")),
    "touched-near-and-far": (("reached", True), _relax(
        vectors="touched = vector(uint, 0)", visit="touched[dst].max(3)",
        arguments="source: vertex = 0, delta: uint = 8", returns="distance, touched",
        first="distance[source] = 0\nfrontier = PriorityQueue(distance, source, delta=delta)",
        ).replace(
            "        frontier = edges.from_(frontier).apply_modified(relax, distance)\n",
            "        near = frontier.dequeue()\n"
            "        edges.from_(near).apply_update_priority(relax, frontier)\n")),
    "marked": ((True, True), _relax(vectors=_KEEP, after="frontier.apply(note)",
                                    returns="distance, mark")),
    "filtered": ((True, True), _relax(vectors=_KEEP, to=".to(allowed)")),
    "far-starts": ((True, True), _relax(
        arguments="source: vertex = 0, other: vertex = 7",
        first="distance[source] = 0\ndistance[other] = 40\n"
        "frontier = vertexset(source, other)")),
    "near-and-far": ((True, True), _relax(
        vectors=_KEEP, arguments="source: vertex = 0, other: vertex = 7, delta: uint = 8",
        first="distance[source] = 0\ndistance[other] = 40\n"
        "frontier = PriorityQueue(distance, source, other, delta=delta)",
        returns="distance, mark").replace(
            "        frontier = edges.from_(frontier).apply_modified(relax, distance)\n",
            "        near = frontier.dequeue()\n"
            "        edges.from_(near).apply_update_priority(relax, frontier)\n"
            "        near.apply(note)\n")),
    "widest": ((True, False), _relax(
        own="width = vector(uint, 0)", value="width[dst].max(min(width[src], weight))",
        track="width", returns="width",
        first="width[source] = infinity\nfrontier = vertexset(source)")),
    "searches": ((True, True), _relax(
        own="seen = vector(uint, lambda v: 1 << (uint(v) & 31) if uint(v) < 32 else 0)",
        value="seen[dst] |= seen[src]", track="seen", returns="seen", weight="",
        first="frontier = vertices")),
    "labels": ((True, True), _relax(
        own="label = vector(uint, lambda v: uint(v))", value="label[dst].min(label[src])",
        track="label", returns="label", weight="", first="frontier = vertices")),
    "lightest-edges": ((False, False), _relax(
        own="x = vector(uint, 50)\ny = vector(uint, infinity)", value="x[dst].min(weight)",
        visit="y[dst].min(x[src] + 1)", track="x", returns="x, y",
        first="x[source] = 4\nfrontier = vertexset(source)")),
    "reached": (("reached", False), _relax(
        own="found = vector(bool, False)", value="found[dst] |= True", track="found",
        returns="found", weight="", first="found[source] = True\nfrontier = vertexset(source)")),
}

#: {name: (shipped program, text)}: other spellings.
SAME = {
    "level-at-the-end": ("bfs", _search(begin="parent[source] = source").replace(
        "level = 0", "level = 1").replace("        level += 1\n", "").replace(
        "        frontier.apply(settle)\n", "        frontier.apply(settle)\n"
        "        level += 1\n")),
    "literal-on-the-left": ("bfs", _search(begin="parent[source] = source",
                                           test="infinity == depth[v]")),
    "counted-rounds": ("sssp", _relax(begin="rounds = 0", step="rounds += 1")),
    "tested-improvement": ("sssp", _relax(
        value="if distance[src] + weight < distance[dst]:\n"
        "        distance[dst].min(distance[src] + weight)")),
}

#: Texts that nearly are such loops: a fact is missing.
OTHERS = {
    # What decides is the order in which distances improve; a second operator over all edges, with
    # the condition distance[src] + weight == distance[dst], does it.
    "predecessor-of-any-improvement": _relax(
        vectors="parent = vector(vertex, none)",
        value="if distance[src] + weight < distance[dst]:\n"
        "        distance[dst].min(distance[src] + weight)\n        parent[dst].min(src)",
        returns="distance, parent"),
    "rounds-of-a-relaxation": _relax(
        vectors="hops = vector(uint, 0)", visit="", begin="rounds = 0", step="rounds += 1",
        after="frontier.apply(count)", returns="distance, hops").replace(
            "    distance[source] = 0", "    def count(v):\n        hops[v] = rounds\n\n"
            "    distance[source] = 0"),
    "times-relaxed": _relax(vectors="times = vector(uint, 0)", visit="times[dst] += 1",
                            returns="distance, times"),
    "first-set-not-settled": _search().replace("    depth[source] = 0\n", ""),
    "another-vertex-settled": _search(begin="depth[0] = 7"),
    "settled-by-half": _search(settle="", vectors="parent = vector(vertex, none)").replace(
        "        depth[v] = level\n", "        if uint(v) > 9:\n            depth[v] = level\n"),
    "words-elsewhere": _search(
        vectors="parent = vector(vertex, none)\nk = vector(uint, lambda v: uint(v) + 3)\n"
        "o = vector(uint, 0)", settle="o[v] = k[vertex(0)]", returns="depth, parent, o"),
    "stored-and-reduced": _relax(
        vectors=_KEEP, visit="mark[dst].max(5)", after="frontier.apply(note)",
        returns="distance, mark"),
}
