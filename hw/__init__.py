"""Graphloom's hardware: an SIMT GPU written in Amaranth. It imports no other package of ours."""
