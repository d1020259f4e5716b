"""A compiled design that a test drives cycle by cycle."""

import ctypes

from sim import build, compiler


__all__ = ["Model"]


_SHIM = """
#include <cstring>
#include "compiled.h"
#include "glue.h"
#include "dut.h"
using Dut = Compiled<dut::State, dut::Ports>;
extern "C" {
EXPORT void* create() { return new Dut; }
EXPORT void destroy(Dut* dut) { delete dut; }
EXPORT int edge(Dut* dut) {
    Log log;
    current_log = &log;
    dut->clk = 1;
    dut->eval();
    dut->clk = 0;
    dut->eval();
    current_log = nullptr;
    return log.stopped();
}
EXPORT void evaluate(Dut* dut) { dut->eval(); }
"""


class Model:
    """A component, compiled.

    Parameters
    ----------
    component : amaranth.lib.wiring.Component
    folder : pathlib.Path
        For the files of the build.
    direct : tuple of str
        Inputs that the current cycle sees.
    """

    def __init__(self, component, folder, *, direct=(), instances=None):
        netlist = compiler.netlist(component, instances)
        self.widths = {name: netlist.nodes[n].width for name, n in netlist.inputs.items()}
        self.design = design = compiler.optimized(netlist)
        outputs = {name: sum(piece.width for piece in value)
                   for name, value in design.netlist.outputs.items()}
        for name, text in compiler.emitted(design, "dut", direct=direct).items():
            (folder / name).write_text(text)
        accessors = [f"EXPORT void set_{name}(Dut* dut, const void* data) "
                     f"{{ std::memcpy(&dut->{name}, data, sizeof dut->{name}); }}"
                     for name in self.widths]
        accessors += [f"EXPORT void get_{name}(const Dut* dut, void* data) "
                      f"{{ std::memcpy(data, &dut->{name}, sizeof dut->{name}); }}"
                      for name in outputs]
        (folder / "shim.cpp").write_text("\n".join([_SHIM, *accessors, "}"]))
        tool = build.SimulatorCompiler()
        objects = build.compile_all(
            tool, [(path, path.with_suffix(".o"), ["-O1"]) for path in folder.glob("*.cpp")],
            ["-DCOMPILED", "-I", folder])
        library = ctypes.CDLL(str(tool.link(objects, folder / "dut.so")))
        library.create.restype = ctypes.c_void_p
        self.outputs = outputs
        self._library, self._dut = library, ctypes.c_void_p(library.create())

    def set(self, name, value):
        """Sets an input, which the model sees at the next edge or evaluation."""
        getattr(self._library, f"set_{name}")(
            self._dut, value.to_bytes(-(-self.widths[name] // 32) * 4 + 8, "little"))

    def get(self, name):
        """An output."""
        data = ctypes.create_string_buffer(-(-self.outputs[name] // 32) * 4 + 8)
        getattr(self._library, f"get_{name}")(self._dut, data)
        return int.from_bytes(data.raw, "little")

    def edge(self):
        """A clock edge. Returns whether an assertion failed."""
        return bool(self._library.edge(self._dut))

    def evaluate(self):
        """Evaluates direct inputs, without an edge."""
        self._library.evaluate(self._dut)
