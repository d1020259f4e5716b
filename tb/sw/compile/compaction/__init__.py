"""Tests of sw.compile.compaction."""
