"""Where and with what the figures were taken."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

from .with_ansible import PINS


def told() -> str:
    """One sentence with the date, the machine and the versions."""
    kernel = platform.release().partition("-")[0]
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} on a machine with {os.cpu_count()} cores "
        f"that is controller, node and containers at once; Linux {kernel}, Python "
        f"{platform.python_version()}."
    )


def told_with_tools() -> str:
    """The same with the versions of what Stoker is compared with."""
    pins = ", ".join(PINS.read_text().split())
    return f"{told()[:-1]}, pyinfra=={version('pyinfra')}, {pins}."
