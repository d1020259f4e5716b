"""Imports between the modules of the project.

======================  ========================================================
circles                 test_no_circles: no module needs itself, so each can be
                        imported alone; test_alone: one by one, in a new process
layers                  test_layers: each room imports only rooms below it
names                   test_class_names: a class has a name of its own;
                        test_file_names: a file says what it holds
sizes                   test_sizes: parameters, methods, lines of RTL
pages                   test_pages: every cited page exists
======================  ========================================================
"""

import ast
import functools
import graphlib
import os
import pathlib
import re
import subprocess
import sys

import pytest


ROOT = pathlib.Path(__file__).resolve().parent.parent

ROOMS = ("base", "hw", "sim", "sw", "synth", "checks", "tb")

#: {room: the rooms that it may import besides itself}, each above those that it imports: no arrow
#: leads up.
LAYERS = {
    "base": (),
    "hw": ("base",),
    "sim": ("base", "hw"),
    "synth": ("base", "hw", "sim"),
    "sw.graph": ("base",),
    "sw.lang": ("base", "sw.graph"),
    "sw.golden": ("base", "hw", "sim"),
    "sw.vm": ("base", "sim", "sw.graph", "sw.lang"),
    "sw.compile": ("base", "hw", "sw.graph", "sw.lang", "sw.golden", "sw.vm"),
    "sw.device": ("base", "hw", "sim", "sw.graph", "sw.lang", "sw.compile"),
    "sw.cc": ("base", "hw", "sim", "sw.device"),
    "sw.operators": ("base", "hw", "sw.graph", "sw.golden", "sw.compile", "sw.device"),
    "sw.study": ("base", "hw", "sim", "synth", "sw.graph", "sw.lang", "sw.golden", "sw.vm",
                 "sw.compile", "sw.device"),
    "sw.show": ("base", "hw", "sim", "synth", "sw.graph", "sw.lang", "sw.compile", "sw.device",
                "sw.study"),
    "checks": ("base", "hw", "sim", "sw.graph", "sw.lang", "sw.golden", "sw.vm",
               "sw.compile", "sw.device", "sw.cc", "sw.study"),
    "sw.cli": ("base", "hw", "sim", "synth", "sw.graph", "sw.lang", "sw.golden", "sw.vm",
               "sw.compile", "sw.device", "sw.cc", "sw.study", "sw.show", "checks"),
}

#: Most parameters of a function of sw, methods of a class of sw, and lines of a method of RTL.
MOST_PARAMETERS, MOST_METHODS, MOST_LINES = 8, 25, 120

#: {function or class above these limits: why}.
LARGER = {
    "sw.compile.asm.assembler.Assembler": "a method for each instruction and structure",
    "sw.compile.formats.cr2.records.RecordLayout": "what kernels ask of a format's records",
    "sw.compile.kernels.kernel.Kernel": "what kernels are made of",
    "sw.compile.kernels.tiles.WarpTiles._leaders": "registers of one loop",
    "sw.compile.lower.emitter.Emitter": "a method for each kind of node",
    "sw.compile.lower.emitter.Emitter.__init__": "what an operator's functions are emitted into",
    "sw.compile.lower.operator_choices.OperatorChoices": "overrides the hooks of Operator",
    "sw.compile.lower.operators.EdgeOperator": "overrides the hooks of Operator",
    "sw.golden.simulator.Simulator": "state of a core that the instructions' closures change",
    "sw.lang.instructions.ProgramReader": "a method for each statement of the language",
    "sw.vm.cpu.machine.CpuMachine": "a method for each instruction of the host",
    "sw.vm.cuda.machine.CudaMachine": "a method for each instruction of the host",
}

#: {name that several classes may have: why}.
SAME_NAME = {
    "Csr": "the field's word twice: control and status register, compressed sparse row",
}


@functools.cache
def modules():
    """The files of all modules, by name."""
    found = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


@functools.cache
def imports(name, everywhere=True):
    """The modules of the project that a module imports, with their packages.

    With ``everywhere``, imports inside functions count too.
    """
    path = modules()[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found, left = set(), [ast.parse(path.read_text())]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[:package.count(".") + 2 - node.level] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            found.add(module)
            found.update(f"{module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            if everywhere or not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                left.append(child)
    parts = [module.split(".") for module in found]
    packages = {".".join(names[:count]) for names in parts for count in range(1, len(names) + 1)}
    return frozenset(packages & modules().keys() - {name})


def _within(name, package):
    return name == package or name.startswith(f"{package}.")


def test_imports():
    """``imports`` on modules whose imports are known."""
    assert imports("sw.device.link", False) == {"sw", "sw.device", "sw.device.link.machine"}
    assert {"sim.board_simulator", "sw.cli", "sw.cli.execute"} <= imports("sw.cli.simulated_board")
    assert "sim.board_simulator" not in imports("sw.cli.simulated_board", False)
    assert "sw.cli.records" in imports("sw.cli.simulated_board", False)


def test_no_circles():
    graph = {name: {other for other in imports(name, False)
                    if not _within(name, other)}        # a module's packages come first
             for name in modules()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}", pytrace=False)


#: Imports the named modules, each in a process without other modules of the project. What the
#: project takes from elsewhere is imported once.
_ALONE = """
import importlib, os, sys
import amaranth.lib.wiring, numpy, rich.console, scipy.sparse, typer
for name in sys.argv[1:]:
    if not os.fork():
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        os._exit(0)
    os.wait()
"""


def test_alone():
    """Import each package alone, and each module that was on a circle.

    For all other modules this follows, because there are no circles and every module was imported.
    """
    every = [name for name in modules() if not _within(name, "tb") and "__main__" not in name]
    names = sorted({name for name in every if modules()[name].name == "__init__.py"}
                   | {"sw.compile.task", "sw.compile.buffers", "sw.device.device"})
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for code, arguments in ((_ALONE, names), ("\n".join(f"import {name}" for name in every), [])):
        done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, env=environment,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr


def test_layers():
    rooms = list(LAYERS)
    assert all(rooms.index(below) < rooms.index(room) for room in rooms for below in LAYERS[room])
    arrows, wrong = set(), []
    for name in modules():
        if _within(name, "tb") or name == "sw":
            continue
        room, = (room for room in rooms if _within(name, room))
        for other in imports(name) - {"sw"}:
            if _within(other, room):
                continue
            arrows.update((room, below) for below in rooms if _within(other, below))
            if not any(_within(other, below) for below in LAYERS[room]):
                wrong.append(f"{name} imports {other}")
    assert not wrong, "\n".join(wrong)
    unused = {(room, below) for room in rooms for below in LAYERS[room]} - arrows
    assert not unused, f"no module needs these: {unused}"


def classes(names):
    """{public class at the top of a module: the modules that have a class of this name}."""
    found = {}
    for name in names:
        for node in ast.parse(modules()[name].read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(name)
    return found


def test_class_names():
    """No two public classes have one name, and every exception is needed."""
    every = [name for name in modules() if not _within(name, "tb")]
    shared = {name: places for name, places in classes(every).items() if len(places) > 1}
    wrong = [f"{name}: {', '.join(places)}" for name, places in shared.items()
             if name not in SAME_NAME]
    assert not wrong, "\n".join(wrong)
    assert SAME_NAME.keys() <= shared.keys()


def _sizes(name):
    """The functions and classes of a module that are above a limit, with what they have."""
    def walk(node, path):
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                yield from walk(child, path)
                continue
            own = f"{path}.{child.name}"
            if isinstance(child, ast.ClassDef):
                methods = sum(isinstance(each, ast.FunctionDef) for each in child.body)
                if name.startswith("sw.") and methods > MOST_METHODS:
                    yield own, f"{methods} methods"
            else:
                given = child.args
                count = sum(each.arg not in ("self", "cls") for each in (
                    *given.posonlyargs, *given.args, *given.kwonlyargs))
                lines = (child.end_lineno or child.lineno) - child.lineno + 1
                if name.startswith("sw.") and count > MOST_PARAMETERS:
                    yield own, f"{count} parameters"
                if name.startswith("hw.") and lines > MOST_LINES:
                    yield own, f"{lines} lines"
            yield from walk(child, own)
    return walk(ast.parse(modules()[name].read_text()), name)


def test_sizes():
    """Nothing is above the limits but what has a reason, and every reason is needed."""
    found = dict(pair for name in modules() for pair in _sizes(name))
    wrong = [f"{name}: {what}" for name, what in found.items() if name not in LARGER]
    assert not wrong, "\n".join(wrong)
    assert LARGER.keys() <= found.keys()


def test_file_names():
    """A file is called after what it holds: none is called base or board."""
    wrong = [path.relative_to(ROOT).as_posix() for path in modules().values()
             if path.stem in ("base", "board")]
    assert not wrong, "\n".join(wrong)


def test_pages():
    """Every page that docstrings and comments name exists."""
    wrong = []
    for name, path in modules().items():
        text = path.read_text()
        if "(architecture" in text and path != pathlib.Path(__file__):
            wrong.append(f"{name}: architecture")
        wrong += [f"{name}: {page}" for page in re.findall(r"\bdocs/[\w-]+\.md", text)
                  if not (ROOT / page).exists()]
    assert not wrong
