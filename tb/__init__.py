"""Tests: cocotb benches and pytest. The tree mirrors that of what is tested."""
