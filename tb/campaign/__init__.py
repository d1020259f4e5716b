"""The campaign: every legal value of every field of the configuration is built and run."""
