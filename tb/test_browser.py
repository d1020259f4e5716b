"""The helper for pages in a browser notices what is wrong with a page.

======================  ========================================================
clean                   test_clean, test_own_address
noticed                 test_noticed: console, exceptions, files, other machines
window                  test_window: size, overflow, screenshot, colours
missing                 test_missing: the reason for a skipped test
======================  ========================================================
"""

import http.server
import struct
import threading

import pytest

from tb import browser


def _page(folder, body):
    path = folder / "page.html"
    path.write_text("<!doctype html><html lang=en><title>page</title><link rel=icon href=data:,>"
                    f"<body>{body}</body></html>")
    return path


def test_clean(open_page, tmp_path):
    (tmp_path / "beside.js").write_text("document.title = 'changed'; console.log('said')")
    tab = open_page(_page(tmp_path, "<script src=beside.js></script>"))
    assert tab.page.title() == "changed"
    assert len(tab.requests) == 2 and tab.foreign == []


def test_own_address(open_page, tmp_path):
    _page(tmp_path, "served")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            tab = open_page(f"http://127.0.0.1:{server.server_address[1]}/page.html")
            assert tab.page.inner_text("body") == "served"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("body, complaint", [
    ("<script>console.error('broken', 3)</script>", "error: broken 3"),
    ("<script>console.warn('odd')</script>", "warning: odd"),
    ("<script>undefined_name</script>", "exception: undefined_name is not defined"),
    ("<script src=missing.js></script>", "missing.js: net::ERR_FILE_NOT_FOUND"),
    ("<img src=http://example.org/a.png>", "http://example.org/a.png: "),
])
def test_noticed(open_page, tmp_path, body, complaint):
    tab = open_page(_page(tmp_path, body))
    assert any(complaint in each for each in tab.complaints)
    assert bool(tab.foreign) == ("http" in body)
    with pytest.raises(AssertionError, match="page.html"):
        tab.check()
    tab.complaints.clear()
    tab.requests.clear()


def test_window(open_page, tmp_path):
    page = _page(tmp_path, "<style>body { margin: 0 } div { width: 700px; height: 2000px } "
                 "@media (prefers-color-scheme: dark) { body { background: black } }</style>"
                 "<div></div>")
    tab = open_page(page, width=400, height=300)
    assert tab.overflow() == 300
    tab.resize(1400, 300)
    assert tab.overflow() == 0
    for whole, size in ((False, (1400, 300)), (True, (1400, 2000))):
        tab.screenshot(tmp_path / "shot.png", whole=whole)
        assert struct.unpack(">II", (tmp_path / "shot.png").read_bytes()[16:24]) == size
    colour = "getComputedStyle(document.body).backgroundColor"
    assert tab.page.evaluate(colour) == "rgba(0, 0, 0, 0)"
    assert open_page(page, dark=True).page.evaluate(colour) == "rgb(0, 0, 0)"


def test_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install chromium" in browser.unavailable()
    program = tmp_path / "chromium-browser"
    program.write_text("")
    program.chmod(0o755)
    assert browser.unavailable() is None
