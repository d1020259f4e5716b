"""Shared libraries of C++, compiled once and kept in the cache."""

import ctypes
import functools
import pathlib
import subprocess

from sim import cache, toolchain


__all__ = ["check_signals", "compiled", "runtime"]


_HERE = pathlib.Path(__file__).parent
_FLAGS = ("-std=c++17", "-fPIC", "-pthread", "-fno-exceptions", "-fno-rtti", "-w")


@functools.cache
def compiled(text: str, optimize: str = "-O2") -> ctypes.CDLL:
    """The library of a text, which may include the headers of this folder.

    Parameters
    ----------
    text : str
    optimize : str
        The compiler's option for optimization.

    Raises
    ------
    ToolError
        If there is no C++ compiler, or the cache cannot be written.
    """
    tool = toolchain.compiler()
    headers = {path.name: path.read_bytes() for path in sorted(_HERE.glob("*.h"))}

    def run(command, work):
        done = subprocess.run(command, cwd=work, env=tool.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, text=True, errors="replace")
        if done.returncode:
            raise toolchain.ToolError(f"{command[0]} cannot compile a program:\n"
                                      f"{done.stderr.strip()}")

    def make(work):
        (work / "program.cpp").write_text(text, encoding="utf-8")
        for name, content in headers.items():
            (work / name).write_bytes(content)
        run([*tool.command, *_FLAGS, optimize, "-c", "program.cpp", "-o", "program.o"], work)
        run([*tool.link, "-shared", "-pthread", "program.o", "-o", "program.so"], work)
        (work / "program.o").unlink()

    key = cache.hashed(text, *headers.values(), _FLAGS, optimize, tool.identity, tool.link)
    place = cache.entry("programs", key, make, what="program")
    return ctypes.CDLL(str(place / "program.so"))


_POINTER, _WIDE, _INT = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32

#: {function of the runtime: (type of its result, types of its parameters)}.
_FUNCTIONS = {
    "machine_new": (_POINTER, [ctypes.c_uint32, ctypes.c_uint32, _WIDE, _POINTER, _POINTER, _WIDE,
                               _POINTER, _POINTER, _WIDE]),
    "machine_free": (None, [_POINTER]),
    "machine_start": (None, [_POINTER, _POINTER]),
    "machine_error": (_WIDE, [_POINTER]),
    "machine_pulled": (ctypes.c_int, [_POINTER]),
    "machine_edges": (ctypes.c_int64, [_POINTER, _POINTER, _POINTER, _WIDE, _POINTER]),
    "machine_take": (None, [_POINTER, _POINTER, _WIDE]),
    "machine_vertices": (ctypes.c_int64, [_POINTER, _POINTER, _POINTER, _INT, _POINTER, _WIDE,
                                          _POINTER]),
    "machine_total": (ctypes.c_int, [_POINTER, _POINTER, _POINTER, _WIDE, _POINTER, _POINTER]),
    "machine_settle": (ctypes.c_int, [_POINTER]),
    "machine_put": (None, [_POINTER, _INT, _POINTER, _WIDE]),
    "machine_get": (_POINTER, [_POINTER, _INT, _POINTER]),
    "machine_loop": (ctypes.c_int64, [_POINTER] * 9),
}


#: In C++, with Python's lock: have Python handle signals. Not 0 if a handler has raised.
check_signals = ctypes.pythonapi.PyErr_CheckSignals


@functools.cache
def runtime() -> ctypes.CDLL:
    """The library of ``runtime.cpp``. Raises ToolError as :func:`compiled` does."""
    library = compiled((_HERE / "runtime.cpp").read_text(encoding="utf-8"))
    # A loop may ask Python for signals, and then ends with the exception of their handler.
    loop = ctypes.PyDLL(library._name, handle=library._handle).machine_loop
    setattr(library, loop.__name__, loop)
    for name, (result, parameters) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library
