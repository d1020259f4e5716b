"""Traces of a device for people, cycle by cycle: one text a warp, and a timeline."""
