"""The page in headless Chromium: the figures of the native simulator.

====================  ======================================================================
figures               test_budgets: each case of preset ``tiny`` of a static site;
                      test_default: a case of ``default``
units                 test_live: the Weaver; test_scu: the pipeline of the SCU
how it begins         test_begins_with_a_race, test_a_link
what is shown         test_colours, test_scale, test_legend, test_idle_unit, test_widths
controls              test_steps, test_a_message_moves_no_button, test_keys, test_race,
                      test_again, test_differs
a server              test_live, test_dropped_file, test_drawn_graph, test_what_is_refused
programs              test_a_program, test_no_program_in_a_static_site
size                  test_size
====================  ======================================================================
"""

import functools
import gzip
import http.server
import json
import threading
import urllib.parse

import pytest

from hw.config import preset
from sim import wasm
from sim.inside import SCU
from sw.study.benchmarks.budgets import load_budgets
from sw.graph.load import load
from sw.show.colours import CAUSES
from sw.show.live.export import export, packed, prepared
from sw.show.live.request import RACE
from sw.show.live.server import LiveServer
from sw.device import Device
from sw.compile.schedules import equip


TINY = [budget for budget in load_budgets() if budget.preset == "tiny"]


def serving(server):
    """Serve until the generator is closed."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def exported(folder, wanted):
    """A static site with some of the prepared runs, as long as the generator is open: its address
    and its folder."""
    export(folder, runs=[(name, request) for name, request in prepared() if wanted(name)])

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    for _ in serving(server):
        yield f"http://127.0.0.1:{server.server_port}/", folder


@pytest.fixture(scope="module")
def site(chromium, tmp_path_factory):
    """A static site with the cases of tiny: its address and its folder."""
    yield from exported(tmp_path_factory.mktemp("live") / "site",
                        lambda name: name.startswith("tiny/"))


@pytest.fixture
def live(chromium):
    """The address of a live page."""
    server = LiveServer(port=0, graph="rmat:scale=5,degree=4,seed=1")
    for _ in serving(server):
        yield server.url


def ready(tab):
    """Wait until runs are loaded, or something is refused."""
    tab.page.wait_for_function("document.body.dataset.ready !== undefined || "
                               "document.querySelector('#message.wrong:not([hidden])')")


def finish(tab):
    """Run to the end, and return what the page says of each run."""
    tab.page.evaluate("document.body.dataset.state = 'asked'")     # the state of a run before
    tab.page.evaluate("document.querySelector('#speed').value = 7")
    tab.page.click("#run")
    tab.page.wait_for_function("document.body.dataset.state === 'done'")
    return tab.page.evaluate("""graphloom.runs.map(({ picture, root, error }) => ({
        cycles: picture.cycles, counters: picture.counters, checksum: picture.checksum, error,
        verdict: root.dataset.verdict, shown: root.querySelector('[data-part=cycles]').textContent,
    }))""")


def link(budget):
    """The link to a prepared run."""
    plan = budget.case.plan
    return "#" + urllib.parse.urlencode({
        "preset": budget.preset, "graph": budget.case.graph, "algorithm": plan.algorithm,
        "direction": plan.direction, "schedule": plan.schedule})


@pytest.mark.parametrize("budget", TINY, ids=lambda budget: budget.name)
def test_budgets(site, open_page, budget):
    """Cycles, every counter and the checksum are those of a run of the native simulator."""
    config = equip(preset("tiny"), [budget.case.plan.schedule])
    with Device.simulate(config) as device:
        result = device.run(budget.case.plan, load(budget.case.graph))
    tab = open_page(site[0] + link(budget))
    ready(tab)
    run, = finish(tab)
    assert run["verdict"] == "equal" and run["error"] is None
    assert run["cycles"] == result.cycles
    assert not budget.exceeded_by(result.cycles)
    assert run["shown"] == f"{result.cycles:,}"
    assert run["counters"] == result.counters
    assert run["checksum"] == result.checksum


@pytest.mark.full
def test_default(chromium, tmp_path, open_page):
    budget, = (budget for budget in load_budgets()
               if budget.name == "default/rmat:scale=10,degree=16,seed=1/bfs/push/weaver")
    for url, _ in exported(tmp_path / "site", budget.name.__eq__):
        tab = open_page(url + link(budget))
        ready(tab)
        run, = finish(tab)
        assert run["verdict"] == "equal" and run["cycles"] == budget.cycles


def test_steps(site, open_page):
    tab = open_page(site[0] + link(TINY[0]))
    ready(tab)
    cycles = "graphloom.runs[0].cycles"
    tab.page.click("[data-step='1']")
    tab.page.wait_for_function(f"{cycles} === 1")
    tab.page.click("[data-step='100']")
    tab.page.wait_for_function(f"{cycles} === 101")
    tab.page.fill("#n", "37")
    tab.page.click("#step-n")
    tab.page.wait_for_function(f"{cycles} === 138")
    tab.page.click("#reset")
    tab.page.wait_for_function(f"{cycles} === 0")
    run, = finish(tab)
    assert run["verdict"] == "equal"


def test_a_message_moves_no_button(site, open_page):
    """A click that begins while a message disappears would end beside the button."""
    tab = open_page(site[0] + link(TINY[0]))
    ready(tab)
    place = tab.page.locator("#run").bounding_box()
    tab.page.evaluate("graphloom.say('preparing')")
    assert tab.page.locator("#message").is_visible()
    assert tab.page.locator("#run").bounding_box() == place


def test_keys(site, open_page):
    tab = open_page(site[0] + link(TINY[0]))
    ready(tab)
    cycles = "graphloom.runs[0].cycles"
    for key, total in (("s", 1), ("S", 11), ("d", 111), ("D", 1111)):
        tab.page.keyboard.press(key)
        tab.page.wait_for_function(f"{cycles} === {total} && !graphloom.busy")
    for _ in range(4):
        tab.page.keyboard.press("-")
    assert tab.page.inner_text("#speed-text") == "20 cycles a second"
    tab.page.keyboard.press(" ")
    tab.page.wait_for_function(f"{cycles} > 1113")
    tab.page.keyboard.press(" ")
    tab.page.wait_for_function("document.body.dataset.state === 'paused'")
    tab.page.keyboard.press("r")
    tab.page.wait_for_function(f"{cycles} === 0")


def test_race(site, open_page):
    """Runs side by side are at the same cycle, and the first is the one with the fewest."""
    tab = open_page(f"{site[0]}#schedule=vm,em,weaver")
    ready(tab)
    tab.page.click("[data-step='1000']")
    tab.page.wait_for_function("graphloom.runs.every(run => run.cycles === 1000)")
    runs = finish(tab)
    assert len(runs) == 3 and {run["verdict"] for run in runs} == {"equal"}
    first = tab.page.inner_text("#race [data-place='1'] b")
    assert first == f"{min(run['cycles'] for run in runs):,}, first"
    assert tab.page.locator("#race [data-place]").count() == 3


def test_again(site, open_page):
    tab = open_page(site[0] + link(TINY[0]))
    ready(tab)
    assert finish(tab) == finish(tab)


def test_command(site, open_page):
    """A click copies the command line."""
    tab = open_page(site[0] + link(TINY[2]),
                    permissions=["clipboard-read", "clipboard-write"])
    ready(tab)
    tab.page.click(".copy")
    tab.page.wait_for_function("document.querySelector('.copy').textContent === 'copied'")
    assert tab.page.evaluate("navigator.clipboard.readText()").endswith(
        "run pagerank rmat:scale=7,degree=8,seed=1 --schedule weaver --direction pull "
        "--iterations 2 --preset tiny")


def test_differs(site, open_page):
    """The page says if a word is not the recorded one."""
    url, folder = site
    case, = [case for case in json.loads((folder / "cases.json").read_text())["cases"]
             if case["name"] == TINY[0].name]
    path = folder / case["file"]
    before = path.read_bytes()
    made = json.loads(gzip.decompress(before))
    last = [step for step in made["steps"] if step[0] == "read"][-1]
    last[2][0] += 1
    path.write_bytes(packed(made))
    try:
        tab = open_page(url + link(TINY[0]))
        ready(tab)
        run, = finish(tab)
    finally:
        path.write_bytes(before)
    assert run["verdict"] == "differs" and "in the recording it is" in run["error"]


def test_begins_with_a_race(site, open_page):
    """The best schedule in software and two units run without a click."""
    tab = open_page(site[0], reduced_motion="no-preference")
    ready(tab)
    tab.page.wait_for_function("graphloom.runs.every(run => run.cycles > 2000)")
    assert tab.page.evaluate("document.body.dataset.state") == "running"
    assert tab.page.locator("#race > div > span").all_inner_texts() == RACE["schedule"]
    assert tab.page.locator("#race").bounding_box()["y"] < 500


def test_a_link(site, open_page):
    """The address holds what is chosen, and leads there again; it may also change under the page.
    """
    tab = open_page(site[0])
    ready(tab)
    assert json.loads(tab.page.evaluate(_CHOICE)) == RACE_OF_SITE
    tab.page.select_option("#algorithm", "pagerank")
    tab.page.select_option("#direction", "pull")
    other = tab.page.evaluate("location.hash")
    again = open_page(site[0] + other)
    ready(again)
    assert again.page.evaluate("graphloom.runs[0].recording.algorithm") == "pagerank"
    assert again.page.evaluate("location.hash") == other
    again.page.evaluate("location.hash = '#schedule=weaver,em'")
    again.page.wait_for_function("graphloom.runs.length === 2 && document.body.dataset.ready")
    assert again.page.evaluate("graphloom.runs.map(run => run.recording.schedule).join()") \
        == "weaver,em"


#: A script: the fields of the address, as JSON.
_CHOICE = "JSON.stringify(Object.fromEntries(new URLSearchParams(location.hash.slice(1))))"

RACE_OF_SITE = {name: RACE[name] for name in ("preset", "graph", "algorithm", "direction")} | {
    "schedule": ",".join(RACE["schedule"])}

#: A script: the least distance of two colours of different kinds (Oklab, times 100), of the states
#: of warps, of warps, and of the states of state machines.
_LEAST = """async () => {
    const { colour } = await import('./colours.js');
    const names = kind => ({ stall: ['ready', 'memory', 'local', 'weaver', 'execute', 'barrier',
                                     'fetch'].map(name => `state-${name}`),
                             warp: [...Array(8).keys()].map(i => `warp-${i}`),
                             fsm: [...Array(8).keys()].map(i => `fsm-${i}`) })[kind];
    const lab = name => {
        const [r, g, b] = colour(name).match(/[\\d.]+/g).map(Number).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b),
              m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b),
              s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
        return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
                1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
                0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
    };
    const least = (one, other) => Math.min(...names(one).flatMap(a => names(other).map(
        b => 100 * Math.hypot(...lab(a).map((v, i) => v - lab(b)[i])))));
    return [least('stall', 'fsm'), least('stall', 'warp')];
}"""


@pytest.mark.parametrize("dark", [False, True])
def test_colours(site, open_page, dark):
    """A colour of a cause of waiting is no state of a state machine, and no warp."""
    tab = open_page(site[0] + link(TINY[0]), dark=dark)
    ready(tab)
    assert min(tab.page.evaluate(_LEAST)) > 5
    assert tab.page.evaluate("""() => getComputedStyle(document.documentElement)
        .getPropertyValue('--state-memory')""") == CAUSES["memory"][1]


def test_scale(site, open_page):
    """The colours of the first result have a scale; a vertex takes its colour during the run."""
    tab = open_page(site[0])
    ready(tab)
    scale = tab.page.locator(".scale").first
    assert scale.inner_text().split() == ["depth", "0", "1", "2", "3", "not", "reached"]
    seen = "graphloom.runs[0].graph.values?.filter(word => word !== 0xffffffff).length"
    assert tab.page.evaluate(seen) is None
    counts = []
    for cycles in (1, 29_999):
        tab.page.fill("#n", str(cycles))
        tab.page.click("#step-n")
        tab.page.wait_for_function("!graphloom.busy")
        counts.append(tab.page.evaluate(seen))
    assert counts[0] == 1 < counts[1] < 102


def test_legend(site, open_page):
    """The legend stands between the two timelines of a run."""
    tab = open_page(site[0] + link(TINY[0]))
    ready(tab)
    places = [tab.page.locator(name).bounding_box()["y"] for name in (
        "[data-part=overview]", ".legend", "[data-part=detail]")]
    assert places == sorted(places) and places[2] - places[0] < 300


def test_idle_unit(site, open_page):
    """The panel of a unit that the run does not use is folded."""
    tab = open_page(site[0])
    ready(tab)
    assert tab.page.evaluate("""graphloom.runs.map(run =>
        run.root.querySelector('.unit-box details').open)""") == [False, True, True]
    assert "idle" in tab.page.locator(".unit-box summary").first.inner_text()


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_widths(site, open_page, width, dark):
    tab = open_page(f"{site[0]}#schedule=vm,weaver", width=width, dark=dark)
    ready(tab)
    tab.page.click("[data-step='1000']")
    tab.page.wait_for_function("graphloom.runs.every(run => run.cycles === 1000)")
    assert tab.overflow() == 0
    back = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.page.click("#theme")
    other = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back != other


def test_live(live, open_page):
    """A run that the server plans goes on in the browser; a state of the Weaver is shown."""
    tab = open_page(f"{live}#schedule=weaver&source=hub")
    ready(tab)
    tab.page.click("[data-step='1000']")
    tab.page.wait_for_function("graphloom.runs[0].cycles === 1000")
    assert tab.page.locator(".signal.state .now").count() == 1
    run, = finish(tab)
    assert run["verdict"] == "equal" and len(run["checksum"]) == 64


def test_scu(live, open_page):
    """The cycles of its operations count, and what its blocks hold changes in them."""
    config = equip(preset("tiny"), ["scu"])
    wasm.module(config)             # a page does not wait as long as its build may take
    tab = open_page(f"{live}#schedule=scu&source=hub")
    ready(tab)
    with Device.simulate(config) as device:
        graph = load("rmat:scale=5,degree=4,seed=1")
        result = device.run("bfs", graph, schedule="scu", source=graph.hub)
    run, = finish(tab)
    assert run["verdict"] == "equal" and run["shown"] == f"{result.cycles:,}"
    assert run["cycles"] == result.cycles
    seen = tab.page.evaluate("""async () => {
        const run = graphloom.runs[0], seen = run.recording.inside.map(() => new Set());
        await run.ask({ reset: true });
        for (let to = 0; !run.done; to += 29) {
            const { signals } = await run.ask({ to });
            signals.forEach((words, number) => seen[number].add(words.join()));
        }
        return run.recording.inside.map(({ title }, number) => [title, seen[number].size]);
    }""")
    changing = {title for title, values in seen if title.startswith("SCU") and values > 1}
    # This schedule neither filters nor selects.
    assert changing == {row.title for row in SCU if not row.title.startswith(
        ("SCU filter", "SCU: elements selected"))}


def test_dropped_file(live, open_page):
    tab = open_page(f"{live}#schedule=vm")
    ready(tab)
    tab.page.set_input_files("#file", {"name": "path.el", "mimeType": "text/plain",
                                       "buffer": b"0 1\n1 2\n2 3\n3 4\n"})
    tab.page.wait_for_function("graphloom.runs[0].recording.graph.name === 'path'")
    ready(tab)
    run, = finish(tab)
    assert run["verdict"] == "equal"
    assert tab.page.inner_text("[data-part=command]").endswith(
        "run bfs path.el --schedule vm --direction push --source hub --preset tiny")


def test_drawn_graph(live, open_page):
    """A triangle drawn by hand."""
    tab = open_page(f"{live}#schedule=vm")
    ready(tab)
    tab.page.click("#draw summary")
    box = tab.page.locator("#editor").bounding_box()
    corners = [(box["x"] + x, box["y"] + y) for x, y in ((60, 60), (240, 60), (150, 200))]
    for corner in corners:
        tab.page.mouse.click(*corner)
    for one, other in zip(corners, corners[1:] + corners[:1]):
        tab.page.mouse.move(*one)
        tab.page.mouse.down()
        tab.page.mouse.move(*other)
        tab.page.mouse.up()
    assert tab.page.inner_text("#drawn") == "3 vertices, 3 arcs"
    tab.page.click("#use")
    tab.page.wait_for_function("graphloom.runs[0].recording.graph.name === 'drawn-1'")
    ready(tab)
    assert tab.page.evaluate("graphloom.runs[0].recording.graph.arcs") == 6
    run, = finish(tab)
    assert run["verdict"] == "equal"


def test_a_program(live, open_page):
    """The text of a program is changed: a fault has its place beside the text, which stays; then it
    runs; the address has it."""
    tab = open_page(f"{live}#schedule=vm&source=0")
    ready(tab)
    tab.page.click("#edit summary")
    text = tab.page.input_value("#program")
    assert "def bfs(" in text
    wrong = text.replace("level += 1", "level += frontier.nothing()")
    line = next(number for number, row in enumerate(wrong.split("\n"), 1) if "nothing" in row)
    tab.page.fill("#program", wrong)
    tab.page.click("#run-program")
    tab.page.wait_for_selector("#fault:not([hidden])")
    assert tab.page.inner_text("#fault").startswith(f"line {line}, column ")
    assert tab.page.inner_text("#lines .wrong").strip() == str(line)
    assert tab.page.input_value("#program") == wrong and tab.page.locator(".run").count() == 1
    right = text.replace("level += 1", "level += 2")
    tab.page.fill("#program", right)
    tab.page.click("#run-program")
    tab.page.wait_for_function("graphloom.runs[0].recording.algorithm === 'program.py'")
    ready(tab)
    assert tab.page.locator("#fault").is_hidden()
    run, = finish(tab)
    assert run["verdict"] == "equal"
    # The device has numbers of supersteps in place of these levels, so the page draws the parents.
    parents = tab.page.evaluate("[...graphloom.runs[0].graph.values]")
    assert len(set(parents)) > 2 and parents[0] == 0
    assert tab.page.inner_text("[data-part=command]").endswith(
        "run program.py rmat:scale=5,degree=4,seed=1 --schedule vm --direction push --source 0 "
        "--preset tiny")
    again = open_page(tab.page.url)
    ready(again)
    assert again.page.input_value("#program") == right
    tab.page.click("#original")
    assert tab.page.input_value("#program") == text


def test_no_program_in_a_static_site(site, open_page):
    tab = open_page(site[0])
    ready(tab)
    assert tab.page.locator("#edit").is_hidden()


def test_what_is_refused(live, open_page):
    """A line says what is wrong, and the runs that are there stay."""
    tab = open_page(f"{live}#schedule=vm&source=hub")
    ready(tab)
    large = "rmat:scale=15,degree=16,seed=1"
    for field, text, words in (("#source", "99", "99"), ("#graph", large, "arcs are too many")):
        tab.page.fill(field, text)
        tab.page.click("#choose button.main")
        tab.page.wait_for_function(
            "words => document.querySelector('#message.wrong')?.textContent.includes(words)",
            arg=words)
    assert tab.page.locator(".run").count() == 1


def test_size(site):
    """Everything that a reader of the page loads, with the simulator."""
    loaded = [path for path in site[1].rglob("*") if path.is_file()
              and "runs" not in path.parts]
    assert sum(path.stat().st_size for path in loaded) < 1_000_000
