"""The live page: the RTL in the browser.

:mod:`sw.show.live.recording` records what the host does in a run. :mod:`sw.show.live.request` makes
a run from what a user asks for. :mod:`sw.show.live.export` writes a static site with prepared runs,
and :mod:`sw.show.live.server` serves the page and records runs on demand. The folder ``page`` has
the page itself, whose worker plays recordings on a simulator in WebAssembly (:mod:`sim.wasm`).
"""
