"""What carries the frames."""

from typing import Protocol


class Stream(Protocol):
    """A byte stream to a process on the node (an ssh channel, or the pipes of an ssh client)."""

    def read(self) -> bytes:
        """Wait for the next bytes; b"" at the end."""

    def write(self, data: bytes) -> None:
        """Send all of `data`; OSError if it cannot be sent."""

    def close(self) -> None:
        """End it; a waiting `read` returns."""

    def last_words(self) -> str:
        """What the other side said on its standard error, for the message when it went away."""
