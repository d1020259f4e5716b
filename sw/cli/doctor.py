"""``graphloom doctor``: what is installed, what is missing, what to do about it."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

from base import bootstrap
from base.installation import ROOT, TREE, advice, browser, launched
from base.printable import printable

from .commands import app


# A check returns (state, finding, advice). The state is "ok", "broken", or "missing" for a part
# without which graphs can still be run.

def _python():
    return "ok", f"{sys.version.split()[0]}, {sys.executable}", ""


def _unmet(requirements, extra=""):
    """The number of the requirements that apply here, and a text for each that is not met."""
    import importlib.metadata

    from packaging.requirements import Requirement
    count, wrong = 0, []
    for requirement in map(Requirement, requirements):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        count += 1
        try:
            found = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is missing")
        else:
            if not requirement.specifier.contains(found, prereleases=True):
                wrong.append(f"{requirement.name} is {found}, not {requirement.specifier}")
    return count, wrong


def _packages():
    """The packages that are always needed: of the package that pip installed, or of the lock."""
    import importlib.metadata
    try:
        requirements, source = importlib.metadata.requires("graphloom"), "graphloom needs them"
    except importlib.metadata.PackageNotFoundError:
        lines = (ROOT / "requirements.lock").read_text().splitlines()
        # Lines of hashes are indented.
        requirements = [line.rstrip("\\") for line in lines if line[:1].isalnum()]
        source = "in requirements.lock"
    count, wrong = _unmet(requirements)
    if wrong:
        return "broken", "; ".join(wrong), advice()
    return "ok", f"{count}, all as {source}", ""


def _extra(name):
    """A check of an extra of the installed package."""
    def check():
        import importlib.metadata
        requirements = [text for text in importlib.metadata.requires("graphloom") or ()
                        if "extra ==" in text]
        count, wrong = _unmet(requirements, name)
        if wrong:
            return "missing", "; ".join(wrong), f"only some commands need it: {advice(name)}"
        return "ok", f"{count} packages", ""
    return check


def _more_packages():
    """The packages of all commands, of the lock."""
    if bootstrap.has_all(ROOT):
        return "ok", "all as in requirements-all.lock", ""
    return ("missing", "those that run graphs alone", "the first command that needs more, such as "
            "test or synth, installs all; graphloom setup does so now")


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
        return "missing", "not looked for", "only cocotb tests need it, and more packages"
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
    from serial.tools import list_ports
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


_CHECKS = {
    "Python": _python,
    "Packages": _packages,
    "Verilator": _verilator,
    "C++ compiler": _compiler,
    # The tests are in the tree alone.
    **({"More packages": _more_packages} if launched() else {}),
    **({"Icarus Verilog": _tool(_icarus, "only its tests are skipped; Debian: apt-get install "
                                "iverilog"),
        "Python library": _libpython,
        "Chromium": _tool(browser, "only tests of pages are skipped; Debian: apt-get install "
                          "chromium")} if TREE else
       {f"Extra {name}": _extra(name) for name in ("reproduce", "synth")}),
    "Yosys": _synthesis("yosys"),
    "nextpnr-ecp5": _synthesis("nextpnr-ecp5"),
    "ecppack": _synthesis("ecppack"),
    "Cache": _cache,
    "Graphs": _graphs,
    "Serial ports": _ports,
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
