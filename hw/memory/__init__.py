"""The L2, and parts that all caches use."""
