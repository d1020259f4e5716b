# amaranth: UnusedElaboratable=no
"""The description of a unit's interface, and the files that are made of it.

==================  ===============================================================================
ports               test_ports: every port is described; test_docs: fields by their docstrings
values              test_values: enumerations of ports and settings
instructions        test_instructions: as the unit's record has them
registers           test_registers: addresses do not overlap, and SVD says the same
page                test_page: has each port, register and number
command             test_command: the command gives the same configuration
==================  ===============================================================================
"""

import functools
import itertools
import json
from xml.etree import ElementTree

import pytest

from hw.config import preset
from hw.gather.variants import VARIANTS
from hw.operations import GatherOp, GatherSetting
from hw.scu.registers import SCU_BASE, ScuCommand
from hw.units import UNITS, Clock
from sw.cli import options
from sw.show.unit.described import described
from sw.show.unit.members import member_docs
from sw.show.unit.page import page
from sw.show.unit.svd import svd


CONFIG = preset("tiny").replace(scu=1, warps=4, cores=2)


@functools.cache
def made(name):
    unit = UNITS[name]
    return described(unit, CONFIG, Clock(), "made", unit.flat(CONFIG))


#: Ports whose record has no docstring of its own.
_UNTOLD = {"sdram": "pins_", "link": "request_"}


@pytest.mark.parametrize("name", UNITS)
def test_ports(name):
    ports = made(name).ports()
    assert [port["name"] for port in ports] == ["clk", "rst", *(
        port.name for port in made(name).flat.ports)]
    untold = [port["name"] for port in ports if not port["doc"]]
    assert all(port.startswith(_UNTOLD.get(name, "none")) for port in untold), untold
    json.dumps(made(name).to_json())


@pytest.mark.parametrize("unit, port, words", [
    ("fsm", "request_degree", "number of its edges"),
    ("graphpeg", "fetched_mask", "lanes that take part"),
    ("core", "request_tag_lane", "lane of an atomic"), ("core", "fault_pc", "instruction that"),
    ("core", "events_lanes", "active lanes, summed"), ("gpu", "mem_rsp_tag", "Answers to reads"),
    ("coalescer", "access_0_line", "counted among the bank's lines"),
    ("l1", "loaded_lanes", "take their words"), ("sdram", "response_tag", "Of the request"),
    ("l2-bank", "memory_request_mask", "bytes that are written"),
    ("core", "request_ready", "You take"), ("core", "response_ready", "The unit takes"),
    ("core", "request_valid", "The payload is on offer"), ("l1", "access_valid", "You offer")])
def test_docs(unit, port, words):
    found, = [each for each in made(unit).ports() if each["name"] == port]
    assert words in found["doc"] or words in made(unit).member(found["member"])


def test_references():
    """Names without a type have their docs where the text refers to; so have fields."""
    from hw.core.coalescer import Coalescer
    docs = member_docs(Coalescer)
    assert docs["operation.pc"] == ("unsigned(32)", "PC of the instruction, for errors.")
    assert docs["operation.failing"][1].startswith("The results of `check_address`")
    assert docs["entry.size"][1] == "log2 of the bytes of an access."


def test_values():
    assert made("fsm").values() == {"GatherOp": {each.name: each.value for each in GatherOp}}
    values = made("graphpeg").values()
    assert values["GatherSetting"] == {each.name: each.value for each in GatherSetting}
    assert {"ScuOperation", "ScuError", "LineOp"} <= set(made("scu").values())
    assert made("gpu").values()["Cause"]


@pytest.mark.parametrize("name", VARIANTS)
def test_instructions(name):
    rows = made(name).instructions()
    assert {row["op"] for row in rows} == {row.op.name for row in VARIANTS[name].instructions}
    ports = {port["name"] for port in made(name).ports()}
    assert ports.issuperset(port for row in rows for port in row["reads"])


def test_no_instructions():
    assert made("core").instructions() == [] == made("sdram").registers()


@pytest.mark.parametrize("name", ["gpu", "scu"])
def test_registers(name):
    registers = made(name).registers()
    places = sorted((each.address + number * each.stride, each.bits // 8)
                    for each in registers for number in range(each.count))
    assert all(one + size <= other for (one, size), (other, _) in itertools.pairwise(places))
    root = ElementTree.fromstring(svd(made(name), "made"))
    told = {row.findtext("name"): row for row in root.iter("register")}
    assert len(told) == len(registers)
    for each in registers:
        row = told[each.name]
        assert int(row.findtext("addressOffset"), 0) == each.address
        assert int(row.findtext("dim") or 1) == each.count
        assert {field.findtext("name"): (1 << int(field.findtext("bitWidth"))) - 1
                << int(field.findtext("bitOffset")) for field in row.iter("field")} == each.flags
    assert int(root.findtext(".//addressBlock/size"), 0) == sum(places[-1])


def test_fields():
    scu = {each.name: each for each in made("gpu").registers()}["SCU_COMMAND"]
    assert scu.address == SCU_BASE and scu.flags["COMPARE"] == ScuCommand.COMPARE
    assert {each.count for each in made("gpu").registers()} == {1, 2, CONFIG.imem_bytes // 4}


@pytest.mark.parametrize("name", UNITS)
def test_page(name):
    text, found = page(made(name)), made(name)
    for port in found.ports():
        assert f"| `{port['name']}` | {port['direction']} |" in text
    for values in found.values().values():
        assert all(f"| {number} | `{value}` |" in text for value, number in values.items())
    assert all(f"`0x{each.address:06X}`" in text for each in found.registers())
    assert ("`ready` may come before" in text) is any(port.stream for port in found.flat.ports)


def test_command():
    words = made("link").command.split()
    given = dict(itertools.pairwise(words))
    changes = [word for before, word in itertools.pairwise(words) if before == "--set"]
    assert options.hardware(preset=given["--preset"], set_=changes) == CONFIG
    assert given["--name"] == "made" and given["--baud"] == "1000000"
    assert made("link").header.splitlines()[2] == f"Command: {made('link').command}"
    assert "--baud" not in made("core").command
