"""Tests of the host link."""
