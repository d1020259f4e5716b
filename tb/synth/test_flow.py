# amaranth: UnusedElaboratable=no
"""From a unit to its figures: every flow on a small unit, and the results that are kept.

====================  ============================================================
units                 test_units, test_needs: each unit, with its needs
devices               test_ecp5, test_without_placement
memories              test_memories: their names, and their kinds of cells
                      test_collisions: those without read/write checks have none
names                 test_arrays: of arrays' fields, which Yosys confuses
kept results          test_kept, test_deleted_in_part, test_failure
wrapper               test_wrapper: registers at every port
====================  ============================================================
"""

import json

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from base.errors import UserError
from hw.config import ConfigError, HardwareConfig, preset
from hw.gather.fsm.unit import Weaver
from sim.toolchain import ToolError
from synth import flow, rtlil
from synth.devices import DEVICES, Area, find_device
from synth.logic import BLOCK, DISTRIBUTED, FLIP_FLOPS, REMOVED, mapped, synthesize
from synth.units import UNITS, find_unit
from synth.wrapper import Wrapper


TINY = preset("tiny")


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
@pytest.mark.sample(1)
def test_units(unit):
    """Each unit is made from the preset of boards, with all its modules."""
    config = unit.configure(preset("fpga"))
    assert config.name == "fpga"
    text = rtlil.convert(unit.build(config), unit.name)
    assert f"module \\{unit.name}\n" in text
    assert ("module \\graphloom_core\n" in text) is (unit.name == "gpu")


def test_needs():
    assert find_unit("scu-4").configure(TINY).scu == 4
    with pytest.raises(ConfigError, match="gather = 'none'"):
        find_unit("weaver").build(TINY.replace(gather="none"))
    with pytest.raises(UserError, match="'toaster'.* weaver, .*scu-1"):
        find_unit("toaster")
    with pytest.raises(UserError, match="'asic'.* ecp5-85k"):
        find_device("asic")


def test_area():
    cells = {"LUT4": 10, "CCU2C": 3, "TRELLIS_DPR16X4": 2, "TRELLIS_FF": 7, "PFUMX": 4,
             "DP16KD": 1}
    assert DEVICES["ecp5-85k"].area(cells) == Area(10, 3, 2, 7, 1, 0, 10 + 6 + 12)
    cells = {"SB_LUT4": 10, "SB_CARRY": 3, "SB_DFFESR": 2, "SB_DFF": 1, "SB_RAM40_4K": 5}
    assert DEVICES["ice40-hx8k"].area(cells) == Area(10, 3, 0, 3, 5, 0, 10)
    one = Area(1, 2, 3, 4, 5, 6, 7)
    assert one + one - one == one


def test_ecp5():
    heard = []
    found = flow.measure(find_unit("weaver"), TINY, DEVICES["ecp5-85k"], seeds=[1],
                         heard=lambda what, text: heard.append(what))
    assert found.area.lut4 > found.area.logic > 100 and found.area.ff > 100
    assert found.share("lut4") == found.area.lut4 / 83640
    assert found.logic.memories["table.store.st_entries"] == DISTRIBUTED
    placement, = found.placements
    assert found.area.ff < placement.used["TRELLIS_FF"]        # the wrapper has flip-flops too
    assert 0.5 < found.estimate.frequency / placement.frequency < 2
    ends = {step.signal.split("[")[0] for step in (placement.path[0], placement.path[-1])}
    assert all(signal.startswith("unit.") for signal in ends)
    record = json.loads(json.dumps(found.record()))
    assert record["area"]["lut4"] == found.area.lut4
    assert record["frequency"]["median"] == placement.frequency
    assert set(record["tools"]) == {"yosys", "nextpnr-ecp5"}
    again = flow.measure(find_unit("weaver"), TINY, DEVICES["ecp5-85k"], seeds=[1])
    assert json.loads(json.dumps(again.record())) == record
    assert all(log.exists() for log in found.logs)


@pytest.mark.parametrize("device", ["ice40-hx8k", "generic"])
def test_without_placement(device):
    found = flow.measure(find_unit("weaver"), TINY, DEVICES[device])
    assert found.area.lut4 > 100 and found.area.ff > 100
    assert found.estimate is None and found.placements == ()
    assert "frequency" not in found.record()


class Memories(wiring.Component):
    """A memory of each kind, one of them in a part, and one without a read port."""
    at: In(10)
    data: In(64)
    big: Out(64)
    small: Out(8)
    few: Out(2)

    def __init__(self, **attributes):
        super().__init__()
        self._attributes = attributes

    def elaborate(self, platform):
        m = Module()
        m.submodules.part = part = Module()

        def add(where, name, width, depth, out, domain):
            store = memory.Memory(shape=width, depth=depth, init=[], attrs=self._attributes)
            where.submodules[name] = store
            write = store.write_port()
            m.d.comb += [write.addr.eq(self.at), write.data.eq(self.data), write.en.eq(1)]
            if out is not None:
                read = store.read_port(domain=domain)
                m.d.comb += [read.addr.eq(~self.at), out.eq(read.data)]
        add(m, "big", 64, 512, self.big, "sync")
        add(part, "small", 8, 16, self.small, "comb")
        add(m, "few", 2, 2, self.few, "comb")
        add(m, "unread", 8, 512, None, "sync")
        return m


def test_memories():
    found = synthesize(Memories(no_rw_check=1), DEVICES["ecp5-85k"], top="stores").memories
    assert found == {"big": BLOCK, "part.small": DISTRIBUTED, "few": FLIP_FLOPS,
                     "unread": REMOVED}


def test_mapped():
    """Every memory that Yosys names is reported, and so is every memory that it does not name."""
    text = ("module \\top\n  memory width 8 size 4 \\own\n  memory width 8 size 4 \\valid$156\n"
            "  cell \\low \\part\n  end\nend\nmodule \\low\n"
            "  memory width 8 size 4 \\U$0\nend\n")
    log = ("Executing MEMORY_LIBMAP pass\nmapping memory top.valid$156 via $__TRELLIS_DPR16X4_\n"
           "using FF mapping for memory top.part.U$0\nmapping memory top.new via $__PDPW16KD_\n")
    assert mapped(log, text, "top") == {"own": REMOVED, "valid": DISTRIBUTED,
                                        "part.U$0": FLIP_FLOPS, "new": BLOCK}
    assert mapped("", text, "top") == dict.fromkeys(("own", "valid", "part.U$0"), FLIP_FLOPS)


def test_collisions():
    """A memory marked as free of collisions takes no logic that detects them."""
    checked, free = (synthesize(Memories(**attributes), DEVICES["ecp5-85k"], top="stores").area
                     for attributes in ({}, {"no_rw_check": 1}))
    assert checked.logic > free.logic + 64 and checked.ff > free.ff
    assert free.block_ram == checked.block_ram


class Arrays(wiring.Component):
    """An array whose fields get names from Amaranth like the names that Yosys gives to bits."""
    i: In(data.ArrayLayout(4, 4))
    o: Out(4)

    def elaborate(self, platform):
        m = Module()
        kept = Signal(data.ArrayLayout(4, 4))
        m.d.sync += kept.eq(self.i)
        for lane in range(4):
            with m.If(kept[lane][0]):
                m.d.sync += self.o.eq(kept[lane] + kept[0])
        return m


def test_arrays():
    text = rtlil.convert(Arrays(), "arrays")
    assert "\\kept.3" in text and "\\kept[" not in text
    assert synthesize(Arrays(), DEVICES["ecp5-85k"], top="arrays").area.ff >= 16


def test_kept(monkeypatch):
    first = synthesize(Arrays(), DEVICES["ecp5-85k"], top="arrays")
    monkeypatch.setattr("synth.tools.run", None)                # a call would fail
    assert synthesize(Arrays(), DEVICES["ecp5-85k"], top="arrays") == first
    assert synthesize(Arrays(), DEVICES["ecp5-25k"], top="arrays").folder == first.folder


def test_deleted_in_part(tmp_path, monkeypatch):
    """The rest of a folder whose deletion was interrupted is no result."""
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))
    first = synthesize(Arrays(), DEVICES["ecp5-85k"], top="arrays")
    (first.folder / "result.json").unlink()
    passes = []
    again = synthesize(Arrays(), DEVICES["ecp5-85k"], top="arrays", heard=passes.append)
    assert "HIERARCHY" in passes
    assert (again.folder, again.area) == (first.folder, first.area)
    assert (again.folder / "netlist.json").exists()
    assert [path for path in again.folder.parent.iterdir() if path.is_dir()] == [again.folder]


def test_failure(tmp_path, monkeypatch):
    """One line names the log. Nothing that looks like a result is left."""
    monkeypatch.setenv("GRAPHLOOM_CACHE", str(tmp_path))
    with pytest.raises(ToolError, match=r"top: .*\.log$") as caught:
        synthesize("module \\other\nend\n", DEVICES["ecp5-85k"], top="top")
    assert "\n" not in str(caught.value)
    kept, = (tmp_path / "synth").glob("*.log")
    assert not [path for path in kept.parent.iterdir() if path.is_dir()]
    assert "ERROR" in kept.read_text()


def test_wrapper():
    """The wrapper has the cells of the unit and registers: one for each input bit, two for each
    output bit, one for reset."""
    weaver = Weaver(HardwareConfig(warps=1, threads=1))
    ports = [(member.flow, len(Value.cast(value)))
             for _, member, value in weaver.signature.flatten(weaver)]
    inputs = sum(width for direction, width in ports if direction == In)
    outputs = sum(width for direction, width in ports if direction == Out)
    bare = synthesize(weaver, DEVICES["ecp5-85k"], top="weaver").area
    wrapped = synthesize(Wrapper(Weaver(HardwareConfig(warps=1, threads=1))),
                         DEVICES["ecp5-85k"], top="weaver_placed").area
    extra = inputs + 2 * outputs + 1
    assert 0.9 * extra <= wrapped.ff - bare.ff <= extra
