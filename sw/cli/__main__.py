"""``python -m sw.cli``, and the ``graphloom`` command of an installed package."""

import gc
import sys

from base.errors import UserError
from base.printable import one_line
from sw.cli import process


__all__ = ["start"]


def start():
    """Run the command line and end the process with its exit code.

    Signals are taken over first: the modules of the commands take time to import. Nearly all that
    they make lasts as long as the process, so the garbage collector rests meanwhile and does not
    look through it later either.
    """
    process.begin()
    gc.disable()
    try:
        from sw.cli.main import main
        gc.freeze()
        gc.enable()
        process.started()
        code = main()
    except UserError as error:              # a unit that the environment names
        print(f"graphloom: error: {one_line(error)}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = process.interrupted()
    process.end(code)


if __name__ == "__main__":
    start()
