"""The pages in Chromium, at 1400 and 400 pixels. Each page must be clean (``tb/browser.py``): no
error, and no request to another machine.

======================  ========================================================
all pages               test_every_page: plots with marks, no overflow, titles
points                  test_click_copies, test_keys, test_table_copies
choice                  test_choice
looks                   test_dark_and_light, test_print, test_narrow
bars                    test_bars: in order, with values, the fastest is marked
colours                 test_one_colour_means_one_thing
small multiples         test_panels: side by side or one below another
buttons                 test_buttons_cover_nothing
sources                 test_other_sources
access                  test_tab_order; test_every_page: each control has a name
======================  ========================================================
"""

import itertools
import json

import pytest

from sw.show import colours
from sw.show.report import trade
from sw.show.report.build import build
from sw.show.report.results import runs_of
from sw.study.sweep import sweep
from tb.executors import InThisProcess


@pytest.fixture(scope="module")
def report(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    sweep(["karate"], ["bfs", "cc"], ["vm", "weaver"], {"preset": "tiny", "l1_bytes": [512, 1024]},
          output=folder / "caches", workers=InThisProcess())
    (folder / "old.json").write_text(json.dumps(made.run | {"sources": "0" * 64}))
    build([str(made.folder), str(trade.KEPT), str(folder / "caches"), str(folder / "old.json")],
          str(folder / "report"))
    return folder / "report"


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
    "synth-overhead-overhead": ["area-that-each-unit-adds"],
    "sweep-runs": ["cycles-by-schedule", "cycles-by-l1-bytes"]}


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


def _boxes(tab, selector):
    return [box for one in tab.page.locator(selector).all() if (box := one.bounding_box())]


def _overlap(one, other):
    return (one["x"] < other["x"] + other["width"] and other["x"] < one["x"] + one["width"]
            and one["y"] < other["y"] + other["height"] and other["y"] < one["y"] + one["height"])


@pytest.mark.parametrize("width", [1400, 400])
def test_buttons_cover_nothing(show, width):
    """plotly's buttons, which a pointer brings up, lie on no legend, mark, title or text."""
    for name in ("compare-compare", "sweep-runs"):
        tab = show(name, width=width)
        for plot in PAGES[name]:
            tab.page.locator(f"#{plot}-plot").hover()
            (buttons,) = _boxes(tab, f"#{plot}-plot .modebar")
            assert buttons["width"] > 50
            others = _boxes(tab, f"#{plot}-plot :is(.legend, .cartesianlayer, .annotation)") \
                + _boxes(tab, f"#{plot} :is(h2, .finding, .choice)")
            assert len(others) >= 2 and not [box for box in others if _overlap(buttons, box)], plot
        tab.page.close()


@pytest.mark.parametrize("width", [1400, 400])
def test_bars(show, made, width):
    tab = show("compare-compare", width=width)
    ranked = sorted(made.compare["results"], key=lambda record: record["total_cycles"])
    names = tab.page.locator("#cycles-plot .ytick text")
    found = sorted(names.all(), key=lambda one: one.bounding_box()["y"])
    assert [one.text_content() for one in found] == [record["schedule"] for record in ranked]
    texts = tab.page.locator("#cycles-plot .textpoint text")
    assert texts.all_text_contents() == [f"{ranked[0]['total_cycles']:,} fastest",
                                         f"{ranked[1]['total_cycles']:,}"]
    plot = tab.page.locator("#cycles-plot .main-svg").first.bounding_box()
    for box in _boxes(tab, "#cycles-plot .textpoint text"):
        assert box["x"] + box["width"] <= plot["x"] + plot["width"]
    bars = tab.page.locator("#which-resource-binds-plot .bartext")
    assert bars.count() == _marks(tab, "which-resource-binds")


def _rgb(text):
    return "rgb({}, {}, {})".format(*(int(text[place:place + 2], 16) for place in (1, 3, 5)))


def test_one_colour_means_one_thing(show):
    tab = show("compare-compare")
    shown = tab.page.locator("#cycles-plot .trace.bars:first-child path").evaluate_all(
        "paths => paths.map(path => getComputedStyle(path).fill)")
    schedules = {_rgb(colours.SCHEDULES[name]) for name in ("vm", "weaver")}
    assert set(shown) == schedules
    causes = tab.page.evaluate("document.getElementById('stalls-by-kernel-plot').data"
                               ".map(trace => trace.marker.color)")
    phases = tab.page.evaluate("document.getElementById('phases-plot').data"
                               ".map(trace => trace.marker.color)")
    assert set(causes) <= {colour for _, colour in colours.CAUSES.values()}
    assert set(phases) <= set(colours.PHASES.values())
    sweep_page = show("sweep-runs")
    assert set(sweep_page.page.evaluate("document.getElementById('cycles-by-l1-bytes-plot').data"
                                        ".map(trace => trace.line.color)")) == {
        colours.SCHEDULES[name] for name in ("vm", "weaver")}


@pytest.mark.parametrize("width", [1400, 400])
def test_panels(show, width):
    """A panel has one algorithm. Panels and their titles do not lie on each other."""
    tab = show("sweep-runs", width=width)
    for plot in PAGES["sweep-runs"]:
        titles = tab.page.locator(f"#{plot}-plot .annotation text")
        assert titles.all_text_contents() == ["bfskarate", "cckarate"]
        panels = _boxes(tab, f"#{plot}-plot .nsewdrag")
        assert len(panels) == 2 and (panels[0]["y"] < panels[1]["y"]) == (width == 400)
        for one, other in itertools.combinations([*panels, *_boxes(
                tab, f"#{plot}-plot .annotation text"), *_boxes(tab, f"#{plot}-plot .legend")], 2):
            assert not _overlap(one, other), plot


def test_other_sources(show):
    """Results of different sources need no option: the first page has a note."""
    remark = show("index").page.locator(".remark")
    assert remark.is_visible() and "different sources of Graphloom" in remark.inner_text()


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
