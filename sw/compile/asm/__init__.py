"""The assembler: instructions as methods, virtual registers and their allocation, programs."""
