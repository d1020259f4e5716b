"""Tests: cocotb benches and pytest. The tree mirrors the tree of the tested sources."""
