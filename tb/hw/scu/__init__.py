"""Tests of the Stream Compaction Unit."""
