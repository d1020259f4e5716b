"""The kernel compiler: assembler, constants in registers, rows, frontiers, splits of the work."""
