"""Host software: graphs, algorithms, schedules, kernels, golden models and the device runtime."""

__all__ = ["__version__"]


#: The version of Graphloom. ``pyproject.toml`` takes the version from here.
__version__ = "0.2.0"
