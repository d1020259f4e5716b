"""Texts of programs, from which variants are made."""
