"""The SIMT core: one file a pipeline stage or block, joined by :mod:`hw.core.core`."""
