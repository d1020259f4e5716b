"""Controller of a board's SDRAM, for the GPU's memory port."""
