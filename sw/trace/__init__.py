"""What a device did, cycle by cycle, for people: a text a warp, and a timeline."""
