"""Makes the wheel's package ``graphloom`` from the folders of the source tree.

The folders are top-level packages in the tree (``from hw.config import preset``). Names such as
``hw``, ``sw`` and ``sim`` are too common for the site-packages of a user, whose own project may
have folders of these names. So the wheel holds the folders inside ``graphloom``, and this hook
renames their imports of each other: ``from hw.config import preset`` becomes
``from graphloom.hw.config import preset``. Tools that vendor packages rename imports in the same
way. Nothing happens at run time: each module has one name and one object, also in child processes.

Only import statements are renamed. A string that names a module of the project would be wrong in
the wheel; ``tb/test_package.py`` finds such strings.
"""

import ast
import pathlib
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


__all__ = ["ROOMS", "Hook", "renamed"]


#: The folders whose modules import each other by absolute names.
ROOMS = ("base", "hw", "sw", "sim", "synth", "checks")


def renamed(source: str, name: str) -> str:
    """The text of a module with the imports of the project's modules below ``graphloom``.

    Line numbers stay as they are.

    Parameters
    ----------
    source : str
        The text.
    name : str
        The file's name, for messages.

    Raises
    ------
    SyntaxError
        An import statement has a form that cannot be renamed: ``import hw.config`` binds ``hw``.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source, name)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _room(node.module) in ROOMS:
            old, new = f"from {node.module} ", f"from graphloom.{node.module} "
        elif isinstance(node, ast.Import) and any(_room(each.name) in ROOMS for each in node.names):
            old, new = "import ", "from graphloom import "
            if any(each.name not in ROOMS for each in node.names):
                raise SyntaxError(f"{name}:{node.lineno}: write `from PACKAGE import MODULE`")
        else:
            continue
        # Columns of the syntax tree count bytes.
        line, start = lines[node.lineno - 1].encode(), node.col_offset
        if not line[start:].startswith(old.encode()):
            raise SyntaxError(f"{name}:{node.lineno}: the import is not written as `{old}...`")
        line = line[:start] + new.encode() + line[start + len(old.encode()):]
        lines[node.lineno - 1] = line.decode()
    return "".join(lines)


def _room(module):
    return module.partition(".")[0]


class Hook(BuildHookInterface):
    """Puts the renamed modules in the place of the files of the tree."""

    def initialize(self, version, build_data):
        """Called by hatchling before it makes the wheel."""
        build_data["pure_python"] = True
        if version == "editable":
            return
        # PEP 561: type checkers read the annotations of the package.
        build_data["force_include"][str(pathlib.Path(self.root, "py.typed"))] = "graphloom/py.typed"
        self._folder = tempfile.TemporaryDirectory()
        places = {file.distribution_path: pathlib.Path(file.path)
                  for file in self.build_config.builder.recurse_selected_project_files()}
        places["graphloom/__init__.py"] = pathlib.Path(self.root, "graphloom.py")
        # for `python -m graphloom`
        places["graphloom/__main__.py"] = places["graphloom/sw/cli/__main__.py"]
        for place, path in places.items():
            if path.suffix == ".py":
                made = pathlib.Path(self._folder.name, place)
                made.parent.mkdir(parents=True, exist_ok=True)
                made.write_text(renamed(path.read_text("utf-8"), str(path)), "utf-8")
                build_data["force_include"][str(made)] = place

    def finalize(self, version, build_data, artifact_path):
        """Called by hatchling when the wheel is made."""
        if version != "editable":
            self._folder.cleanup()
