"""Tests of the RTL."""
