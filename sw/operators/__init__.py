"""Work of the device that is no program of the language: hash lookup, reordering."""
