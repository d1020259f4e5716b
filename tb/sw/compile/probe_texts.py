"""Programs with an operator for each thing that an operator may ask of a schedule.

They are :mod:`tb.sw.compile.probe` in the language: what an operator's test reads, where it works,
and from which set. The interpreter is the model. Words are small, as sums must fit in 32 bits.

=========  =======================================================================================
sum        at the destination, a sum of words that are sent
two        likewise, and a count
source     at the source, a count of its edges and a sum over their destinations
any        at the destination, a word that any edge sets
first      at the destination, the smallest source
least      at the destination, the least word that is sent, plus the weight
=========  =======================================================================================
"""

import dataclasses


__all__ = ["SETS", "Text"]


#: From which set an operator goes out: all vertices; those that a filter finds; these, and then
#: those that the edges have changed, in a loop.
SETS = "all", "where", "changed"

_EFFECTS = {
    "sum": "total[dst] += sent[src]", "two": "total[dst] += sent[src]\n{}count[dst] += 1",
    "source": "count[src] += 1\n{}total[src] += sent[dst]", "any": "hit[dst].max(1)",
    "first": "least[dst].min(uint(src))", "least": "least[dst].min(sent[src]{plus})"}

_TESTS = {"dst": "flags[dst] & 1 == 1", "src": "flags[src] & 2 == 2", "sent": "sent[src] & 4 == 4",
          "weight": "weight & 1 == 1"}

_TEXT = """
from graphloom import edgeset, infinity, program, uint, vector, vertices


@program
def probe(edges: edgeset):
    sent = vector(uint, 0)
    flags = vector(uint, 0)
    total = vector(uint, 0)
    count = vector(uint, 0)
    hit = vector(uint, 0)
    least = vector(uint, infinity)

    def draw(v):
        mixed = uint(v) ^ 40503
        mixed = mixed ^ mixed << 13
        mixed = mixed ^ mixed >> 17
        mixed = mixed ^ mixed << 5
        sent[v] = mixed >> 7 & 1023
        flags[v] = mixed >> 20 & 7

    def chosen(v):
        return flags[v] & 4 == 4

    def wanted(v):
        return flags[v] & 1 == 1

    def work(src, dst{weight}):
        {body}

    vertices.apply(draw)
    {run}
    return total, count, hit, least
"""

_RUNS = {
    "all": ["edges{to}.apply(work)"],
    "where": ["chosen_ones = vertices.where(chosen)", "edges.from_(chosen_ones){to}.apply(work)"],
    "changed": ["front = vertices.where(chosen)", "for round in range(2):",
                "    front = edges.from_(front){to}.apply_modified(work, {tracked})"]}


@dataclasses.dataclass(frozen=True)
class Text:
    """What a program asks for."""
    form: str
    tests: frozenset[str] = frozenset()  #: As of :data:`tb.sw.compile.probe.NEEDS`.
    weighted: bool = False
    goes: str = "where"  #: One of :data:`SETS`.
    filtered: bool = False  #: Whether a filter of destinations does the test of ``dst``.

    @property
    def name(self) -> str:
        """All of it, without spaces."""
        flags = [name for name in ("weighted", "filtered") if getattr(self, name)]
        return "-".join([self.form, *sorted(self.tests), *flags, self.goes])

    @property
    def text(self) -> str:
        """The program."""
        weighted = self.weighted or "weight" in self.tests
        tests = [_TESTS[name] for name in sorted(self.tests)
                 if not (self.filtered and name == "dst")]
        indent = "    " * (3 if tests else 2)
        effect = _EFFECTS[self.form].format(indent, plus=" + weight" * self.weighted)
        body = f"if {' and '.join(tests)}:\n{indent}{effect}" if tests else effect
        tracked = next(name for name in ("total", "hit", "least") if name in effect)
        run = "\n    ".join(_RUNS[self.goes]).format(
            to=".to(wanted)" * self.filtered, tracked=tracked)
        return _TEXT.format(weight=", weight" * weighted, body=body, run=run)
