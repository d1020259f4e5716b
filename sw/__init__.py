"""Host software: graphs, algorithms, schedules, kernels, golden models and the device runtime."""
