"""The Weaver: hardware that shares out the edges of registered vertices evenly among lanes."""
