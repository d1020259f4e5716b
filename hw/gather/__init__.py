"""Units that hand out the edges of registered vertices, all behind one signature.

:mod:`hw.gather.interface` has the signature, :mod:`hw.gather.unit` the common base,
:mod:`hw.gather.variants` the table of the units.
"""
