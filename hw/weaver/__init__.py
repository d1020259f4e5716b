"""The Weaver: hardware that turns registered vertices into evenly filled work for the lanes."""
