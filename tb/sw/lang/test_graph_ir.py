"""What the passes find in programs: the GraphIR of each, with all facts, as a recorded text.

A fact that is missing makes a program slower, not wrong, and a fact that is there by mistake may do
no harm to this program. So the text of each program is compared whole. Programs are those of the
package and the examples, and texts that hold a fact or nearly do. Whoever means a change writes the
texts anew, and reads in the difference which program has gained or lost which fact::

    GRAPHLOOM_EXPECTED=write ./graphloom test tb/sw/lang/test_graph_ir.py -n 0
"""

import pathlib

import pytest

from sw.lang import programs
from sw.lang.passes import analysed
from sw.lang.reader import read_text
from sw.lang.show import shown
from tb import expected
from tb.sw.lang.fact_programs import TEXTS


ROOT = pathlib.Path(__file__).resolve().parents[3]
EXPECTED = pathlib.Path(__file__).parent / "graph_ir.txt"

FILES = {path.stem: path for folder in ("examples/programs", "checks/metamorphic/texts")
         for path in sorted((ROOT / folder).glob("[!_]*.py"))}


def _check(name, program):
    expected.check(EXPECTED, name, shown(analysed(program)))


@pytest.mark.parametrize("name", programs.names())
def test_programs(name):
    _check(name, programs.find(name))


@pytest.mark.parametrize("name", FILES)
def test_files(name):
    _check(f"file {name}", read_text(FILES[name].read_text(), f"{name}.py"))


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name):
    _check(f"text {name}", read_text(TEXTS[name], "text.py"))
