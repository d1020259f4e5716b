"""Units that hand out the edges of registered vertices, all behind one signature.

Each unit has a folder, with its record (:class:`hw.gather.variant.GatherVariant`) in the folder's
``__init__.py`` and its component in ``unit.py``. Beside the folders lies what several units share:
:mod:`hw.gather.interface` has the signature, :mod:`hw.gather.unit` the common base.
"""
