"""The native machine and its build, with the traffic generator in place of the GPU.

====================  ==========================================================
launch                test_update, test_relaunch, test_power_on, test_progress
limit                 test_limit, test_limit_is_exact, test_limit_of_a_watched_launch
interrupt             test_interrupt, test_signal
errors                test_device_error, test_outside_memory, test_assertion,
                      test_a_signal_that_depends_on_itself
waves                 test_vcd, test_fst, test_wave_name, test_wave_of_interrupted_launch,
                      test_wave_without_room, test_wave_to_devices
build                 test_build_is_cached, test_two_builds_at_once, test_build_error
====================  ==========================================================
"""

import os
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest

from base.output import Output
from hw.config import ConfigError, preset
from sim import build
from sim.errors import BuildError, SimulationError
from sim.native import NativeMachine
from sim.trace import Tracer
from tb.sim.traffic import Op, program, traffic_verilog


CONFIG = preset("tiny").replace(imem_bytes=1 << 13, l2_mshrs=4, memory_bytes=1 << 18)
BASE = 0x8000_0000 // CONFIG.line_bytes


@pytest.fixture(scope="module")
def verilog():
    return (traffic_verilog(CONFIG),)


@pytest.fixture
def machine(verilog):
    with NativeMachine(CONFIG, verilog=verilog) as machine:
        yield machine


def run(machine, *operations, **options):
    machine.load_program(program((Op.SEEK, BASE), *operations, (Op.END, 0)))
    machine.launch(0, 0, **options)


def test_update(machine):
    words = machine.memory.view(np.uint32)
    words[:] = np.arange(words.size)
    run(machine, (Op.UPDATE, 100))
    assert (words[:400] == np.arange(1, 401)).all()
    assert (words[400:] == np.arange(400, words.size)).all()
    assert machine.counters()["dram_bytes_read"] == 1600


def test_relaunch(machine):
    run(machine, (Op.UPDATE, 10))
    cycles = machine.counters()["cycles"]
    machine.launch(0, 0)
    assert machine.counters()["cycles"] == cycles
    assert (machine.memory.view(np.uint32)[:40] == 2).all()


def test_power_on(machine):
    run(machine, (Op.UPDATE, 1))
    machine.power_on()
    assert machine.cycles < 20 and machine.counters()["dram_reads"] == 0
    machine.launch(0, 0)                # program and memory are kept
    assert (machine.memory.view(np.uint32)[:4] == 2).all()


def test_program_too_large(machine):
    with pytest.raises(ValueError, match="2049 words does not fit .*2048 words"):
        machine.load_program([0] * 2049)


def test_progress(machine):
    seen = []
    run(machine, (Op.WAIT, 5_000_000), progress=seen.append)
    assert seen and seen == sorted(seen) and seen[-1] < 5_000_010
    assert 5_000_000 < machine.loop_cycles < 5_000_100 and machine.loop_seconds > 0


def test_limit(machine):
    with pytest.raises(SimulationError, match="after 5000 cycles") as caught:
        run(machine, (Op.UPDATE, 3), (Op.HANG, 0), max_cycles=5000)
    assert caught.value.kind == "limit"
    assert caught.value.counters["dram_reads"] == 3
    assert 5000 <= caught.value.counters["cycles"] <= 5100
    # Counters can still be read, a flush is harmless, and the next launch works.
    assert machine.counters()["dram_bytes_written"] == 3 * CONFIG.line_bytes
    machine.flush()
    run(machine, (Op.UPDATE, 1))
    assert (machine.memory.view(np.uint32)[:8] == [2, 2, 2, 2, 1, 1, 1, 1]).all()


def test_limit_is_exact(machine):
    run(machine, (Op.WAIT, 100))
    before = machine.cycles
    machine.launch(0, 0)
    needed = machine.cycles - before - 5        # less the host's writes: two registers, and one
    machine.launch(0, 0, max_cycles=needed)
    with pytest.raises(SimulationError):
        machine.launch(0, 0, max_cycles=needed - 1)


@pytest.mark.parametrize("limit", [1500, 1700])
def test_limit_of_a_watched_launch(machine, monkeypatch, limit):
    """The launch runs in pieces, and the last of them ends at the limit."""
    monkeypatch.setattr("sim.machine.WATCH_CYCLES", 500)
    looks = []
    with pytest.raises(SimulationError, match=f"after {limit} cycles") as caught:
        run(machine, (Op.HANG, 0), max_cycles=limit,
            watch=lambda: looks.append(machine.cycles) or len(looks) > 5)
    assert limit <= caught.value.counters["cycles"] <= limit + 2500
    assert len(looks) == (limit - 1) // 500
    assert not machine.launch(0, 0, watch=lambda: True)


def test_interrupt(machine):
    def progress(cycles):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        run(machine, (Op.UPDATE, 2), (Op.HANG, 0), progress=progress)
    assert (machine.memory.view(np.uint32)[:8] == 1).all()
    run(machine, (Op.UPDATE, 2))
    assert (machine.memory.view(np.uint32)[:8] == 2).all()


def test_signal(verilog, tmp_path):
    """Ctrl-C itself, in a process of its own."""
    (tmp_path / "gpu.v").write_text(verilog[0])
    code = """if True:
        import os, signal, sys, threading
        from tb.sim.test_native import *
        with NativeMachine(CONFIG, verilog=(open(sys.argv[1]).read(),)) as machine:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                run(machine, (Op.UPDATE, 2), (Op.HANG, 0))
            except KeyboardInterrupt:
                print(machine.memory[:8].tolist(), machine.counters()["dram_reads"])
    """
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "gpu.v")], timeout=300,
                          capture_output=True, text=True, check=False)
    assert done.stdout == "[1, 0, 0, 0, 1, 0, 0, 0] 2\n", done.stderr


def test_device_error(machine):
    with pytest.raises(SimulationError) as caught:
        run(machine, (Op.FAIL, 5))
    assert caught.value.kind == "device"
    assert str(caught.value) == ("core 2, warp 3, lane 5 stopped at PC 0x00000008: a load from an "
                                 "unmapped address (address 0x00001234)")
    assert caught.value.counters["cycles"] > 0
    run(machine, (Op.UPDATE, 1))


@pytest.mark.parametrize("op, line, text", [
    (Op.READ, BASE - 1, "read the line at 0x7ffffff0"),
    (Op.WRITE, BASE + (1 << 18) // 16, "write the line at 0x80040000"),
    (Op.READ, 0, "read the line at 0x00000000"),
    (Op.WRITE, (1 << 28) - 1, "write the line at 0xfffffff0"),
])
def test_outside_memory(machine, op, line, text):
    with pytest.raises(SimulationError) as caught:
        run(machine, (Op.UPDATE, 1), (Op.SEEK, line), (op, 1))
    assert caught.value.kind == "memory"
    assert text in str(caught.value) and "0x80000000 to 0x8003ffff" in str(caught.value)
    assert caught.value.counters["dram_bytes_read"] == CONFIG.line_bytes
    run(machine, (Op.UPDATE, 1))
    assert (machine.memory.view(np.uint32)[:4] == 2).all()


def test_assertion(machine, verilog):
    with pytest.raises(SimulationError, match="the program failed an assertion") as caught:
        run(machine, (Op.UPDATE, 1), (Op.ASSERT, 0))
    assert caught.value.kind == "assertion"
    assert caught.value.counters["dram_bytes_read"] == CONFIG.line_bytes
    assert "cycles" not in machine.counters()
    machine.flush()
    run(machine, (Op.UPDATE, 1))
    with NativeMachine(CONFIG, verilog=verilog, assertions=False) as unchecked:
        run(unchecked, (Op.ASSERT, 0))


def test_a_signal_that_depends_on_itself(verilog):
    """Verilator gives up, and the machine stops."""
    text, = verilog
    wrong = text[:text.rindex("endmodule")] + """
        wire spin = busy & ~spin & (spin | ~host_write);
        reg kept;
        always @(posedge clk) kept <= spin;
        always @(posedge clk) if (kept & spin & host_addr[0]) $stop;
        endmodule
        """
    with NativeMachine(CONFIG, verilog=(wrong,)) as machine:
        with pytest.raises(SimulationError, match="did not converge") as caught:
            run(machine, (Op.UPDATE, 3))
    assert caught.value.kind == "assertion"


def test_two_machines(verilog, machine):
    with NativeMachine(CONFIG, verilog=verilog) as other:
        threads = [threading.Thread(target=run, args=(each, (Op.UPDATE, 2000)))
                   for each in (machine, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert machine.counters() == other.counters()
        assert (machine.memory == other.memory).all()


# Waves

def test_vcd(verilog, tmp_path):
    path = tmp_path / "out.vcd"
    with NativeMachine(CONFIG, verilog=verilog, wave=Output(path)) as machine:
        run(machine, (Op.UPDATE, 2))
        end = machine.cycles
    text = path.read_text()
    assert ("mem_req_line" in text and text.rstrip().splitlines()[-1] == f"#{10 * end}") or \
        f"#{10 * end}\n" in text


def lz4(data, size):
    """Unpack a block of LZ4."""
    out, at = bytearray(), 0

    def length(nibble):
        nonlocal at
        if nibble == 15:
            while True:
                at += 1
                nibble += data[at - 1]
                if data[at - 1] != 255:
                    break
        return nibble
    while True:
        token = data[at]
        at += 1
        count = length(token >> 4)
        out += data[at:at + count]
        at += count
        if at == len(data):
            assert len(out) == size
            return bytes(out)
        distance = data[at] | data[at + 1] << 8
        at += 2
        assert 0 < distance <= len(out)
        for _ in range(length(token & 15) + 4):
            out.append(out[-distance])


def fst_blocks(data):
    """Kinds and contents of the blocks in an FST file."""
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from(">BQ", data, at)
        yield kind, data[at + 9:at + 1 + size]
        at += 1 + size


def test_fst(verilog, tmp_path):
    path = tmp_path / "out.fst"
    with NativeMachine(CONFIG, verilog=verilog) as machine:
        run(machine, (Op.UPDATE, 1))
        machine.open_wave(Output(path))         # starts anew, with waves
        begin = machine.cycles
        machine.launch(0, 0)
        end = machine.cycles
        machine.close_wave()
        assert (machine.memory.view(np.uint32)[:4] == 2).all()
    blocks = dict(fst_blocks(path.read_bytes()))
    header, hierarchy = blocks[0], blocks[6]
    assert struct.unpack_from(">QQ", header) == (10 * begin + 5, 10 * end)
    names = lz4(hierarchy[8:], struct.unpack_from(">Q", hierarchy)[0])
    assert b"graphloom_harness" in names and b"mem_req_line" in names


def test_wave_of_interrupted_launch(verilog, tmp_path):
    def progress(cycles):
        raise KeyboardInterrupt
    path = tmp_path / "out.vcd"
    with NativeMachine(CONFIG, verilog=verilog, wave=Output(path)) as machine:
        with pytest.raises(KeyboardInterrupt):
            run(machine, (Op.HANG, 0), progress=progress)
        end = machine.cycles
    assert f"#{10 * end}\n" in path.read_text()


@pytest.mark.parametrize("name", ["out.vcd", "out.fst"])
def test_wave_without_room(verilog, tmp_path, small_files, name):
    """A full disk ends the run or the wave with an error. The old file stays."""
    path = tmp_path / name
    path.write_text("before")
    build.library(verilog, CONFIG, waves=path.suffix[1:])
    with small_files(), pytest.raises(SimulationError, match=f"{name}: cannot be .*File too la") \
            as caught:
        with NativeMachine(CONFIG, verilog=verilog, wave=Output(path)) as machine:
            try:
                run(machine, (Op.UPDATE, 2000))
            finally:
                assert path.read_text() == "before"
    assert caught.value.kind == "wave"
    assert path.read_text() == "before" and os.listdir(tmp_path) == [name]


def test_wave_to_devices(verilog, tmp_path):
    (tmp_path / "null.fst").symlink_to(os.devnull)
    (tmp_path / "full.vcd").symlink_to("/dev/full")
    with NativeMachine(CONFIG, verilog=verilog, wave=Output(tmp_path / "null.fst")) as machine:
        run(machine, (Op.UPDATE, 2))
    with pytest.raises(SimulationError, match="full.vcd: cannot be written: No space left"):
        with NativeMachine(CONFIG, verilog=verilog, wave=Output(tmp_path / "full.vcd")) as machine:
            run(machine, (Op.UPDATE, 2000))
    end, begin = os.pipe()
    (tmp_path / "pipe.fst").symlink_to(f"/dev/fd/{begin}")
    with pytest.raises(ConfigError, match="pipe.fst.*cannot be written to a pipe"):
        NativeMachine(CONFIG, verilog=verilog, wave=Output(tmp_path / "pipe.fst"))
    os.close(end)
    os.close(begin)


def test_wave_name(verilog, tmp_path):
    with pytest.raises(ConfigError, match=r"out.wav.*must end in \.fst or \.vcd"):
        NativeMachine(CONFIG, verilog=verilog, wave=Output(tmp_path / "out.wav"))
    assert os.listdir(tmp_path) == []


# Build

def test_build_is_cached(verilog):
    said = []
    first = build.library(verilog, CONFIG, report=said.append)
    said.clear()
    assert build.library(verilog, CONFIG, report=said.append) == first and not said
    assert build.library(verilog, CONFIG, assertions=False) != first


def test_two_builds_at_once(verilog, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))
    (tmp_path / "gpu.v").write_text(verilog[0])
    code = ("import sys; from sim import build; from hw.config import preset; "
            "print(build.library((open(sys.argv[1]).read(),), preset('tiny')))")
    jobs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "gpu.v")],
                             stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = [job.communicate()[0] for job in jobs]
    assert first == second and first.strip().endswith("gpu.so")
    left = [path.name for path in (tmp_path / "simulators").iterdir() if path.suffix == ".tmp"]
    assert not left


def test_build_error(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))
    with pytest.raises(BuildError, match="(?s)Verilator failed.*syntax error"):
        build.library(("module graphloom_gpu(; endmodule",), CONFIG)
    assert not list((tmp_path / "simulators").glob("*.tmp"))


def test_no_trace_port(machine):
    with pytest.raises(ConfigError, match="trace = False: a trace needs hardware with"):
        machine.start_trace(Tracer([].append))
    machine.start_trace(None)
