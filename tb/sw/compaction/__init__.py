"""Tests of sw.compaction."""
