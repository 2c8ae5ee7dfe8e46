"""Writes: states, not acts, and only the difference."""
