"""Block diagrams that hold only as long as the RTL is as they show it.

Places are given by hand; what is shown is checked. Every submodule of the component belongs to a
box, every box stands for something that the RTL has, and along every arrow a value goes. A unit
that is added to the RTL or removed from it therefore fails ``./graphloom docs`` until the picture
says so too.
"""

from .svg import Canvas


__all__ = ["Diagram", "OutOfDate"]


class OutOfDate(AssertionError):
    """A picture and the RTL differ; the message says where."""


#: Fill and outline by kind of box. The outlines tell the kinds apart in grey, too.
_KINDS = {
    "plain": {"fill": "#ffffff", "stroke": "#333", "stroke_width": 1.5},
    "core": {"fill": "#dcebf7", "stroke": "#0072b2", "stroke_width": 1.5},
    "memory": {"fill": "#dff2ea", "stroke": "#00795a", "stroke_width": 2.5},
    "graph": {"fill": "#fdebd0", "stroke": "#b35900", "stroke_width": 2.5,
              "stroke_dasharray": "7 2"},
    "outside": {"fill": "#f2f2f2", "stroke": "#777", "stroke_width": 1.5,
                "stroke_dasharray": "3 3"},
    "frame": {"fill": "#fff", "stroke": "#555", "stroke_width": 1.2},
}


class Diagram:
    """A block diagram.

    Parameters
    ----------
    title : str
    width, height : int
        In pixels.
    parts : dict of str to ModuleGraph
        The components that it shows, by a name.
    """
    def __init__(self, title, width, height, parts):
        self._canvas = Canvas(width, height, title)
        self._title, self._parts = title, parts
        self._boxes = {}                    # name: (x, y, width, height)
        self._of = {}                       # name: ((part, node), ...)
        self._outside = set()               # boxes that are no part of the RTL
        self._checks = []

    def box(self, name, place, lines, *, kind="plain", of=(), size=13):
        """A box.

        Parameters
        ----------
        name : str
        place : (int, int, int, int)
            Left edge, upper edge, width, height.
        lines : list of str
            The first is the name that readers see.
        kind : str
            ``"plain"``, ``"core"``, ``"memory"``, ``"graph"``, ``"outside"`` or ``"frame"``.
        of : iterable of str
            ``PART/NODE`` of what the box stands for: submodules, ports or signals. A submodule
            that ends with ``*`` stands for all with that beginning.
        """
        x, y, width, height = self._boxes[name] = place
        self._of[name] = self._nodes(name, of)
        if kind == "outside" and not self._of[name]:
            self._outside.add(name)
        self._canvas.rect(x, y, width, height, **_KINDS[kind])
        top = y + 18 if kind == "frame" else y + height / 2 - 8 * len(lines) + 13
        for number, line in enumerate(lines):
            place = f"{top + 16 * number:g}"
            if kind == "frame":
                self._canvas.text(x + 10, place, line, size=size, anchor="start",
                                  font_weight="bold" if number == 0 else None)
            else:
                self._canvas.text(x + width / 2, place, line, size=size if number == 0 else 11,
                                  font_weight="bold" if number == 0 else None)

    def _nodes(self, name, of):
        """The nodes that texts name, each of which must be there."""
        found = []
        for text in of:
            part, _, node = text.partition("/")
            graph = self._parts[part]
            if node.endswith("*"):
                some = [each for each in graph.submodules if each.startswith(node[:-1])]
            else:
                some = [node] if node in graph else []
            if not some:
                raise OutOfDate(f"{self._title}: {name} stands for {text}, which the RTL lacks")
            found += [(part, each) for each in some]
        return tuple(found)

    def inside(self, *of):
        """Submodules that the picture leaves out: they are small, or the text describes them."""
        self._of.setdefault("", ())
        self._of[""] += self._nodes("the picture", of)

    def arrow(self, source, sink, *, out="right", into="left", via=(), label=None, both=False):
        """An arrow between two boxes. The RTL is asked, unless a box stands for nothing in it.

        Parameters
        ----------
        source, sink : str
            Boxes.
        out, into : str
            The sides where it begins and ends, and how far from the middle: ``"left"``,
            ``"right-8"``, ``"top+20"``, ``"bottom"``.
        via : iterable of (int or None, int or None)
            Corners. None: the coordinate of the corner before it.
        label : (str, (int, int)) or (str, (int, int), str), optional
            Text, its place, and its anchor if that is not ``"middle"``.
        both : bool
            Whether values go both ways.
        """
        points = [_end(self._boxes[source], out)]
        for x, y in via:
            points.append((points[-1][0] if x is None else x, points[-1][1] if y is None else y))
        points.append(_end(self._boxes[sink], into))
        self._canvas.line(points, tips="both" if both else "end")
        if label:
            text, (x, y), *anchor = label
            self._canvas.text(x, y, text, size=11, anchor=anchor[0] if anchor else "middle")
        if source not in self._outside and sink not in self._outside:
            self._checks += [(source, sink), (sink, source)][:1 + both]

    def note(self, x, y, text, *, size=11, anchor="start", **style):
        """A line of text."""
        self._canvas.text(x, y, text, size=size, anchor=anchor, **style)

    def svg(self) -> str:
        """The picture. Raises OutOfDate if the RTL is not as it shows."""
        shown = {node for nodes in self._of.values() for node in nodes}
        for part, graph in self._parts.items():
            left = [name for name in graph.submodules if (part, name) not in shown]
            if left:
                raise OutOfDate(f"{self._title}: no box stands for {part}/{', '.join(left)}")
        for source, sink in self._checks:
            if not any(self._leads(*pair) for pair in self._pairs(source, sink)):
                raise OutOfDate(f"{self._title}: nothing leads from {source} to {sink}")
        return self._canvas.svg()

    def _pairs(self, source, sink):
        return [(part, one, other) for part, one in self._of[source]
                for where, other in self._of[sink] if where == part]

    def _leads(self, part, source, sink):
        barred = {node for nodes in self._of.values() for where, node in nodes if where == part}
        return self._parts[part].leads(source, sink, barred)


def _end(box, side):
    """The place on a box where an arrow ends."""
    x, y, width, height = box
    name = side.rstrip("+-0123456789")
    shift = int(side[len(name):] or 0)
    return {"left": (x, y + height / 2 + shift), "right": (x + width, y + height / 2 + shift),
            "top": (x + width / 2 + shift, y), "bottom": (x + width / 2 + shift, y + height)}[name]
