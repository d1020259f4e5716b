"""Tests of the units that hand out edges."""
