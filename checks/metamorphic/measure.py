"""Cycles and launches of variants, beside those of the text that they are made from::

    python -m checks.metamorphic.measure rmat:scale=8,degree=8,seed=1,weights=9 --variants 2

A variant that does no more work has at most 2 % more cycles than its base, and equally many
launches. One that does more has equally many launches, and 10 % more cycles at most, or no more
work of lanes than a store a vertex and a reduction an edge take: :data:`PART` instructions of a
lane for each that the interpreter performs in the vector that the variant has more. The table has a
row for each variant that exceeds this, and the numbers of all.
"""

import argparse
import dataclasses
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterator

from base.errors import UserError
from checks.metamorphic.rules import RULES
from checks.metamorphic.variants import bases, variant, without_labels
from hw.config import preset
from sw.compile.schedules import equip
from sw.device.target import Target
from sw.graph import Graph
from sw.graph.load import load
from sw.lang.passes import as_written
from sw.lang.reader import read_text
from sw.vm.host import perform
from sw.vm.reference import ReferenceMachine


__all__ = ["LIMITS", "PART", "SCHEDULES", "Cost", "measured", "parts"]


SCHEDULES = ("vm", "weaver", "graphpeg", "em", "scu-stream")

#: {kind of rules: how many times the base's cycles a variant may have}.
LIMITS = {"same": 1.02, "more": 1.1}

#: Instructions of a lane for a store or a reduction: two for the place of the vector, and one each
#: for the word's address, the value and the access.
PART = 5


@dataclasses.dataclass(frozen=True)
class Cost:
    """A base or a variant under a schedule."""
    program: str
    schedule: str
    kind: str  #: ``base``, or the kind of the rules.
    rules: tuple[str, ...]
    cycles: int  #: Cycles and launches, or 0 if the run is refused.
    launches: int  #: See `cycles`.
    refused: str = ""
    lanes: int = 0  #: Lanes that work on an instruction, summed over instructions.
    parts: int = 0  #: Stores and reductions that the variant performs, and the base does not.

    def exceeds(self, base: "Cost") -> bool:
        """Whether a variant costs more than it may, beside its base."""
        return (bool(self.refused) != bool(base.refused) or self.launches != base.launches
                or (self.cycles > base.cycles * LIMITS[self.kind]
                    and self.lanes > base.lanes + PART * self.parts))


def measured(graph: Graph, schedule: str, names, variants: int, seed: int = 0,
             functional: bool = False) -> Iterator[Cost]:
    """The rows of programs under a schedule, each base before its variants.

    Parameters
    ----------
    graph : Graph
        Needs of a program are met.
    schedule : str
    names : sequence of str
        Of :func:`~checks.metamorphic.variants.bases`.
    variants : int
        Variants of each program that do no more work, by 1 to 5 rules. Of those that do more there
        is one by each rule.
    seed : int
    functional : bool
        On the functional simulator, whose cost is instructions.
    """
    config = equip(preset("baseline"), [schedule])
    target = Target(config, functional=functional)
    with tempfile.TemporaryDirectory() as folder, target.device() as device:
        for name in names:
            text = without_labels(bases()[name].read_text())
            needs = read_text(text).needs
            fitting = graph.undirected().simplify() if needs else graph
            made: list[tuple] = [("base", (), text)]
            for number in range(seed, seed + variants):
                found = variant(text, number, 1 + number % 5, _rules("same"))
                made.append(("same", found.rules, found.text))
            for rule in _rules("more"):
                found = variant(text, seed, 1, [rule])
                made.append(("more", found.rules, found.text))
            for number, (kind, done, each) in enumerate(made):
                if number and not done:
                    continue
                path = pathlib.Path(folder, f"{name}_{number}.py")
                path.write_text(each)
                try:
                    result = device.run(str(path), fitting, schedule=schedule)
                    yield Cost(name, schedule, kind, done, result.cycles or result.instructions,
                               result.launches, lanes=result.counters["lanes"],
                               parts=parts(each, fitting) if kind == "more" else 0)
                except UserError as error:
                    yield Cost(name, schedule, kind, done, 0, 0, str(error))


def parts(text: str, graph: Graph) -> int:
    """How often a variant by a rule that does more works on the vector that it has more, which is
    its last result: by the interpreter, of a text that counts in this vector."""
    name = read_text(text).outputs[-1]
    for work in ("[{}].max(1)", "[{}] = 1"):
        text = re.sub(re.escape(name) + re.escape(work).replace(r"\{\}", r"(\w+)"),
                      rf"{name}[\1] += 1", text)
    program = as_written(read_text(text))
    found = perform(program, graph, ReferenceMachine(program, graph), {})
    return int(found.outputs[name].sum(dtype="uint64"))


def _rules(kind):
    return [name for name, rule in RULES.items() if rule.kind == kind]


def _main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("graph")
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--programs", default=",".join(bases()))
    parser.add_argument("--variants", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--functional", action="store_true")
    given = parser.parse_args()
    for kind, asked, known in (("program", given.programs, bases()),
                               ("schedule", given.schedules, SCHEDULES)):
        for name in asked.split(","):
            if name not in known:
                parser.error(f"there is no {kind} {name!r}; there are {', '.join(known)}")
    graph, checked, exceeding = load(given.graph), 0, 0
    base = None
    print(f"{'program':22}{'schedule':12}{'kind':6}{'cycles':>10}{'launches':>10}  rules")
    for schedule in given.schedules.split(","):
        for row in measured(graph, schedule, given.programs.split(","), given.variants,
                            given.seed, given.functional):
            if row.kind == "base":
                base = row
            checked += row.kind != "base"
            over = base is not None and row.kind != "base" and row.exceeds(base)
            exceeding += over
            if row.kind == "base" or over:
                print(f"{row.program:22}{row.schedule:12}{row.kind:6}{row.cycles:>10,}"
                      f"{row.launches:>10}  {' '.join(row.rules)}{row.refused[:60]}", flush=True)
    print(f"{exceeding} of {checked} variants exceed their limits")
    return 1 if exceeding else 0


if __name__ == "__main__":
    sys.exit(_main())
