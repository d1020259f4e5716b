"""Tests of the host's end of the link."""
