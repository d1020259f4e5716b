"""The values that blocks of a report show, for tests."""


__all__ = ["block", "mark_texts", "series"]


def block(page, title):
    """The block with a title."""
    found, = (block for block in page.blocks if block.title == title)
    return found


def series(drawn, axis):
    """The values on an axis of a plot, by the names of the traces."""
    return {trace["name"]: trace[axis] for trace in drawn["data"] if trace.get(axis) is not None}


def mark_texts(drawn):
    """The hover texts of all marks that have a point."""
    return [text for trace, marks in zip(drawn["data"], drawn["points"]) if marks
            for text, mark in zip(trace["hovertext"], marks) if mark]
