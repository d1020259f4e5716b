"""SVG text: the few shapes that the block diagrams need.

The same calls give the same text on every machine. Nothing is measured: the caller gives places and
sizes. A picture has a background of its own, so that it can be read on a light and on a dark page.
"""

from xml.sax.saxutils import escape, quoteattr


__all__ = ["Canvas"]


#: Fonts that are there where SVG is shown; the first that is found is used.
_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"

_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" \
height="{height}" role="img" font-family="{font}">
<title>{title}</title>
<!-- Drawn by `./graphloom docs`; do not edit. -->
<defs>
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" \
markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" \
fill="#333"/></marker>
</defs>
<rect width="{width}" height="{height}" rx="6" fill="#fff"/>
"""


def _attributes(values):
    return "".join(f" {name.replace('_', '-')}={quoteattr(str(value))}"
                   for name, value in values.items() if value is not None)


class Canvas:
    """A picture that is drawn shape by shape.

    Parameters
    ----------
    width, height : int
        In pixels.
    title : str
        The text for a screen reader.
    """
    def __init__(self, width, height, title):
        self._parts = [_HEAD.format(width=width, height=height, font=_FONT, title=escape(title))]

    def rect(self, x, y, width, height, **style):
        """A box with round corners."""
        style = {"rx": 4, **style}
        self._parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}"'
                           f"{_attributes(style)}/>\n")

    def text(self, x, y, text, *, size=13, anchor="middle", **style):
        """A line of text; ``y`` is its base line."""
        self._parts.append(f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"'
                           f"{_attributes({'fill': '#111', **style})}>{escape(text)}</text>\n")

    def line(self, points, *, tips="end", **style):
        """A line through points, with arrow heads at its ``end`` or at ``both`` ends."""
        path = "M" + "L".join(f"{x} {y}" for x, y in points)
        heads = {"marker_end": "url(#tip)" if tips in ("end", "both") else None,
                 "marker_start": "url(#tip)" if tips == "both" else None}
        style = {"fill": "none", "stroke": "#333", "stroke_width": 1.5, **heads, **style}
        self._parts.append(f'<path d="{path}"{_attributes(style)}/>\n')

    def svg(self) -> str:
        """The text of the picture."""
        return "".join(self._parts) + "</svg>\n"
