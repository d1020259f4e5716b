"""NVIDIA's compiler and its driver: the libraries of generated CUDA, kept in the cache."""

import ctypes
import dataclasses
import functools
import pathlib
import shutil
import subprocess

from base.errors import UserError
from sim import cache
from sim.errors import ToolError


__all__ = ["DEFAULT_ARCHITECTURE", "architecture", "gpu_absence", "library", "multiprocessors",
           "nvcc"]


#: The architecture that is compiled for where no GPU answers.
DEFAULT_ARCHITECTURE = "sm_80"

_OPTIONS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC")

#: Attributes of a device, by the numbers of the driver.
_MAJOR, _MINOR, _MULTIPROCESSORS = 75, 76, 16


@dataclasses.dataclass(frozen=True)
class _Nvcc:
    """The path of the compiler, and the text of its version."""
    path: str
    version: str


@functools.cache
def nvcc() -> _Nvcc:
    """The compiler on PATH: ``path`` and ``version``. Raises ToolError if none works."""
    path = shutil.which("nvcc")
    if path is None:
        raise ToolError("there is no nvcc on PATH: install NVIDIA's CUDA toolkit")
    try:
        done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, text=True, errors="replace", timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        done = None
    if done is None or done.returncode:
        raise ToolError(f"{path} does not run: install NVIDIA's CUDA toolkit")
    return _Nvcc(path, done.stdout.strip())


@functools.cache
def _gpu():
    """The architecture and the multiprocessors of the first GPU, and None; or None, 0 and the
    reason."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, 0, "no GPU answers: there is no NVIDIA driver (libcuda.so.1)"
    count, device, major, minor, multiprocessors = (ctypes.c_int() for _ in range(5))
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return None, 0, "no GPU answers: the NVIDIA driver finds none"
    if driver.cuDeviceGet(ctypes.byref(device), 0) or any(
            driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
            for number, attribute in ((major, _MAJOR), (minor, _MINOR),
                                      (multiprocessors, _MULTIPROCESSORS))):
        return None, 0, "no GPU answers: the NVIDIA driver does not describe it"
    return f"sm_{major.value}{minor.value}", multiprocessors.value, None


def gpu_absence() -> str | None:
    """The reason why no GPU can be used; None if one answers."""
    return _gpu()[2]


def multiprocessors() -> int:
    """The multiprocessors of the GPU; 0 if none answers."""
    return _gpu()[1]


def architecture() -> str:
    """The architecture of the GPU, or :data:`DEFAULT_ARCHITECTURE` if none answers."""
    return _gpu()[0] or DEFAULT_ARCHITECTURE


def library(text: str, architectures: tuple[str, ...], what: str) -> pathlib.Path:
    """A shared library from a text of CUDA, compiled if the cache has none.

    Parameters
    ----------
    text : str
        The whole source; it includes nothing but headers of the toolkit.
    architectures : tuple of str
        For example ``"sm_80"``.
    what : str
        Name of the source in errors.

    Raises
    ------
    UserError
        If the compiler refuses the text.
    ToolError
        If there is no compiler, or the cache cannot be written.
    """
    compiler = nvcc()
    targets = [f"-gencode=arch={name.replace('sm', 'compute')},code={name}"
               for name in architectures]

    def make(work):
        (work / "program.cu").write_text(text)
        done = subprocess.run([compiler.path, *_OPTIONS, *targets, "program.cu", "-o",
                               "program.so"], cwd=work, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, text=True, errors="replace")
        if done.returncode:
            raise UserError(f"nvcc refuses the CUDA of {what}: "
                            f"{(done.stdout + done.stderr).strip()[-2000:]}")

    key = cache.hashed(text, compiler.version, *_OPTIONS, *targets)
    return cache.entry("cuda", key, make, what="library of CUDA") / "program.so"
