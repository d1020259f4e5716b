"""``graphloom doctor``: what is installed, what is missing, what to do about it."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

from base import bootstrap
from base.installation import EXTRAS, ROOT, TREE, advice, browser, extra_of
from base.printable import printable

from .commands import app


# A check returns (state, finding, advice). The state is "ok", "broken", or "missing" for a part
# without which graphs can still be run.

def _python():
    return "ok", f"{sys.version.split()[0]}, {sys.executable}", ""


def _requirements(extra=""):
    """What is always needed, or what an extra needs: as the package says that pip installed, or
    the locks. Where that is known, also the megabytes to fetch."""
    import importlib.metadata

    from packaging.requirements import Requirement
    try:
        found = list(map(Requirement, importlib.metadata.requires("graphloom") or ()))
    except importlib.metadata.PackageNotFoundError:
        locked = bootstrap.packages(ROOT, bootstrap.LOCK_OF_EXTRAS, extra) if extra \
            else bootstrap.packages(ROOT, bootstrap.LOCK)
        found, size = [Requirement(each.requirement) for each in locked], \
            sum(each.megabytes for each in locked)
    else:
        size = None
        if extra:
            found = [each for each in found if each.marker and "extra" in str(each.marker)]
    return [each for each in found
            if each.marker is None or each.marker.evaluate({"extra": extra})], size


def _unmet(requirements):
    """A text for each requirement that is not met, and the bytes of the others' packages."""
    import importlib.metadata
    wrong, size = [], 0
    for requirement in requirements:
        try:
            found = importlib.metadata.distribution(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is missing")
            continue
        if not requirement.specifier.contains(found.version, prereleases=True):
            wrong.append(f"{requirement.name} is {found.version}, not {requirement.specifier}")
        size += sum(file.size or 0 for file in found.files or ())
    return wrong, size


def _packages():
    """The packages that are always needed."""
    requirements, _ = _requirements()
    wrong, size = _unmet(requirements)
    if wrong:
        return "broken", "; ".join(wrong), advice()
    return "ok", f"{len(requirements)} packages, {size / 1e6:,.0f} MB", ""


def _extra(name):
    """A check of an extra."""
    def check():
        requirements, fetched = _requirements(name)
        wrong, size = _unmet(requirements)
        purpose = EXTRAS[name].purpose
        if not wrong:
            return "ok", f"{purpose}; packages: {len(requirements)}, {size / 1e6:,.1f} MB", ""
        lacking = f"{len(wrong)} missing or of another version"
        if fetched is not None:
            lacking += f", {fetched:,.1f} MB to fetch for all"
        return "missing", f"{purpose}; packages: {len(requirements)}, {lacking}", advice(name)
    return check


def _verilator():
    from sim import toolchain
    try:
        found = toolchain.verilator()
    except toolchain.ToolError as error:
        return "broken", "none", str(error)
    return "ok", f"{found.version}, {found.path}", ""


def _compiler():
    """A compiler counts as working when it has compiled something."""
    from sim import toolchain
    try:
        compiler = toolchain.compiler()
        environment = compiler.environment      # that of ziglang needs the cache
    except toolchain.ToolError as error:
        return "broken", "none", str(error)
    found = f"{compiler.version}, {' '.join(compiler.command)}"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "probe.cpp"
        source.write_text("#include <cstdint>\nextern \"C\" std::uint32_t probe() { return 1; }\n")
        made = source.with_suffix(".o")
        for command in ([*compiler.command, "-std=c++20", "-fPIC", "-c", source, "-o", made],
                        [*compiler.link, *compiler.without_library, "-shared", made, "-o",
                         source.with_suffix(".so")]):
            done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False,
                                  errors="replace", stdin=subprocess.DEVNULL, env=environment)
            if done.returncode:
                lines = done.stderr.strip().splitlines() or ["no reason given"]
                return "broken", found, f"it cannot compile C++20: {lines[0]}"
    return "ok", found, ""


def _tool(find, advice):
    """A check of a program that ``find`` looks for, and that only tests need."""
    def check():
        path = find()
        return ("missing", "none", advice) if path is None else ("ok", str(path), "")
    return check


def _icarus():
    from sim import toolchain
    return toolchain.icarus()


def _synthesis(name):
    """A check of a program that only synthesis needs."""
    def check():
        from synth import tools
        found = tools.installed(name)
        if found is None:
            return "missing", "none", f"only synthesis needs it: {advice('synth')}"
        return "ok", f"{found.version}, {found.path}", ""
    return check


def _libpython():
    try:
        from find_libpython import find_libpython
    except ModuleNotFoundError:
        return "missing", "not looked for", f"only cocotb tests need it: {advice('test')}"
    return _tool(find_libpython, "only cocotb tests are skipped; Debian: apt-get install "
                 "libpython{}.{}".format(*sys.version_info))()


def _size(folder):
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):      # the file may vanish meanwhile
                total += os.lstat(os.path.join(base, name)).st_size
    return total


def _cache():
    from sim import cache, toolchain
    try:
        folder, common = cache.root(), cache.shared()
        with tempfile.TemporaryFile(dir=folder):
            pass
    except toolchain.ToolError as error:
        return "broken", "none", str(error)
    except OSError as error:
        return ("broken", f"{folder}: {error.strerror}",
                "set GRAPHLOOM_CACHE to a folder that can be written")
    found = f"{folder}, {_size(folder) / 1e6:,.0f} MB; may be removed at any time"
    if common is not None:
        found += f"; read first: {common}"
    return "ok", found, ""


def _graphs():
    from sw.graph.catalogue import catalogue
    try:
        entries = catalogue()
    except OSError as error:
        return "missing", f"{error.filename}: {error.strerror}", "get the project's files again"
    absent = [name for name, entry in entries.items()
              if entry.path is not None and not os.path.exists(entry.path)]
    if absent:
        return "missing", f"{len(entries)}, without {', '.join(absent)}", \
            "get the project's files again"
    return "ok", f"{len(entries)} in the catalogue: {', '.join(entries)}", ""


def _ports():
    try:
        from serial.tools import list_ports
    except ModuleNotFoundError:
        return "missing", "not looked for", f"only boards need them: {advice(extra_of('serial'))}"
    ports = {port.device: "" if port.description == "n/a" else f" ({port.description})"
             for port in list_ports.comports()}
    if not ports:
        return "missing", "none", "only boards cannot be used; simulated ones can"
    found = ", ".join(f"{device}{text}" for device, text in sorted(ports.items()))
    closed = [device for device in sorted(ports) if not os.access(device, os.R_OK | os.W_OK)]
    if closed:
        return ("missing", found, f"{', '.join(closed)}: not yours to open; Debian: sudo adduser "
                "$USER dialout, and log in again")
    return "ok", found, ""


#: Extras of commands that work on the source tree.
_OF_THE_TREE = ("course", "dev", "docs", "test")

_CHECKS = {
    "Python": _python,
    "Packages": _packages,
    "Verilator": _verilator,
    "C++ compiler": _compiler,
    # The tests are in the tree alone.
    **({"Icarus Verilog": _tool(_icarus, "only its tests are skipped; Debian: apt-get install "
                                "iverilog"),
        "Python library": _libpython,
        "Chromium": _tool(browser, "only tests of pages are skipped; Debian: apt-get install "
                          "chromium")} if TREE else {}),
    "Yosys": _synthesis("yosys"),
    "nextpnr-ecp5": _synthesis("nextpnr-ecp5"),
    "ecppack": _synthesis("ecppack"),
    "Cache": _cache,
    "Graphs": _graphs,
    "Serial ports": _ports,
    **{f"Extra {name}": _extra(name) for name in EXTRAS if TREE or name not in _OF_THE_TREE},
}


@app.command("doctor", epilog="Exit code: 0 if graphs can be run, 1 if not.")
def _doctor():
    """Show what is installed, what is missing and what to do about it."""
    from rich.text import Text

    from .execute import console
    from .tables import FittedTable
    table = FittedTable("<", "<", "<found", "<what to do")
    broken = []
    for name, check in _CHECKS.items():
        try:
            state, found, step = check()
        except ImportError as error:
            state, found, step = "broken", str(error), advice()
        if state == "broken":
            broken.append(name)
        style = {"ok": "green", "missing": "yellow", "broken": "red"}[state]
        table.add_row(name, Text(state, style), Text(printable(found)), Text(printable(step)))
    out = console()
    out.print(table)
    if broken:
        out.print(f"Graphs cannot be run: see {', '.join(broken)}")
        return 1
    out.print("Graphs can be run")
