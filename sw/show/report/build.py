"""From files of results to the pages of a report."""

import re

from base.errors import UserError
from hw.config import ConfigError

from . import folder, inputs, papers, results, runs, sweeps, synthesis, timeline, trade, tuning
from .command import hardware_of, memory_of
from .plots import Page, counted


__all__ = ["build", "pages_of"]


#: {kind: the function that makes the page of a file alone}.
_PAGES = {"runs": runs.page, "sweep": sweeps.page, "timeline": timeline.page, "tune": tuning.page,
          "unit": synthesis.unit_page, "overhead": synthesis.overhead_page}

#: Errors of a file that lacks a field, or has one of another type or value.
_DAMAGED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError,
            ConfigError)


def build(paths, target) -> list:
    """Write the report of files and folders of results.

    Parameters
    ----------
    paths : list of str
        Files and folders.
    target : str
        The folder of the report.

    Returns
    -------
    list of (str, Page)
        The files and their pages.

    Raises
    ------
    UserError
        As :func:`sw.show.report.inputs.find` and :func:`sw.show.report.folder.write`; also a file
        that is damaged. Nothing is written.
    """
    folder.check(target)
    found = inputs.find(paths)
    pages = pages_of(found)
    # Values of a page are read once more when its text is made, before anything is written.
    _guarded(", ".join(source.path for source in found),
             lambda: folder.write(target, pages, _index(found, pages)))
    return pages


def pages_of(found) -> list:
    """The pages of files: (name, :class:`~sw.show.report.plots.Page`) of each. Figures and runs of
    a folder share a page. Raises UserError."""
    pages, done = [], set()
    for source in found:
        if source.kind in ("figure", "records"):
            group = [other for other in found if other.kind in ("figure", "records")
                     and (other is source or (source.folder and other.folder == source.folder))]
            if group[0].path not in done:
                done.add(group[0].path)
                name = source.folder or source.path
                pages.append((name, _guarded(group[0].path, lambda: _paper(group, name))))
        elif source.kind == "trials":
            pages += [(source.path, page) for page in
                      _guarded(source.path, lambda: tuning.pages_of_results(source.path))]
        else:
            pages.append((source.path, _guarded(
                source.path, lambda: _PAGES[source.kind](source.value, source.path))))
    return pages


def _guarded(path, make):
    """Call ``make``. Raises UserError for a file whose contents are not as they must be."""
    try:
        return make()
    except _DAMAGED as error:
        reason = (f"it has no {error}" if isinstance(error, KeyError) else
                  str(error) or type(error).__name__)
        raise UserError(f"{path}: is damaged, or of another version of Graphloom: {reason}"
                        ) from None


def _paper(group, name):
    figures = sorted((source.value for source in group if source.kind == "figure"),
                     key=lambda value: _natural(value["figure"]))
    sources = figures[0]["versions"].get("sources") if figures else None
    records, notes, seen = [], [], set()
    for source in group:
        if source.kind == "records":
            kept, others = papers.records_of(source.value, sources)
            records += kept
            seen |= {str(record["case"]) for record, *_ in kept}
            if others:
                notes.append(f"{source.path}: {counted(others, 'line')} of other sources left out.")
    for value in figures:
        for record in value["records"]:
            if str(record["case"]) not in seen:
                seen.add(str(record["case"]))
                records.append((record, hardware_of(value["configuration"]),
                                memory_of(value["dram"])))
    return papers.page(figures, records, name, notes)


def _natural(text):
    """A key that sorts numbers in a name by their value: fig3.8 comes before fig3.10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def _index(found, pages):
    """The first page."""
    every = [run for source in found if source.kind == "runs"
             for run in _guarded(source.path, lambda: results.runs_of(source.value))]
    overhead = next((source for source in found if source.kind == "overhead"), None)
    block = _guarded(overhead.path if overhead else str(trade.KEPT),
                     lambda: trade.block(every, overhead and overhead.value))
    # Figures depend on other sources than runs, so that they have a digest of their own.
    digests = [{source.sources for source in found if source.kind in kinds}
               for kinds in (("runs", "sweep", "tune"), ("figure",))]
    notes = ()
    if any(len(each) > 1 for each in digests):
        notes = ("The results were measured with different sources of Graphloom: cycles on one "
                 "page do not compare with those on another.",)
    summary = f"{counted(len(found), 'file')} of results on {counted(len(pages), 'page')}."
    return Page("Report", summary, (), (block,) if block else (), notes)

