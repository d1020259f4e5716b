"""Tests of the Weaver."""
