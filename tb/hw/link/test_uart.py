# amaranth: UnusedElaboratable=no
"""Bytes on a serial line.

======================  ========================================================
receiver                receives: all bytes, at clocks that differ by 2 %
.. noise                noise: short lows, bytes without a stop bit
.. not taken            full: a byte that is not taken stays, later bytes are lost
.. latency              latency
transmitter             transmits: all bytes, with and without gaps
.. throughput           throughput
parameters              test_wrong_divisor
======================  ========================================================
"""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.link.uart import UartReceiver, UartTransmitter
from tb import runner
from tb.clocking import integer, start, tick
from tb.hw.link.line import Line
from tb.streams import StreamSink, StreamSource


def _divisor():
    return runner.parameters()["divisor"]


async def _receiver(dut, cycles, **sink):
    await start(dut)
    line = Line(dut, tx=None, cycles=cycles, divisor=_divisor())
    await tick(dut, 12 * _divisor())        # the line was low in the reset
    return line, StreamSink(dut, "o", **sink)


async def _sent(dut, line):
    while not line.sent:
        await tick(dut)
    await tick(dut, 4 * _divisor() + 8)


@cocotb.test()
@cocotb.parametrize(error=[0, 0.02, -0.02])
async def receives(dut, error):
    rng = random.Random(cocotb.RANDOM_SEED)
    line, sink = await _receiver(dut, _divisor() * (1 + error))
    data = [*rng.sample(range(256), 60), 0x00, 0xFF, 0x55, 0xAA]
    for byte in data:
        line.send([byte], gap=rng.choice([0, 0, 0, 1, 7]))
    await _sent(dut, line)
    assert list(sink.items) == data


@cocotb.test()
async def noise(dut):
    line, sink = await _receiver(dut, 1)
    bit = _divisor()
    for width in range(1, (bit - 1) // 2):
        line.send_bits([0] * width + [1] * 3 * bit)
    line.send_bits([0] * 25 * bit + [1])                # a break, and a byte right behind it
    for level in [1, 0, *[1, 0] * 4, 1, 1]:
        line.send_bits([level] * bit)
    await _sent(dut, line)
    assert list(sink.items) == [0x55]


@cocotb.test()
async def full(dut):
    line, sink = await _receiver(dut, _divisor(), stall=1.0)
    line.send([1, 2, 3])
    await _sent(dut, line)
    sink.stall = 0.0
    line.send([4])
    await _sent(dut, line)
    assert list(sink.items) == [1, 4]


@cocotb.test()
async def latency(dut):
    line, sink = await _receiver(dut, _divisor())
    line.send([0xA5])
    await tick(dut)                                     # the start bit has begun
    cycles = 9 * _divisor() + _divisor() // 2 + 2
    await tick(dut, cycles)
    await ReadOnly()
    assert integer(dut.o__valid) == 0
    await tick(dut)
    await ReadOnly()
    assert integer(dut.o__valid) == 1


async def _transmitter(dut, **source):
    await start(dut)
    line = Line(dut, rx=None, cycles=1, divisor=_divisor())
    return line, StreamSource(dut, "i", **source)


@cocotb.test()
async def transmits(dut):
    rng = random.Random(cocotb.RANDOM_SEED)
    line, source = await _transmitter(dut)
    data = [*rng.sample(range(256), 60), 0x00, 0xFF]
    for part in (data[:30], data[30:]):
        source.idle = 0.99 - source.idle
        source.send(part)
        await source.drain()
        await tick(dut, 12 * _divisor())
    assert line.received == data and not line.broken


@cocotb.test()
async def throughput(dut):
    line, source = await _transmitter(dut)
    source.send(range(8))
    await tick(dut)
    await tick(dut, 8 * (10 * _divisor() + 1) + 1)
    assert line.received == list(range(8))


@pytest.mark.parametrize("divisor", [4, 5, 16])
@pytest.mark.sample(2)
def test_receiver(simulator, divisor):
    runner.run_bench(UartReceiver(divisor), "uart_receiver", __name__, simulator=simulator,
                     parameters={"divisor": divisor},
                     tests=["receives", "noise", "full", "latency"])


@pytest.mark.parametrize("divisor", [4, 5, 16])
@pytest.mark.sample(2)
def test_transmitter(simulator, divisor):
    runner.run_bench(UartTransmitter(divisor), "uart_transmitter", __name__, simulator=simulator,
                     parameters={"divisor": divisor}, tests=["transmits", "throughput"])


@pytest.mark.parametrize("divisor", [0, 3, 65536, 4.0, None])
@pytest.mark.parametrize("kind", [UartReceiver, UartTransmitter])
def test_wrong_divisor(kind, divisor):
    with pytest.raises(ValueError, match=f"divisor is {divisor!r}, must be an integer from 4"):
        kind(divisor)
