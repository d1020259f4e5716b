"""Lines whose addresses differ in one bit are different lines to the whole machine, and the largest
memory reaches the end of the address space."""

import functools

import numpy as np
import pytest

from base.errors import RunError
from checks.campaign.machines import CONFIGS, CORES, Launch, machine, verify
from hw.isa import UNMAPPED, Csr, MemoryMap
from hw.operations import GatherSetting
from hw.scu.registers import ScuCommand, ScuOperation, ScuRegister
from sim.errors import SimulationError
from sim.functional.machine import FunctionalSimulator
from sim.native import NativeMachine
from sw.golden.machine import FunctionalMachine
from sw.compile.asm.assembler import Assembler, Condition


#: In the middle of global memory. No place that differs in one bit is used for results.
_PLACE = 0x5A5A_5A5A

NAMES = ("tiny", "large", "pair")


def program(config, rng):
    """The first warp of the first core takes two places that differ in one address bit, for every
    bit of an address in global memory. The warp reads, writes and reads both places again, and
    stores the values it has read."""
    a = Assembler()
    place, out, bit, one, end, other, value, number, zero = a.regs(
        "place", "out", "bit", "one", "end", "other", "value", "number", "zero")
    a.csrr(value, Csr.CORE_ID)
    a.csrr(number, Csr.WARP_ID)
    a.or_(value, value, number)
    a.li(zero, 0)
    with a.if_uniform(Condition("ne", value, zero)):
        a.end_warp()
    a.csrr(out, Csr.THREAD_ID)
    a.slli(out, out, 2)
    a.li(place, MemoryMap.GLOBAL + _PLACE % config.memory_bytes // config.line_bytes
         * config.line_bytes)
    a.add(place, place, out)
    a.li(value, MemoryMap.GLOBAL)
    a.add(out, out, value)
    a.li(bit, config.line_bytes)
    a.li(one, 1)
    a.li(end, config.memory_bytes)

    def store(register):
        a.sw(register, out)
        a.addi(out, out, 4 * config.threads)

    top = a.label("bit")
    a.place(top)
    a.xor(other, place, bit)
    first, second = a.regs("first", "second")
    a.lw(first, place)
    a.lw(second, other)
    store(first)
    store(second)
    a.sw(bit, other)
    a.lw(first, place)
    a.amoadd_w(a.zero, one, place)
    a.lw(second, other)
    store(first)
    store(second)
    a.lw(first, place)
    store(first)
    a.slli(bit, bit, 1)
    a.branch(Condition("ltu", bit, end), top)
    a.end_warp()
    memory = rng.integers(1 << 32, size=config.memory_bytes // 4, dtype=np.uint32)
    return Launch(a.finish().words, memory=memory)


@pytest.mark.parametrize("name", NAMES)
def test_lines_one_bit_apart(name):
    config = (CONFIGS | CORES)[name]
    verify(machine(name), program(config, np.random.default_rng(1)))


#: A GPU with the largest memory. Its unit reads memory, and its SCU checks addresses.
_LARGEST = CONFIGS["graphpeg"].replace(name="largest", memory_bytes=1 << 31, scu=1)

#: The last words of the largest memory: two vertices of eight edges each, whose offsets are the
#: words before. The last edge is the last word of the address space.
_TOP, _WORDS = 1 << 32, 256
_EDGES, _OFFSETS, _INPUT, _OUTPUT, _COUNT, _TOTAL, _COPY = 16, 32, 40, 63, 65, 66, 70


def _at(place):
    """The address of a word, counted from the end of the address space."""
    return _TOP - 4 * place


def _last_words():
    words = np.arange(_WORDS, dtype=np.uint32) * 1001
    words[-_OFFSETS:][:3] = [_at(_EDGES) // 4, _at(_EDGES - 8) // 4, _TOP // 4]
    words[-_INPUT:][:2] = [_at(_OFFSETS - 1), _at(_OFFSETS)]
    words[-_OUTPUT:][:20] = 0
    return words


def _pushes_all(limit):
    """Warps take the edges of the two vertices, add up the neighbours, and push them. The output
    list begins in the middle of a row of lanes. Warp 0 copies the last word."""
    a = Assembler()
    warp, word, base, total = a.regs("warp", "word", "base", "total")
    started, closed, end = (a.label(name) for name in ("started", "closed", "end"))
    a.csrr(warp, Csr.WARP_ID)
    a.li(total, _at(_TOTAL))
    a.bnez(warp, started)
    for setting, value in ((GatherSetting.INPUT, _at(_INPUT)), (GatherSetting.LIMIT, limit),
                           (GatherSetting.OUTPUT, _at(_OUTPUT)),
                           (GatherSetting.COUNT, _at(_COUNT)), (GatherSetting.START, 2)):
        a.li(word, value)
        a.gather_set(word, setting)
    a.place(started)
    top = a.place("top")
    a.pop_edge(base)
    a.addi(word, base, 1)
    a.beqz(word, end)
    a.edge_neighbor(word)
    a.push_vert(word)
    a.amoadd_w(a.zero, word, total)
    a.j(top)
    a.place(end)
    a.li(word, _LARGEST.warps)
    a.bar(a.zero, word)
    a.bnez(warp, closed)
    a.gather_set(word, GatherSetting.CLOSE)
    a.li(base, _at(1))
    a.lw(word, base)
    a.sw(word, base, 4 - 4 * _COPY)
    a.place(closed)
    a.end_warp()
    return a.finish().words


@functools.cache
def _machines():
    return [NativeMachine(_LARGEST), FunctionalSimulator(_LARGEST), FunctionalMachine(_LARGEST)]


def _words_after(device, action):
    """The last words of memory after an action that begins with :func:`_last_words`, and the
    action's error."""
    device.flush(invalidate=True)
    words = device.memory[-4 * _WORDS:].view(np.uint32)
    words[:] = _last_words()
    try:
        action()
    except (SimulationError, RunError) as error:
        return None, str(error)
    device.flush()
    assert not device.memory[:1 << 16].any()
    return words.copy(), None


@pytest.mark.parametrize("limit", [16, 15, 0])
def test_a_list_at_the_end_of_the_largest_memory(limit):
    """A list's place need not be a multiple of a row. A push beyond the limit is an error, though
    no address above the list is unmapped."""
    for device in _machines():
        device.load_program(_pushes_all(limit))
        words, error = _words_after(device, lambda device=device: device.launch(
            0, 0, max_cycles=100_000))
        if limit < 16:
            assert f"{UNMAPPED:#x}" in error and words is None
            continue
        right = _last_words()
        edges, output = right[-_EDGES:], right[-_OUTPUT:]
        assert sorted(words[-_OUTPUT:][:16]) == sorted(edges)
        output[:16] = words[-_OUTPUT:][:16]
        right[-_COUNT], right[-_COPY] = 16, right[-1]
        right[-_TOTAL] += edges.sum(dtype=np.uint32)
        assert words.tolist() == right.tolist()


@pytest.mark.parametrize("registers, count, address", [
    # The last word is written; one more would be the first of the address space.
    ({"SOURCE": _at(100), "DESTINATION": _at(16), "LENGTH": 16}, 16, None),
    ({"SOURCE": _at(100), "DESTINATION": _at(15), "LENGTH": 16}, 15, 0),
    ({"SOURCE": _at(16), "DESTINATION": _at(100), "LENGTH": 17}, 16, 0),
    ({"SOURCE": UNMAPPED, "DESTINATION": _at(100), "LENGTH": 2}, 0, UNMAPPED),
    ({"SOURCE": _at(100), "DESTINATION": _at(16), "LENGTH": 8, "FILTER": _at(1),
      "FILTER_LENGTH": 33}, 0, _at(1)),
    ({"SOURCE": _at(100), "DESTINATION": _at(16), "LENGTH": 4, "OPERAND": _at(4),
      "OPERAND_LENGTH": 4}, 4, None),
    ({"SOURCE": _at(100), "DESTINATION": _at(16), "LENGTH": 4, "OPERAND": _at(4),
      "OPERAND_LENGTH": 5}, 0, _at(4)),
])
def test_an_operation_at_the_end_of_the_largest_memory(registers, count, address):
    """Vectors end with the memory; what lies behind is unmapped, and the error names it."""
    numbered = {ScuRegister[name]: value for name, value in registers.items()}
    numbered[ScuRegister.COMMAND] = ScuCommand.of(ScuOperation.DATA)
    results = []
    for device in _machines():
        words, error = _words_after(device, lambda device=device: results.append(
            device.compact(numbered, max_cycles=10_000)))
        if address is not None:
            assert f"{address:#010x}" in error or f"{address:#x}" in error
            continue
        right = _last_words()
        source = right[-(_TOP - registers["SOURCE"]) // 4:][:count]
        operand = registers.get("OPERAND")
        added = right[-(_TOP - operand) // 4:][:count] if operand else 0
        right[-16:][:count] = source + added
        assert error is None and words.tolist() == right.tolist()
    assert all(result.result == count for result in results)
