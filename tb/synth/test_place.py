"""Results read from nextpnr's log, and placements of small designs.

====================  ============================================================
failures              test_complaint, on output of nextpnr; test_does_not_fit
a placement           test_place: frequency, path in our names, seeds, files kept
====================  ============================================================
"""

import json
import pathlib

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from sim.toolchain import ToolError
from synth.devices import DEVICES
from synth.logic import synthesize
from synth.place import DoesNotFit, Placement, complaint, place, place_all, spread
from synth.wrapper import Wrapper


#: The part that matters of nextpnr's output for a design with too many block RAMs.
BLOCK_RAM = """\
Info: Device utilisation:
Info: 	          TRELLIS_IO:       4/    197     2%
Info: 	              DP16KD:      80/     56   142%
Info: 	          MULT18X18D:       0/     28     0%
Info: 	          TRELLIS_FF:     556/  24288     2%
Info: 	        TRELLIS_COMB:     905/  24288     3%
Info: 	        TRELLIS_RAMW:       0/   3036     0%

Info: Placed 0 cells based on constraints.
ERROR: Unable to place cell 'unit.memory.0.9', no BELs remaining to implement cell type 'DP16KD'
0 warnings, 1 error
"""

LOGIC = """\
Info: 	          TRELLIS_FF:   25001/  24288   102%
Info: 	        TRELLIS_COMB:   30120/  24288   124%
ERROR: Unable to find legal placement for all cells, design is probably at utilisation limit.
"""

NEARLY = """\
Info: 	        TRELLIS_COMB:   24280/  24288    99%
ERROR: Unable to find legal placement for all cells, design is probably at utilisation limit.
"""

BEL = """\
ERROR: Unable to place cell 'unit.x_TRELLIS_FF_Q_3_DI', no BELs remaining to implement cell type \
'MULT18X18D'
"""


@pytest.mark.parametrize("printed, full, words", [
    (BLOCK_RAM, True, ["80 block RAM of 56"]),
    (LOGIC, True, ["25001 FF of 24288", "30120 LUT4 of 24288"]),
    (NEARLY, True, ["LUT4 and FF", "utilisation limit"]),
    (BEL, True, ["DSP", "unit.x"]),
    ("ERROR: Failed to open LPF file\n", False, ["Failed to open LPF file"]),
    ("", False, ["exit code 125"]),
])
def test_complaint(printed, full, words):
    found, text = complaint(printed, 125)
    assert found is full
    assert "\n" not in text and all(word in text for word in words)


class Adder(wiring.Component):
    """A register that adds up the inputs of the cycle before."""
    a: In(8)
    sum: Out(8)

    def elaborate(self, platform):
        m = Module()
        given = Signal(8)
        m.d.sync += [given.eq(self.a), self.sum.eq(self.sum + given)]
        return m


class Large(wiring.Component):
    """A memory with more block RAMs than the smallest device has."""
    at: In(13)
    write: In(1)
    data: In(180)
    read: Out(180)

    def elaborate(self, platform):
        m = Module()
        m.submodules.store = store = memory.Memory(shape=180, depth=8192, init=[])
        write, read = store.write_port(), store.read_port()
        m.d.comb += [write.addr.eq(self.at), read.addr.eq(self.at), write.en.eq(self.write),
                     write.data.eq(self.data), self.read.eq(read.data)]
        return m


def test_place(tmp_path):
    device = DEVICES["ecp5-25k"]
    logic = synthesize(Wrapper(Adder()), device, top="adder_placed")
    heard = []
    found = place_all(logic.netlist, "adder_placed", device, seeds=[2, 1], folder=tmp_path,
                      frequency=100.0, heard=lambda seed, text: heard.append((seed, text)))
    assert [placement.seed for placement in found] == [2, 1]
    assert {(1, "routing"), (2, "packing"), (2, "routing, 0 connections left")} <= set(heard)
    for placement in found:
        assert placement.frequency > 100
        assert placement.used["TRELLIS_FF"] == logic.area.ff
        names = {placement.path[0].signal, placement.path[-1].signal}
        assert all(name.partition("[")[0] in (
            "unit.given", "unit.sum", "unit.a", "feed", "taken", "fold", "reset")
            for name in names), names
        assert [step.time for step in placement.path] == sorted(
            step.time for step in placement.path)
        assert "Program finished normally" in placement.log.read_text()
        assert placement.configuration.exists()
        record = json.loads(json.dumps(placement.record()))
        assert Placement.from_record(record, placement.folder) == placement
    # Placements are kept: no placement runs a second time.
    heard.clear()
    assert place_all(logic.netlist, "adder_placed", device, seeds=[1, 2], folder=tmp_path,
                     frequency=100.0, heard=lambda *doing: heard.append(doing)) == found[::-1]
    assert not heard
    # A damaged placement runs again.
    found[0].configuration.write_text("")
    (found[1].folder / "1.json").write_text("{}")
    assert [(placement.seed, placement.frequency) for placement in place_all(
        logic.netlist, "adder_placed", device, seeds=[1, 2], folder=tmp_path, frequency=100.0,
        heard=lambda *doing: heard.append(doing))] == [
            (placement.seed, placement.frequency) for placement in found[::-1]]
    assert {seed for seed, _ in heard} == {1, 2} and found[0].configuration.read_text()
    low, high = sorted(placement.frequency for placement in found)
    assert (spread(found).low, spread(found).high) == (low, high)
    assert spread(found).median == pytest.approx((low + high) / 2)


def test_does_not_fit(tmp_path):
    device = DEVICES["ecp5-25k"]
    logic = synthesize(Wrapper(Large()), device, top="large_placed")
    with pytest.raises(DoesNotFit, match=r"large_placed .*ecp5-25k.* of 56 .*nextpnr-1\.log"):
        place(logic.netlist, "large_placed", device, seed=1, folder=tmp_path)
    # The design was refused before the attempt to place it.
    assert "placed" not in (tmp_path / "nextpnr-1.log").read_text()


def test_bad_constraints(tmp_path):
    device = DEVICES["ecp5-25k"]
    logic = synthesize(Wrapper(Adder()), device, top="adder_placed")
    lpf = pathlib.Path(tmp_path) / "pins.lpf"
    lpf.write_text('LOCATE COMP "i" SITE "Z99";\n')
    with pytest.raises(ToolError, match="adder_placed"):
        place(logic.netlist, "adder_placed", device, seed=1, folder=tmp_path, constraints=lpf)
