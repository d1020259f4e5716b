"""The SIMT core: one file for each pipeline stage or block, joined by :mod:`hw.core.core`."""
