"""Reference models of the units that hand out edges (:mod:`hw.gather`)."""
