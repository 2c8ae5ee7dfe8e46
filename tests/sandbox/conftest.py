"""Fixtures of the tests that need a node of the sandbox."""

from tests.sandbox.pct_node import pct_node

__all__ = ["pct_node"]
