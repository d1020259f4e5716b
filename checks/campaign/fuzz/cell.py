"""One command in a separate process, with limits of time, memory and file access.

The process is a fork, so a case costs milliseconds and leaves nothing behind. A case never does
real work: it ends where a command starts another program, converts RTL, loads a simulator, starts
a process or serves others. All checks of the input come before this point.
"""

import dataclasses
import os
import pathlib
import resource
import select
import shutil
import signal
import sys
import tempfile
import traceback


__all__ = ["End", "Limits", "REACHED", "ESCAPED", "run"]


#: Exit codes: the process ended where real work begins; the process wrote outside its folder.
REACHED, ESCAPED = 98, 97

#: Files outside the folder to which a command may write. These files are never replaced.
_OPEN = ("/dev/null", "/dev/full", "/dev/zero", "/dev/tty", "/dev/stdout", "/dev/stderr",
         "/dev/fd/", "/proc/self/fd/")

#: Bytes of output that are checked.
_SHOWN = 1 << 20

#: Module and attribute path of the functions that begin real work.
_WORK = (("subprocess", "Popen.__init__"), ("multiprocessing.process", "BaseProcess.start"),
         ("amaranth.back.rtlil", "convert"), ("sim.compiler", "netlist"), ("sim.interface", "load"),
         ("socketserver", "BaseServer.serve_forever"),
         ("sw.study.cluster.scheduler", "until_signal"),
         ("sw.study.benchmarks.formats", "measure"), ("sw.study.tune.space", "Space.reduce"),
         ("checks.campaign.mutants.run", "MutantWork.run"))


@dataclasses.dataclass(frozen=True)
class Limits:
    """Bounds of a case."""
    #: Limit of processor time. The limit of elapsed time is three times as long.
    seconds: float = 20.0
    memory: int = 1 << 30  #: Bytes that the process may allocate beyond its initial memory.


@dataclasses.dataclass(frozen=True)
class End:
    """The end of a case."""
    code: int | None  #: Exit code; None if a signal or the limit of time ended the process.
    signal: int | None  #: The signal that ended the process.
    late: bool  #: Whether the limit of time ended the process.
    out: str  #: The first megabyte of both outputs; bytes that are not UTF-8 are escaped.
    err: str  #: The first megabyte of both outputs; bytes that are not UTF-8 are escaped.
    seconds: float  #: Processor time.
    peak: int  #: Peak of the resident memory, in bytes.


def _leave(code, text=""):
    if text:
        os.write(2, text.encode(errors="backslashreplace"))
    os._exit(code)


def _watch(folder):
    """End the process when it writes to a file outside ``folder``."""
    inside = str(folder) + os.sep
    kept = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

    def check(path):
        if isinstance(path, int) or path is None:
            return
        place = os.path.abspath(os.fsdecode(path))
        whole = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
        if not (whole + os.sep).startswith(inside):
            _leave(ESCAPED, f"writes outside of its folder: {whole}")

    def hook(event, arguments):
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int) or not (flags or 0) & kept \
                    or os.fsdecode(path).startswith(_OPEN):
                return
            # Without O_CREAT a file that does not exist stays so: a device that is not plugged in.
            if flags & os.O_CREAT or os.path.lexists(path):
                check(path)
        elif event in ("os.rename", "os.link", "os.symlink"):
            check(arguments[1])
        elif event in ("os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.truncate",
                       "shutil.rmtree"):
            check(arguments[0])
    sys.addaudithook(hook)


def _stop_at_work():
    import importlib

    def reached(*_, **__):
        _leave(REACHED)
    for module, path in _WORK:
        place = importlib.import_module(module)
        *owners, name = path.split(".")
        for owner in owners:
            place = getattr(place, owner)
        setattr(place, name, reached)


def _virtual_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _child(action, folder, limits, out, err):
    """In the case's process: run the action within its limits."""
    os.setsid()
    os.chdir(folder)
    null = os.open(os.devnull, os.O_RDONLY)
    for handle, place in ((null, 0), (out, 1), (err, 2)):
        os.dup2(handle, place)
    # They are never closed: the process ends by os._exit.
    sys.stdout = open(1, "w", buffering=1 << 16, closefd=False,     # noqa: SIM115
                      encoding="utf-8", errors="strict")
    sys.stderr = open(2, "w", buffering=1, closefd=False,           # noqa: SIM115
                      encoding="utf-8", errors="backslashreplace")
    os.environ |= {"GRAPHLOOM_CACHE": str(folder / ".cache"), "HOME": str(folder)}
    tempfile.tempdir = str(folder / ".cache" / "temporary")
    os.makedirs(tempfile.tempdir, exist_ok=True)
    memory = _virtual_bytes() + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    seconds = int(limits.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _stop_at_work()
    sys.dont_write_bytecode = True       # for modules that only the case imports
    _watch(folder)
    try:
        code = action()
        sys.stdout.flush()
    except BaseException:                # SystemExit too: the command line returns its code
        traceback.print_exc()
        sys.stderr.flush()
        _leave(1)
    sys.stderr.flush()
    _leave(code)


def _text(handle):
    return os.pread(handle, _SHOWN, 0).decode(errors="backslashreplace")


def run(action, folder, limits=Limits()) -> End:
    """Run a function in a separate process.

    Parameters
    ----------
    action : callable
        Returns the exit code.
    folder : pathlib.Path
        The working directory, the only place to which the function may write.
    limits : Limits
    """
    out, err = os.memfd_create("out"), os.memfd_create("err")
    sys.stdout.flush()
    sys.stderr.flush()
    folder = pathlib.Path(folder).resolve()
    process = os.fork()
    if not process:
        try:
            _child(action, folder, limits, out, err)
        finally:
            os._exit(1)
    handle = os.pidfd_open(process)
    try:
        late = not select.select([handle], [], [], 3 * limits.seconds)[0]
        if late:
            os.killpg(process, signal.SIGKILL)
        _, status, usage = os.wait4(process, 0)
        ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        late |= ended == signal.SIGXCPU
        return End(os.WEXITSTATUS(status) if ended is None else None, ended, late, _text(out),
                   _text(err), usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)
    finally:
        for number in (handle, out, err):
            os.close(number)


class Folder:
    """A working directory whose contents are restored after each case.

    Parameters
    ----------
    make : callable
        Fills the folder. Called with the folder's path.
    """
    def __init__(self, make):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="graphloom-fuzz-")).resolve()
        self.made = make(self.path)
        self._kept = {path.name: path.read_bytes() for path in self.path.iterdir()}

    def changes(self):
        """Names in the folder that are new, changed or gone. The cache and the temporary files do
        not count."""
        found = {}
        for path in self.path.iterdir():
            if path.name != ".cache":
                regular = path.is_file() and not path.is_symlink()
                found[path.name] = path.read_bytes() if regular else None
        return sorted(name for name in found.keys() | self._kept.keys()
                      if name not in found or found[name] != self._kept.get(name, b"\0new"))

    def restore(self):
        """Restore the first contents of the folder."""
        for name in self.changes():
            path = self.path / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            if name in self._kept:
                path.write_bytes(self._kept[name])
        shutil.rmtree(self.path / ".cache", ignore_errors=True)

    def close(self):
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
