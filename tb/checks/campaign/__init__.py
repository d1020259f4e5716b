"""Tests of the configuration campaign."""
