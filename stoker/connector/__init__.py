"""pyinfra's connector `@pct`, found by pyinfra through the entry point of this package."""

from stoker.connector import stacks
from stoker.connector.host import PctConnector

__all__ = ["PctConnector"]

stacks.without_source()
