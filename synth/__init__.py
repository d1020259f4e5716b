"""Synthesis with Yosys and placement with nextpnr: area and timing of the units, and boards."""
