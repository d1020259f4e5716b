"""Formal proofs of properties of the RTL."""
