"""Programs of a user, for tests of facts: like those of the package, and not quite like them."""

import functools

from sw.lang import programs
from sw.lang.passes import FACTS
from sw.lang.reader import read_text
from tb.sw.lang.spelled import analysed


__all__ = ["TEXTS", "components_text", "read"]


#: The end of each pass of facts.
_LAST = tuple(FACTS)[-1]


def _search(vectors="", functions="", reductions="parent[dst].min(src)", tracking="parent",
            settle="", start="parent[source] = source", to=".to(unvisited)", returns="depth",
            parent="vector(vertex, none)", after="frontier.apply(settle)", weight=""):
    lines = [*vectors.splitlines(), *(f"{line}" for line in functions.splitlines())]
    inside = "".join(f"        {line}\n" for line in reductions.splitlines())
    stores = "".join(f"        {line}\n" for line in settle.splitlines())
    begin = "".join(f"    {line}\n" for line in start.splitlines())
    end = "".join(f"        {line}\n" for line in after.splitlines())
    return f"""
@program
def search(edges: edgeset, source: vertex = 0):
    depth = vector(uint, infinity)
    parent = {parent}
""" + "".join(f"    {line}\n" for line in lines) + f"""
    def unvisited(v):
        return depth[v] == infinity

    def visit(src, dst{weight}):
{inside}
    def settle(v):
        depth[v] = level
{stores}
    depth[source] = 0
{begin}    frontier = vertexset(source)
    level = 0
    while frontier:
        level += 1
        frontier = edges.from_(frontier){to}.apply_modified(visit, {tracking})
{end}    return {returns}
"""


def _relax(body="distance[dst].min(distance[src] + weight)", vectors="", functions="", loop="",
           first="", to="", initial="vector(uint, infinity)", begin="0", returns="distance",
           weight=", weight"):
    inside = "".join(f"        {line}\n" for line in body.splitlines())
    return ("""
@program
def relaxation(edges: edgeset, source: vertex = 0):
    distance = """ + initial + "\n" + "".join(f"    {line}\n" for line in vectors.splitlines())
            + "".join(f"    {line}\n" for line in functions.splitlines()) + f"""
    def relax(src, dst{weight}):
{inside}
    distance[source] = {begin}
    frontier = vertexset(source)
{"".join(f"    {line}" + chr(10) for line in first.splitlines())}    while frontier:
        frontier = edges.from_(frontier){to}.apply_modified(relax, distance)
{"".join(f"        {line}" + chr(10) for line in loop.splitlines())}    return {returns}
""")


#: What :func:`components_text` does for an edge, and for a vertex.
_HOOK = """if label[src] != label[dst]:
    label[max(label[src], label[dst])].min(min(label[src], label[dst]))
    differs[dst] |= True"""
_SHORTCUT = """label[v] = label[label[v]]
differs[v] = False"""


def components_text(hook=_HOOK, shortcut=_SHORTCUT, vectors="", flags="vector(bool, False)",
                    needs="", before="", after="", behind="", returns="label",
                    labels="vector(vertex, lambda v: v)", asked="differs"):
    """A program that finds components: its functions, and what stands beside them."""
    def lines(text, depth):
        return "".join(f"{'    ' * depth}{line}\n" for line in text.splitlines())

    return f"""
@program{needs}
def components(edges: edgeset):
    label = {labels}
    differs = {flags}
{lines(vectors, 1)}
    def shortcut(v):
{lines(shortcut, 2)}
    def hook(src, dst):
{lines(hook, 2)}
{lines(before, 1)}    changed = vertices
    while changed:
        vertices.apply(shortcut)
        changed = edges.apply_modified(hook, {asked})
{lines(after, 2)}{lines(behind, 1)}    return {returns}
"""


#: {name: text}.
TEXTS = {
    "components": components_text(),
    "hooked apart": components_text(
        vectors="seen = vector(uint, 0)", needs="(needs=symmetric)", flags="vector(uint, 0)",
        hook="if label[src] < label[dst]:\n    root = label[dst]\n    label[root].min(label[src])\n"
             "    differs[src].max(1)\nseen[dst].max(number)",
        shortcut="if label[label[v]] != label[v]:\n    label[v] = label[label[v]]\n"
                 "differs[v] = 0", before="number = 7\nrounds = 0", after="rounds += 1",
        returns="label, seen"),
    "counted hooks": components_text(
        vectors="hooks = vector(uint, 0)", hook=_HOOK + "\n    hooks[dst] += 1",
        returns="label, hooks"),
    "no parents": _search(reductions="depth[dst].min(level)", tracking="depth", start="",
                          after=""),
    "harmless": _search(vectors="found = vector(uint, 0)", settle="found[v] = 1",
                        returns="depth, parent, found"),
    "tries": _search(vectors="tries = vector(uint, 0)",
                     reductions="parent[dst].min(src)\ntries[dst] += 1",
                     returns="depth, parent, tries"),
    "largest parent": _search(reductions="parent[dst].max(src)", parent="vector(vertex, 0)",
                              returns="depth, parent"),
    "marks": _search(vectors="seen = vector(bool, False)", reductions="seen[dst] |= True",
                     tracking="seen", start="seen[source] = True", returns="depth, seen"),
    "seen twice": _search(vectors="seen = vector(bool, False)", reductions="seen[dst] |= True",
                          tracking="seen", start="", returns="depth, seen"),
    "paths": _search(vectors="ways = vector(uint, 0)", reductions="ways[dst] += ways[src]",
                     tracking="ways", start="ways[source] = 1", returns="depth, ways"),
    "late parent": _search(start="", returns="depth, parent"),
    "no filter": _search(to="", reductions="parent[dst].min(src)\ndepth[dst].min(level)",
                         tracking="depth", after="", returns="depth"),
    "arrivals": _search(to="", vectors="arrivals = vector(uint, 0)", tracking="depth", after="",
                        reductions="depth[dst].min(level)\narrivals[dst] += 1",
                        returns="depth, arrivals"),
    "two functions": _search(after="frontier.apply(settle)\nfrontier.apply(note)",
                      vectors="last = vector(uint, 0)",
                      functions="def note(v):\n    last[v] = depth[v] + 1",
                      returns="depth, parent, last"),
    "late edges": _search(weight=", weight", returns="depth, parent",
                          reductions="if weight < 3 * level:\n    parent[dst].min(src)"),
    "strides": _search(after="frontier.apply(settle)\nlevel += 1", returns="depth"),
    "flips": _relax(body="distance[dst].min(distance[src] ^ 5)", weight=""),
    # Words that do not grow with those of the source, by either operand.
    "falls": _relax(body="distance[dst].min(max(~distance[src], 700))", weight=""),
    "falls behind": _relax(body="distance[dst].min(max(weight, ~distance[src]))"),
    "shifted": _relax(body="distance[dst].min((distance[src] >> 1) + weight)"),
    "shifts": _relax(body="distance[dst].min(weight >> (distance[src] & 3))"),
    "of another": _relax(vectors="other = vector(vertex, lambda v: v)",
                         body="distance[dst].min(max(distance[other[src]], weight))"),
    "of both ends": _relax(body="distance[dst].min(max(distance[src], distance[dst] >> 1))",
                           weight=""),
    "capped": _relax(body="distance[dst].min(min(distance[src], 100))", weight="", begin="7"),
    "last change": _relax(vectors="change = vector(uint, infinity)", first="rounds = 0",
                          functions="def note(v):\n    change[v] = rounds",
                          loop="frontier.apply(note)\nrounds += 1", returns="distance, change"),
    "sizes": _relax(vectors="least = vector(uint, infinity)", first="size = 1",
                    functions="def far(v):\n    return distance[v] > 10\n"
                              "def note(v):\n    least[v] = size",
                    loop="beyond = vertices.where(far)\nsize = len(beyond)\n"
                         "frontier.apply(note)", returns="distance, least"),
    "counter": _relax(first="rounds = 0", loop="rounds += 1"),
    "guarded": _relax(body="if distance[src] + weight < distance[dst]:\n"
                           "    distance[dst].min(distance[src] + weight)"),
    "marked": _relax(vectors="found = vector(uint, 0)",
                     functions="def note(v):\n    found[v] = 1",
                     loop="frontier.apply(note)", returns="distance, found"),
    "times": _relax(vectors="times = vector(uint, 0)",
                    functions="def note(v):\n    times[v] = times[v] + 1",
                    loop="frontier.apply(note)", returns="distance, times"),
    "touched": _relax(vectors="touched = vector(bool, False)",
                      body="distance[dst].min(distance[src] + weight)\ntouched[dst] |= True",
                      returns="distance, touched"),
    "predecessor": _relax(vectors="before = vector(vertex, none)",
                          body="if distance[src] + weight < distance[dst]:\n"
                               "    distance[dst].min(distance[src] + weight)\n"
                               "    before[dst].min(src)", returns="distance, before"),
    "widest": _relax(body="distance[dst].max(min(distance[src], weight))",
                     initial="vector(uint, 0)", begin="1000"),
    "allowed": _relax(vectors="closed = vector(bool, lambda v: uint(v) % 5 == 3)",
                      functions="def allowed(v):\n    return not closed[v]", to=".to(allowed)"),
    "tolls": _relax(vectors="toll = vector(uint, lambda v: infinity if uint(v) % 3 == 0 else 0)",
                    body="distance[dst].min(distance[src] + weight + toll[dst])"),
    "visits": _relax(vectors="visits = vector(uint, 0)",
                     functions="def note(v):\n    visits[vertex(uint(v) % 4)] += 1",
                     loop="frontier.apply(note)", returns="distance, visits"),
    "bits": _relax(vectors="seen = vector(uint, 0)",
                   functions="def note(v):\n    seen[vertex(distance[v] % 30)] |= 1",
                   loop="frontier.apply(note)", returns="distance, seen"),
    "turns": """
@program
def turns(edges: edgeset, source: vertex = 0):
    seen = vector(uint, 0)
    times = vector(uint, 0)

    def unseen(v):
        return seen[v] == 0

    def visit(src, dst):
        seen[dst].max(1)
        times[dst] += 1

    frontier = vertexset(source)
    for turn in range(3):
        frontier = edges.from_(frontier).to(unseen).apply_modified(visit, times)
    return seen, times
""",
    "halves": """
@program
def halves(edges: edgeset, source: vertex = 0):
    seen = vector(uint, 0)
    times = vector(uint, 0)

    def unseen(v):
        return seen[v] == 0

    def visit(src, dst):
        if uint(src) % 2 == 0:
            seen[dst].max(1)
        times[dst] += 1

    for turn in range(3):
        edges.to(unseen).apply(visit)
    return seen, times
""",
    "spent": """
@program
def spent(edges: edgeset):
    left = vector(uint, lambda v: uint(v) % 3)

    def some(v):
        return left[v] == 1

    def spend(v):
        left[v] = 0

    def empty(v):
        return left[v] == 0

    def give(src, dst):
        left[dst].max(left[src] + 5)

    givers = vertices.where(some)
    givers.apply(spend)
    edges.from_(givers).to(empty).apply(give)
    return left
""",
    "hops": _relax(body="distance[dst].min(distance[src] + 1)", weight=""),
    "waves": """
@program
def waves(edges: edgeset):
    seen = vector(uint, lambda v: 1 << uint(v) if uint(v) < 9 else 0)
    active = vector(uint, lambda v: 1 << uint(v) if uint(v) < 9 else 0)
    arriving = vector(uint, 0)

    def starts(v):
        return seen[v] != 0

    def visit(src, dst):
        arriving[dst] |= active[src] & ~seen[dst]

    def settle(v):
        active[v] = arriving[v]
        seen[v] = seen[v] | arriving[v]
        arriving[v] = 0

    frontier = vertices.where(starts)
    while frontier:
        frontier = edges.from_(frontier).apply_modified(visit, arriving)
        frontier.apply(settle)
    return seen
""",
    "walks": """
@program
def walks(edges: edgeset):
    ways = vector(uint, 1)

    def allowed(v):
        return uint(v) % 5 != 3

    def count(src, dst):
        ways[dst] += ways[src]

    edges.to(allowed).apply(count)
    return ways
""",
    "forgotten": """
@program
def forgotten(edges: edgeset):
    seen = vector(uint, 0)
    times = vector(uint, 0)

    def quiet(v):
        return seen[v] == 0

    def hit(src, dst):
        seen[dst].max(1)

    def forget(v):
        seen[v] = 0
        times[v] = times[v] + 1

    for step in range(3):
        changed = edges.to(quiet).apply_modified(hit, seen)
        changed.apply(forget)
    return times
""",
    "searches": """
@program
def searches(edges: edgeset):
    start = vector(uint, lambda v: 1 << uint(v) % 32)
    seen = vector(uint, 0)

    def begin(v):
        seen[v] = start[v]

    def spread(src, dst):
        seen[dst] |= seen[src]

    vertices.apply(begin)
    active = vertices
    while active:
        active = edges.from_(active).apply_modified(spread, seen)
    return seen
""",
    "smallest label": """
@program
def labels(edges: edgeset):
    label = vector(vertex, lambda v: v)

    def pass_on(src, dst):
        label[dst].min(label[src])

    changed = vertices
    while changed:
        changed = edges.from_(changed).apply_modified(pass_on, label)
    return label
""",
    "delta": """
@program
def near(edges: edgeset, source: vertex = 0):
    distance = vector(uint, infinity)
    rounds = vector(uint, 0)

    def relax(src, dst, weight):
        distance[dst].min(distance[src] + weight)

    def visit(v):
        rounds[v] = 1

    distance[source] = 0
    queue = PriorityQueue(distance, source, delta=7)
    moved = 0
    while queue:
        near = queue.dequeue()
        near.apply(visit)
        edges.from_(near).apply_update_priority(relax, queue)
        moved += 1
    return distance, rounds
""",
    "colouring": """
@program(needs=symmetric)
def colouring(edges: edgeset):
    colour = vector(uint, infinity)
    rival = vector(uint, 0)

    def open(v):
        return colour[v] == infinity

    def clear(v):
        rival[v] = 0

    def compete(src, dst):
        if src != dst:
            rival[dst].max(uint(src) + 1)

    def wins(v):
        return uint(v) + 1 > rival[v]

    def paint(v):
        colour[v] = turn

    turn = 0
    left = vertices
    while left:
        left.apply(clear)
        edges.from_(left).to(open).apply(compete)
        winners = left.where(wins)
        winners.apply(paint)
        left = left.where(open)
        turn += 1
    return colour
""",
    "sums": """
@program
def sums(edges: edgeset, rounds: int = 4):
    one = vector(uint, 1)
    first = vector(uint, 0)
    second = vector(uint, 0)

    def clear(v):
        first[v] = 0
        second[v] = 0

    def collect(src, dst):
        first[dst] += one[src]
        second[dst] += 2

    def keep(v):
        one[v] = 1 + first[v] % 7

    done = 0
    while done < rounds:
        vertices.apply(clear)
        edges.apply(collect)
        vertices.apply(keep)
        done += 1
    return first, second
""",
    "closeness": """
@program
def closeness(edges: edgeset, starts: int = 3):
    depth = vector(uint, infinity)
    total = vector(uint, 0)

    def reset(v):
        depth[v] = infinity

    def unvisited(v):
        return depth[v] == infinity

    def visit(src, dst):
        depth[dst].min(level)

    def add(v):
        if depth[v] != infinity:
            total[v] = total[v] + depth[v]

    for start in range(starts):
        vertices.apply(reset)
        depth[start] = 0
        frontier = vertexset(start)
        level = 0
        while frontier:
            level += 1
            frontier = edges.from_(frontier).to(unvisited).apply_modified(visit, depth)
        vertices.apply(add)
    return total
""",
    "numbers": """
@program
def numbers(edges: edgeset):
    next = vector(vertex, lambda v: v)
    total = vector(uint, 0)

    def lower(src, dst):
        next[dst].min(next[src])

    def add(src, dst):
        total[dst] += uint(next[src])

    edges.apply(lower)
    edges.apply(add)
    return next, total
""",
    "triangles": """
@program
def wedge(edges: edgeset):
    paths = vector(uint, 0)
    nearest = vector(vertex, none)

    def join(src, dst):
        if src != dst and edges.out_degree(src) < edges.out_degree(dst):
            paths[dst] += edges.out_degree(src)
            nearest[dst].min(src)

    edges.apply(join)
    return paths, nearest
""",
    "layers": """
@program
def layers(edges: edgeset):
    waits = vector(uint, lambda v: edges.in_degree(v))
    layer = vector(uint, infinity)

    def ready(v):
        return waits[v] == 0 and layer[v] == infinity

    def take(v):
        layer[v] = step

    def lower(src, dst):
        done[dst] += 1

    def settle(v):
        waits[v] = max(waits[v], done[v]) - done[v]
        done[v] = 0

    done = vector(uint, 0)
    step = 0
    now = vertices.where(ready)
    while now:
        now.apply(take)
        edges.from_(now).apply(lower)
        vertices.apply(settle)
        now = vertices.where(ready)
        step += 1
    return layer
""",
}


@functools.cache
def read(name):
    """A program with facts: one of :data:`TEXTS`, or of the package."""
    found = read_text(TEXTS[name]) if name in TEXTS else programs.find(name)
    return analysed(found, after=_LAST)
