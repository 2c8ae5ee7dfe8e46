"""What was measured of a flag set, by which run, and whether it still holds. Pure."""
