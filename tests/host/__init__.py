"""Checks of deployed containers, with testinfra."""
