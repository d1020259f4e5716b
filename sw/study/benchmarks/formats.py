"""Storage formats: bytes, build time, and the memory that building takes."""

import dataclasses
import gc
import time
import tracemalloc

from sw.compile.formats import build_image, image_names
from sw.compile.formats.cr2 import Cr2Image


__all__ = ["REFERENCE", "FormatMeasurements", "build_seconds", "default_formats", "measure",
           "with_reference"]


#: The format that the other formats are compared with.
REFERENCE = "csr"


@dataclasses.dataclass(frozen=True, kw_only=True)
class FormatMeasurements:
    """The measurements of one format."""

    text: str  #: The text that asked for the format.
    options: dict  #: The value of each option.
    nbytes: int  #: Bytes of the image; bytes that a super-step needs beside it.
    scratch: int  #: Bytes of the image; bytes that a super-step needs beside it.
    seconds: float  #: The shortest of the builds.
    #: Peak of the allocated bytes while building, with the image and without the graph; None if it
    #: was not measured.
    peak: int | None = None
    #: Only for CR2: part of the edges that is inside clusters, bytes of the expand list, the
    #: subgraphs' sizes. None for other formats.
    intra_share: float | None = None
    expand_nbytes: int | None = None  #: See `intra_share`.
    subgraphs: list | None = None  #: See `intra_share`.


def default_formats():
    """Every format with its default options, the reference first."""
    return [REFERENCE] + [name for name in image_names() if name != REFERENCE]


def with_reference(texts):
    """A list of formats as users spell them, with the reference put first if it is missing. Each is
    built for a graph of one vertex, so that errors appear at once. Raises UserError for an unknown
    format or option, or a value out of its range."""
    from sw.graph import Graph
    for item in texts:
        build_image(Graph(1, [], []), item)
    return texts if REFERENCE in texts else [REFERENCE, *texts]


def _peak(graph, text, direction):
    """Peak of the allocated bytes while building."""
    gc.collect()
    tracemalloc.start()
    try:
        build_image(graph, text, direction)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def build_seconds(graph, texts, direction="push", repeat=3, report=lambda line: None):
    """Seconds of each build, by format, as :func:`measure` builds."""
    seconds = {text: [] for text in texts}
    for turn in range(repeat):
        for text in texts:
            report(f"building {text}, {turn + 1} of {repeat}")
            gc.collect()
            start = time.perf_counter()
            build_image(graph, text, direction)
            seconds[text].append(time.perf_counter() - start)
    return seconds


def measure(graph, texts, direction="push", repeat=3, memory=False, report=lambda line: None):
    """The :class:`FormatMeasurements` of a graph in each of several formats
    (``NAME[:OPTION=VALUE]...``), in their order.

    Each format is built ``repeat`` times. The formats take turns, so a disturbance of the machine
    affects all of them alike. With ``memory``, the memory that building takes is measured in one
    more build of each. ``report`` is called with a line of text that names the format being built.
    """
    seconds = build_seconds(graph, texts, direction, repeat, report)
    for text in texts:
        report(f"measuring {text}")
        image = build_image(graph, text, direction)
        clustered = {}
        if isinstance(image, Cr2Image):
            clustered = {"intra_share": image.intra_share, "expand_nbytes": image.expand_nbytes,
                         "subgraphs": image.sizes()}
        figure = FormatMeasurements(
            text=text, options=dict(image.options), nbytes=image.nbytes,
            scratch=sum(dtype.itemsize * entries for dtype, entries in image.scratch.values()),
            seconds=min(seconds[text]), **clustered)
        del image
        if memory:
            figure = dataclasses.replace(figure, peak=_peak(graph, text, direction))
        yield figure
