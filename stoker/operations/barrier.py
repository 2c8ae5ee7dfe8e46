"""Where hosts wait for one another."""

from collections.abc import Generator

from pyinfra.api import operation
from pyinfra.api.command import PyinfraCommand


@operation()
def reached() -> Generator[PyinfraCommand, None, None]:
    """Does nothing. pyinfra runs an operation when every host has done what comes before it there,
    so what one host does after this comes after what another did before it."""
    yield from ()
