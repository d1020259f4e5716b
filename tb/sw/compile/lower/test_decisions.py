"""What becomes of programs under two plans: kernels, members, and what is taken or refused.

An operator that no longer joins a kernel, or an early exit that is no longer taken, makes a program
slower, not wrong. So the text of ``lang show --after lower`` is compared whole, for programs that
hold a fact or nearly do (:mod:`tb.sw.lang.fact_programs`) and those of the package. Whoever means a
change writes the texts anew, and reads the difference::

    GRAPHLOOM_EXPECTED=write ./graphloom test tb/sw/compile/lower/test_decisions.py -n 0
"""

import functools
import pathlib
import re

import pytest

from base.errors import UserError
from hw.config import preset
from sw.compile.lowering import lowered
from sw.device import Device
from sw.graph.load import load
from sw.lang import programs
from tb import expected
from tb.sw.lang.fact_programs import TEXTS


EXPECTED = pathlib.Path(__file__).parent / "decisions.txt"

PLANS = "schedule=vm direction=push", "schedule=vm direction=pull"

CONFIG = preset("tiny").replace(warps=4, imem_bytes=1 << 16, local_bytes=1 << 13)


@functools.cache
def _graph():
    return load("rmat:scale=5,degree=4,seed=1").undirected().simplify().weighted(9, 1)


def _check(name, program):
    """The texts of a program, without the kernels that carry single words of the host."""
    found = []
    for plan in PLANS:
        try:
            with Device.functional(CONFIG) as device:
                text = lowered(device.plan(f"{program} {plan}", _graph())).text()
        except UserError as error:
            text = str(error).replace(str(program), name)
        found.append(f"{plan}: " + re.sub(r"kernel slot\d+\n +vertex: .*\n", "", text))
    expected.check(EXPECTED, name, "\n".join(found))


@pytest.mark.parametrize("name", programs.names())
def test_programs(name):
    _check(name, name)


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name, tmp_path):
    path = tmp_path / "text.py"
    path.write_text(TEXTS[name].lstrip())
    _check(f"text {name}", path)
