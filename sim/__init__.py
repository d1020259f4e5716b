"""The native simulator: Verilator build, C++ loop and DRAM model behind the Machine interface."""
