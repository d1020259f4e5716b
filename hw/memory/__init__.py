"""The shared memory level, and parts that all caches use."""
