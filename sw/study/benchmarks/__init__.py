"""Benchmarks: many runs, their figures kept in a file, tables of them."""
