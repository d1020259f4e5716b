"""Programs for tests: features of the language that the programs of Graphloom do not use, and runs
that end with an error."""

from sw.lang.reader import read_text


__all__ = ["ERRORS", "FEATURES", "feature", "with_error"]


#: {name: text}. Each run ends well.
FEATURES = {"kinds": """
def kinds(edges: edgeset, factor: uint = 3):
    highest = vector(uint, 0)
    flags = vector(uint, lambda v: uint(v) & 7)
    odd = vector(uint, 0)
    seen = vector(bool, lambda v: uint(v) % 5 == 0)

    def look(src, dst, weight):
        highest[dst].max(weight // factor + uint(src))
        if weight % 2 == 1:
            odd[src] += 1
        else:
            odd[dst] += 2
        flags[dst] |= flags[src] << 1
        seen[dst] |= seen[src] and weight > 1000

    edges.apply(look)
    return highest, flags, odd, seen
""", "both_ways": """
def both_ways(edges: edgeset, source: vertex = 0, rounds: int = 4):
    reached = vector(uint, 0)
    times = vector(uint, 0)
    least_of = vector(vertex, none)

    def few(v):
        return times[v] < 3 and edges.in_degree(v) < 9

    def spread(src, dst):
        reached[dst] |= reached[src] | 1 << uint(src) % 32
        times[dst] += 1
        least_of[src].min(dst)

    def known(v):
        return reached[v] != 0

    frontier = vertexset(source)
    for round in range(rounds):
        frontier = edges.transpose().from_(frontier).to(few).apply_modified(spread, reached)
        back = vertices.where(known)
        frontier = edges.from_(back).to(few).apply_modified(spread, times)
    return reached, times, least_of
""", "counted": """
def counted(edges: edgeset):
    touched = vector(uint, 0)
    groups = vector(vertex, lambda v: v)
    sizes = vector(uint, 0)
    mean = vector(fixed, 0.25)

    def join(src, dst):
        groups[dst].min(groups[src])
        touched[src].max(uint(dst))

    def count(v):
        sizes[groups[v]] += 1
        touched[groups[v]].max(uint(v))

    def weigh(v):
        mean[v] = (mean[v] + 2.5) / (sizes[v] + 1) if sizes[v] > 1 else mean[v]

    def value(v):
        return mean[v]

    changed = edges.apply_modified(join, groups)
    changed.apply(count)
    vertices.apply(weigh)
    if vertices.sum(value) > 3:
        vertices.apply(weigh)
    return touched, groups, sizes, mean
""", "leaders": """
def leaders(edges: edgeset):
    best = vector(uint, lambda v: edges.out_degree(v) * 1000 + uint(v))

    def lead(src, dst):
        best[dst].max(best[src])

    changed = vertices
    while changed:
        changed = edges.from_(changed).apply_modified(lead, best)
    return best
"""}

#: {name: text}. Each run ends with an error, on a graph that has arcs.
ERRORS = {"sum": """
def sum(edges: edgeset):
    count = vector(uint, infinity)

    def add(src, dst):
        count[dst] += 1

    edges.apply(add)
    return count
""", "index": """
def index(edges: edgeset):
    parent = vector(vertex, none)
    word = vector(uint, 0)

    def follow(src, dst):
        word[dst].max(uint(parent[src]) & word[parent[src]])

    edges.apply(follow)
    return word
""", "below": """
def below(edges: edgeset):
    left = vector(fixed, 1)

    def lower(v):
        left[v] = left[v] - 2

    vertices.apply(lower)
    return left
""", "division": """
def division(edges: edgeset):
    share = vector(fixed, 1)

    def divide(v):
        share[v] = share[v] / (edges.out_degree(v) - edges.out_degree(v))

    vertices.apply(divide)
    return share
""", "filter": """
def filter(edges: edgeset):
    parent = vector(vertex, none)
    word = vector(uint, 0)

    def never(v):
        return word[v] == 7

    def wanted(v):
        return word[parent[v]] == 1

    def mark(src, dst):
        word[dst].max(1)

    nobody = vertices.where(never)
    edges.from_(nobody).to(wanted).apply(mark)
    return word
"""}


def feature(name):
    """The program of :data:`FEATURES` of that name."""
    return read_text("@program" + FEATURES[name], "<text>", name)


def with_error(name):
    """The program of :data:`ERRORS` of that name."""
    return read_text("@program" + ERRORS[name], "<text>", name)
