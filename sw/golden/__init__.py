"""Reference models: what the device has to compute, written to be obviously right."""
