"""``graphloom new``: a folder to start from, outside of the tree."""

import keyword
import os
import pathlib
import re
from typing import Annotated

import typer

from base import output
from base.errors import UserError
from base.installation import PROGRAM, ROOT, TREE

from .commands import App


__all__ = ["app"]


app = App(help="Make a folder to start from.", no_args_is_help=True)

#: The unit that is copied, and its names there: of the unit and of its class.
_UNIT, _NAME, _CLASS = ROOT / "examples" / "unit", "my_unit", "MyUnit"

#: How the folder's commands start Graphloom.
_PROGRAM = "@PROGRAM@"


@app.command("unit", epilog="Example: graphloom new unit serial; cd serial; ./check")
def _new_unit(
        name: Annotated[str, typer.Argument(
            metavar="NAME", help="Name of the unit: small letters, digits and _.")],
        directory: Annotated[str, typer.Option(
            "--directory", metavar="DIR", help="Folder in which the folder NAME is made.")] = "."):
    """Make the folder of a unit that hands out edges: one file with a unit that works, to change.

    The folder's program `check` runs bench, proofs, area and a comparison. The environment variable
    GRAPHLOOM_UNITS, which has the file's name, makes the unit known to every command.
    """
    _check_name(name)
    folder = pathlib.Path(directory, name)
    if folder.exists():
        raise UserError(f"{folder} is there already; choose another NAME or --directory")
    words = {_NAME: name, _CLASS: "".join(part.capitalize() for part in name.split("_")),
             _PROGRAM: str(ROOT / "graphloom") if TREE else PROGRAM}
    with output.replacing_folder(folder, "--directory", os.listdir) as made:
        for path in sorted(_UNIT.iterdir()):
            if path.is_file():
                text = path.read_text()
                for old, new in words.items():
                    text = text.replace(old, new)
                (made / path.name).write_text(text)
                (made / path.name).chmod(0o755 if text.startswith("#!") else 0o644)
        made.chmod(0o755)
    print(f"{folder}: the unit is {folder / 'unit.py'}; {folder / 'check'} checks it")


def _check_name(name):
    from hw.gather.variants import VARIANTS
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UserError(f"{name}: is no name of a unit: must be a small letter, then small "
                        "letters, digits or _")
    if name in (*VARIANTS, "none", "scu"):
        raise UserError(f"{name}: there is a unit of that name; choose another than "
                        f"{', '.join(VARIANTS)}, none and scu")
