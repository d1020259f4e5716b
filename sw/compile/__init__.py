"""From an operator, its facts and a plan to kernels: the compiler of the device."""
