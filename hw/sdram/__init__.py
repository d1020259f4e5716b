"""Controller of a board's SDRAM, behind the GPU's memory port."""
