"""``python -m sw.cli``, and the ``graphloom`` command of an installed package."""

from sw.cli import process


__all__ = ["start"]


def start():
    """Run the command line and end the process with its exit code.

    Signals are taken over first: the modules of the commands take time to import.
    """
    process.begin()
    from sw.cli.main import main
    try:
        process.started()
        code = main()
    except KeyboardInterrupt:
        code = process.interrupted()
    process.end(code)


if __name__ == "__main__":
    start()
