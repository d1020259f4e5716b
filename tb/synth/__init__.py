"""Tests of the synthesis flow, and of the netlists that it makes."""
