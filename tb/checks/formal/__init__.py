"""Tests of the proofs, and proofs as tests."""
