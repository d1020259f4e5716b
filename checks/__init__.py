"""Proofs, campaigns of random runs, mutants and the fuzzer."""
