"""The live page: the RTL in the browser.

:mod:`sw.live.recording` records what the host does in a run. :mod:`sw.live.request` makes a run
from what a user asks for. :mod:`sw.live.export` writes a static site with prepared runs, and
:mod:`sw.live.server` serves the page and records runs on demand. The folder ``page`` has the page
itself, whose worker plays recordings on a simulator in WebAssembly (:mod:`sim.wasm`).
"""
