"""The shared memory level and what caches have in common."""
