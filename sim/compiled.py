"""Builds the shared library that simulates a GPU, with :mod:`sim.compiler`. The cache keeps the
library, and the C++ of the hardware.

The library has the functions of Verilator's library (:mod:`sim.build`) and gives the same cycles,
counters and memory. It has no waves. The environment variable ``GRAPHLOOM_SIMULATOR`` chooses
Verilator for everything, for comparisons.
"""

import dataclasses
import os
import pathlib

from hw.config import ConfigError, HardwareConfig
from hw.gather.variants import source

from . import build, cache, compiler, wrapper


__all__ = ["ALONE", "key", "library", "sources", "verilator_is_wanted", "whole", "write_model"]


_VARIABLE = "GRAPHLOOM_SIMULATOR"

#: Options for code that needs no C++ library: models and harness throw no exceptions.
ALONE = ["-fno-exceptions", "-fno-rtti"]


def verilator_is_wanted() -> bool:
    """Whether the environment asks for Verilator. Raises ConfigError for an unknown simulator."""
    name = os.environ.get(_VARIABLE, "")
    if name not in ("", "compiled", "verilator"):
        raise ConfigError(f"environment variable {_VARIABLE}: unknown simulator {name!r}; must be "
                          "compiled or verilator")
    return name == "verilator"


def sources(config: HardwareConfig, *, assertions=True, report=None) -> pathlib.Path:
    """A folder with the C++ of a GPU, kept in the cache. Parameters as for :func:`library`.

    A GPU of one core is one model. With several cores the GPU without its cores is a model, and a
    core is another (:mod:`sim.wrapper`).
    """
    def make(work):
        if report is not None:
            report("translating the hardware")
        _write(work, config, assertions)
    return cache.entry("models", key(config, assertions), make, what="C++ of the hardware")


def key(config: HardwareConfig, *more) -> str:
    """The name in the cache of a model of a configuration: a hash of all that it is made of."""
    import amaranth
    import hw

    fields = dataclasses.asdict(config.replace(name=""))
    return cache.hashed(*build.files(pathlib.Path(hw.__file__).parent, "*.py"),
                        *build.files(pathlib.Path(compiler.__file__).parent, "*.py"),
                        source(config.gather), pathlib.Path(wrapper.__file__).read_bytes(),
                        pathlib.Path(__file__).read_bytes(),
                        sorted(fields.items()), amaranth.__version__, *more)


def _write(work, config, assertions):
    from hw import top
    from hw.elaboration import elaborating

    with elaborating():
        if config.cores == 1:
            write_model(work, "gpu", whole(config), assertions=assertions)
            return
        for name, component, direct in (
                ("gpu", top.FlatGpu(config, cores=False), wrapper.gpu_direct(config)),
                ("core", top.Core(config), wrapper.core_direct())):
            write_model(work, name, compiler.netlist(component), direct, assertions=assertions)
        (work / "links.h").write_text(wrapper.links(config))


def whole(config: HardwareConfig) -> compiler.HardwareNetlist:
    """The netlist of a GPU with one core."""
    from hw import top
    gpu = top.FlatGpu(config)
    return compiler.netlist(gpu, gpu.black_boxes)


def write_model(work, name, netlist, direct=(), *, assertions=True):
    """Writes the C++ of a netlist into a folder, as :func:`sim.compiler.emitted` does."""
    design = compiler.optimized(netlist, checks=assertions)
    for file, text in compiler.emitted(design, name, direct=direct,
                                       port_name=wrapper.plain).items():
        (work / file).write_text(text)


def library(config: HardwareConfig, *, assertions=True, report=None) -> pathlib.Path:
    """The path of the shared library that simulates a GPU, built if need be.

    Parameters
    ----------
    config : HardwareConfig
    assertions : bool
        Whether assertions of the RTL are checked.
    report : callable or None
        Called with a line of text before something that takes time.

    Raises
    ------
    BuildError
        With the end of the output of the compiler.
    ToolError
        If there is no C++ compiler.
    """
    tool = build.SimulatorCompiler()
    main = build.HARNESS / "harness.cpp"
    defines = [*build.harness_defines(config, config.cores if config.cores > 1 else 0),
               "-DCOMPILED"]
    folder = sources(config, assertions=assertions, report=report)
    flags, link = [*build.fast(), *ALONE], tool.tool.without_library
    name = cache.hashed(*build.files(folder, "*"), *build.files(build.HARNESS, "*.h"),
                        main.read_bytes(), flags, link, defines, tool.identity)

    def make(work):
        if report is not None:
            report("compiling the simulator")
        units = [(path, work / f"{path.stem}.o", flags)
                 for path in (main, *sorted(folder.glob("*.cpp")))]
        objects = build.compile_all(tool, units, [*defines, "-I", folder])
        tool.link(objects, work / "gpu.so", *link)
        for path in objects:
            path.unlink()
    return cache.entry("simulators", name, make, what="simulator") / "gpu.so"
