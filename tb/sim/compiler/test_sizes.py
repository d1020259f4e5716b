# amaranth: UnusedElaboratable=no
"""What the compiler makes of some designs, in numbers: nodes, parts and code.

Values are right also without an optimization, but these numbers are not. After a change that is
meant, write them again (``tb/expected.py``), and compare the speed.
"""

import pathlib
import random
import re
from collections import Counter

import pytest

from sim import compiler
from sim.compiler import partition
from tb import expected

from .designs import LaneDesign, RandomDesign, RowDesign


EXPECTED = pathlib.Path(__file__).with_name("sizes.txt")

#: name: design. Lanes of all widths; more values than an array has; registers of many words.
DESIGNS = {
    **{f"random {seed}": lambda seed=seed: RandomDesign(random.Random(seed)) for seed in range(4)},
    **{f"lanes {count} x {width}": lambda count=count, width=width: LaneDesign(count, width)
       for count, width in ((9, 40), (31, 22), (70, 5))},
    **{f"row {count} x {width}": lambda count=count, width=width: RowDesign(count, width)
       for count, width in ((16, 1), (9, 8), (40, 16), (3, 8))},
}


@pytest.mark.parametrize("name", DESIGNS)
def test_sizes(name):
    design = compiler.optimized(compiler.netlist(DESIGNS[name]()))
    nodes = design.netlist.nodes.values()
    kinds = Counter(node.kind for node in nodes)
    lines = [f"{kind}: {count} nodes, {sum(one.width for one in nodes if one.kind == kind)} bits, "
             f"{sum(len(value) for one in nodes if one.kind == kind for value in one.args)} slices"
             for kind, count in sorted(kinds.items())]
    for size in (16, 128):
        made = partition.parts(design, size)
        lines.append(f"parts of {size} nodes: " + " ".join(
            f"{len(part.nodes)}+{len(part.sinks)}" for part in made))
    for file, text in compiler.emitted(design, "dut", direct=("bit", "long_")).items():
        words = Counter(re.findall(r"\b(?:if|else|for|u64|mark|take)\b|[&|^~?]|<<|>>", text))
        lines.append(f"{file}: {len(text.splitlines())} lines, {len(text)} characters; "
                     + ", ".join(f"{word} {count}" for word, count in sorted(words.items())))
    expected.check(EXPECTED, name, "\n".join(lines))
