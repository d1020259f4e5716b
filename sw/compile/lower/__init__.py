"""The GraphVM ``rtl``: a program becomes kernels of the device, under any schedule and format."""
