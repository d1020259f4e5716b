# amaranth: UnusedElaboratable=no
"""Write-back against a model in every cycle: the result written, the report to the scheduler."""

import cocotb
import pytest
from cocotb.triggers import ReadOnly

from hw.config import HardwareConfig
from hw.core.loads import writeback_layout
from hw.core.writeback import WriteBack
from tb import runner
from tb.clocking import integer, start, tick
from tb.hw.core.bench_unit import generator
from tb.streams import StreamSource, pack, unpack


@cocotb.test()
async def against_model(dut):
    await start(dut)
    config = HardwareConfig(**runner.parameters())
    layout, rng = writeback_layout(config), generator()
    serial = 0

    def result(least):
        """A result with data of its own. Every fourth result is for the lowest register."""
        nonlocal serial
        serial += 1
        return {"warp": rng.randrange(config.warps), "rd": rng.choice((least, *range(1, 4))),
                "mask": rng.randrange(1 << config.threads), "data": [serial] * config.threads}

    others = {name: [result(0) for _ in range(300)] for name in ("loaded", "rare")}
    waiting = {name: list(items) for name, items in others.items()}
    sources = {name: StreamSource(dut, name, layout) for name in others}
    for name, source in sources.items():
        source.send(others[name])
    untold, told, written = None, [], []
    for cycle in range(20_000):
        if cycle % 50 == 0:
            often = rng.choice((0.0, 0.5, 0.9))
            for source in sources.values():
                source.idle = rng.choice((0.0, 0.5, 0.9))
        own = result(1) if rng.random() < often else None
        dut.own.value, dut.result.value = int(own is not None), pack(layout, own or result(1))
        await ReadOnly()
        offered = {name: integer(getattr(dut, f"{name}__valid")) for name in others}
        taker = "own" if own else next((name for name in others if offered[name]), None)
        for name in others:
            if offered[name]:
                assert integer(getattr(dut, f"{name}__ready")) == (name == taker)
        now = own or (waiting[taker].pop(0) if taker else None)
        assert integer(dut.write) == bool(now and now["rd"])
        if now and now["rd"]:
            assert unpack(layout, integer(dut.written)) == layout.const(now)
            written.append((now["warp"], now["rd"]))
        if taker != "own" and not config.long:
            untold = now if now and now["rd"] else None
        tells = own or untold
        assert integer(dut.tells) == bool(tells)
        assert integer(dut.busy) == bool(offered["rare"] or untold)
        if tells:
            told.append((integer(dut.told_warp), integer(dut.told_rd)))
            assert told[-1] == (tells["warp"], tells["rd"])
        if taker != "own":
            untold = now if now and now["rd"] and config.long else None
        if all(source.drained for source in sources.values()) and not untold:
            break
        await tick(dut)
    assert not any(waiting.values()) and sorted(told) == sorted(written) and len(told) > 400


@pytest.mark.parametrize("pipeline, threads", [("short", 1), ("short", 4), ("long", 4)])
@pytest.mark.sample(2)
def test_writeback(simulator, pipeline, threads):
    parameters = {"pipeline": pipeline, "threads": threads, "warps": 4}
    runner.run_bench(WriteBack(HardwareConfig(**parameters)), "writeback", __name__,
                     simulator=simulator, parameters=parameters)
