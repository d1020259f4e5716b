"""A branch of a program in C, as the pass of ``cc`` leaves it, and which lanes run it when."""

from .svg import Canvas


__all__ = ["draw"]


_FOUND = {"fill": "#fff", "stroke": "#333", "stroke_width": 1.5}
_ADDED = {"fill": "#dcebf7", "stroke": "#0072b2", "stroke_width": 1.5}
_ACTIVE = {"fill": "#7aa6d8", "stroke": "#0072b2", "rx": 2}
_BEHIND = {"fill": "#eee", "stroke": "#bbb", "rx": 2}

#: What runs, in order of time, and the active of four lanes.
_TURNS = (("split, branch", "1111"), ("then, join", "1010"), ("branch again", "0101"),
          ("else, join", "0101"), ("what follows both", "1111"))


def draw() -> str:
    """The picture."""
    canvas = Canvas(760, 300, "A branch with SPLIT and JOIN, and which lanes are active")
    canvas.text(20, 20, "the function, with what the pass adds (blue)", anchor="start")
    for place, style, lines in (
            ((70, 34, 190, 40), _ADDED, ("sltu t6, a0, a1", "split t5, t6")),
            ((70, 74, 190, 24), _FOUND, ("bltu a0, a1, then",)),
            ((40, 140, 110, 28), _FOUND, ("else: ...",)),
            ((180, 140, 110, 28), _FOUND, ("then: ...",)),
            ((70, 208, 190, 24), _ADDED, ("join t5",)),
            ((70, 232, 190, 24), _FOUND, ("what follows both",))):
        x, y, _, height = place
        canvas.rect(*place, **style)
        for number, line in enumerate(lines):
            canvas.text(x + 10, y + height / 2 - 8 * len(lines) + 12 + 16 * number, line,
                        size=12, anchor="start", font_family="monospace")
    for points in (((110, 98), (110, 138)), ((220, 98), (220, 138)),
                   ((95, 168), (95, 206)), ((235, 168), (235, 206))):
        canvas.line(points)
    canvas.line(((260, 220), (330, 220), (330, 84), (262, 84)), stroke_dasharray="4 3")
    canvas.text(20, 284, "dashed: at the first JOIN the lanes left behind take the branch",
                anchor="start")
    canvas.text(420, 20, "active lanes, in order of time", anchor="start")
    for turn, (text, lanes) in enumerate(_TURNS):
        y = 48 + 34 * turn
        for lane, active in enumerate(lanes):
            canvas.rect(420 + 28 * lane, y, 24, 22, **(_ACTIVE if active == "1" else _BEHIND))
        canvas.text(550, y + 16, text, anchor="start")
    return canvas.svg()
