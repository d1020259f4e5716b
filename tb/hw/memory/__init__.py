"""Tests of the memory hierarchy."""
