"""Programs of several operators as one launch, on the instruction-set simulator.

==========================  =======================================================================
words, launches             test_shipped, test_examples: as by launches, and as the interpreter's
sets                        test_sets: moved, kept while others are made, made by the host;
                            test_empty
numbers                     test_numbers: 64 bits, choices, loops in loops; test_large: no room in
                            an argument
queues                      test_queues: the threshold moves on the device
cores                       test_nobody_is_late, test_results_are_read_in_time: hosts that go ahead
                            of others
before the first operator   test_beginning
refusals                    test_refused, test_too_many_ways, test_room
==========================  =======================================================================

``Device.run`` compares every result with the interpreter's.
"""

import pathlib

import pytest

from base.errors import UserError
from hw.config import preset
from sw.compile.lower import host_code
from sw.compile.schedules import equip
from sw.device import Device
from sw.graph import Graph, load
from sw.lang import programs


EXAMPLES = pathlib.Path(__file__).parents[4] / "examples" / "programs"

#: Instructions after which a run is given up.
_LIMIT = 5_000_000


def graph(scale=5):
    return load(f"rmat:scale={scale},degree=4,seed=3,weights=99").undirected().simplify()


def device(schedule="vm", cores=1, seed=None, **fields):
    config = preset("tiny").replace(cores=cores, l2_banks=min(cores, 2), **(
        {"imem_bytes": 1 << 16, "local_bytes": 1 << 13} | fields))
    return Device.functional(equip(config, [schedule]), seed=seed)


def both(program, schedule="vm", cores=1, seed=None, on=None, **choices):
    """A run by launches, and one of one launch."""
    with device(schedule, cores, seed) as machine:
        one, other = (machine.run(program, on or graph(), schedule=schedule, fusion=fusion,
                                  max_cycles=_LIMIT, **choices) for fusion in (False, True))
    assert one.checksum == other.checksum and other.launches == 1 and other.verified
    return one, other


def written(tmp_path, text):
    path = tmp_path / "text.py"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("schedule, direction", [
    ("vm", "push"), ("vm", "pull"), ("weaver", "push"), ("weaver", "pull"), ("em", "pull"),
    ("tile", "pull"), ("twc", "push")])
@pytest.mark.parametrize("name", programs.names())
@pytest.mark.sample(12)
def test_shipped(name, schedule, direction, cores):
    one, other = both(name, schedule, cores, direction=direction)
    if name not in ("cc", "sssp"):              # whose supersteps depend on who comes first
        assert one.supersteps == other.supersteps


@pytest.mark.parametrize("name", sorted(
    path.stem for path in EXAMPLES.glob("*.py") if path.stem != "hits"))
def test_examples(name):
    both(str(EXAMPLES / f"{name}.py"), cores=2)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("schedule", ["vm", "weaver"])
@pytest.mark.parametrize("delta", [1, 7, 64, 4_000_000_000])
def test_queues(delta, schedule, cores):
    both("sssp", schedule, cores, delta=delta)


@pytest.mark.parametrize("delta", [1, 4, 7])
def test_queue_of_infinity(delta, tmp_path):
    """Vertices of infinity are ready when nobody else is: no threshold is above 2**32."""
    both(written(tmp_path, f"""@program
def text(edges: edgeset):
    x = vector(uint, infinity)
    y = vector(uint, 0)

    def lower(src, dst, weight):
        x[dst].min(x[src] + weight)

    def late(v):
        y[v] = y[v] + 1

    x[0] = 0
    queue = PriorityQueue(x, 0, 7, 5, delta={delta})
    while queue:
        now = queue.dequeue()
        now.apply(late)
        edges.from_(now).apply_update_priority(lower, queue)
    return x, y
"""), on=Graph(9, [0, 1, 2], [1, 2, 8], [3, 5, 9], name="line"))


@pytest.mark.parametrize("name", ["kcore", "mis", "bc"])
@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_late(name, seed):
    both(name, "vm", 3, seed)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("size, lines", [
    # Each core has vertices. What a host adds too early to one sum, the other has too little.
    (40, ("    n += vertices.sum(own)", "    n = n - vertices.sum(odd)")),
    # Sections so short that a core may be over the next before another has read the size.
    (3, ("    some = vertices.where(odd)", "    n += len(some)"))])
def test_results_are_read_in_time(size, lines, seed, tmp_path):
    """No section writes a sum, or the size of a set, before all hosts have read the one before."""
    on = Graph(size, range(size - 1), range(1, size), [1] * (size - 1), name="line")
    lines = ("n = 0", "for i in range(40):", *lines, "vertices.apply(grow)")
    both(written(tmp_path, body(*lines)), cores=2, seed=seed, on=on)


TEXT = """
@program
def text(edges: edgeset, most: int = 5):
    x = vector(uint, lambda v: uint(v) & 7)
    y = vector(uint, 0)

    def odd(v):
        return x[v] % 2 == 1

    def small(v):
        return x[v] < 4

    def own(v):
        return x[v]

    def grow(v):
        y[v] = y[v] + n

    def spread(src, dst):
        y[dst] += x[src]

    {}
    return x, y
"""


def body(*lines):
    return TEXT.format("\n    ".join("\n".join(lines).splitlines()))


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("lines", [
    # Sets change names, and one is kept while others are made.
    ("n = 1", "kept = vertices.where(odd)", "a = vertices.where(small)", "b = a",
     "for i in range(5):", "    c = b.where(odd)", "    b = a", "    a = c", "    a.apply(grow)",
     "kept.apply(grow)", "b.apply(grow)"),
    # Sets of the host, before and between operators.
    ("n = 3", "some = vertexset(1, 4, 1)", "some.apply(grow)", "for i in range(3):",
     "    one = vertexset(9)", "    one.apply(grow)", "    edges.from_(one).apply(spread)",
     "    y[2] = i + 7", "    n = len(one) + i"),
    # A set that nobody needs any more, but the operators that are held back.
    ("n = 1", "a = vertexset(1, 3, 4, 9)", "b = a.where(odd)", "c = b.where(small)",
     "b.apply(grow)", "c.apply(grow)"),
    # A set that grows empty in the middle.
    ("n = 1", "some = vertices.where(odd)", "while some:", "    some.apply(grow)",
     "    some = some.where(small)", "    n = n + len(some)", "    if n > 40:",
     "        some = vertexset()"),
    # A loop that begins with a loop.
    ("n = 1", "some = vertices.where(odd)", "while some:", "    for i in range(2):",
     "        some.apply(grow)", "    some = vertexset()"),
    # A size that is asked for while its operator is held back, and a number that changes then.
    ("n = 5", "some = vertices.where(small)", "some.apply(grow)", "n = 9 + len(some)",
     "some.apply(grow)", "n = n + 1", "vertices.apply(grow)"),
])
def test_sets(lines, cores, tmp_path):
    both(written(tmp_path, body(*lines)), cores=cores)


@pytest.mark.parametrize("direction", ["push", "pull"])
@pytest.mark.parametrize("schedule", ["vm", "em", "weaver"])
def test_empty(schedule, direction, tmp_path):
    """The set without vertices has none, by whatever it is read."""
    lines = ("n = 1", "nobody = vertexset()", "for i in range(2):",
             "    edges.from_(nobody).apply(spread)")
    both(written(tmp_path, body(*lines)), schedule, direction=direction)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("lines", [
    ("n = 0", "total = vertices.sum(own)", "for i in range(most):", "    for j in range(i):",
     "        n += 3", "        vertices.apply(grow)", "    if total > 100 and i != 2:",
     "        total = total - vertices.sum(odd) + i", "        vertices.apply(grow)",
     "    n = min(n, 11) if total > 3 else max(n, i)"),
    # Sums of more than 32 bits.
    ("n = 1", "big = 4294967296 * 4", "round = 0", "while big > 17179869000:",
     "    big = big - vertices.sum(own)", "    round += 1", "    vertices.apply(grow)",
     "if big == 17179868900 or not big < 5:", "    vertices.apply(grow)",
     "n = 1 if big >= 4294967296 else 2", "vertices.apply(grow)"),
    # A counter that passes 31 bits.
    ("n = 1", "big = 2147483640", "for i in range(9):", "    if i != 3:", "        big += 2",
     "    if big > 2147483650:", "        n = 2", "    vertices.apply(grow)"),
    # Numbers that double until they pass 32 bits.
    ("n = 1", "one = 1", "two = 1", "while two < 8000000000:", "    three = one + two",
     "    one = two", "    two = three", "    vertices.apply(grow)"),
])
def test_numbers(lines, cores, tmp_path):
    both(written(tmp_path, body(*lines)), cores=cores)


def test_large(tmp_path):
    """Numbers of the host that an argument has room for, and others."""
    lines = ("n = 16777200", "for i in range(6):", "    some = vertices.where(odd)",
             "    some.apply(grow)", "    n += 9")
    both(written(tmp_path, body(*lines)))


def test_beginning(tmp_path):
    """What comes before the first operator is in the memory's first contents: no kernel does it."""
    lines = ("n = 2", "some = vertexset(0, 3)", "y[5] = most", "for i in range(4):", "    n += i",
             "    if i == 2:", "        some = vertexset(7)", "while len(some) < n and n > 3:",
             "    n -= 1", "some.apply(grow)")
    path = written(tmp_path, body(*lines))
    both(path)
    with device() as machine:
        made = machine.plan(path, graph(), fusion=True)
        assert made.loop.names == ["vertices_grow"]


@pytest.mark.parametrize("lines, message", [
    (("n = 1", "a = vertices.where(odd)", "half = len(a) / 3", "if half > 2:",
      "    vertices.apply(grow)"), "line 24: this is computed with decimals"),
    (("n = 1", "a = vertices.where(odd)", "for i in range(len(a) * 2):",
      "    vertices.apply(grow)"), r"line 24: \* of a number that changes"),
    (("n = 1", "queue = PriorityQueue(y, 0, delta=3)", "while queue:", "    a = queue.dequeue()",
      "    a.apply(grow)", "queue = PriorityQueue(y, 0, 1, delta=4)", "while queue:",
      "    a = queue.dequeue()", "    a.apply(grow)"),
     "line 27: queue begins again with another delta"),
    (("n = 1", "a = vertices.where(odd)", "if len(a) > 3 and vertices.sum(own) > 5:",
      "    vertices.apply(grow)"), "line 24: this sum is computed in some rounds only"),
])
def test_refused(lines, message, tmp_path):
    with device() as machine, pytest.raises(UserError, match="fusion=yes cannot have what only the "
                                                             f"host can do: {message}"):
        machine.plan(written(tmp_path, body(*lines)), graph(), fusion=True)


def test_sum_of_decimals():
    with device() as machine, pytest.raises(UserError, match="a sum of decimals"):
        machine.plan("pagerank", graph(), fusion=True, tolerance=0.1)


def test_too_many_ways(monkeypatch):
    monkeypatch.setattr(host_code, "_MOST_BLOCKS", 5)
    with device() as machine, pytest.raises(UserError, match="there are more than 5, by where"):
        machine.plan("kcore", graph(), fusion=True)


def test_room():
    """A program that is too long is refused with its size."""
    with device(imem_bytes=1 << 10) as machine, \
            pytest.raises(UserError, match="takes [0-9]+ bytes, imem_bytes is 1024"):
        _ = machine.plan("kcore", graph(), fusion=True).program
