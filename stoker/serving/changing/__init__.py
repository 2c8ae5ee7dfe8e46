"""A change of what a machine serves: which steps it takes, and what brings each of them back."""
