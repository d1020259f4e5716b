"""The options ``--trace`` and ``--trace-cycles``: what is recorded, and how it is written."""

from base.errors import UserError

from . import files


__all__ = ["recorder", "write"]


#: Endings of the file's name.
SUFFIXES = (".txt", ".json")


def recorder(path, cycles, config):
    """The recorder of the trace, or None without a trace. Refuses a file that cannot be written."""
    from sw.device.trace.recorder import Recorder, window
    if path is None:
        if cycles is not None:
            raise UserError("--trace-cycles selects the cycles of --trace: give --trace as well")
        return None
    files.check(path, SUFFIXES)
    return Recorder(config, None if cycles is None else window(cycles))


def write(path, recorder, command=""):
    """Write a trace in the format of the file's name; nothing if nothing was launched. A timeline
    has the command line of its run."""
    from sw.device.trace import text, timeline
    if recorder is None or not recorder.kernels:
        return
    files.write_pieces(path, text.pieces(recorder) if path.lower().endswith(".txt")
                       else timeline.pieces(recorder, command))
