"""Tests of the SDRAM controller."""
