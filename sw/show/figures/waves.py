"""Waveform diagrams: short runs of a unit on Amaranth's simulator, drawn by WaveDrom.

A :class:`Bench` drives a unit cycle by cycle and notes what its signals are; :func:`record` turns
that into WaveDrom's JSON, which is kept in ``docs/figures``, and :func:`draw` turns the JSON into
SVG. The signals are those of the RTL: nothing is drawn by hand.
"""

import dataclasses
import itertools
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

from amaranth.hdl import Const, Fragment
from amaranth.sim import Simulator


__all__ = ["Bench", "Row", "draw", "letter_of", "record"]


#: WaveDrom's kinds of data, each with a colour of its own. Items get them in turn.
_COLOURS = "345789"

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


@dataclasses.dataclass(frozen=True)
class Row:
    """A signal that is shown."""
    name: str
    signal: Any  #: An Amaranth value.
    #: Gives the word that stands for a value. Left out, the signal is one bit.
    text: Callable | None = None
    #: The stream that the value is part of: it counts while ``valid`` is high. Left out, it always
    #: counts.
    stream: Any = None
    valid: Any = None  #: A bit that says whether the value counts, where there is no stream.
    plain: bool = False  #: Whether the values are no items that can be followed by their colour.

    @property
    def sampled(self):
        """The value, whether it counts, and whether it is taken at the end of the cycle."""
        if self.stream is not None:
            return self.signal, self.stream.valid, self.stream.ready
        return self.signal, Const(1) if self.valid is None else self.valid, Const(0)


class Bench:
    """A unit under Amaranth's simulator.

    Parameters
    ----------
    unit : wiring.Component

    Attributes
    ----------
    fragment : Fragment
        The elaborated unit.
    """
    def __init__(self, unit):
        self.fragment = Fragment.get(unit, None)
        self._simulator = Simulator(self.fragment)
        self._simulator.add_clock(1e-6)

    def add(self, drive):
        """Add a coroutine that drives inputs: ``async def drive(ctx)``."""
        self._simulator.add_testbench(drive, background=True)

    def feed(self, stream, items, at=0):
        """Offer payloads on a stream, one after the other.

        Parameters
        ----------
        stream
            The unit's input.
        items : iterable
            Payloads; None is a cycle in which nothing is offered.
        at : int
            The cycle of the first.
        """
        async def drive(ctx):
            if at:
                await ctx.tick().repeat(at)
            for item in items:
                ctx.set(stream.valid, item is not None)
                if item is None:
                    await ctx.tick()
                    continue
                ctx.set(stream.payload, item)
                await ctx.tick().until(stream.ready)
            ctx.set(stream.valid, 0)
        self.add(drive)

    def take(self, stream, pattern="", at=0):
        """Be ready on a stream as a pattern of 0 and 1 says from a cycle on; else always."""
        async def drive(ctx):
            ctx.set(stream.ready, 1)
            if at:
                await ctx.tick().repeat(at)
            for bit in pattern:
                ctx.set(stream.ready, int(bit))
                await ctx.tick()
            ctx.set(stream.ready, 1)
        self.add(drive)

    def answer(self, requests, responses, make, latency):
        """Answer requests in order.

        Parameters
        ----------
        requests, responses
            Streams. Another coroutine says when ``requests`` is ready.
        make : callable
            Called with the payload of a request; gives that of the answer, None if there is none.
        latency : int
            Cycles from a request to its answer.
        """
        waiting = []

        async def listen(ctx):
            now = 0
            tick = ctx.tick().sample(requests.valid, requests.ready, requests.payload)
            async for _, _, valid, ready, payload in tick:
                if valid and ready and (made := make(payload)) is not None:
                    waiting.append((now + latency, made))
                now += 1

        async def speak(ctx):
            now = 0
            while True:
                if waiting and waiting[0][0] <= now:
                    ctx.set(responses.valid, 1)
                    ctx.set(responses.payload, waiting.pop(0)[1])
                    taken = False
                    while not taken:
                        _, _, taken = await ctx.tick().sample(responses.ready)
                        now += 1
                    ctx.set(responses.valid, 0)
                else:
                    await ctx.tick()
                    now += 1
        self.add(listen)
        self.add(speak)

    def run(self, rows, first, last) -> list:
        """Simulate, and give the values of the rows in the cycles from ``first`` to ``last``."""
        seen = []

        async def watch(ctx):
            signals = [signal for row in rows if row is not None
                       for signal in row.sampled]
            tick = ctx.tick().sample(*signals)
            async for _, _, *values in tick:
                seen.append(values)
                if len(seen) > last:
                    return
        self._simulator.add_testbench(watch)
        self._simulator.run()
        return seen[first:last + 1]


def letter_of(number) -> str:
    """The letter that stands for the line of a number in a picture: A is line 0."""
    return chr(ord("A") + number)


def record(title, rows, values) -> str:
    """WaveDrom's JSON of a run.

    A row whose value never counts is left out, and so is a group whose values never count.

    Parameters
    ----------
    title : str
    rows : list of (Row or None)
        None is a gap between groups of signals.
    values : list
        As :meth:`Bench.run` gives them.
    """
    colours, groups, place = {}, [[]], 0
    for row in rows:
        if row is None:
            groups.append([])
            continue
        column = [cycle[place:place + 3] for cycle in values]
        place += 3
        groups[-1].append(_bit(row, column) if row.text is None else _data(row, column, colours))
    shown = []
    for group in groups:
        if any(signal.get("data") for signal in group) or not any("data" in signal
                                                                  for signal in group):
            shown += [{}] * bool(shown) + [signal for signal in group if signal.get("data") != []]
    clock = {"name": "clk", "wave": "p" + "." * (len(values) - 1)}
    lines = ",\n".join("  " + json.dumps(signal) for signal in [clock, *shown])
    head = json.dumps({"text": title, "tick": 0})
    return f'{{"signal": [\n{lines}\n],\n"head": {head}}}\n'


def _bit(row, column):
    """The waveform of one bit."""
    levels = "".join(str(int(value)) for value, _, _ in column)
    return {"name": row.name, "wave": levels[0] + "".join(
        "." if now == before else now for before, now in itertools.pairwise(levels))}


def _data(row, column, colours):
    """The waveform of a value. A value that comes after one that was taken begins anew, also if
    it is the same."""
    wave, words, before = "", [], None
    for value, valid, ready in column:
        word = row.text(value) if valid else ""
        if word == before:
            wave += "."
        elif not word:
            wave += "x"
        else:
            wave += "=" if row.plain else colours.setdefault(
                word, _COLOURS[len(colours) % len(_COLOURS)])
            words.append(word)
        before = None if word and ready and row.stream else word
    return {"name": row.name, "wave": wave, "data": words}


def draw(text) -> str:
    """The SVG of WaveDrom's JSON, on a white background, without shapes that are not used."""
    import wavedrom
    for prefix, space in (("", _SVG), ("xlink", _LINK)):
        ET.register_namespace(prefix, space)
    drawing: Any = wavedrom.render(text)
    svg = ET.fromstring(drawing.tostring())
    used = {str(use.get(f"{{{_LINK}}}href"))[1:] for use in svg.iter(f"{{{_SVG}}}use")}
    for defs in svg.iter(f"{{{_SVG}}}defs"):
        for shape in list(defs):
            if shape.tag == f"{{{_SVG}}}g" and shape.get("id") not in used:
                defs.remove(shape)
    svg.insert(0, ET.Element(f"{{{_SVG}}}rect", width="100%", height="100%", rx="6", fill="#fff"))
    title = ET.Element(f"{{{_SVG}}}title")
    title.text = json.loads(text)["head"]["text"]
    svg.insert(0, title)
    return ET.tostring(svg, encoding="unicode") + "\n"
