"""Reference models of the device's results, written to be obviously right."""
