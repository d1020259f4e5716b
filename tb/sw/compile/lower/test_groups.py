"""Which operators of a program share a kernel, and what that leaves to launch.

====================  =============================================================================
programs              test_kernels: the kernels of the shipped programs of several loops;
                      test_launches: launches for each execution of an operator of edges
rules                 test_joins, test_stays_alone, test_edges: operators that may, and may not,
                      share a kernel; all are run, and compared with the interpreter;
                      test_words_that_are_read_and_stored: at vertices that many edges add
filters               test_filters
rows                  test_first_edge: the first edge that passes a condition ends a row
advance               test_in_advance: a loop's first operator rides on the kernel that makes its
                      set, also where the set becomes empty, and where the host counts between
sets                  test_many_sets: sets that live side by side, under several names;
                      test_most_sets: how many a kernel has; test_marks: tracked words that
                      need no memory;
                      test_numbers: a number of the host that an argument has no room for
frontiers             test_frontiers, test_splits, test_turns, test_no_rows: the kinds of sets;
                      test_deduplication; test_known_by_words; test_refused; test_hybrids,
                      test_reductions_in_a_hybrid
====================  =============================================================================
"""

import functools

import numpy as np
import pytest

from base.errors import UserError
from base.installation import ROOT
from hw.config import preset
from sw.compile.lower.algorithm import algorithm_of
from sw.compile.lower.fuse import group_name
from sw.compile.plan import Plan
from sw.compile.schedules import equip
from sw.device import Device
from sw.graph import Graph, load
from sw.lang import programs
from sw.lang.reader import read_text
from sw.vm import reference


@functools.cache
def graph():
    return load("rmat:scale=6,degree=4,seed=3").undirected().simplify()


def kernels(text):
    """The names of the kernels of a text."""
    found = algorithm_of(read_text(text))(graph()).groups.all
    return {group_name(group) for group in found}


def run(text, tmp_path, on=None, config="tiny", cores=1, **choices):
    """A run of a text by the device, which compares it with the interpreter."""
    path = tmp_path / "text.py"
    path.write_text(text)
    on = on or graph()
    schedule = choices.pop("schedule", "vm")
    hardware = equip(preset(config).replace(imem_bytes=1 << 16, cores=cores), [schedule])
    with Device.functional(hardware) as device:
        result = device.run(str(path), on, schedule=schedule, **choices)
    expected = reference.run(read_text(text), on).outputs
    assert all(np.array_equal(result.outputs[name], words) for name, words in expected.items())
    return result


@pytest.mark.parametrize("name, expected", [
    ("bc", {"edges0_vertices_settle", "where_on_level_all", "edges1"}),
    ("mis", {"edges0", "where_wins_vertices_choose", "edges1",
             "where_is_open_vertices_draw"}),
    ("kcore", {"where_falls_vertices_remove", "where_lives_where_falls", "edges0",
               "vertices_remove"}),
])
def test_kernels(name, expected):
    found = algorithm_of(programs.find(name))(graph()).groups.all
    assert {group_name(group) for group in found} == expected


@pytest.mark.parametrize("name, schedule, most", [
    ("bc", "vm", 1.5), ("bc", "em", 1), ("mis", "vm", 2.2), ("kcore", "weaver", 3.1)])
def test_launches(name, schedule, most):
    """Launches for each execution of an operator of edges."""
    with Device.functional(preset("tiny").replace(gather="stream", imem_bytes=1 << 16)) as device:
        result = device.run(name, graph(), schedule=schedule, direction="push")
    assert result.verified
    edges = sum(step["launches"] for kernel, step in result.steps.items()
                if kernel.startswith("edges"))
    assert result.launches <= most * edges + 1


VERTICES = """
@program
def pairs(edges: edgeset):
    x = vector(uint, lambda v: uint(v) & 7)
    y = vector(uint, 1)
    z = vector(vertex, lambda v: vertex(uint(v) // 2))

    def odd(v):
        return x[v] % 2 == 1

    def first(v):
        {first}

    def second(v):
        {second}

    some = vertices.where(odd)
    some.apply(first)
    some.apply(second)
    return x, y
"""


@pytest.mark.parametrize("first, second", [
    ("y[v] = x[v] + 1", "x[v] = y[v] * 2"),                         # the own word
    ("y[v] = x[v]\n        x[v] = 9", "y[v] = y[v] + x[v]"),
    ("if x[v] > 2:\n            y[v] = 5", "x[v] = y[v]"),
    ("y[v] = x[z[v]]", "y[v] = y[v] + x[z[v]]"),                    # reads elsewhere, not written
])
def test_joins(first, second, tmp_path):
    text = VERTICES.format(first=first, second=second)
    assert len(kernels(text)) == 1
    run(text, tmp_path)


@pytest.mark.parametrize("first, second", [
    ("y[v] = x[v] + 1", "x[v] = y[z[v]]"),                          # reads what others write
    ("y[v] = x[z[v]]", "x[v] = y[v]"),                              # writes what others read
    ("y[z[v]] += 1", "x[v] = y[v]"),                                # sums of others
])
def test_stays_alone(first, second, tmp_path):
    text = VERTICES.format(first=first, second=second)
    assert len(kernels(text)) == 2
    run(text, tmp_path)


EDGES = """
@program
def spread(edges: edgeset):
    x = vector(uint, 0)
    y = vector(uint, 1)

    def send(src, dst):
        {send}

    def note(v):
        {note}

    frontier = vertexset(0, 5)
    for i in range(4):
        frontier = edges.from_(frontier).apply_modified(send, x)
        frontier.apply(note)
    return x, y
"""


@pytest.mark.parametrize("send, note, joins", [
    ("x[dst] += 1", "y[v] = i + 2", True),
    ("x[dst] |= y[src]", "y[v] = 4", False),            # edges read what is stored
    ("x[dst] += 1", "y[v] = x[v]", False),              # the sum is not final
    ("x[dst] |= 1 << i", "y[v] = y[v] + x[v]", True),   # any edge gives the word
    ("x[dst].max(i)", "x[v] = 0", False),               # edges come later
    ("if y[src] < 3:\n            x[dst] += y[src]", "y[v] = y[v] + 1", False),
])
@pytest.mark.parametrize("schedule, direction", [("vm", "push"), ("em", "push"), ("vm", "pull")])
def test_edges(send, note, joins, schedule, direction, tmp_path):
    text = EDGES.format(send=send, note=note)
    assert ("edges0_vertices_note" in kernels(text)) == joins
    run(text, tmp_path, schedule=schedule, direction=direction)


STORING = """
@program
def storing(edges: edgeset):
    depth = vector(uint, infinity)
    state = vector(uint, 0)
    other = vector(uint, 0)
    parent = vector(vertex, none)

    def is_new(v):
        return depth[v] == infinity

    def visit(src, dst):
        parent[dst].min(src)

    def settle(v):
        {settle}

    def note(v):
        {note}

    depth[0] = 0
    level = 0
    frontier = vertexset(0)
    while frontier:
        level += 1
        frontier = edges.from_(frontier).to(is_new).apply_modified(visit, parent)
        frontier.apply(settle)
        frontier.apply(note)
    return depth, parent, state, other
"""


@pytest.mark.parametrize("settle, note", [
    ("if state[v] == 0:\n            state[v] = 1\n        elif state[v] == 1:\n"
     "            state[v] = 2", "depth[v] = level"),
    ("if other[v] == 1:\n            state[v] = 3", "depth[v] = level\n        other[v] = 1"),
    ("if depth[v] == infinity:\n            state[v] = 1", "depth[v] = level"),
    ("depth[v] = level", "if depth[v] == level:\n            state[v] = 1"),
])
@pytest.mark.parametrize("choices", [
    {}, {"frontier": "bitmap"}, {"schedule": "em", "frontier": "counter", "cores": 3},
    {"schedule": "weaver", "direction": "pull"}], ids=str)
def test_words_that_are_read_and_stored(settle, note, choices, tmp_path):
    text = STORING.format(settle=settle, note=note)
    assert "edges0_vertices_settle_note" in kernels(text)
    run(text, tmp_path, **choices)


FILTERS = """
@program
def filters(edges: edgeset):
    x = vector(uint, lambda v: uint(v) * 7 % 5)
    near = vector(vertex, lambda v: vertex(uint(v) // 2))
    y = vector(uint, 0)

    def some(v):
        return x[v] != 2

    def wanted(v):
        return {test}

    def add(src, dst):
        y[dst] += x[src]

    for i in range(3):
        found = vertices.where(some)
        edges.from_(found).to(wanted).apply(add)
    return y
"""


@pytest.mark.parametrize("test", [
    "x[v] == 1", "x[near[v]] == 1", "x[vertex(uint(v) // 2)] == 1", "x[v] > y[v]",
    "uint(v) % 3 == i", "x[v] > 0 and edges.in_degree(v) > 4"])
@pytest.mark.parametrize("schedule, direction", [("vm", "pull"), ("weaver", "pull"), ("em", "push"),
                                                 ("twc", "pull")])
def test_filters(test, schedule, direction, tmp_path):
    """Filters of destinations, by any words."""
    run(FILTERS.format(test=test), tmp_path, schedule=schedule, direction=direction)


ADVANCE = """
@program
def advance(edges: edgeset):
    left = vector(uint, lambda v: uint(v) & 15)
    last = vector(uint, 0)

    def more(v):
        return left[v] > 0

    def step(v):
        left[v] = left[v] - 1
        last[v] = turn

    turn = 5
    some = vertices.where(more)
    while some:
        turn += {grows}
        some.apply(step)
        some = some.where(more)
    turn += 1
    some.apply(step)
    return left, last
"""


_FIRST = '''
from graphloom import edgeset, infinity, program, uint, vector, vertices

@program
def first(edges: edgeset):
    """A number of a source with a flag."""
    flag = vector(uint, 1)
    found = vector(uint, {start})

    def take(src, dst):
        if flag[src] == flag[dst]:
            found[dst].{reduction}(uint(src))

    edges.apply(take)
    return found
'''


@pytest.mark.parametrize("schedule", ["vm", "wm", "weaver"])
def test_first_edge(schedule, tmp_path):
    """Of rows with 64 edges, the smallest source takes a part of the largest one's work."""
    ends = np.repeat(np.arange(64), 64), np.tile(np.arange(64), 64)
    least, most = (run(_FIRST.format(reduction=reduction, start=start), tmp_path,
                       Graph(64, *ends, name="full"), schedule=schedule, direction="pull")
                   for reduction, start in (("min", "infinity"), ("max", 0)))
    assert 2 * least.counters["instructions"] < most.counters["instructions"]


@pytest.mark.parametrize("grows", [1, 3])
def test_in_advance(grows, tmp_path):
    text = ADVANCE.format(grows=grows)
    assert "where_more_vertices_step" in kernels(text)
    result = run(text, tmp_path)
    # One kernel before the loop, which has 15 rounds; one in each round; and one behind it.
    assert result.launches == 17
    run(text, tmp_path, on=Graph(4, [0, 1], [1, 2]))


SETS = """
@program
def sets(edges: edgeset):
    hit = vector(uint, 0)
    seen = vector(uint, 0)

    def reach(src, dst):
        hit[dst].max(i + 1)

    def count(src, dst):
        seen[dst] += 1

    def note(v):
        seen[v] = seen[v] + 1

    def many(v):
        return seen[v] > 1

    kept = vertexset(3)
    before = vertexset(0)
    for i in range(5):
        now = edges.from_(before).apply_modified(reach, hit)
        both = now
        both.apply(note)
        some = both.where(many)
        edges.from_(some).apply(count)
        if i % 2 == 0:
            kept = some
        kept.apply(note)
        before = now
        edges.from_(kept).apply(count)
    return hit, seen
"""


@pytest.mark.parametrize("schedule, direction", [
    ("vm", "push"), ("em", "push"), ("vm", "pull"), ("strict", "push")])
def test_many_sets(schedule, direction, tmp_path):
    run(SETS, tmp_path, schedule=schedule, direction=direction)


@pytest.mark.parametrize("of, most", [("s", 2), ("vertices", 3)])
def test_most_sets(of, most):
    """A kernel reads and makes three sets at most: filters beyond them have one of their own."""
    numbers = range(5)
    lines = ["def hit(src, dst): x[dst] += 1", "s = vertexset(0, 3)", "edges.from_(s).apply(hit)",
             *(f"def f{i}(v): return x[v] > {i}" for i in numbers),
             *(f"def g{i}(v): y{i}[v] = 1" for i in numbers),
             *(f"s{i} = {of}.where(f{i})" for i in numbers),
             *(f"s{i}.apply(g{i})" for i in numbers)]
    found = kernels("@program\ndef p(edges: edgeset):\n    x = vector(uint, 0)\n" + "".join(
        f"    y{i} = vector(uint, 0)\n" for i in numbers) + "".join(
        f"    {line}\n" for line in lines) + "    return y0, y1, y2, y3, y4\n")
    assert max(name.count("where") for name in found) == most
    assert sum(name.count("where") for name in found) == len(numbers)


@pytest.mark.parametrize("before, behind, word, marks", [
    ("pass", "vertices.apply(clear)", "False", 1), ("pass", "s.apply(clear)", "False", 0),
    ("pass", "vertices.apply(clear)", "True", 0), ("pass", "vertices.apply(note)", "False", 0),
    ("s.apply(clear)", "vertices.apply(clear)", "False", 1)])
def test_marks(before, behind, word, marks):
    """What tells a round's vertices needs no word of memory, if nobody else reads it, and each
    round begins with the word that an edge changes."""
    found = algorithm_of(read_text(f"""
@program
def p(edges: edgeset):
    hit = vector(bool, False)
    x = vector(uint, 0)
    def f(src, dst): hit[dst] |= True
    def clear(v): hit[v] = {word}
    def note(v): x[v] = x[v] + 1
    s = vertexset(0)
    for i in range(3):
        {before}
        s = edges.from_(s).apply_modified(f, hit)
        s.apply(note)
        {behind}
    return x
"""))(graph())
    assert len(found.dependence.marks) == marks


SIZES = """
@program
def sizes(edges: edgeset):
    hit = vector(uint, 0)
    sizes = vector(uint, 0)

    def reach(src, dst):
        hit[dst].max(i + 1)

    def note(v):
        sizes[v] = sizes[v] + number

    frontier = vertexset(0, 3)
    for i in range(4):
        reached = edges.from_(frontier).apply_modified(reach, hit)
        number = len(reached)
        vertices.apply(note)
        frontier = reached
    return hit, sizes
"""


def test_numbers(tmp_path):
    run("""
@program
def numbers(edges: edgeset):
    x = vector(uint, 0)
    y = vector(uint, 0)

    def mark(v):
        x[v] = x[v] ^ number
        y[v] = y[v] ^ number - 3

    number = 9
    for i in range(6):
        vertices.apply(mark)
        number = number * 50
    return x, y
""", tmp_path)


#: Frontiers of sets by the directions that can have them, and programs that they are tried on.
FRONTIERS = {"push": ("queue", "bitmap", "bytemap", "counter", "queue/bitmap", "queue/bytemap",
                      "bitmap/queue", "bytemap/queue", "bitmap/bytemap", "bytemap/bitmap"),
             "pull": ("bitmap", "bytemap", "counter", "bitmap/queue", "bytemap/queue",
                      "bytemap/bitmap", "bitmap/bytemap", "rqueue", "rqueue/bitmap",
                      "rqueue/bytemap")}
PROGRAMS = ("bc", "kcore", "mis", SETS, "levels", "closeness", "searches")


def _listed(schedule, frontier):
    return not (schedule == "em" and frontier.startswith(("queue", "rqueue")))


@pytest.mark.parametrize("direction, frontier", [
    (direction, frontier) for direction, names in FRONTIERS.items() for frontier in names])
def test_frontiers(direction, frontier, tmp_path):
    """Each kind that sets may be, in turn with the programs, the schedules and the cores."""
    place = FRONTIERS[direction].index(frontier)
    for number, schedule in enumerate(("vm", "weaver", "em", "tile")):
        if not _listed(schedule, frontier):
            continue
        name = PROGRAMS[(place + 3 * number) % len(PROGRAMS)]
        if frontier.startswith("rqueue"):
            name = ("bc", "mis", "kcore")[(place + number) % 3]
        if name is SETS:
            text = name
        elif name in programs.names():
            text = programs.path(name).read_text()
        else:
            text = (ROOT / "examples" / "programs" / f"{name}.py").read_text()
        run(text, tmp_path, schedule=schedule, direction=direction, frontier=frontier,
            cores=1 + number % 2)


@pytest.mark.parametrize("frontier", [None, "queue", "rqueue", "bitmap", "queue/bitmap", "counter"])
def test_hybrids(frontier):
    """Each execution of an operator of edges goes by the size of its set."""
    with Device.functional(preset("tiny").replace(imem_bytes=1 << 16)) as device:
        for name in ("kcore", "bc", "mis"):
            result = device.run(name, graph(), direction="auto", frontier=frontier)
            ways = result.parameters["directions"]
            assert len(ways) == result.supersteps and {*ways} == {"push", "pull"}
            again = device.run(result.plan, graph())
            assert again.plan == result.plan and again.parameters == result.parameters


@pytest.mark.parametrize("split", ["static", "counter"])
@pytest.mark.parametrize("frontier", ["queue/bitmap", "bytemap", "rqueue/bitmap"])
def test_splits(frontier, split, tmp_path):
    """A list that a pass makes has one place, which a counter may know beforehand."""
    direction = "pull" if frontier.startswith("r") else "push"
    run(FILTERS.format(test="x[v] == 1"), tmp_path, direction=direction, frontier=frontier,
        split=split)


ROUNDS = """
@program
def rounds(edges: edgeset):
    hit = vector(uint, 0)
    many = vector(uint, 0)

    def reach(src, dst):
        hit[dst].max(i + 1)

    def note(v):
        many[v] = many[v] + number

    for i in range(6):
        frontier = vertexset(5)
        if i % 2 == 0:
            frontier = vertexset(0, 1, 2, 3)
        reached = edges.from_(frontier).apply_modified(reach, hit)
        number = len(reached)
        vertices.apply(note)
    return hit, many
"""


@pytest.mark.parametrize("frontier", ["queue", "queue/bitmap", "queue/bytemap"])
def test_no_rows(frontier, tmp_path):
    """A superstep without any row leaves memory ready for the next set."""
    on = Graph(6, [0, 1, 1, 2, 3, 4], [1, 2, 3, 4, 0, 3])
    run(ROUNDS, tmp_path, on=on, format="cr2", frontier=frontier)


@pytest.mark.parametrize("frontier", ["queue", "bitmap", "counter", "bytemap/queue"])
def test_turns(frontier, tmp_path):
    """Every edge counts, and a lane has several in a turn."""
    run(SETS, tmp_path, schedule="graphpeg", direction="push", frontier=frontier, cores=2)
    run(SIZES, tmp_path, schedule="graphpeg", direction="push", frontier=frontier)


@pytest.mark.parametrize("frontier", ["queue", "bitmap", "bytemap", "counter", "bitmap/queue"])
def test_deduplication(frontier, tmp_path):
    """Vertices that are added several times count several times where nobody asks how many."""
    with Device.functional(preset("tiny").replace(imem_bytes=1 << 16)) as device:
        for deduplicate in (False, True):
            result = device.run("bc", graph(), schedule="vm", direction="push", frontier=frontier,
                                deduplicate=deduplicate)
            assert result.verified and result.deduplicated == deduplicate
    with pytest.raises(UserError, match="the size of frontier is asked"):
        run(SIZES, tmp_path, frontier=frontier, deduplicate=False)
    run(SIZES, tmp_path, frontier=frontier)


@pytest.mark.parametrize("direction", ["push", "pull"])
def test_gathered(direction, tmp_path):
    """A format gathers words at the addresses of sources, which may not be those that are sent."""
    run(programs.path("bc").read_text(), tmp_path, schedule="em", format="g-shards:shard=16",
        direction=direction)


@pytest.mark.parametrize("labels", [
    {"s0:s1.direction": "push", "s2:s3.direction": "pull"},
    {"s0:s1.direction": "pull", "s0:s1.frontier": "rqueue", "s2:s3.frontier": "counter"},
    {"s0:s1.frontier": "bitmap/queue", "s2:s3.frontier": "queue"},
    {"s0:s1.frontier": "bytemap", "s2:s3.frontier": "bitmap/bytemap", "direction": "pull"},
    {"s0:s1.direction": "pull", "s0:s1.frontier": "rqueue/bitmap",
     "s2:s3.frontier": "queue/bitmap"},
])
def test_labels(labels):
    """Operators read the sets of a program in their own ways."""
    words = " ".join(f"{name}={value}" for name, value in labels.items())
    with Device.functional(preset("tiny").replace(imem_bytes=1 << 16)) as device:
        assert device.run_task(device.plan(Plan.parse(f"bc {words}"), graph())).verified


@pytest.mark.parametrize("words, message", [
    ("s0:s1.frontier=bitmap s2:s3.frontier=queue", "have one kind, and the plan asks for 'bitmap'"),
    ("s0:s1.frontier=bitmap/queue s2:s3.frontier=bytemap/queue", "room for maps of one form"),
    ("s0:s1.frontier=rqueue s2:s3.direction=pull", "pushing visits"),
])
def test_labels_refused(words, message):
    with Device.functional(preset("tiny")) as device, pytest.raises(UserError, match=message):
        device.plan(Plan.parse(f"bc {words}"), graph())


def test_known_by_words():
    """A counter reads no stamps where words tell, and needs no filter that only made them."""
    with Device.functional(preset("tiny")) as device:
        lists = device.run("bc", graph(), schedule="vm", direction="push")
        words = device.run("bc", graph(), schedule="vm", direction="push", frontier="counter")
    assert "where_on_level_all" in lists.steps and "where_on_level_all" not in words.steps


def test_refused(tmp_path):
    for choices, message in [
            ({"deduplicate": False}, "is deduplicated in any case: .* would run each time"),
            ({"frontier": "counter/bitmap"}, "nothing would read the bitmap"),
            ({"frontier": "rqueue"}, "pushing visits the vertices of the frontier"),
            ({"direction": "pull", "frontier": "rqueue"}, "no operator of edges has a filter"),
            ({"direction": "pull", "frontier": "queue"}, "visits the vertices that gather"),
            ({"frontier": "lists"}, "schedule 'vm' cannot take vertices from lists"),
            ({"schedule": "em", "frontier": "queue"}, "cannot begin with a list of vertices")]:
        with pytest.raises(UserError, match=message):
            run(SETS, tmp_path, **choices)
    with pytest.raises(UserError, match="no choice of frontier: it has no operator of edges"):
        run(ADVANCE.format(grows=1), tmp_path, frontier="counter")


REDUCING = """
@program
def reducing(edges: edgeset, source: vertex = 0):
    x = vector(uint, infinity)
    least = vector(uint, infinity)
    x[source] = 0
    frontier = vertexset(source)

    def relax(src, dst, weight):
        x[dst].min(x[src] + weight)

    def note(v):
        least[vertex(uint(v) // 2)].min(x[v])

    while frontier:
        frontier = edges.from_(frontier).apply_modified(relax, x)
        frontier.apply(note)
    return x, least
"""


def test_reductions_in_a_hybrid(tmp_path):
    """A function of vertices may reduce words in a kernel that neither plan has alone."""
    for plan in ("{0} atomics=return | {0} schedule=em atomics=return when frontier>=0.3",
                 "{0} direction=push | {0} direction=pull when frontier>=0.2"):
        path = tmp_path / "text.py"
        path.write_text(REDUCING)
        with Device.functional(preset("tiny").replace(imem_bytes=1 << 16)) as device:
            assert device.run(plan.format(path), graph().weighted(9)).verified
