"""Graphloom's hardware: an SIMT GPU written in Amaranth. Imports nothing of ours but ``hw``."""
