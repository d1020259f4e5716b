"""Pages in headless Chromium, for the tests of what people see in a browser.

A test takes the fixture ``open_page`` and opens a file or an address::

    def test_title(open_page, tmp_path):
        tab = open_page(tmp_path / "index.html", width=400)
        assert tab.page.title() == "Report"                 # tab.page is Playwright's page
        assert tab.overflow() == 0
        tab.screenshot(tmp_path / "narrow.png")

At the end of the test each page must be *clean*: the test fails if a page has logged an error or a
warning, raised an exception, missed a file, or asked for an address other than this machine's own.
Chromium resolves no other name, so that such a request cannot succeed.

Playwright drives the Chromium of the system. Tests are skipped where there is none; with
``GRAPHLOOM_REQUIRE_CHROMIUM=1``, as in CI, they fail instead. Chromium runs as long as the tests
of one module: Playwright's event loop must not run when tests of other modules start their own.
"""

import os
import pathlib
import urllib.parse

import pytest

from base.installation import browser


__all__ = ["Tab", "chromium", "open_page", "unavailable"]


#: No sandbox: Chromium refuses to start as root with one, and the pages are the project's own.
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
              "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1")

_OWN_HOSTS = ("127.0.0.1", "localhost", "::1")

#: Milliseconds that a page may take for a step. The machines of tests may be slow.
_PATIENCE = 300_000


def unavailable():
    """Reason why pages cannot be opened on this machine; None if they can."""
    if browser() is None:
        return "Chromium is not on PATH (Debian: apt-get install chromium)"
    return None


class Tab:
    """An open page and all that it has complained about.

    Attributes
    ----------
    page : playwright.sync_api.Page
        Playwright's page, for clicks, keys and evaluation.
    complaints : list of str
        Errors and warnings of the console, exceptions of scripts, and requests that failed.
    requests : list of str
        The addresses of all requests.
    """

    def __init__(self, page):
        self.page, self.complaints, self.requests = page, [], []
        page.set_default_timeout(_PATIENCE)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"exception: {error}"))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfailed", self._failed)
        page.on("response", self._response)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _failed(self, request):
        # Leaving a page ends the requests that are under way.
        if "ERR_ABORTED" not in (request.failure or ""):
            self.complaints.append(f"{request.url}: {request.failure}")

    def _response(self, response):
        if response.status >= 400:
            self.complaints.append(f"{response.url}: status {response.status}")

    @property
    def foreign(self):
        """The requests to other machines."""
        found = []
        for url in self.requests:
            parts = urllib.parse.urlsplit(url)
            if parts.scheme not in ("file", "data", "blob", "about") \
                    and parts.hostname not in _OWN_HOSTS:
                found.append(url)
        return found

    def resize(self, width, height=900):
        """Give the window another size, in CSS pixels."""
        self.page.set_viewport_size({"width": width, "height": height})

    def overflow(self):
        """The CSS pixels by which the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")

    def screenshot(self, path, whole=True):
        """Write a PNG of the page or, unless ``whole``, of the window."""
        self.page.screenshot(path=str(path), full_page=whole)

    def check(self):
        """Fail if the page is not clean."""
        assert not self.complaints, "\n".join([f"{self.page.url}:", *self.complaints])
        assert not self.foreign, f"{self.page.url}: asked for {', '.join(self.foreign)}"


@pytest.fixture(scope="module")
def chromium():
    """Playwright's browser, for all tests of a module."""
    why = unavailable()
    if why is not None:
        if os.environ.get("GRAPHLOOM_REQUIRE_CHROMIUM") == "1":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=browser(), args=[*_ARGUMENTS])
        try:
            yield program
        finally:
            program.close()


@pytest.fixture
def open_page(chromium):
    """A function that opens a page and returns its :class:`Tab`.

    Its parameters are the path of a file or an ``http://127.0.0.1`` address; ``width`` and
    ``height`` of the window in CSS pixels; ``dark``, whether the reader prefers dark pages; and
    further options of Playwright's ``new_context``.
    """
    contexts, tabs = [], []

    def opened(place, *, width=1400, height=900, dark=False, **options):
        options = {"reduced_motion": "reduce"} | options
        context = chromium.new_context(viewport={"width": width, "height": height},
                                       color_scheme="dark" if dark else "light", **options)
        contexts.append(context)
        tab = Tab(context.new_page())
        tabs.append(tab)
        url = place if isinstance(place, str) and "://" in place \
            else pathlib.Path(place).resolve().as_uri()
        tab.page.goto(url, wait_until="load")
        return tab

    try:
        yield opened
    finally:
        for context in contexts:
            context.close()
    for tab in tabs:
        tab.check()
