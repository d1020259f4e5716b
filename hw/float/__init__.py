"""Floating point: the parts of a lane's unit, and the unit of a warp."""
