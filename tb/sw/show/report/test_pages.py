"""The pages in Chromium, at 1400 and 400 pixels. Each page must be clean (``tb/browser.py``): no
error, and no request to another machine.

======================  ========================================================
all pages               test_every_page: plots with marks, no overflow, titles
points                  test_click_copies, test_keys, test_table_copies
choice                  test_choice
looks                   test_dark_and_light, test_print, test_narrow
access                  test_tab_order; test_every_page: each control has a name
======================  ========================================================
"""

import pytest

from sw.show.report import trade
from sw.show.report.build import build
from sw.show.report.results import runs_of


@pytest.fixture(scope="module")
def report(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages") / "report"
    build([str(made.folder), str(trade.KEPT)], str(folder))
    return folder


@pytest.fixture
def show(open_page, report):
    """A function that opens a page of the report and waits until its plots are drawn."""
    def shown(name, **options):
        tab = open_page(report / f"{name}.html", **options)
        tab.page.wait_for_selector("body[data-drawn=yes]")
        return tab
    return shown


def _marks(tab, plot):
    """Number of bars, marks and pictures that a plot shows."""
    return tab.page.locator(f"#{plot}-plot :is(.bars path, .points path, .hm image)").count()


PAGES = {"index": ["area-against-cycles"], "compare-compare": [
    "cycles", "which-resource-binds", "roofline", "stalls-by-kernel", "stalls-by-superstep",
    "phases"], "run-run": ["which-resource-binds", "roofline", "stalls-by-kernel",
                           "stalls-by-superstep", "phases"],
    "trace-trace": ["warp-timeline", "phases-over-time"],
    "synth-overhead-overhead": ["area-that-each-unit-adds"]}


#: Links and controls without a name. Buttons of plotly's own bar show a symbol, and tell their
#: names to a pointer.
_NAMELESS = """() =>
    [...document.querySelectorAll("a, button, select, summary, [tabindex='0']")]
        .filter(one => !one.className.includes("modebar") && !(one.textContent.trim()
                       || one.getAttribute("aria-label") || one.labels?.length))
        .map(one => one.outerHTML)"""


@pytest.mark.parametrize("width", [1400, 400])
def test_every_page(show, width):
    for name, plots in PAGES.items():
        tab = show(name, width=width)
        assert tab.overflow() == 0, name
        assert tab.page.locator("div.plot").evaluate_all(
            "boxes => boxes.map(box => box.dataset.plot)") == plots
        for plot in plots:
            assert _marks(tab, plot) > 0, (name, plot)
            box = tab.page.locator(f"#{plot}-plot .main-svg").first.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width, (name, plot)
            # Axes have their titles, with units.
            assert tab.page.locator(f"#{plot}-plot :is(.xtitle, .ytitle)").count() >= 1
        assert tab.page.locator("h1").count() == 1
        assert all(tab.page.locator(".finding").all_inner_texts())
        assert {url.partition(":")[0] for url in tab.requests} <= {"file", "data"}
        assert tab.page.evaluate(_NAMELESS) == []
        assert tab.page.locator("html[lang=en]").count() == 1
        tab.page.close()


def _clipboard(tab):
    return tab.page.evaluate("navigator.clipboard.readText()")


COPY = {"permissions": ["clipboard-read", "clipboard-write"]}


def test_click_copies(show, made):
    tab = show("compare-compare", **COPY)
    bars = tab.page.locator("#cycles-plot .bars path")
    box = bars.nth(1).bounding_box()                        # weaver's: the second of its series
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.page.wait_for_selector("#cycles-plot .hovertext")
    hover = tab.page.locator("#cycles-plot .hoverlayer").text_content()
    command = runs_of(made.compare)[1].command
    total = f"{made.compare['results'][1]['total_cycles']:,} cycles"
    assert total in hover and "2 warps x 4 lanes" in hover and "./graphloom run karate" in hover
    tab.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    shown = tab.page.locator("#cycles-chosen")
    assert shown.is_visible() and total in shown.inner_text() and command in shown.inner_text()
    assert tab.page.locator("#said").inner_text().startswith("Copied: ./graphloom run karate")
    assert _clipboard(tab) == command


def test_keys(show, made):
    tab = show("compare-compare", **COPY)
    first, second = (run.command for run in runs_of(made.compare))
    plot, shown = tab.page.locator("#cycles-plot"), tab.page.locator("#cycles-chosen")
    plot.focus()
    assert not shown.is_visible()
    for key, heading, text in (("ArrowRight", "vm", "speed over vm: 1.00x"),
                               ("ArrowRight", "weaver", "launches: 4"),
                               ("ArrowLeft", "vm", first), ("End", "weaver", second),
                               ("ArrowUp", "weaver", second), ("Home", "vm", first)):
        tab.page.keyboard.press(key)
        assert shown.locator("h3").inner_text() == heading
        assert text in shown.inner_text()
        assert tab.page.locator("#cycles-plot .hovertext").count() >= 1
    tab.page.keyboard.press("Enter")
    assert _clipboard(tab) == first
    tab.page.keyboard.press("Escape")
    assert not shown.is_visible()


def test_table_copies(show, made):
    tab = show("compare-compare", **COPY)
    section = tab.page.locator("#cycles")
    section.locator("summary").press("Enter")
    assert section.locator("tbody tr").count() == 2
    assert f"{made.compare['results'][1]['cycles']:,}" in section.locator("tbody").inner_text()
    section.locator("tbody tr").nth(1).get_by_role("button").press("Enter")
    assert _clipboard(tab) == runs_of(made.compare)[1].command


def test_choice(show, made):
    tab = show("compare-compare")

    def memory():
        return tab.page.evaluate("document.getElementById('stalls-by-superstep-plot').data"
                                 ".find(trace => trace.name === 'memory').y")

    for record in made.compare["results"]:
        tab.page.get_by_label("Shown:").last.select_option(label=record["schedule"])
        assert memory() == [counters["stall_memory"] for counters in record["set_counters"]]


def _looks(tab):
    """Colours of page, text, and the text of a plot."""
    return tab.page.evaluate("""() => {
        const plot = document.querySelector(".plot .xtitle");
        return [getComputedStyle(document.body).backgroundColor,
                getComputedStyle(document.body).color, getComputedStyle(plot).fill];
    }""")


def test_dark_and_light(show, tmp_path):
    light, dark = show("run-run"), show("run-run", dark=True)
    assert _looks(light)[0] == "rgb(251, 251, 250)" and _looks(dark)[0] == "rgb(20, 24, 29)"
    for tab in (light, dark):
        page, text, plot = _looks(tab)
        assert text == plot and page != text
    switch = light.page.get_by_role("button", name="Theme: auto")
    switch.focus()
    found = []
    for _ in range(3):
        light.page.keyboard.press("Enter")
        page, _, plot = _looks(light)
        found.append((light.page.locator("#theme").inner_text(), page, plot))
    assert [each[0] for each in found] == ["Theme: light", "Theme: dark", "Theme: auto"]
    assert found[0][1:] == found[2][1:] == tuple(_looks(light)[::2])
    assert found[1][1:] == tuple(_looks(dark)[::2])
    light.page.keyboard.press("Enter")
    light.page.keyboard.press("Enter")          # dark; a reload keeps the choice
    light.page.reload()
    assert light.page.locator("#theme").inner_text() == "Theme: dark"


def test_print(show, tmp_path):
    tab = show("compare-compare", dark=True)
    tab.page.emulate_media(media="print")
    tab.resize(720)
    assert _looks(tab) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)", "rgb(0, 0, 0)"]
    assert tab.overflow() <= 0
    for plot in PAGES["compare-compare"]:
        assert _marks(tab, plot) > 0
        box = tab.page.locator(f"#{plot}-plot .main-svg").first.bounding_box()
        assert box["width"] == 680
    for hidden in ("nav", "#theme", "button.copy >> nth=0"):
        assert not tab.page.locator(hidden).is_visible()
    tab.page.emulate_media(media="screen")
    assert _looks(tab)[0] == "rgb(20, 24, 29)"
    # Each bar is a path; Chromium makes the PDF from them.
    data = tab.page.pdf(format="A4")
    assert data.startswith(b"%PDF") and 2 <= data.count(b"/Type /Page\n") <= 12


def test_narrow(show):
    tab = show("compare-compare", width=1400)
    wide = tab.page.locator("#cycles-plot .main-svg").first.bounding_box()["width"]
    tab.resize(400)
    tab.page.wait_for_function("document.querySelector('#cycles-plot .main-svg')"
                               ".getBoundingClientRect().width < 400")
    assert tab.overflow() == 0 and wide > 900
    nav, main = (tab.page.locator(name).bounding_box() for name in ("nav", "main"))
    assert nav["y"] + nav["height"] <= main["y"]           # one below the other


def test_tab_order(show):
    """Every plot, table and control is reached by the tab key, from top to bottom."""
    tab = show("run-run")
    seen = []
    for _ in range(120):
        tab.page.keyboard.press("Tab")
        place = tab.page.evaluate("""() => {
            const one = document.activeElement;
            return one === document.body ? null
                : [one.id || one.className || one.textContent.trim(),
                   one.getBoundingClientRect().top + scrollY];
        }""")
        if place is None or (seen and place == seen[0]):
            break
        seen.append(place)
    names = [name for name, _ in seen]
    assert names[0] == "skip" and "theme" in names
    for plot in PAGES["run-run"]:
        assert f"{plot}-plot" in names
    plots = [top for name, top in seen if name.endswith("-plot")]
    assert plots == sorted(plots)
